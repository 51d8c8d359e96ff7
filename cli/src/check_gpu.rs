//! `causerie check-gpu`: whether a GPU has the CPU's bits, and how fast it is, as a report to paste into an issue.

use causerie::{
    ChatMessage, Completion, Device, GenerationOptions, GpuReport, LoadOptions, MessageResponse, check_gpu,
};

use crate::arguments::CheckGpuArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::model::LocalModel;
use crate::output::{print_line, remark};

/// Tokens of the reply that is written on both.
const N_REPLY: usize = 64;
/// Long enough for several chunks of a prompt.
const QUESTION: &str = "Why is the sky blue? Explain it to a child, then to a student, and then to a physicist. ";

pub(crate) fn run(arguments: &CheckGpuArguments, model: &LocalModel) -> Result<(), Failure> {
    let name = arguments.gpu_name.as_deref();
    let report = check_gpu(name)?;
    print_head(&report)?;
    for check in report.checks.iter().filter(|check| check.n_different != 0) {
        print_line(format!("{}: {} of {} values differ", check.name, check.n_different, check.n_values))?;
    }
    let n_different = report.checks.iter().filter(|check| check.n_different != 0).count();
    print_line(format!(
        "operations: {} of {} have the CPU's bits",
        report.checks.len() - n_different,
        report.checks.len()
    ))?;
    remark("a reply is computed on both, which may take a minute");
    let on_cpu = reply(model, LoadOptions::default())?;
    let on_gpu = reply(
        model,
        LoadOptions { device: Device::Gpu, gpu_name: arguments.gpu_name.clone(), ..LoadOptions::default() },
    )?;
    for (device, completion) in [("CPU", &on_cpu), ("GPU", &on_gpu)] {
        let stats = &completion.stats;
        print_line(format!(
            "{device}: {} prompt tokens in {:.3} s, {} reply tokens, {:.1} per second",
            stats.prompt_tokens,
            stats.prefill_time.as_secs_f64(),
            stats.completion_tokens,
            stats.tokens_per_second()
        ))?;
    }
    let is_same = on_cpu.full_message == on_gpu.full_message;
    print_line(if is_same { "the replies are the same" } else { "the replies differ" })?;
    match is_same && n_different == 0 && report.differences.is_empty() {
        true => Ok(()),
        false => Err(Failure("the GPU does not have the CPU's bits; please report the lines above".to_owned())),
    }
}

fn print_head(report: &GpuReport) -> Result<(), Failure> {
    let gpu = &report.gpu;
    print_line(format!(
        "causerie {} on {} {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    ))?;
    print_line(format!("{} ({}; {}; {})", gpu.name, gpu.kind, gpu.interface, gpu.driver))?;
    let differences =
        if report.differences.is_empty() { "as the CPU's".to_owned() } else { report.differences.join(", ") };
    Ok(print_line(format!("arithmetic: {differences}"))?)
}

fn reply(model: &LocalModel, options: LoadOptions) -> Result<Completion, Failure> {
    let runner = model.load(options)?;
    let options = GenerationOptions {
        temperature: Some(0.0),
        max_tokens: Some(N_REPLY),
        ignore_end: true,
        function_call_parser: None,
        ..GenerationOptions::default()
    };
    let mut stream = runner.create_conversation("").generate_response(ChatMessage::user(QUESTION.repeat(4)), options);
    interrupt::cancel_on_press(&stream);
    while let Some(event) = stream.iter().next() {
        if let MessageResponse::Complete(completion) = event? {
            return Ok(*completion);
        }
    }
    Err(Failure("the reply ended without a completion".to_owned()))
}
