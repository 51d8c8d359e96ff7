//! Sound: files are read within limits, and converted to the rates and features that models expect.
//!
//! Nothing here knows a model: its features come as [`MelRules`].

mod bit_writer;
mod encode;
#[cfg(test)]
mod file_tests;
mod flac;
mod flac_frames;
mod istft;
mod laws;
mod mel;
mod mp3;
mod ogg;
mod opus;
mod read;
mod recording;
mod resample;
mod samples;
mod spoken;
mod wav;
mod write;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub use encode::{SoundFileWriter, SoundFormat};
pub(crate) use istft::InverseStft;
pub use laws::TelephoneLaw;
pub(crate) use mel::{Compression, FrameLayout, MelFeatures, MelFilters, MelRules, MelScale, Spectrum, Taper};
pub(crate) use resample::{Resampler, resample};
pub use samples::{Sound, SoundOptions};
pub(crate) use spoken::{SoundOpening, SpokenFrames, SpokenSound};
pub use write::WavSamples;
