//! The network with candle's tensors: on Metal, and on the CPU as the reference for the tests of the native network.

mod attention;
mod backend;
mod decoder;
mod experts;
mod feed_forward;
mod matrix;
mod pages;
mod short_convolution;
mod state;

pub(super) use backend::Candle;
