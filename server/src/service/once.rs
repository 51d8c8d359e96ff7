//! `causerie run`: the hosted form once, in this process. Address and key are new each time, and gone with it.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use anstream::eprintln;
use causerie_server::serve::keys::{Key, KeyRing};
use causerie_server::serve::{Auth, Hosted, Settings};

use crate::Failure;
use crate::arguments::Run;

pub(crate) fn run(arguments: &Run) -> Result<(), Failure> {
    let auth = Auth::from(arguments.auth);
    let (key, shown) = Key::create(&arguments.org)?;
    let path = format!("/{}/run-{}", arguments.org, key.id);
    let base_path = path.parse().map_err(Failure)?;
    let hosted = Hosted { base_path, auth, keys: Arc::new(KeyRing::fixed(vec![key])), open_metrics: false };
    let settings = Settings { hosted: Some(hosted), ..super::settings(&arguments.limits) };
    let name = arguments.model.name.as_deref();
    let model_id = super::model_id(name);
    if !io::stderr().is_terminal() {
        eprintln!("causerie: loading {model_id}"); // a terminal is shown how far it is
    }
    let asked = model_id.clone();
    super::start((&arguments.host, arguments.port), name, &model_id, settings, move |address| {
        let base_url = format!("http://{address}{path}/v1");
        let mut out = io::stdout();
        writeln!(out, "base_url {base_url}")?;
        let mut header = String::new();
        if auth != Auth::Public {
            writeln!(out, "api_key {shown}")?;
            header = format!(" -H 'authorization: Key {shown}'");
        }
        out.flush()?;
        eprintln!(
            "Until Ctrl-C, ask with:\n  curl {base_url}/chat/completions{header} -H 'content-type: application/json' \\\n    \
             -d '{{\"model\": \"{asked}\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello!\"}}]}}'"
        );
        Ok(())
    })
}
