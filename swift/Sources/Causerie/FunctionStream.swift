import Foundation

/// A reply whose calls are run along the way. It is read in a `for try await` loop, once, as a ``ResponseStream`` is.
///
/// Leaving the loop stops the model, and so does cancelling its task, which cancels functions that run as well.
public final class FunctionStream: AsyncSequence, Sendable {
    /// The events of a reply.
    public typealias Element = MessageResponse

    private let rounds: Result<FunctionRounds, any Error>
    private let handlers: FunctionHandlers
    private let running = Running()

    init(rounds: Result<FunctionRounds, any Error>, handlers: FunctionHandlers) {
        self.rounds = rounds
        self.handlers = handlers
    }

    /// Reads a reply in a loop.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private let reading: Reading
        private var isOver = false

        fileprivate init(of stream: FunctionStream) {
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

    /// Stops the reply: within one token where the model writes, and at once where functions run, whose tasks are
    /// cancelled. The loop then ends with a `complete` whose finish reason is `interrupted`.
    public func cancel() {
        try? rounds.get().cancel()
        running.cancel()
    }

    fileprivate func claim() throws {
        try rounds.get().claim()
    }

    fileprivate func next() async throws -> MessageResponse? {
        let rounds = try rounds.get()
        var outcomes: [FunctionOutcome] = []
        while let event = try await rounds.next(outcomes: outcomes) {
            switch event {
            case .response(let response): return MessageResponse(response)
            case .run(let calls): outcomes = await running.value(of: Task { await handlers.run(calls) })
            }
        }
        return nil
    }
}

/// The functions that run, if any do.
private final class Running: @unchecked Sendable {
    private let lock = NSLock()
    // Both behind the lock.
    private var task: Task<[FunctionOutcome], Never>?
    private var isCancelled = false

    func cancel() {
        lock.withLock {
            isCancelled = true
            task?.cancel()
        }
    }

    /// What comes of a task, which a cancel ends.
    func value(of task: Task<[FunctionOutcome], Never>) async -> [FunctionOutcome] {
        lock.withLock {
            self.task = task
            if isCancelled { task.cancel() }
        }
        return await task.value
    }
}

/// The hold of a loop on its stream; letting it go stops the reply.
private final class Reading: Sendable {
    private let stream: Result<FunctionStream, any Error>

    init(of stream: FunctionStream) {
        self.stream = Result {
            try stream.claim()
            return stream
        }
    }

    func next() async throws -> MessageResponse? {
        let stream = try stream.get()
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
