//! The engine's log records, passed on to the app's language.
//!
//! A thread of its own writes them: a sink that blocks, throws or calls the engine harms no reply, and the engine never
//! waits for it. Records beyond what may wait are dropped, and counted.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::Result;

/// Records that may wait for the sink.
const RECORDS_WAITING: usize = 1024;

/// How long a call waits for the sink. One that blocks for longer is left behind.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The name of the thread.
const WRITER: &str = "causerie-log";

/// The importance of a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is not as the app requested it.
    Warning,
    /// Something that a developer may want to know.
    Info,
    /// Details.
    Debug,
}

/// A message to developers. It has no text of conversations.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct LogRecord {
    /// Its importance.
    pub level: LogLevel,
    /// One line.
    pub message: String,
}

/// Takes the engine's log records, one after the other, on a thread that does nothing else.
#[uniffi::export(rust, foreign)]
pub trait LogSink: Send + Sync + fmt::Debug {
    /// Takes a record. An error is ignored.
    fn write(&self, record: LogRecord) -> Result<()>;
}

/// Sets what takes the engine's log records, instead of an earlier sink; nothing if absent. The earlier sink gets the records
/// before this call, as far as it takes them within two seconds, and none after it.
#[uniffi::export]
pub fn set_log_sink(sink: Option<Arc<dyn LogSink>>) {
    let level = if sink.is_some() { log::LevelFilter::Debug } else { log::LevelFilter::Off };
    let logger = LOGGER.get_or_init(Logger::default);
    logger.flush_queue();
    let writer = sink.map(|sink| Writer { sink, thread: None });
    let earlier = std::mem::replace(&mut *logger.writer.lock(), writer);
    if let Some(thread) = earlier.and_then(|writer| writer.thread) {
        thread.end();
    }
    // Fails if there is a logger, which is this one or that of a Rust program.
    let _ = log::set_logger(logger);
    log::set_max_level(level);
}

/// Waits until the sink has taken all records before this call, but no longer than two seconds.
#[uniffi::export]
pub fn flush_log() {
    if let Some(logger) = LOGGER.get() {
        logger.flush_queue();
    }
}

static LOGGER: OnceLock<Logger> = OnceLock::new();

/// The logger of the crate `log`.
#[derive(Default)]
struct Logger {
    /// None without a sink.
    writer: Mutex<Option<Writer>>,
    n_dropped: AtomicUsize,
}

/// A sink and the thread that calls it. The thread starts with the first record: a process that only imports the package
/// should have no threads of it.
struct Writer {
    sink: Arc<dyn LogSink>,
    thread: Option<WriterThread>,
}

struct WriterThread {
    queue: SyncSender<Entry>,
    is_open: Arc<AtomicBool>,
    /// Disconnected once the thread has released the sink.
    end: Receiver<()>,
}

enum Entry {
    Record(LogRecord),
    Flush(SyncSender<()>),
}

