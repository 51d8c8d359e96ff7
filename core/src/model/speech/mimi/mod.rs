//! Mimi's decoder, the codec of the first LFM2-Audio: a causal transformer over two positions of a frame, then convolutions that make
//! 960 samples of each position.

mod convolution;
mod layer;
mod network;
mod reader;

pub(super) use network::Mimi;
