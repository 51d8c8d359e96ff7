//! Faults of the disk, and several downloads at the same time.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use causerie::{DownloadFault, ErrorKind};
use causerie_hub::{Hub, HubOptions};

use super::{Setting, check_cache, content, pull};
use crate::fake::Act;

/// The variable that makes this program one that downloads: endpoint and cache, separated by a space.
const CHILD: &str = "CAUSERIE_TEST_DOWNLOAD";

/// Not a test, unless another test runs this program to have a process that it can kill.
#[test]
fn process_that_downloads() {
    let Ok(line) = std::env::var(CHILD) else { return };
    let (endpoint, cache) = line.split_once(' ').unwrap();
    let mut options = HubOptions::new(cache);
    endpoint.clone_into(&mut options.endpoint);
    pull(&Hub::new(options), "ns/demo").unwrap();
}

fn child(setting: &Setting) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "disk::process_that_downloads", "--nocapture"]);
    command.env(CHILD, format!("{} {}", setting.fake.url(), setting.cache().display()));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_process_that_is_killed_leaves_a_part_or_the_whole_file() {
    let setting = Setting::demo();
    let mut random = fastrand::Rng::with_seed(7);
    let mut n_parts = 0;
    for round in 0..200 {
        if round % 20 == 0 {
            let _ = fs::remove_dir_all(setting.cache());
        }
        // The store sends a part and then nothing, so that most processes are killed in the middle.
        setting.fake.heal();
        setting.fake.journal();
        setting.fake.fault("store GET", 1000, Act::Stall(random.usize(..40_000)));
        let mut process = child(&setting).spawn().unwrap();
        // Most are killed some time after the store was asked, a few before.
        let mut polls = random.usize(..20);
        let waits = round % 8 != 0;
        while 0 < polls && process.try_wait().unwrap().is_none() {
            thread::park_timeout(Duration::from_millis(1));
            let is_asked = setting.fake.seen().iter().any(|request| !request.is_hub);
            polls -= usize::from(is_asked || !waits);
        }
        process.kill().unwrap();
        process.wait().unwrap();
        check_cache(&setting.cache());
        n_parts += setting.hub().parts().len();
    }
    assert!(0 < n_parts, "some were killed in the middle");
    setting.check_recovers("ns/demo", &[&content(8, 300_000), &content(9, 200_000)]);
}

#[test]
fn two_processes_and_many_threads_do_the_work_once() {
    let setting = Setting::demo();
    setting.fake.fault("store GET", 1, Act::Cut(5000));
    let mut processes: Vec<_> = (0..2).map(|_| child(&setting).spawn().unwrap()).collect();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(fs::read(setting.pull("ns/demo").unwrap()).unwrap(), content(8, 300_000)));
        }
    });
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    let stored = setting.fake.journal().iter().filter(|request| !request.is_hub).count();
    assert_eq!(stored, 3, "two files, one of which was cut");
    check_cache(&setting.cache());
}

#[test]
fn a_lock_of_another_process_is_waited_for_and_can_be_cancelled() {
    let setting = Setting::demo();
    setting.pull("ns/demo:Q4_0").unwrap();
    let locks = setting.cache().join(".locks/models--ns--demo");
    let lock = fs::read_dir(&locks).unwrap().next().unwrap().unwrap().path();
    setting.hub().remove("ns/demo").unwrap();
    let held = File::open(&lock).unwrap();
    held.lock().unwrap();
    let cancelled = setting.hub().pull("ns/demo:Q4_0", |progress| match progress.state {
        causerie_hub::PullState::Waiting => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Download(DownloadFault::Cancelled));
    drop(held); // as the system does when its holder dies
    setting.pull("ns/demo:Q4_0").unwrap();
    assert!(lock.exists(), "the file of a lock stays");
}

#[test]
fn old_parts_are_swept_unless_somebody_downloads_them() {
    let setting = Setting::demo();
    setting.fake.fault("store GET", 1, Act::Cut(100));
    setting.fake.fault("store GET", 1000, Act::Cut(0));
    let hub = setting.hub();
    assert!(setting.pull("ns/demo:Q4_0").is_err());
    let week = Duration::from_secs(7 * 24 * 3600);
    assert!(hub.sweep(week).unwrap().is_empty(), "it is young");
    let part = &hub.parts()[0];
    let old = fs::FileTimes::new().set_modified(std::time::SystemTime::now() - 2 * week);
    File::options().write(true).open(&part.path).unwrap().set_times(old).unwrap();
    let digest = part.path.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
    let lock = File::open(setting.cache().join(format!(".locks/models--ns--demo/{digest}.lock"))).unwrap();
    lock.lock().unwrap();
    assert!(hub.sweep(week).unwrap().is_empty(), "it is being downloaded");
    lock.unlock().unwrap();
    assert_eq!(hub.sweep(week).unwrap().len(), 1);
    assert!(hub.parts().is_empty());
}

#[test]
fn a_file_in_the_place_of_a_folder_is_an_error_of_storage() {
    for blocked in [
        "",
        "models--ns--demo",
        "models--ns--demo/blobs",
        "models--ns--demo/snapshots",
        "models--ns--demo/refs",
        ".locks",
    ] {
        let setting = Setting::demo();
        let path = if blocked.is_empty() { setting.cache() } else { setting.cache().join(blocked) };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "in the way").unwrap();
        let err = setting.pull("ns/demo:Q4_0").unwrap_err();
        assert_eq!(err.kind(), ErrorKind::Download(DownloadFault::Storage), "{blocked}: {err}");
        assert_eq!(fs::read_to_string(path).unwrap(), "in the way");
    }
}

