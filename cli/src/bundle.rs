//! `causerie bundle`: one file with all files of a model.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use causerie::ErrorKind;
use causerie::bundle::{self, BundleParts, BundledFile};

use crate::arguments::BundleAction;
use crate::failure::Failure;
use crate::model::LocalModel;
use crate::output::print_line;
use crate::{byte_size, interrupt, model};

pub(crate) fn run(action: &BundleAction, source: &LocalModel) -> Result<(), Failure> {
    match action {
        BundleAction::Make { model, output, projector, audio_decoder, audio_tokenizer, packed } => {
            let parts = BundleParts {
                projectors: projector.clone(),
                audio_decoder: audio_decoder.clone(),
                audio_tokenizer: audio_tokenizer.clone(),
                packs_weights: *packed,
            };
            let made = watched(format!("bundling {model}"), |progress| {
                bundle::make(source.to_load().unwrap_or(model), &parts, output, progress)
            })?;
            if made.is_some() {
                print(output, &bundle::list(output)?)?;
            }
        }
        BundleAction::List { bundle, json: false } => print(bundle, &bundle::list(bundle)?)?,
        BundleAction::List { bundle, json: true } => {
            for BundledFile { path, size, sha256, .. } in bundle::list(bundle)? {
                print_line(serde_json::json!({"path": path, "size": size, "sha256": sha256}))?;
            }
        }
        BundleAction::Verify { bundle } => {
            let damaged =
                watched(format!("reading {}", bundle.display()), |progress| bundle::verify(bundle, progress))?;
            let Some(damaged) = damaged else { return Ok(()) };
            if !damaged.is_empty() {
                let paths: Vec<_> = damaged.iter().map(|file| file.path.as_str()).collect();
                return Err(Failure(format!("{} is damaged: {}", bundle.display(), paths.join(", "))));
            }
            print_line(format_args!("{}: all files are as its manifest says", bundle.display()))?;
        }
    }
    Ok(())
}

/// Shows the progress of work on a terminal; `None` after Ctrl-C, which decides the exit status.
fn watched<T>(
    message: String,
    work: impl FnOnce(&mut dyn FnMut(f32) -> ControlFlow<()>) -> causerie::Result<T>,
) -> Result<Option<T>, Failure> {
    let bar = model::progress_bar(message);
    interrupt::remember_press();
    let done = work(&mut |fraction| {
        bar.set_position((fraction * 100.0) as u64); // from 0 to 1
        if interrupt::was_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    match done {
        Err(err) if err.kind() == ErrorKind::LoadCancelled => Ok(None),
        done => Ok(Some(done?)),
    }
}

fn print(bundle: &Path, files: &[BundledFile]) -> io::Result<()> {
    let width = files.iter().map(|file| file.path.len()).max().unwrap_or_default();
    for file in files {
        let size = byte_size::format(file.size);
        print_line(format_args!("{:width$}  {size:>10}  {}", file.path, file.sha256))?;
    }
    let size = files.iter().map(|file| file.size).sum();
    print_line(format_args!("{}: {} files, {}", bundle.display(), files.len(), byte_size::format(size)))
}
