//! `causerie conformance`: whether a server speaks chat completions as its clients expect it. Any server: what one does
//! not support it may refuse, but neither ignore nor answer in another form.

use anstream::{eprintln, println};

use crate::Failure;
use crate::arguments::Conformance;

mod checks;
mod server;

use server::Server;

pub(crate) fn run(arguments: &Conformance) -> Result<(), Failure> {
    let authorization = arguments.key.as_ref().map(|key| format!("{} {key}", arguments.scheme));
    let mut server = Server::new(&arguments.base_url, authorization).map_err(Failure)?;
    server.model = match &arguments.model {
        Some(model) => model.clone(),
        None => server.first_model().map_err(|err| Failure(format!("cannot find a model at /models: {err}")))?,
    };
    eprintln!("checking {} with the model {}", arguments.base_url, server.model);
    let mut n_failed = 0;
    for (claim, check) in checks::ALL {
        let (verdict, why) = match check(&server) {
            Ok(()) => ("pass", String::new()),
            Err(why) => ("FAIL", why),
        };
        n_failed += usize::from(verdict == "FAIL");
        println!("{verdict}  {claim:<58}  {why}");
    }
    println!("{} of {} checks passed", checks::ALL.len() - n_failed, checks::ALL.len());
    if n_failed == 0 { Ok(()) } else { Err(Failure(format!("{n_failed} checks failed"))) }
}
