//! Sizes in bytes, as people read them.

/// Formats a size with one unit: `1.5 MiB`.
pub(crate) fn format(n_bytes: u64) -> String {
    match n_bytes {
        0..0x10_0000 => format!("{:.1} KiB", n_bytes as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", n_bytes as f64 / 1048576.0),
        _ => format!("{:.2} GiB", n_bytes as f64 / 1073741824.0),
    }
}
