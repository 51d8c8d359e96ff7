//! Packed weights in a folder that several processes use, which end early or find no space.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{causerie, fixture, text};

struct PackedFolder(PathBuf);

impl PackedFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("causerie-command-packed-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
    }
}

impl Drop for PackedFolder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

const WORDS: [&str; 9] =
    ["generate", "--prompt", "Once upon a time", "--raw", "--temperature", "0", "--max-tokens", "8", "--model"];

fn generate(folder: Option<&Path>) -> Command {
    let mut command = causerie("packed");
    command.args(WORDS).arg(fixture("models/lfm2-q4_0.gguf"));
    if let Some(folder) = folder {
        command.arg("--packed-folder").arg(folder).args(["--weight-memory", "mapped"]);
    }
    command
}

#[track_caller]
fn printed(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn processes_that_pack_at_once_print_the_same() {
    let (folder, plain) = (PackedFolder::new("at-once"), printed(generate(None)));
    let start = |_| generate(Some(&folder.0)).stdout(Stdio::piped()).spawn().unwrap();
    let processes: Vec<_> = (0..4).map(start).collect();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success() && text(&output.stdout) == plain);
    }
    assert_eq!((folder.files("packed").len(), folder.files("partial").len()), (1, 0));
    assert_eq!(printed(generate(Some(&folder.0))), plain);
}

#[test]
fn a_process_that_is_killed_while_it_packs_leaves_nothing_wrong() {
    let plain = printed(generate(None));
    for n_polls in 0..8 {
        let folder = PackedFolder::new("killed");
        let mut process = generate(Some(&folder.0)).stdout(Stdio::null()).spawn().unwrap();
        while process.try_wait().unwrap().is_none() && folder.files("lock").is_empty() {
            std::thread::yield_now();
        }
        (0..1 << n_polls).for_each(|_| std::thread::yield_now());
        let _ = process.kill(); // it may have ended
        process.wait().unwrap();
        assert_eq!(printed(generate(Some(&folder.0))), plain);
        assert_eq!((folder.files("packed").len(), folder.files("partial").len()), (1, 0));
    }
}

#[cfg(unix)]
#[test]
fn a_model_is_loaded_where_there_is_no_space_for_packed_weights() {
    let (folder, plain) = (PackedFolder::new("full"), printed(generate(None)));
    let mut command = Command::new("sh");
    // Writing more than this into a file is an error, instead of the signal that it is by default.
    let limited = r#"trap '' XFSZ; ulimit -f 32 && exec "$0" "$@""#;
    command.args(["-c", limited, env!("CARGO_BIN_EXE_causerie")]).args(WORDS).arg(fixture("models/lfm2-q4_0.gguf"));
    command.arg("--packed-folder").arg(&folder.0);
    assert_eq!(printed(command), plain);
    assert_eq!((folder.files("packed").len(), folder.files("partial").len()), (0, 0));
}
