/// A reply is read in a `for try await` loop, once: a second loop throws ``SdkError/StreamAlreadyConsumed(reason:)``.
///
/// The loop ends after ``MessageResponse/complete(_:)``, or throws one ``SdkError``. When its task is cancelled, the engine
/// stops and the loop throws `CancellationError`; when the loop is left, the engine stops. ``cancel()`` stops the engine
/// too, but leaves the loop to read the rest: it ends with a `complete` whose finish reason is `interrupted`.
extension ResponseStream: AsyncSequence {
    /// The events of a reply.
    public typealias Element = MessageResponse

    /// Reads a reply in a loop.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private let reading: Reading
        private var isOver = false

        fileprivate init(of stream: ResponseStream) {
            reading = Reading(of: stream)
        }

        /// The next event; `nil` after the last one.
        public mutating func next() async throws -> MessageResponse? {
            if isOver { return nil }
            isOver = true  // until an event says otherwise
            guard let event = try await reading.next() else { return nil }
            if case .complete = event { return event }
            isOver = false
            return event
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(of: self)
    }

    /// The next event, without a loop; `nil` after the last one.
    ///
    /// Cancelling the task does not end this call, and not calling it again does not stop the engine: ``cancel()`` does.
    public func next() async throws -> MessageResponse? {
        try await nextRaw().map(MessageResponse.init)
    }
}

/// A reply that is refused before it begins, which is told to who reads it.
private final class RefusedResponse: ResponseStream, @unchecked Sendable {
    private let refusal: any Error

    init(_ refusal: any Error) {
        self.refusal = refusal
        super.init(noHandle: NoHandle())
    }

    @available(*, unavailable)
    required init(unsafeFromHandle handle: UInt64) { fatalError("it has none") }

    override func claim() throws { throw refusal }
    override func nextRaw() async throws -> RawMessageResponse? { throw refusal }
    override func nextRawBlocking() throws -> RawMessageResponse? { throw refusal }
    override func cancel() {}
}

extension GenerationOptions {
    /// The reply that is started with them, once they were checked.
    func reply(_ start: (GenerationOptions) -> ResponseStream) -> ResponseStream {
        do {
            try check()
            return start(self)
        } catch {
            return RefusedResponse(error)
        }
    }
}

/// The hold of a loop on its stream. It is let go when the loop is left, which stops the engine even where the app keeps
/// the stream.
private final class Reading: Sendable {
    private let stream: Result<ResponseStream, any Error>

    init(of stream: ResponseStream) {
        self.stream = Result {
            try stream.claim()
            return stream
        }
    }

    func next() async throws -> MessageResponse? {
        let stream = try stream.get()
        // The engine answers a cancel at once, so there is no need to leave the call before it does.
        let event = try await withTaskCancellationHandler {
            try await stream.next()
        } onCancel: {
            stream.cancel()
        }
        if Task.isCancelled {
            stream.cancel()
            throw CancellationError()
        }
        return event
    }

    deinit {
        if case .success(let stream) = stream { stream.cancel() }
    }
}
