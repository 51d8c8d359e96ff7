//! `causerie run`: the hosted form once, in this process. Address and key are new each time, and gone with it.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use anstream::eprintln;
use causerie_server::serve::keys::{Key, KeyRing};
use causerie_server::serve::{Auth, Hosted, Settings};

use crate::Failure;
use crate::arguments::Run;
use crate::model;
use crate::service::container;

pub(crate) fn run(arguments: &Run) -> Result<(), Failure> {
    if arguments.container {
        return container::run(arguments);
    }
    let options = &arguments.image;
    if options.image.is_some() || options.builder.is_some() || options.binary.is_some() {
        return Err(Failure("--image, --builder and --binary are for --container".to_owned()));
    }
    let auth = Auth::from(arguments.auth);
    let (key, shown) = Key::create(&arguments.org)?;
    let path = format!("/{}/run-{}", arguments.org, key.id);
    let base_path = path.parse().map_err(Failure)?;
    let hosted = Hosted { base_path, auth, keys: Arc::new(KeyRing::fixed(vec![key])), open_metrics: false };
    let settings = Settings { hosted: Some(hosted), ..super::settings(&arguments.limits) };
    let name = options.model.as_deref();
    let model_id = super::model_id(name);
    if !io::stderr().is_terminal() {
        eprintln!("causerie: loading {model_id}"); // a terminal is shown how far it is
    }
    let (key, asked) = ((auth != Auth::Public).then_some(shown), model_id.clone());
    let model = (name, model::load_options(arguments.context.size));
    super::start((&arguments.host, arguments.port), model, &model_id, settings, move |address| {
        announce(&format!("http://{address}{path}/v1"), key.as_deref(), &asked)
    })
}

/// Tells where the app is, and with which key: for programs on standard output, for people beside it.
pub(super) fn announce(base_url: &str, key: Option<&str>, model_id: &str) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "base_url {base_url}")?;
    let mut header = String::new();
    if let Some(key) = key {
        writeln!(out, "api_key {key}")?;
        header = format!(" -H 'authorization: Key {key}'");
    }
    out.flush()?;
    eprintln!(
        "Until Ctrl-C, ask with:\n  curl {base_url}/chat/completions{header} -H 'content-type: application/json' \\\n    \
         -d '{{\"model\": \"{model_id}\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello!\"}}]}}'"
    );
    Ok(())
}
