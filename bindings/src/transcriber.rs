//! Speech to text: a model that is loaded, and the events of a transcription, computed while they are pulled.

use std::fmt;
use std::sync::{Arc, mpsc};

use causerie::transcribe as core;
use causerie::{CancelHandle, Sound};
use futures_channel::oneshot;
use parking_lot::{Condvar, Mutex};

use crate::error::{Result, SdkError};
use crate::sound::{checked_rate, floats, sound_of};
use crate::thread::{on_thread, spawn};
use crate::transcribe::{TranscribeOptions, TranscriberOptions, TranscriptEvent};

/// A Whisper model in memory, which writes what it hears.
#[derive(Debug, uniffi::Object)]
pub struct Transcriber {
    transcriber: core::Transcriber,
}

/// Loads a model of speech to text: a Hugging Face folder, or a file of ggml, which whisper.cpp reads. Loading runs on a thread of its
/// own.
#[uniffi::export]
pub async fn load_transcriber(path: String, options: TranscriberOptions) -> Result<Arc<Transcriber>> {
    let load = move || Ok(core::Transcriber::load_with(&path, options.into())?);
    Ok(Arc::new(Transcriber { transcriber: on_thread("causerie-load", load).await? }))
}

#[uniffi::export]
impl Transcriber {
    /// The codes of the languages that the model knows.
    pub fn languages(&self) -> Vec<String> {
        self.transcriber.languages().into_iter().map(str::to_owned).collect()
    }

    /// Starts the transcription of a WAV, FLAC, MP3 or Ogg Opus file. Each language wraps it in a stream of its own.
    pub fn start_transcription(&self, file: Vec<u8>, options: TranscribeOptions) -> Arc<TranscriptStream> {
        TranscriptStream::new(self.transcriber.clone(), options, move || Ok(Sound::read(&file)?))
    }

    /// Starts the transcription of samples of one channel: 32-bit floats in little-endian order.
    pub fn start_transcription_of_samples(
        &self,
        samples: Vec<u8>,
        sample_rate: i64,
        options: TranscribeOptions,
    ) -> Arc<TranscriptStream> {
        TranscriptStream::new(self.transcriber.clone(), options, move || sound_of(&samples, sample_rate))
    }

    /// Starts the transcription of samples that are pushed as they come.
    pub fn start_live_transcription(
        &self,
        sample_rate: i64,
        options: TranscribeOptions,
    ) -> Result<Arc<LiveTranscription>> {
        LiveTranscription::new(self.transcriber.live(checked_rate(sample_rate)?, options.into())?, sample_rate)
    }
}

/// The events of a transcription. Nothing is computed before the first pull, and nothing follows the last event or an error. Dropping
/// the stream stops the computation.
#[derive(Debug, uniffi::Object)]
pub struct TranscriptStream {
    events: EventThread,
    cancel: Arc<Mutex<StreamCancel>>,
}

/// A cancel, which may come before there is anything to cancel.
#[derive(Debug, Default)]
struct StreamCancel {
    is_cancelled: bool,
    handle: Option<CancelHandle>,
}

impl TranscriptStream {
    fn new(
        transcriber: core::Transcriber,
        options: TranscribeOptions,
        sound: impl FnOnce() -> Result<Sound> + Send + 'static,
    ) -> Arc<Self> {
        let cancel = Arc::new(Mutex::new(StreamCancel::default()));
        let shared = Arc::clone(&cancel);
        let begin = move || -> Result<core::TranscriptStream> {
            let stream = transcriber.stream(&sound()?, options.into())?;
            let mut cancel = shared.lock();
            if cancel.is_cancelled {
                stream.cancel_handle().cancel();
            }
            cancel.handle = Some(stream.cancel_handle());
            Ok(stream)
        };
        let (mut begin, mut stream) = (Some(begin), None);
        let next = move || {
            if let Some(begin) = begin.take() {
                stream = Some(begin()?);
            }
            Ok(stream.as_mut().and_then(Iterator::next).transpose()?)
        };
        Arc::new(Self { events: EventThread::new(next), cancel })
    }
}

#[uniffi::export]
impl TranscriptStream {
    /// The next event; none after the last one.
    pub async fn next(&self) -> Result<Option<TranscriptEvent>> {
        self.events.next(true).await
    }

    /// The next event, for callers that wait on a thread of their own.
    pub fn next_blocking(&self) -> Result<Option<TranscriptEvent>> {
        pollster::block_on(self.next())
    }

    /// Stops the transcription within a piece of the computation. It then ends with a `Complete` of the segments before. Calling it
    /// again, or after the end, does nothing.
    pub fn cancel(&self) {
        let mut cancel = self.cancel.lock();
        cancel.is_cancelled = true;
        if let Some(handle) = &cancel.handle {
            handle.cancel();
        }
    }
}

