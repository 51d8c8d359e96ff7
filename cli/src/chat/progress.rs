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
        let images = (progress.done_images(), progress.total_images());
        let _ = out.write_str(&describe((progress.done_tokens(), progress.total_tokens()), images)); // drawn again soon
    };
    let style =
        ProgressStyle::with_template("{spinner} {reading}").unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.set_style(style.with_key("reading", describe));
    bar.tick();
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Images and recordings are named until the last one is computed, as they take longer than text.
fn describe((done, total): (usize, usize), (done_images, total_images): (usize, usize)) -> String {
    match total {
        _ if done_images < total_images => format!("reading image or recording {} of {total_images}", done_images + 1),
        0..=SHORT_PROMPT => "reading".to_owned(),
        total => format!("reading {done} of {total} tokens, {} %", 100 * done / total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_prompts_show_how_far_they_are() {
        assert_eq!(describe((0, 0), (0, 0)), "reading");
        assert_eq!(describe((128, 200), (0, 0)), "reading");
        assert_eq!(describe((512, 2048), (3, 3)), "reading 512 of 2048 tokens, 25 %");
        assert_eq!(describe((20, 200), (0, 2)), "reading image or recording 1 of 2");
        assert_eq!(describe((512, 2048), (1, 11)), "reading image or recording 2 of 11");
    }
}
