//! `causerie run`: serves the hosted form in this process, with an address and a key that are valid until it ends.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use causerie_server::access::keys::{Key, KeyRing};
use causerie_server::access::{Auth, Hosted};
use causerie_server::serve::Settings;

use crate::arguments::RunArguments;
use crate::deploy::announcement;
use crate::failure::Failure;
use crate::output::remark;
use crate::{model, service};

pub(crate) fn run(arguments: &RunArguments, is_offline: bool) -> Result<(), Failure> {
    let options = &arguments.image;
    if options.image.is_some() || options.builder.is_some() || options.binary.is_some() {
        return Err(Failure("--image, --builder and --binary require --container".to_owned()));
    }
    service::check_no_local_key()?;
    let auth = Auth::from(arguments.auth);
    let (key, shown) = Key::create(&arguments.org)?;
    let path = format!("/{}/run-{}", arguments.org, key.id);
    let base_path = path.parse().map_err(Failure)?;
    let hosted = Hosted { base_path, auth, keys: Arc::new(KeyRing::fixed(vec![key])), open_metrics: false };
    let settings = Settings { hosted: Some(hosted), ..service::settings(&arguments.limits) };
    let name = options.model.as_deref();
    let model_id = service::model_id(name);
    if !io::stderr().is_terminal() {
        remark(format_args!("causerie: loading {model_id}")); // on a terminal, a progress bar shows this
    }
    let (key, announced) = ((auth != Auth::Public).then_some(shown), model_id.clone());
    let model = (name, model::load_options(arguments.context.size), is_offline);
    let others = service::OtherModels::default();
    service::start((&arguments.host, arguments.port), model, others, &model_id, settings, move |address| {
        announcement::print(&format!("http://{address}{path}/v1"), key.as_deref(), &announced)
    })
}
