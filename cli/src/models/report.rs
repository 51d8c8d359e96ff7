//! Reports downloads to a person, or to a script.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use causerie::ErrorKind;
use causerie_hub::{DownloadPlan, PullProgress, PullState};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::byte_size;
use crate::failure::Failure;
use crate::output::{print_line, remark};

/// Reports downloads: on standard error with a bar, or as JSON lines on standard output.
#[derive(Clone, Copy)]
pub(crate) enum DownloadReport {
    Terminal,
    JsonLines,
}

impl DownloadReport {
    /// Says what will be downloaded, before the first byte of it.
    pub(crate) fn plan(self, plan: &DownloadPlan, missing: u64, page: &str) -> io::Result<()> {
        let license = plan.license.as_deref();
        match self {
            Self::JsonLines => print_line(
                json!({"event": "plan", "name": plan.name, "commit": plan.commit, "size": plan.size(), "missing": missing,
                       "files": plan.files, "license": license, "gated": plan.is_gated}),
            ),
            Self::Terminal => {
                let there = if missing < plan.size() {
                    format!(", {} of them here", byte_size::format(plan.size() - missing))
                } else {
                    String::new()
                };
                let (size, license) = (byte_size::format(plan.size()), license.unwrap_or("not stated"));
                remark(format_args!("{}: {size}{there}; licence: {license}, at {page}", plan.name));
                if plan.is_gated {
                    remark("its owner gives access only to accounts that have accepted the conditions on that page");
                }
                Ok(())
            }
        }
    }

    /// Returns what reports the progress of one download.
    pub(crate) fn progress(self) -> ProgressReport {
        // Draws nothing if standard error is not a terminal.
        ProgressReport { report: self, bar: ProgressBar::hidden(), is_shown: false, last: None, written: Ok(()) }
    }

    /// Says where the model is.
    pub(crate) fn ready(self, name: &str, path: &Path) -> io::Result<()> {
        match self {
            Self::JsonLines => print_line(json!({"event": "ready", "name": name, "path": path})),
            Self::Terminal => print_line(path.display()),
        }
    }

    /// Adds a line with the error for scripts.
    pub(crate) fn failed(self, err: causerie::SdkError) -> Failure {
        if let Self::JsonLines = self {
            let code = match err.kind() {
                ErrorKind::ModelNotFound => "model_not_found".to_owned(),
                ErrorKind::Download(fault) => fault.code().to_owned(),
                _ => "other".to_owned(),
            };
            // The error itself says more than that it cannot be written here.
            let _ = print_line(json!({"event": "error", "code": code, "message": err.to_string()}));
        }
        Failure::from(err)
    }
}

/// Reports the progress of one download.
pub(crate) struct ProgressReport {
    report: DownloadReport,
    bar: ProgressBar,
    is_shown: bool,
    last: Option<PullProgress>,
    /// The download ends when its progress cannot be written.
    pub(crate) written: io::Result<()>,
}

impl ProgressReport {
    pub(crate) fn show(&mut self, progress: &PullProgress) -> ControlFlow<()> {
        match self.report {
            DownloadReport::JsonLines if self.written.is_err() || self.last.as_ref() == Some(progress) => {}
            DownloadReport::JsonLines => {
                self.last = Some(progress.clone());
                self.written = print_line(event("progress", progress));
            }
            DownloadReport::Terminal => {
                if !self.is_shown {
                    self.is_shown = true;
                    show(&self.bar);
                }
                draw(&self.bar, progress);
            }
        }
        if self.written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

fn event(name: &str, progress: &PullProgress) -> serde_json::Value {
    let mut object = json!(progress);
    object["event"] = name.into();
    object
}

fn show(bar: &ProgressBar) {
    let style = ProgressStyle::with_template("{msg} {bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
}

fn draw(bar: &ProgressBar, progress: &PullProgress) {
    let act = match progress.state {
        PullState::Resolving => "resolving",
        PullState::Waiting => "waiting",
        PullState::Verifying => "verifying",
        PullState::Ready => return bar.finish_and_clear(),
        _ => "downloading",
    };
    if bar.length() != Some(progress.total) {
        bar.set_length(progress.total);
        // The speed is that of this download.
        bar.set_position(progress.resumed_from);
        bar.reset_eta();
    }
    bar.set_message(format!("{act} {}", progress.file));
    bar.set_position(progress.done);
}
