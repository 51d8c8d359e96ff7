import Foundation

/// The progress of ``ModelRunner/load(_:options:hub:progress:)``.
public struct ModelLoadProgress: Equatable, Hashable, Sendable {
    /// What is done: a model is downloaded, unless it is on the device, and then loaded.
    public enum Phase: Sendable {
        /// The model is downloaded.
        case downloading
        /// The model is loaded.
        case loading
    }

    /// What is done.
    public var phase: Phase
    /// The progress of the phase, from 0 to 1.
    public var fraction: Double
    /// The download with its bytes and speed; `nil` while the model is loaded.
    public var download: PullProgress?
}

extension ModelLoadProgress: CustomStringConvertible {
    /// The phase with its percentage: `downloading, 34 %`.
    public var description: String { "\(phase), \(Int(fraction * 100)) %" }
}

extension ModelRunner {
    /// Loads a model by its name. It is downloaded first, unless it is in the local cache.
    ///
    /// ```swift
    /// let runner = try await ModelRunner.load("LiquidAI/LFM2-350M-GGUF:Q4_K_M") { progress in
    ///     print(progress)  // downloading, 34 %
    /// }
    /// ```
    ///
    /// A model that is on the device is loaded without a request. Cancelling the task ends the download, of which the next one
    /// continues what has arrived, or loading.
    ///
    /// - Parameters:
    ///   - model: a name as for ``Hub/pull(_:)``, or the path of a file or folder that exists.
    ///   - options: the options for loading.
    ///   - hub: the hub with its cache; by default from the environment.
    ///   - progress: called on other threads with the progress, which begins at 0 in each phase.
    /// - Throws: ``SdkError``, or `CancellationError` when the task was cancelled.
    public static func load(
        _ model: String, options: LoadOptions = LoadOptions(), hub: Hub? = nil,
        progress: (@Sendable (ModelLoadProgress) -> Void)? = nil
    ) async throws -> ModelRunner {
        // Before a download of gigabytes.
        try options.check()
        let path =
            FileManager.default.fileExists(atPath: model) ? model : try await download(model, hub ?? Hub(), progress)
        return try await loadModel(path: path, options: options) { fraction in
            progress?(ModelLoadProgress(phase: .loading, fraction: Double(fraction)))
            return true
        }
    }

    /// Returns the file or folder of a model, which is downloaded if it is missing.
    private static func download(
        _ name: String, _ hub: Hub, _ progress: (@Sendable (ModelLoadProgress) -> Void)?
    ) async throws -> String {
        do {
            return try hub.find(name: name)
        } catch SdkError.modelNotFound {}
        for try await event in hub.pull(name) {
            switch event {
            case .progress(let download):
                let fraction = download.total == 0 ? 0 : Double(download.done) / Double(download.total)
                progress?(ModelLoadProgress(phase: .downloading, fraction: fraction, download: download))
            case .ready(let path): return path
            }
        }
        throw CancellationError()
    }
}
