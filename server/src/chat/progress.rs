//! What is shown while a prompt is read: nothing of a reply has come yet.

use std::fmt::Write;
use std::time::Duration;

use causerie::PrefillProgress;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// Prompts up to this length are read before anyone could read how far it is.
const SHORT_PROMPT: usize = 256;

/// Shows the progress of a prompt on standard error, if that is a terminal, until the bar is cleared.
pub(super) fn show(progress: PrefillProgress) -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    let describe = move |_: &ProgressState, out: &mut dyn Write| {
        let _ = out.write_str(&describe(progress.done_tokens(), progress.total_tokens())); // drawn again soon
    };
    let style =
        ProgressStyle::with_template("{spinner} {reading}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.set_style(style.with_key("reading", describe));
    bar.tick();
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn describe(done: usize, total: usize) -> String {
    match total {
        0..=SHORT_PROMPT => "reading".to_owned(),
        total => format!("reading {done} of {total} tokens, {} %", 100 * done / total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_prompts_show_how_far_they_are() {
        assert_eq!(describe(0, 0), "reading");
        assert_eq!(describe(128, 200), "reading");
        assert_eq!(describe(512, 2048), "reading 512 of 2048 tokens, 25 %");
    }
}
