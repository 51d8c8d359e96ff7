//! The number of threads to compute with.

use std::thread::available_parallelism;

/// The number of cores that a model should compute with, at least one: the cores this process may use, without the slow
/// ones of processors that have fast and slow cores, as phones do. Slow cores would cost energy and gain little.
pub fn fast_cores() -> usize {
    let available = available_parallelism().map_or(1, usize::from);
    fast().map_or(available, |n| n.clamp(1, available))
}

/// Counts cores of more than half the speed of the fastest; `None` if the system does not report speeds.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn fast() -> Option<usize> {
    let speed = |core: usize, name: &str| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{core}/{name}")).ok()?;
        text.trim().parse().ok()
    };
    // Phones report a capacity, which counts instructions and not only cycles; other machines the frequency in kHz.
    ["cpu_capacity", "cpufreq/cpuinfo_max_freq"].into_iter().find_map(|name| {
        let speeds: Vec<u64> = (0..).map_while(|core| speed(core, name)).collect();
        (!speeds.is_empty()).then(|| n_fast(&speeds))
    })
}

#[cfg(any(target_os = "linux", target_os = "android", test))]
fn n_fast(speeds: &[u64]) -> usize {
    let fastest = speeds.iter().copied().max().unwrap_or_default();
    speeds.iter().filter(|speed| fastest / 2 < **speed).count()
}

#[cfg(target_vendor = "apple")]
fn fast() -> Option<usize> {
    let mut n: libc::c_int = 0;
    let mut n_bytes = size_of_val(&n);
    // SAFETY: the system writes at most `n_bytes` to the integer; the name ends with a zero.
    let failed = unsafe {
        libc::sysctlbyname(
            c"hw.perflevel0.logicalcpu".as_ptr(),
            (&raw mut n).cast(),
            &mut n_bytes,
            std::ptr::null_mut(),
            0,
        )
    };
    (failed == 0).then(|| usize::try_from(n).ok()).flatten()
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn fast() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cores_do_not_count() {
        assert_eq!(n_fast(&[1024, 1024]), 2);
        // A phone: one fastest, three fast, four slow ones.
        assert_eq!(n_fast(&[325, 325, 325, 325, 870, 870, 870, 1024]), 4);
        assert!((1..=available_parallelism().map_or(1, usize::from)).contains(&fast_cores()));
    }
}
