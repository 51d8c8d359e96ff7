//! The kernels' names of what descriptions of models name.

use causerie_backend::{DeltaShape, GateFunction};

use crate::checkpoint::Activation;
use crate::model::delta_net::DeltaHeads;
use crate::options::CacheType;

pub(super) fn stored_cache_type(cache_type: CacheType) -> causerie_backend::CacheType {
    match cache_type {
        CacheType::F16 => causerie_backend::CacheType::F16,
        CacheType::F32 => causerie_backend::CacheType::F32,
        CacheType::Q8_0 => causerie_backend::CacheType::Q8_0,
    }
}

pub(super) fn gate_function(activation: Activation) -> GateFunction {
    match activation {
        Activation::Silu => GateFunction::Silu,
        Activation::GeluTanh => GateFunction::GeluTanh,
    }
}

pub(super) fn delta_shape(heads: DeltaHeads) -> DeltaShape {
    let DeltaHeads { n_keys, n_values, key_dim, value_dim } = heads;
    DeltaShape { n_keys, n_values, key_dim, value_dim }
}
