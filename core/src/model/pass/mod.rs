//! What is computed with the weights that the modules above read: each layer as a sequence of operations, once for all devices.
//!
//! [`network`] is the step of a decoder for several sequences at once, [`stack`] what its layers do; [`ahead`] begins the next step of
//! a single sequence before its token is known.

mod ahead;
mod attention;
mod buffers;
mod delta_net;
mod feed_forward;
mod network;
mod per_layer;
mod short_convolution;
mod stack;
mod state;

pub(super) use buffers::Buffers;
pub(super) use network::DecoderNetwork;
pub(super) use stack::StackSequence;
pub(super) use state::DecoderState;
