import Foundation

/// A reply, read in a `for try await` loop, once: a second loop throws ``SdkError/StreamAlreadyConsumed(reason:)``.
///
/// The loop ends after ``MessageResponse/complete(_:)``, or throws one ``SdkError``. When its task is cancelled, the
/// engine stops and the loop throws `CancellationError`; when the loop is left, the engine stops. ``cancel()`` stops
/// the engine too, but lets the loop read the rest: it ends with a `complete` whose finish reason is `interrupted`.
/// Functions that run are cancelled with the reply.
///
/// A task that is cancelled in the body of its loop stops the engine when it asks for the next event. A message that is
/// sent before that needs the option `onBusy = .replace`, unless ``cancel()`` was called.
public final class ResponseStream: AsyncSequence, Sendable {
    /// The events of a reply.
    public typealias Element = MessageResponse

    /// The engine's stream, or the reason why it was refused before it began, which the reader gets.
    private let stream: Result<RawResponseStream, any Error>
    private let handlers: FunctionHandlers
    private let running = Running()

    init(handlers: FunctionHandlers = FunctionHandlers(), _ start: () throws -> RawResponseStream) {
        stream = Result { try start() }
        self.handlers = handlers
    }

    /// Reads a reply in a loop.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private let reading: Reading
        private var isOver = false

        fileprivate init(of stream: ResponseStream) {
            reading = Reading(of: stream)
        }

        /// The next event; `nil` after the last one.
        public mutating func next() async throws -> MessageResponse? {
            try await next(isolation: nil)
        }

        /// The next event; `nil` after the last one. A loop that runs on an actor begins to wait there, so that a message
        /// which the actor sends after a cancel finds the reply cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> MessageResponse? {
            if isOver { return nil }
            isOver = true  // until an event says otherwise
            guard let event = try await reading.next(isolation: actor) else { return nil }
            if case .complete = event { return event }
            isOver = false
            return event
        }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(of: self)
    }

    /// The next event, without a loop; `nil` after the last one.
    ///
    /// Cancelling the task does not end this call, and not calling it again does not stop the engine: ``cancel()``
    /// does.
    public func next() async throws -> MessageResponse? {
        let stream = try stream.get()
        while let event = try await stream.next() {
            guard case .runFunctions(let calls) = event else { return running.withError(MessageResponse(event)) }
            do {
                let ran = try await running.value(of: Task { try await handlers.run(calls) })
                running.keepErrors(of: ran, for: calls)
                stream.answer(outcomes: ran.map(\.outcome))
            } catch {
                // A cancelled stream returns its end at once while functions run.
                stream.cancel()
                while try await stream.next() != nil {}
                throw error
            }
        }
        return nil
    }

    /// The text of the reply, in pieces: `for try await text in conversation.generateResponse("Hello!").text`.
    public var text: AsyncCompactMapSequence<ResponseStream, String> {
        compactMap { event -> String? in
            guard case .chunk(let text) = event else { return nil }
            return text
        }
    }

    /// Reads the reply, and returns its end.
    func completion() async throws -> Completion {
        for try await event in self {
            if case .complete(let completion) = event { return completion }
        }
        throw SdkError.Internal(reason: "the reply has no end")
    }

    /// Stops the reply: within one token while the model generates, and at once while functions run, whose tasks are
    /// cancelled. The loop then ends with a `complete` whose finish reason is `interrupted`.
    ///
    /// Calling it again, or after the end, does nothing.
    public func cancel() {
        try? stream.get().cancel()
        running.cancel()
    }

    fileprivate func claim() throws {
        try stream.get().claim()
    }
}

extension GenerationOptions {
    /// Starts a reply with these options, after checking them.
    func reply(_ start: (GenerationOptions) throws -> RawResponseStream) -> ResponseStream {
        ResponseStream {
            try check()
            return try start(self)
        }
    }
}

/// The task of the functions that are running, if any, and the errors of functions whose results have not arrived.
private final class Running: @unchecked Sendable {
    private let lock = NSLock()
    // The lock protects all of them.
    private var task: Task<[RanFunction], any Error>?
    private var isCancelled = false
    private var errors: [String: any Error] = [:]

    func cancel() {
        lock.withLock {
            isCancelled = true
            task?.cancel()
        }
    }

    /// The value of a task, which `cancel` cancels.
    func value(of task: Task<[RanFunction], any Error>) async throws -> [RanFunction] {
        lock.withLock {
            self.task = task
            if isCancelled { task.cancel() }
        }
        return try await task.value
    }

    func keepErrors(of ran: [RanFunction], for calls: [SdkFunctionCall]) {
        lock.withLock {
            for (call, function) in zip(calls, ran) { errors[call.callId] = function.error }
        }
    }

    /// The event, with the error of the function if it is the result of one that failed.
    func withError(_ event: MessageResponse?) -> MessageResponse? {
        guard case .functionResult(var result)? = event, let callId = result.callId else { return event }
        result.error = lock.withLock { errors.removeValue(forKey: callId) }
        return .functionResult(result)
    }
}

/// A loop's reference to its stream. It is released when the loop is left, which stops the engine even if the app keeps
/// the stream.
private final class Reading: Sendable {
    private let stream: Result<ResponseStream, any Error>

    init(of stream: ResponseStream) {
        self.stream = Result {
            try stream.claim()
            return stream
        }
    }

    func next(isolation actor: isolated (any Actor)?) async throws -> MessageResponse? {
        let stream = try stream.get()
        // The engine answers a cancel at once, so this call ends soon.
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
