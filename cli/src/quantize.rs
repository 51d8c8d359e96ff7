//! `causerie quantize`: writes a model as a quantised GGUF file.

use std::ops::ControlFlow;

use causerie::{ErrorKind, ModelInfo};

use crate::arguments::QuantizeArguments;
use crate::failure::Failure;
use crate::model::LocalModel;
use crate::output::print_line;
use crate::{byte_size, interrupt, model};

pub(crate) fn run(arguments: &QuantizeArguments, source: &LocalModel) -> Result<(), Failure> {
    let QuantizeArguments { model, gguf_type, output } = arguments;
    let bar = model::progress_bar(format!("quantising {model}"));
    interrupt::remember_press();
    let done = causerie::quantize(source.to_load().unwrap_or(model), *gguf_type, output, |fraction| {
        bar.set_position((fraction * 100.0) as u64); // from 0 to 1
        if interrupt::was_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    match done {
        Err(err) if err.kind() == ErrorKind::LoadCancelled => return Ok(()), // Ctrl-C decides the exit status
        done => done?,
    }
    let types = ModelInfo::read(output)?.quantisation;
    let n_bytes = types.iter().map(|part| part.n_bytes).sum();
    let shares: Vec<_> = types.iter().map(|part| format!("{} {:.0} %", part.name, part.share * 100.0)).collect();
    Ok(print_line(format_args!("{}: {} ({})", output.display(), byte_size::format(n_bytes), shares.join(", ")))?)
}