impl Drop for TranscriptStream {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// A transcription of samples that are pushed as they come. Pushing only keeps them. The events are computed while they are pulled:
/// segments that do not change any more, and the text after them so far. Dropping it stops the computation.
#[derive(Debug, uniffi::Object)]
pub struct LiveTranscription {
    events: EventThread,
    inbox: Arc<Inbox>,
    cancel: CancelHandle,
    sample_rate: i64,
}

/// Samples that the thread has not taken yet.
#[derive(Debug, Default)]
struct Inbox {
    content: Mutex<InboxContent>,
    is_filled: Condvar,
}

#[derive(Debug, Default)]
struct InboxContent {
    samples: Vec<f32>,
    is_ended: bool,
}

impl LiveTranscription {
    fn new(mut live: core::LiveTranscription, sample_rate: i64) -> Result<Arc<Self>> {
        let inbox = Arc::new(Inbox::default());
        let cancel = live.cancel_handle();
        let (shared, mut is_ended) = (Arc::clone(&inbox), false);
        let next = move |waits: bool| -> Result<Option<core::TranscriptEvent>> {
            loop {
                if let Some(event) = live.next_event()? {
                    return Ok(Some(event));
                }
                let mut content = shared.content.lock();
                if is_ended {
                    return Ok(None);
                }
                if waits {
                    shared
                        .is_filled
                        .wait_while(&mut content, |content| content.samples.is_empty() && !content.is_ended);
                } else if content.samples.is_empty() && !content.is_ended {
                    return Ok(None);
                }
                let samples = std::mem::take(&mut content.samples);
                is_ended = content.is_ended;
                drop(content);
                live.push(&samples)?;
                if is_ended {
                    live.end();
                }
            }
        };
        Ok(Arc::new(Self { events: EventThread::with_waiting(next), inbox, cancel, sample_rate }))
    }
}

#[uniffi::export]
impl LiveTranscription {
    /// Adds samples of one channel: 32-bit floats in little-endian order. After the end, they are ignored. It never waits.
    /// `UnsupportedContent` if a sample is NaN or infinite.
    pub fn push(&self, samples: Vec<u8>) -> Result<()> {
        let sound = Sound::from_samples(floats(&samples), checked_rate(self.sample_rate)?)?;
        let mut content = self.inbox.content.lock();
        if !content.is_ended {
            content.samples.extend_from_slice(sound.samples());
            self.inbox.is_filled.notify_one();
        }
        Ok(())
    }

    /// Says that no more samples come.
    pub fn end(&self) {
        self.inbox.content.lock().is_ended = true;
        self.inbox.is_filled.notify_one();
    }

    /// The next event, which waits for samples; none after the last one.
    pub async fn next(&self) -> Result<Option<TranscriptEvent>> {
        self.events.next(true).await
    }

    /// The next event, for callers that wait on a thread of their own.
    pub fn next_blocking(&self) -> Result<Option<TranscriptEvent>> {
        pollster::block_on(self.next())
    }

    /// The next event that the samples so far give; none if more are needed, and after the last event.
    pub async fn next_ready(&self) -> Result<Option<TranscriptEvent>> {
        self.events.next(false).await
    }

    /// The next event that the samples so far give, for callers that wait on a thread of their own.
    pub fn next_ready_blocking(&self) -> Result<Option<TranscriptEvent>> {
        pollster::block_on(self.next_ready())
    }

    /// Stops the transcription within a piece of the computation. It then ends with a `Complete` of the segments before. Calling it
    /// again, or after the end, does nothing.
    pub fn cancel(&self) {
        self.cancel.cancel();
        self.end();
    }
}

impl Drop for LiveTranscription {
    fn drop(&mut self) {
        self.cancel();
    }
}

type EventResult = Result<Option<TranscriptEvent>>;

/// A question for the next event: whether it may wait for samples, and where the answer goes.
struct EventRequest {
    waits: bool,
    answer: oneshot::Sender<EventResult>,
}

type NextEvent = Box<dyn FnMut(bool) -> Result<Option<core::TranscriptEvent>> + Send>;

/// A thread that computes events one by one, as they are requested. It begins with the first request, and ends with this object.
struct EventThread {
    state: Mutex<ThreadState>,
}

enum ThreadState {
    Idle(NextEvent),
    Running(mpsc::Sender<EventRequest>),
    Failed,
}

impl EventThread {
    fn new(mut next: impl FnMut() -> Result<Option<core::TranscriptEvent>> + Send + 'static) -> Self {
        Self::with_waiting(move |_| next())
    }

    fn with_waiting(next: impl FnMut(bool) -> Result<Option<core::TranscriptEvent>> + Send + 'static) -> Self {
        Self { state: Mutex::new(ThreadState::Idle(Box::new(next))) }
    }

    async fn next(&self, waits: bool) -> EventResult {
        let (answer, event) = oneshot::channel();
        self.request(EventRequest { waits, answer })?;
        event
            .await
            .map_err(|_| SdkError::Internal { reason: "the thread of a transcription ended early".to_owned() })?
    }

    fn request(&self, request: EventRequest) -> Result<()> {
        let mut state = self.state.lock();
        if let ThreadState::Idle(_) = &*state
            && let ThreadState::Idle(next) = std::mem::replace(&mut *state, ThreadState::Failed)
        {
            let (requests, taken) = mpsc::channel();
            spawn("causerie-transcribe", move || answer_all(taken, next))?;
            *state = ThreadState::Running(requests);
        }
        match &*state {
            // Fails if the thread has panicked. Then the answer is dropped, which its reader notices.
            ThreadState::Running(requests) => drop(requests.send(request)),
            ThreadState::Idle(_) | ThreadState::Failed => {}
        }
        Ok(())
    }
}

impl fmt::Debug for EventThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventThread").finish_non_exhaustive()
    }
}

/// Answers requests until there can be no more. The event of a caller that has stopped waiting is for the next one.
fn answer_all(requests: mpsc::Receiver<EventRequest>, mut next: NextEvent) {
    let (mut unsent, mut is_over): (Option<EventResult>, bool) = (None, false);
    for EventRequest { waits, answer } in requests {
        let event = unsent.take().unwrap_or_else(|| match is_over {
            true => Ok(None),
            false => next(waits).map(|event| event.map(Into::into)),
        });
        is_over |= matches!(event, Err(_) | Ok(Some(TranscriptEvent::Complete { .. })));
        unsent = answer.send(event).err().filter(|event| !matches!(event, Ok(None)));
    }
}
