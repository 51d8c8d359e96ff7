//! Measures how fast threads read memory, which bounds the speed of decode. The memory is on large pages, as weights are.
//!
//! `cargo run --release -p causerie-backend --example reads -- 1,2` prints gigabytes per second for each number of threads,
//! as JSON.

use std::hint::black_box;
use std::time::Instant;

/// Much more than the caches hold.
const N_BYTES: usize = 1 << 30;
const N_ROUNDS: usize = 5;

fn main() {
    let mut numbers: Vec<u64> = Vec::with_capacity(N_BYTES / 8);
    on_large_pages(numbers.as_ptr());
    numbers.resize(N_BYTES / 8, 1);
    let argument = std::env::args().nth(1).unwrap_or_else(|| "1".to_owned());
    let threads = argument.split(',').filter_map(|number| number.parse::<usize>().ok()).filter(|n| 0 < *n);
    let speeds = threads.map(|n| format!("\"{n}\": {:.2}", gigabytes_per_second(&numbers, n)));
    println!("{{{}}}", speeds.collect::<Vec<_>>().join(", "));
}

/// Requests large pages from the system, before anything is written.
#[cfg(target_os = "linux")]
fn on_large_pages(start: *const u64) {
    /// Bytes of the largest small page of any system.
    const PAGE: usize = 64 << 10;
    let first = start.map_addr(|at| at.next_multiple_of(PAGE));
    // SAFETY: advice about our own memory, within its end, as the first page is at most `PAGE` bytes in; it affects speed only.
    unsafe { libc::madvise(first.cast_mut().cast(), N_BYTES - PAGE, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn on_large_pages(_: *const u64) {}

/// Gigabytes per second: the best of some rounds.
fn gigabytes_per_second(numbers: &[u64], n_threads: usize) -> f64 {
    let round = |_| {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for part in numbers.chunks(numbers.len().div_ceil(n_threads)) {
                // Integers are added in vectors, much faster than memory delivers them.
                scope.spawn(move || black_box(part.iter().fold(0u64, |sum, number| sum.wrapping_add(*number))));
            }
        });
        start.elapsed().as_secs_f64()
    };
    N_BYTES as f64 / 1e9 / (0..N_ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
