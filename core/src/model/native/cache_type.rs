//! The storage formats of keys and values.

use crate::options::CacheType;

/// The kernels' name of a storage format.
pub(super) fn stored_cache_type(cache_type: CacheType) -> causerie_backend::CacheType {
    match cache_type {
        CacheType::F16 => causerie_backend::CacheType::F16,
        CacheType::F32 => causerie_backend::CacheType::F32,
        CacheType::Q8_0 => causerie_backend::CacheType::Q8_0,
    }
}
