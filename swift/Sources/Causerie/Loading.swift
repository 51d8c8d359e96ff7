import Foundation

/// Loads a model on a separate thread. Cancelling the task cancels loading.
///
/// ```swift
/// let runner = try await loadModel(path: "models/demo.gguf")
/// ```
///
/// - Parameters:
///   - path: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.
///   - options: the options for loading.
///   - progress: called on the loading thread with the progress from 0 to 1; returning `false` cancels loading. Its
///     errors are rethrown.
///   - onPhase: called on the loading thread when a phase of loading begins, and when the model is ready.
/// - Throws: ``SdkError``, or `CancellationError` when the task was cancelled.
public func loadModel(
    path: String,
    options: LoadOptions = LoadOptions(),
    progress: (@Sendable (_ fraction: Float) throws -> Bool)? = nil,
    onPhase: (@Sendable (_ phase: LoadPhase) -> Void)? = nil
) async throws -> ModelRunner {
    try options.check()
    try Task.checkCancellation()
    Log.start()
    let watch = LoadWatch(onPhase: onPhase, progress: progress)
    do {
        let runner = try await withTaskCancellationHandler {
            try await rawLoadModel(path: path, options: options, progress: watch)
        } onCancel: {
            watch.cancel()
        }
        try Task.checkCancellation()
        return ModelRunner(runner)
    } catch let error as SdkError {
        if let thrown = watch.thrown { throw thrown }
        if case .LoadCancelled = error { try Task.checkCancellation() }
        throw error
    }
}

/// Loads a model from a file or a folder on a separate thread. See ``loadModel(path:options:progress:onPhase:)``.
///
/// - Parameters:
///   - url: a file URL.
///   - options: the options for loading.
///   - progress: called with the progress; returning `false` cancels loading.
///   - onPhase: called when a phase of loading begins, and when the model is ready.
public func loadModel(
    url: URL,
    options: LoadOptions = LoadOptions(),
    progress: (@Sendable (_ fraction: Float) throws -> Bool)? = nil,
    onPhase: (@Sendable (_ phase: LoadPhase) -> Void)? = nil
) async throws -> ModelRunner {
    guard url.isFileURL || url.scheme == nil else {
        throw SdkError.ModelNotFound(reason: "url must be a file URL, found \(url.absoluteString)")
    }
    return try await loadModel(path: url.path, options: options, progress: progress, onPhase: onPhase)
}

/// Reads information about a model, with its memory estimate, from the headers of its files. Nothing is loaded.
///
/// - Parameters:
///   - path: as for ``loadModel(path:options:progress:onPhase:)``.
///   - contextSize: the context size in tokens for the memory estimate; the default of loading when `nil`.
public func readModelInfo(path: String, contextSize: Int? = nil) throws -> ModelInfo {
    try checkCount(contextSize, "contextSize", expected: "1 or more")
    return try rawReadModelInfo(path: path, contextSize: contextSize)
}

/// Forwards the progress of loading, until it is cancelled.
private final class LoadWatch: LoadProgress, @unchecked Sendable {
    private let onPhase: (@Sendable (LoadPhase) -> Void)?
    private let progress: (@Sendable (Float) throws -> Bool)?
    private let lock = NSLock()
    // These are guarded by the lock.
    private var isCancelled = false
    private var failure: (any Error)?
    private var phase: LoadPhase?

    init(onPhase: (@Sendable (LoadPhase) -> Void)?, progress: (@Sendable (Float) throws -> Bool)?) {
        self.onPhase = onPhase
        self.progress = progress
    }

    func cancel() {
        lock.withLock { isCancelled = true }
    }

    /// The error thrown by the app's closure.
    var thrown: (any Error)? {
        lock.withLock { failure }
    }

    func proceed(fraction: Float, phase: LoadPhase) throws -> Bool {
        let (isCancelled, isNew) = lock.withLock {
            defer { self.phase = phase }
            return (self.isCancelled, self.phase != phase)
        }
        if isCancelled { return false }
        if isNew { onPhase?(phase) }
        do {
            return try progress?(fraction) ?? true
        } catch {
            lock.withLock { failure = error }
            return false
        }
    }
}
