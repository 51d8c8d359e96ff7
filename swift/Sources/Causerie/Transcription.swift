import Foundation

/// Loads a model of speech to text on a separate thread.
///
/// ```swift
/// let transcriber = try await loadTranscriber(path: "whisper-base")
/// let transcript = try await transcriber.transcribe(contentsOf: url)
/// for segment in transcript.segments { print(segment.start, segment.text) }
/// ```
///
/// - Parameters:
///   - path: a Hugging Face folder, or a file of ggml, which whisper.cpp reads.
///   - options: the options for loading.
/// - Throws: ``SdkError``.
public func loadTranscriber(
    path: String, options: TranscriberOptions = TranscriberOptions()
) async throws -> Transcriber {
    try checkCount(options.threads, "threads", expected: "between 1 and 1024")
    Log.start()
    return Transcriber(try await rawLoadTranscriber(path: path, options: options))
}

extension Transcriber {
    /// Transcribes a WAV, FLAC, MP3 or Ogg Opus file. See ``Transcription``.
    public func stream(file: Data, options: TranscribeOptions = TranscribeOptions()) -> Transcription {
        Transcription { self.raw.startTranscription(file: file, options: options) }
    }

    /// Transcribes samples of one channel, usually between -1 and 1. See ``Transcription``.
    ///
    /// - Parameters:
    ///   - samples: of one channel.
    ///   - sampleRate: their number per second.
    ///   - options: how they are transcribed.
    public func stream(
        samples: [Float], sampleRate: Int, options: TranscribeOptions = TranscribeOptions()
    ) -> Transcription {
        Transcription {
            self.raw.startTranscriptionOfSamples(
                samples: samples.littleEndian, sampleRate: Int64(sampleRate), options: options)
        }
    }

    /// Returns the transcript of a WAV, FLAC, MP3 or Ogg Opus file.
    public func transcribe(file: Data, options: TranscribeOptions = TranscribeOptions()) async throws -> Transcript {
        try await stream(file: file, options: options).transcript()
    }

    /// Returns the transcript of a file.
    ///
    /// - Parameters:
    ///   - url: a file URL.
    ///   - options: how it is transcribed.
    /// - Throws: an error of Foundation if the file cannot be read, ``SdkError``, or `CancellationError`.
    public func transcribe(
        contentsOf url: URL, options: TranscribeOptions = TranscribeOptions()
    ) async throws -> Transcript {
        try await transcribe(file: soundFile(at: url), options: options)
    }

    /// Returns the transcript of samples of one channel, usually between -1 and 1.
    ///
    /// - Parameters:
    ///   - samples: of one channel.
    ///   - sampleRate: their number per second.
    ///   - options: how they are transcribed.
    public func transcribe(
        samples: [Float], sampleRate: Int, options: TranscribeOptions = TranscribeOptions()
    ) async throws -> Transcript {
        try await stream(samples: samples, sampleRate: sampleRate, options: options).transcript()
    }

    /// Starts the transcription of samples that are pushed as they come. See ``LiveTranscription``.
    ///
    /// - Parameters:
    ///   - sampleRate: the number of samples per second.
    ///   - options: how they are transcribed.
    /// - Throws: ``SdkError/InvalidOption(reason:option:)``, or ``SdkError/UnsupportedContent(reason:)`` for a rate
    ///   that no sound has.
    public func live(sampleRate: Int, options: TranscribeOptions = TranscribeOptions()) throws -> LiveTranscription {
        LiveTranscription(try raw.startLiveTranscription(sampleRate: Int64(sampleRate), options: options))
    }
}

/// A transcription, read in a `for try await` loop. Each loop is a transcription of its own, computed while it is read.
///
/// The loop ends after ``TranscriptEvent/complete(transcript:)``, or throws one ``SdkError``. When its task is
/// cancelled, the computation stops and the loop throws `CancellationError`; when the loop is left, the computation
/// stops.
public struct Transcription: AsyncSequence, Sendable {
    /// The events of a transcription.
    public typealias Element = TranscriptEvent

    private let start: @Sendable () -> RawTranscriptStream

    init(_ start: @escaping @Sendable () -> RawTranscriptStream) {
        self.start = start
    }

    /// Reads a transcription in a loop.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private let stream: RawTranscriptStream

        fileprivate init(_ stream: RawTranscriptStream) {
            self.stream = stream
        }

        /// The next event; `nil` after the last one.
        public mutating func next() async throws -> TranscriptEvent? {
            let stream = stream
            return try await cancelled(stream.cancel) { try await stream.next() }
        }
    }

    /// Starts a transcription.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(start())
    }

    /// Reads the transcription, and returns its end.
    func transcript() async throws -> Transcript {
        for try await event in self {
            if case .complete(let transcript) = event { return transcript }
        }
        throw SdkError.Internal(reason: "the transcription has no end")
    }
}

/// The transcription of samples that are pushed as they come.
///
/// ```swift
/// let live = try transcriber.live(sampleRate: 48_000)
/// Task {
///     for try await event in live.events {
///         switch event {
///         case .segment(let segment): print(segment.text)
///         case .partial(let text): showGrey(text)
///         default: break
///         }
///     }
/// }
/// for await samples in microphone { try live.push(samples) }
/// live.end()
/// ```
public final class LiveTranscription: Sendable {
    private let stream: RawLiveTranscription

    init(_ stream: RawLiveTranscription) {
        self.stream = stream
    }

    /// Adds samples of one channel, and returns at once. After the end, they are ignored.
    ///
    /// - Throws: ``SdkError/UnsupportedContent(reason:)`` if a sample is NaN or infinite.
    public func push(_ samples: [Float]) throws {
        try stream.push(samples: samples.littleEndian)
    }

    /// Says that no more samples come.
    public func end() {
        stream.end()
    }

    /// Stops the transcription. Its events then end with a `complete` of the segments before.
    ///
    /// Calling it again, or after the end, does nothing.
    public func cancel() {
        stream.cancel()
    }

    /// Segments that do not change any more, and the text after them so far. Read them once.
    public var events: Events { Events(stream: stream) }

    /// The events of a ``LiveTranscription``, which wait for samples.
    ///
    /// The loop ends after ``TranscriptEvent/complete(transcript:)``, or throws one ``SdkError``. When its task is
    /// cancelled, the computation stops and the loop throws `CancellationError`.
    public struct Events: AsyncSequence, Sendable {
        /// The events of a transcription.
        public typealias Element = TranscriptEvent

        fileprivate let stream: RawLiveTranscription

        /// Reads the events in a loop.
        public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
            fileprivate let stream: RawLiveTranscription

            /// The next event; `nil` after the last one.
            public mutating func next() async throws -> TranscriptEvent? {
                let stream = stream
                return try await cancelled(stream.cancel) { try await stream.next() }
            }
        }

        /// Starts reading.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(stream: stream)
        }
    }

    deinit {
        // No more samples can come, and what was pushed is still read.
        stream.end()
    }
}

/// The next event of a computation, which is cancelled with its task.
private func cancelled<Event>(
    _ cancel: @escaping @Sendable () -> Void, _ next: () async throws -> Event
) async throws -> Event {
    let event = try await withTaskCancellationHandler {
        try await next()
    } onCancel: {
        cancel()
    }
    try Task.checkCancellation()
    return event
}
