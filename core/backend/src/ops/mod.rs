//! The operations of models other than products, written once for all instruction sets.

pub(crate) mod attention;
pub(crate) mod bound;
pub(crate) mod channel_convolution;
pub(crate) mod convolution;
pub(crate) mod decay;
pub(crate) mod delta_net;
pub(crate) mod gate;
pub(crate) mod grid_convolution;
pub(crate) mod norm;
pub(crate) mod relative_attention;
pub(crate) mod rotation;
#[cfg(test)]
mod delta_net_tests;
#[cfg(test)]
mod sound_tests;
#[cfg(test)]
mod tests;