#[test]
fn a_disk_with_too_little_space_is_refused_before_the_first_byte() {
    let setting = Setting::demo();
    setting.fake.change("ns/demo", |repository| {
        let lfs = serde_json::json!({"oid": "a".repeat(64), "size": 1_u64 << 60});
        let entry = serde_json::json!({"type": "file", "path": "huge-Q6_K.gguf", "size": 135, "oid": "", "lfs": lfs});
        repository.listed.push(entry);
    });
    let err = setting.pull("ns/demo:Q6_K").unwrap_err();
    assert!(
        matches!(err.kind(), ErrorKind::Download(DownloadFault::NoSpace { needed, free }) if free < needed),
        "{err}"
    );
    assert!(setting.fake.journal().iter().all(|request| request.is_hub && request.target.starts_with("/api/")));
    assert!(!setting.cache().exists());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_in_the_place_of_files_are_not_written_through() {
        let setting = Setting::demo();
        let plan = setting.hub().plan("ns/demo:Q4_0").unwrap();
        let victim = setting.folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let repository = setting.repository();
        let snapshot = repository.join("snapshots").join(&plan.commit);
        for folder in [&snapshot, &repository.join("blobs"), &repository.join("refs"), &repository.join(".causerie")] {
            fs::create_dir_all(folder).unwrap();
        }
        let digest = plan.files[0].digest.to_string();
        symlink(&victim, repository.join(format!("blobs/{digest}.causerie.incomplete"))).unwrap();
        symlink(&victim, repository.join("blobs").join(&digest)).unwrap();
        symlink(&victim, snapshot.join("demo-Q4_0.gguf")).unwrap();
        symlink(&victim, repository.join("refs/main")).unwrap();
        symlink(&victim, repository.join(format!(".causerie/{}.json", plan.commit))).unwrap();
        assert_eq!(fs::read(setting.pull("ns/demo:Q4_0").unwrap()).unwrap(), content(4, 150_000));
        assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
        check_cache(&setting.cache());
    }

    #[test]
    fn a_file_on_another_disk_or_behind_a_link_is_copied() {
        let setting = Setting::demo();
        let hub = setting.hub();
        let plan = hub.plan("ns/demo").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| elsewhere.path().join(name));
        fs::write(&first, content(8, 300_000)).unwrap();
        fs::write(&second, content(9, 200_000)).unwrap();
        let link = setting.folder.path().join("link");
        symlink(&second, &link).unwrap();
        let victim = setting.folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let part = format!("blobs/{}.causerie.incomplete", plan.files[1].digest);
        fs::create_dir_all(setting.repository().join("blobs")).unwrap();
        symlink(&victim, setting.repository().join(part)).unwrap();
        for file in [&first, &link] {
            hub.install(&plan, file).unwrap();
            assert!(fs::symlink_metadata(file).is_err(), "it was moved");
        }
        assert!(second.exists(), "what a link leads to stays");
        assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
        hub.finish(&plan).unwrap();
        check_cache(&setting.cache());
        assert!(
            !fs::symlink_metadata(setting.repository().join(format!("blobs/{}", plan.files[1].digest)))
                .unwrap()
                .is_symlink()
        );
    }

    #[test]
    fn a_complete_cache_may_be_read_only() {
        let setting = Setting::demo();
        let path = setting.pull("ns/demo:Q4_0").unwrap();
        let before = newest_change(&setting.cache());
        assert_eq!(setting.pull("ns/demo:Q4_0").unwrap(), path);
        assert_eq!(newest_change(&setting.cache()), before, "nothing was written");
    }

    /// The time of the last change of a folder below this one: of an entry that was made, renamed or removed.
    fn newest_change(folder: &Path) -> std::time::SystemTime {
        let below = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir() && !path.is_symlink());
        let own = fs::metadata(folder).unwrap().modified().unwrap();
        below.map(|folder| newest_change(&folder)).max().map_or(own, |newest| newest.max(own))
    }

    #[test]
    fn modes_are_those_of_the_umask() {
        let setting = Setting::demo();
        let path = setting.pull("ns/demo:Q4_0").unwrap();
        let plain = setting.folder.path().join("plain");
        fs::write(&plain, "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }

    /// The variable that makes this program one that downloads to a small disk: its folder.
    const SMALL_DISK: &str = "CAUSERIE_TEST_SMALL_DISK";

    fn big() -> Setting {
        Setting::new([("ns/demo", crate::fake::Repository::new(&[("big-Q8_0.gguf", content(1, 3_000_000))]))])
    }

    /// A command that runs another one with a disk of 4 MB at a folder, private to it: as root, or as a user who may
    /// have a namespace. `None` if this user may do neither.
    fn with_small_disk(folder: &Path) -> Option<Command> {
        let command = |flags: &[&str]| {
            let mut command = Command::new("unshare");
            command.args(flags).args(["sh", "-c", "mount -t tmpfs -o size=4m tmpfs \"$0\" && exec \"$@\""]).arg(folder);
            command
        };
        let mut kinds = [&["--mount"][..], &["--user", "--map-root-user", "--mount"]].into_iter();
        let works = |flags: &&[&str]| {
            let tried = command(flags).arg("true").stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        };
        kinds.find(works).map(command)
    }

    #[test]
    fn a_full_disk_keeps_the_part() {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut command) = with_small_disk(folder.path()) else {
            return check_limited(); // the nearest that every user may have
        };
        command.arg(std::env::current_exe().unwrap()).args(["--exact", "disk::unix::process_with_a_small_disk"]);
        let output = command.env(SMALL_DISK, folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    /// Not a test, unless another test runs this program on a small disk.
    #[test]
    fn process_with_a_small_disk() {
        let Some(disk) = std::env::var_os(SMALL_DISK).map(std::path::PathBuf::from) else { return };
        let setting = big();
        let mut options = setting.options();
        options.cache = disk.join("hub");
        let is_full =
            |err: &causerie::SdkError| matches!(err.kind(), ErrorKind::Download(DownloadFault::NoSpace { .. }));
        let err = pull(&Hub::new(options.clone()), "ns/demo").unwrap_err();
        assert!(is_full(&err), "4 MB are less than what stays free: {err}");
        options.checks_space = false;
        let filler = disk.join("filler");
        fs::write(&filler, vec![0; 2_000_000]).unwrap();
        let hub = Hub::new(options);
        // The second download goes on from the part of the first one, on a disk that is full from the beginning.
        for _ in 0..2 {
            let err = pull(&hub, "ns/demo").unwrap_err();
            assert!(is_full(&err), "{err}");
            assert!(1_000_000 < hub.parts()[0].size, "what was received is kept");
        }
        fs::remove_file(filler).unwrap();
        check_resumes(&setting, &hub);
    }

    fn check_resumes(setting: &Setting, hub: &Hub) {
        setting.fake.journal();
        assert_eq!(fs::read(pull(hub, "ns/demo").unwrap()).unwrap(), content(1, 3_000_000));
        let asked = setting.fake.journal();
        assert!(asked.iter().any(|request| request.header("range").is_some()), "it went on from there");
    }

    #[test]
    fn a_limit_on_the_size_of_files_keeps_the_part() {
        check_limited();
    }

    fn check_limited() {
        let setting = big();
        let limited = |n_blocks: usize| {
            let child = child(&setting);
            let mut command = Command::new("sh");
            // Without the signal, a write beyond the limit is an error.
            command.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {n_blocks}; exec \"$@\"")).arg("sh");
            command.arg(child.get_program()).args(child.get_args());
            command.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let output = command.output().unwrap();
            assert!(!output.status.success());
            let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(printed.contains("Download(Storage)"), "{printed}");
            setting.hub().parts()[0].size
        };
        // Blocks have 512 or 1024 bytes.
        let (first, second) = (limited(1000), limited(2000));
        assert!(300_000 < first && first < second, "what was received is kept: {first}, {second}");
        check_cache(&setting.cache());
        check_resumes(&setting, &setting.hub());
    }
}
