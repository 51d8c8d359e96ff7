import Foundation

/// Loads a model, on a thread of its own. Cancelling the task ends it.
///
/// ```swift
/// let runner = try await loadModel(path: "models/demo.gguf")
/// ```
///
/// - Parameters:
///   - path: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.
///   - options: how it is loaded.
///   - progress: told how far loading is, from 0 to 1, on the thread that loads; `false` cancels it. What it throws, this
///     function throws.
/// - Throws: ``SdkError``, or `CancellationError` when the task was cancelled.
public func loadModel(
    path: String,
    options: LoadOptions = LoadOptions(),
    progress: (@Sendable (_ fraction: Float) throws -> Bool)? = nil
) async throws -> ModelRunner {
    try options.check()
    try Task.checkCancellation()
    let watch = LoadWatch(progress: progress)
    do {
        let runner = try await withTaskCancellationHandler {
            try await loadModelWatched(path: path, options: options, progress: watch)
        } onCancel: {
            watch.cancel()
        }
        try Task.checkCancellation()
        return runner
    } catch let error as SdkError {
        if let thrown = watch.thrown { throw thrown }
        if case .LoadCancelled = error { try Task.checkCancellation() }
        throw error
    }
}

/// Loads a model from a file or a folder, on a thread of its own. See ``loadModel(path:options:progress:)``.
///
/// - Parameters:
///   - url: a file URL.
///   - options: how it is loaded.
///   - progress: told how far loading is; `false` cancels it.
public func loadModel(
    url: URL,
    options: LoadOptions = LoadOptions(),
    progress: (@Sendable (_ fraction: Float) throws -> Bool)? = nil
) async throws -> ModelRunner {
    guard url.isFileURL || url.scheme == nil else {
        throw SdkError.ModelNotFound(reason: "\(url.absoluteString) is no file URL")
    }
    return try await loadModel(path: url.path, options: options, progress: progress)
}

/// What a model is, and what it would take, from the headers of its files. Nothing is loaded.
///
/// - Parameters:
///   - path: as for ``loadModel(path:options:progress:)``.
///   - contextSize: the tokens of the context whose memory counts, at most; as loading has it when `nil`.
public func readModelInfo(path: String, contextSize: Int? = nil) throws -> ModelInfo {
    try checkCount(contextSize, "context_size", expected: "1 or more")
    return try readModelInfoRaw(path: path, contextSize: contextSize)
}

/// Passes on how far loading is, until it is cancelled.
private final class LoadWatch: LoadProgress, @unchecked Sendable {
    private let progress: (@Sendable (Float) throws -> Bool)?
    private let lock = NSLock()
    // Both behind the lock.
    private var isCancelled = false
    private var failure: (any Error)?

    init(progress: (@Sendable (Float) throws -> Bool)?) {
        self.progress = progress
    }

    func cancel() {
        lock.withLock { isCancelled = true }
    }

    /// What the app's closure threw.
    var thrown: (any Error)? {
        lock.withLock { failure }
    }

    func proceed(fraction: Float) throws -> Bool {
        if lock.withLock({ isCancelled }) { return false }
        do {
            return try progress?(fraction) ?? true
        } catch {
            lock.withLock { failure = error }
            return false
        }
    }
}
