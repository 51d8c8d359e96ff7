//! The operations with candle's tensors: on Metal, and on the CPU as the second implementation that tests compare.

mod attention;
mod backend;
mod codec;
mod matrix;
mod memories;
mod operations;
mod pages;
mod rotation;
mod rows;
mod sound;
mod speech;
mod tower;

pub(super) use backend::Candle;
