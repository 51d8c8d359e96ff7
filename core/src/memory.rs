//! The memory that a process can still take, as far as the system says: what a model needs is compared with it before the first
//! large allocation, since an allocation that fails later would abort the app.
//!
//! Only what cannot succeed is refused: a limit that the system does not state, or states in a form unknown here, is none.

use std::fs;
use std::path::Path;

use crate::deep_stack;
use crate::error::{ErrorKind, SdkError};

/// The memory that something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryNeed {
    /// Bytes that are written, so that no page of them can be left out.
    pub(crate) written: u64,
    /// Bytes of addresses: the same, and what is only reserved, such as stacks.
    pub(crate) reserved: u64,
}

/// A limit, and what of it is left.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MemoryLimit {
    /// The limit, for a message: `the memory of this machine`.
    name: String,
    n_left: u64,
}

impl MemoryNeed {
    /// Checks that the system can provide the memory.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`].
    pub(crate) fn check(self, what: &str) -> Result<(), SdkError> {
        let limits = [control_group(Path::new("/")), machine(Path::new("/"))].into_iter().flatten();
        if let Some(limit) = limits.min_by_key(|limit| limit.n_left).filter(|limit| limit.n_left < self.written) {
            return Err(too_little(what, self.written, limit.n_left, &limit.name));
        }
        if is_reservable(self.reserved) { Ok(()) } else { Err(unreservable(what, self.reserved)) }
    }
}

/// The error for work that needs a large stack, where no thread with one could be started.
pub(crate) fn no_deep_thread(work: &str) -> SdkError {
    if is_reservable(deep_stack::STACK as u64) {
        return SdkError::new(ErrorKind::Generation, format!("no thread could be started for {work}"));
    }
    exhausted(&format!("the stack of {work}"), deep_stack::STACK)
}

/// Whether twice this many bytes are left, as far as the system says: enough to take them for speed alone.
pub(crate) fn has_twice(n_bytes: u64) -> bool {
    let limits = [control_group(Path::new("/")), machine(Path::new("/"))].into_iter().flatten();
    limits.map(|limit| limit.n_left).min().is_none_or(|n_left| n_bytes.saturating_mul(2) <= n_left)
}

/// Whether the system would reserve this many bytes now.
fn is_reservable(n_bytes: u64) -> bool {
    usize::try_from(n_bytes).is_ok_and(causerie_backend::is_reservable)
}

/// The error for a failed allocation of this many bytes.
pub(crate) fn exhausted(what: &str, n_bytes: usize) -> SdkError {
    unreservable(what, n_bytes as u64) // usize has at most 64 bits
}

fn unreservable(what: &str, needed: u64) -> SdkError {
    too_little(what, needed, largest(needed, is_reservable), "what the system lets the process reserve")
}

/// The error for something that takes more than what is left of a limit.
pub(crate) fn too_little(what: &str, needed: u64, available: u64, limit: &str) -> SdkError {
    let message = format!(
        "memory for {what} must be at least {} MB ({needed} bytes), found {} MB ({available} bytes): {limit}",
        needed.div_ceil(1_000_000),
        available / 1_000_000,
    );
    SdkError::new(ErrorKind::OutOfMemory { needed, available }, message)
}

/// The largest size below `n_bytes` that fits, to a hundredth of it.
fn largest(n_bytes: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, n_bytes);
    while n_bytes / 128 < high - low {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// What is left of the memory of the machine. On Android, the system ends other apps when this one needs their memory, so that
/// all memory counts as free.
fn machine(root: &Path) -> Option<MemoryLimit> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let arc = fs::read_to_string(root.join("proc/spl/kstat/zfs/arcstats")).unwrap_or_default();
    let n_left = free_memory(&text, cfg!(target_os = "android"))?.saturating_add(cached_by_zfs(&arc));
    Some(MemoryLimit { name: "the free memory of this machine".to_owned(), n_left })
}