impl Logger {
    fn put(&self, record: LogRecord) {
        let Some(queue) = self.writer.lock().as_mut().and_then(Writer::queue) else { return };
        if let Err(TrySendError::Full(_)) = queue.try_send(Entry::Record(record)) {
            self.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush_queue(&self) {
        let queue = self.writer.lock().as_ref().and_then(|writer| Some(writer.thread.as_ref()?.queue.clone()));
        let (sender, flushed) = sync_channel(1);
        // A sink that flushes would wait for itself.
        if queue.is_some_and(|queue| !is_writer() && queue.try_send(Entry::Flush(sender)).is_ok()) {
            let _ = flushed.recv_timeout(MAX_WAIT); // fails if the sink takes too long
        }
    }
}

impl Writer {
    /// The queue of the thread; none if no thread can be started.
    fn queue(&mut self) -> Option<SyncSender<Entry>> {
        if self.thread.is_none() {
            self.thread = WriterThread::start(self.sink.clone());
        }
        self.thread.as_ref().map(|thread| thread.queue.clone())
    }
}

impl WriterThread {
    fn start(sink: Arc<dyn LogSink>) -> Option<Self> {
        let (queue, entries) = sync_channel(RECORDS_WAITING);
        let (has_ended, end) = sync_channel(0);
        let is_open = Arc::new(AtomicBool::new(true));
        let may_write = is_open.clone();
        let run = move || {
            write_all(&*sink, &entries, &may_write);
            drop(sink);
            drop(has_ended);
        };
        thread::Builder::new().name(WRITER.to_owned()).spawn(run).ok().map(|_| Self { queue, is_open, end })
    }

    /// Ends the thread, and waits for it.
    fn end(self) {
        self.is_open.store(false, Ordering::Relaxed);
        drop(self.queue);
        if !is_writer() {
            let _ = self.end.recv_timeout(MAX_WAIT); // an error in any case
        }
    }
}

fn is_writer() -> bool {
    thread::current().name() == Some(WRITER)
}

fn write_all(sink: &dyn LogSink, entries: &Receiver<Entry>, is_open: &AtomicBool) {
    for entry in entries {
        match entry {
            Entry::Record(record) if is_open.load(Ordering::Relaxed) => {
                let n_dropped = LOGGER.get().map_or(0, |logger| logger.n_dropped.swap(0, Ordering::Relaxed));
                if 0 < n_dropped {
                    let message = format!("{n_dropped} log records were dropped, because the log is slow");
                    let _ = sink.write(LogRecord { level: LogLevel::Warning, message });
                }
                let _ = sink.write(record); // an error of the app, for which there is no log
            }
            Entry::Record(_) => {}
            Entry::Flush(done) => drop(done.send(())),
        }
    }
}

impl log::Log for Logger {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        // Libraries below log as well, for their own developers.
        metadata.target().starts_with("causerie") && metadata.level() <= log::Level::Debug
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.put(LogRecord { level: record.level().into(), message: record.args().to_string() });
        }
    }

    fn flush(&self) {
        self.flush_queue();
    }
}

impl From<log::Level> for LogLevel {
    fn from(level: log::Level) -> Self {
        match level {
            log::Level::Error => Self::Error,
            log::Level::Warn => Self::Warning,
            log::Level::Info => Self::Info,
            _ => Self::Debug,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SdkError;

    /// Keeps the records, and fails after each.
    #[derive(Debug, Default)]
    struct Kept(Mutex<Vec<LogRecord>>);

    impl LogSink for Kept {
        fn write(&self, record: LogRecord) -> Result<()> {
            self.0.lock().push(record);
            Err(SdkError::Internal { reason: "the sink fails".to_owned() })
        }
    }

    /// The only test that sets the sink, which is one of the process.
    #[test]
    fn a_sink_takes_the_records_of_its_time_although_it_fails() {
        let sinks = [Arc::new(Kept::default()), Arc::new(Kept::default())];
        for (index, sink) in sinks.iter().enumerate() {
            set_log_sink(Some(sink.clone()));
            log::warn!(target: "causerie::engine", "record {index}");
            log::warn!(target: "tokenizers", "of another library");
            log::trace!(target: "causerie::engine", "too detailed");
        }
        set_log_sink(None);
        log::error!(target: "causerie", "after the end");
        flush_log();
        for (index, sink) in sinks.iter().enumerate() {
            let expect = LogRecord { level: LogLevel::Warning, message: format!("record {index}") };
            let records = sink.0.lock();
            // Other tests of the process may log at the same time.
            let own: Vec<_> = records.iter().filter(|record| record.level == LogLevel::Warning).collect();
            assert_eq!(own, [&expect]);
        }
    }

    #[test]
    fn a_full_queue_drops_records_and_counts_them() {
        let (queue, entries) = sync_channel(1);
        let (_, end) = sync_channel(0);
        let thread = Some(WriterThread { queue, is_open: Arc::default(), end });
        let writer = Writer { sink: Arc::new(Kept::default()), thread };
        let logger = Logger { writer: Mutex::new(Some(writer)), n_dropped: AtomicUsize::new(0) };
        for _ in 0..3 {
            logger.put(LogRecord { level: LogLevel::Info, message: String::new() });
        }
        assert_eq!(entries.try_iter().count(), 1);
        assert_eq!(logger.n_dropped.load(Ordering::Relaxed), 2);
    }
}
