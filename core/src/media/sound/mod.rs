//! Sound: files are read within limits, and converted to the rates and features that models expect.
//!
//! Nothing here knows a model: what a model hears comes as [`MelRules`].

mod mel;
mod resample;
mod samples;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use mel::{Compression, FrameLayout, MelFeatures, MelFilters, MelRules, MelScale, Spectrum, Taper};
pub(crate) use resample::{Resampler, resample};
pub use samples::Sound;