/// The bytes of memory and swap that are free, from the text of `/proc/meminfo`; with all memory, if that counts as free.
fn free_memory(text: &str, is_all_free: bool) -> Option<u64> {
    let (memory, swap) = if is_all_free { ("MemTotal", "SwapTotal") } else { ("MemAvailable", "SwapFree") };
    field_of(text, memory)?.checked_add(field_of(text, swap).unwrap_or(0))
}

/// A size in the text of `/proc/meminfo`, in bytes.
fn field_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The bytes that ZFS caches and gives back under pressure; the system does not count them as available.
fn cached_by_zfs(statistics: &str) -> u64 {
    let size = statistics.lines().find_map(|line| line.strip_prefix("size "));
    size.and_then(|size| size.split_whitespace().last()?.parse().ok()).unwrap_or(0)
}

/// The least that a control group of the process, or one around it, leaves.
fn control_group(root: &Path) -> Option<MemoryLimit> {
    let swap =
        fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| field_of(&text, "SwapFree")).unwrap_or(0);
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mut limits = Vec::new();
    for (hierarchy, group) in groups.lines().filter_map(memory_group) {
        let folder = root.join("sys/fs/cgroup");
        // Both versions may be mounted, the newer one beside the older ones.
        let bases = match hierarchy {
            Hierarchy::Unified => vec![folder.clone(), folder.join("unified")],
            Hierarchy::Memory => vec![folder.join("memory")],
        };
        for base in bases {
            // In a container, the path may be that of the host; then the limit is at the root.
            let around = Path::new(group).ancestors().map(|group| group.strip_prefix("/").unwrap_or(group));
            limits.extend(around.filter_map(|group| hierarchy.limit(&base.join(group), swap)));
        }
    }
    let n_left = limits.into_iter().min()?;
    Some(MemoryLimit { name: "the memory limit of the process's control group".to_owned(), n_left })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    /// Version 2.
    Unified,
    /// The memory controller of version 1.
    Memory,
}

/// The control group that limits memory, in a line of `/proc/self/cgroup`.
fn memory_group(line: &str) -> Option<(Hierarchy, &str)> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
    match controllers {
        "" => Some((Hierarchy::Unified, group)),
        controllers => controllers.split(',').any(|name| name == "memory").then_some((Hierarchy::Memory, group)),
    }
}

impl Hierarchy {
    /// What the limits of one group leave to memory that cannot be dropped: the limit on memory, and the swap that the group may
    /// use, less what it has written. Cached files do not count.
    fn limit(self, group: &Path, free_swap: u64) -> Option<u64> {
        let read = |name: &str| fs::read_to_string(group.join(name)).unwrap_or_default();
        let number = |name: &str| limit_of(&read(name));
        let (limit, kind) = match self {
            Self::Unified => {
                let swap = number("memory.swap.max").unwrap_or(free_swap).min(free_swap);
                (number("memory.max")?.checked_add(swap)?, "anon ")
            }
            Self::Memory => {
                let with_swap = number("memory.memsw.limit_in_bytes");
                let both = number("memory.limit_in_bytes")?.checked_add(free_swap)?;
                (with_swap.map_or(both, |limit| limit.min(both)), "total_rss ")
            }
        };
        let used = read("memory.stat").lines().find_map(|line| line.strip_prefix(kind)?.trim().parse::<u64>().ok());
        Some(limit.saturating_sub(used.unwrap_or(0)))
    }
}

