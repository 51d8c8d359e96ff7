//! A way in for figures that the public API has no use for: what single masks take.
//!
//! No part of the API; it may change with every release.

use std::time::{Duration, Instant};

use crate::engine::ReplyConstraint;
use crate::error::Result;
use crate::function::SdkFunction;
use crate::options::GenerationOptions;
use crate::prompt::Segment;
use crate::response::ReplySection;
use crate::runner::ModelRunner;
use crate::sample::Sampler;

/// What each mask took of a reply that these options hold to something from its first token on. The model reads each token,
/// as it does for other replies, so that what it leaves in the processor's caches is there as well.
///
/// # Errors
/// As the reply's events.
pub fn mask_times(
    runner: &ModelRunner,
    functions: &[SdkFunction],
    options: &GenerationOptions,
) -> Result<Vec<Duration>> {
    let loaded = runner.engine().loaded()?;
    let mut constraint = ReplyConstraint::new(&loaded, options, functions, false)?;
    let mut sampler = Sampler::new(
        options.sampling(&Default::default()),
        options.logit_bias.clone(),
        options.seed.unwrap_or_default(),
    );
    let mut unread = loaded.tokenizer.encode_with_bos(&[Segment::Text("Call.".to_owned())])?;
    let (mut state, mut logits, mut times, mut n_written) = (loaded.model.start()?, Vec::new(), Vec::new(), 0);
    // Once nothing is followed any more, the reply is over.
    while n_written < options.max_tokens.unwrap_or(1000) && (n_written == 0 || constraint.is_following()) {
        loaded.model.forward_one(&unread, &mut state, &mut logits)?;
        logits.truncate(loaded.tokenizer.n_tokens());
        unread = constraint.forced(ReplySection::Text);
        if unread.is_empty() {
            let begun = Instant::now();
            constraint.mask(ReplySection::Text, &mut logits);
            times.push(begun.elapsed());
            unread.extend(
                sampler
                    .pick(&mut logits, |token| constraint.allows(token, "", ReplySection::Text, &loaded.tokenizer))?,
            );
        }
        unread.iter().for_each(|token| constraint.take(*token));
        n_written += unread.len();
    }
    Ok(times)
}
