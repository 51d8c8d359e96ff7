//! Lines for whoever runs a server, on its standard error. A log that nobody reads any more, or not fast enough, must not
//! change what clients get: a write that fails is passed over, and a thread of its own waits for writes that take long.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Lines that may wait for a slow reader. Further ones are dropped.
const MAX_WAITING: usize = 256;

/// Writes a line, with the name of the program before it. Never fails and never waits.
///
/// ```
/// causerie_server::log::line("the keys read before stay in force");
/// ```
pub fn line(text: impl Display) {
    static WRITER: OnceLock<Option<SyncSender<String>>> = OnceLock::new();
    if let Some(writer) = WRITER.get_or_init(|| start(io::stderr())) {
        let _ = writer.try_send(format!("causerie: {text}\n"));
    }
}

/// Starts the thread that writes; `None` if the system has no thread left.
fn start(mut log: impl Write + Send + 'static) -> Option<SyncSender<String>> {
    let (sender, lines) = sync_channel::<String>(MAX_WAITING);
    let write = move || lines.iter().for_each(|line| drop(log.write_all(line.as_bytes())));
    thread::Builder::new().name("causerie-log".to_owned()).spawn(write).ok()?;
    Some(sender)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A log that reports what it is given, and then fails.
    struct BrokenLog(Sender<Vec<u8>>);

    impl Write for BrokenLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(bytes.to_vec());
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_log_that_fails_is_written_to_again() {
        let (sender, written) = channel();
        let log = start(BrokenLog(sender)).unwrap();
        for line in ["one\n", "two\n"] {
            log.send(line.to_owned()).unwrap();
            assert_eq!(written.recv().unwrap(), line.as_bytes());
        }
    }

    /// A log whose reader has stopped reading.
    struct StuckLog(Receiver<()>);

    impl Write for StuckLog {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            let _ = self.0.recv();
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_a_reader_does_not_take_are_dropped() {
        let (open, closed) = channel();
        let log = start(StuckLog(closed)).unwrap();
        let sent = (0..10 * MAX_WAITING).filter(|_| log.try_send("line\n".to_owned()).is_ok()).count();
        assert!((MAX_WAITING..=MAX_WAITING + 1).contains(&sent), "{sent}");
        drop(open);
    }
}