/// A limit in a file of a control group; `None` if there is none, which version 1 writes as a number beyond all memory.
fn limit_of(text: &str) -> Option<u64> {
    const BEYOND: u64 = 1 << 60;
    text.trim().parse().ok().filter(|limit| *limit < BEYOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:        8000 kB\nMemFree:          100 kB\nMemAvailable:    5000 kB\nSwapTotal:  2000 kB\nSwapFree:         500 kB\n";

    /// A root folder with files.
    struct Root(std::path::PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("causerie-memory-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn left(&self) -> Option<u64> {
            control_group(&self.0).map(|limit| limit.n_left)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn free_memory_includes_swap() {
        assert_eq!(free_memory(MEMINFO, false), Some(5500 << 10));
        assert_eq!(free_memory(MEMINFO, true), Some(10_000 << 10));
        assert_eq!(free_memory("MemTotal: 8000 kB\n", false), None, "old systems do not report it");
        assert_eq!(free_memory("MemAvailable: many kB\n", false), None);
        assert_eq!(cached_by_zfs("13 1 0x01\nname type data\nsize                            4    4096\n"), 4096);
    }

    #[test]
    fn the_tightest_group_around_the_process_counts() {
        let root = Root::new(
            "v2",
            &[
                ("proc/meminfo", MEMINFO),
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                ("sys/fs/cgroup/a/memory.max", "9000000\n"),
                ("sys/fs/cgroup/a/memory.swap.max", "1000\n"),
                ("sys/fs/cgroup/a/memory.stat", "file 7000000\nanon 3000\n"),
            ],
        );
        assert_eq!(root.left(), Some(9_000_000 + 1000 - 3000));
    }

    #[test]
    fn a_group_may_use_the_free_swap_that_nobody_limits() {
        for (name, limit) in [("none", None), ("max", Some("max"))] {
            let mut files = vec![
                ("proc/meminfo", MEMINFO),
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/memory.max", "1000000"),
            ];
            files.extend(limit.map(|limit| ("sys/fs/cgroup/memory.swap.max", limit)));
            assert_eq!(Root::new(&format!("swap-{name}"), &files).left(), Some(1_000_000 + (500 << 10)), "{name}");
        }
    }

    #[test]
    fn the_older_version_limits_memory_with_swap() {
        let files = [
            ("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/0123\n0::/\n"),
            // Inside of a container: the path is that of the host.
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n"),
            ("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "2500000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "total_rss 1500\n"),
        ];
        assert_eq!(Root::new("v1", &files).left(), Some(2_000_000 - 1500), "the machine has no swap");
        let files = [files.as_slice(), &[("proc/meminfo", "SwapFree: 1000000 kB\n")]].concat();
        assert_eq!(Root::new("v1-swap", &files).left(), Some(2_500_000 - 1500));
    }

    #[test]
    fn no_limit_is_none() {
        for (name, group, file, limit) in [
            ("unlimited-2", "0::/a\n", "sys/fs/cgroup/a/memory.max", "max\n"),
            ("unlimited-1", "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("strange", "0::/a\n", "sys/fs/cgroup/a/memory.max", "-1"),
            ("no-group", "what?\n", "sys/fs/cgroup/a/memory.max", "1"),
        ] {
            assert_eq!(Root::new(name, &[("proc/self/cgroup", group), (file, limit)]).left(), None, "{name}");
        }
        assert_eq!(Root::new("nothing", &[]).left(), None);
    }

    #[test]
    fn a_need_that_no_system_meets_is_refused_with_both_sizes() {
        let need = MemoryNeed { written: 0, reserved: 1 << 62 };
        let err = need.check("the model").unwrap_err();
        let ErrorKind::OutOfMemory { needed, available } = err.kind() else { panic!("{err}") };
        assert!(needed == 1 << 62 && available < needed);
        assert!(err.to_string().starts_with("memory for the model must be at least 4611686018428 MB"), "{err}");
        assert!(MemoryNeed { written: 1 << 10, reserved: 1 << 20 }.check("the model").is_ok());
    }

    #[test]
    fn memory_that_no_machine_has_is_not_there_twice() {
        assert!(has_twice(0));
        // A system that does not report its memory has no limit.
        assert_eq!(has_twice(u64::MAX), machine(Path::new("/")).is_none());
    }

    #[test]
    fn the_largest_size_is_found_to_a_hundredth() {
        let found = largest(1_000_000, |n_bytes| n_bytes <= 300_000);
        assert!((290_000..=300_000).contains(&found), "{found}");
    }
}
