import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Hub {
    /// Creates a hub that is reached by a `URLSession`.
    ///
    /// ```swift
    /// let hub = try Hub()
    /// for try await event in hub.pull("LiquidAI/LFM2-350M-GGUF:Q4_K_M") {
    ///     switch event {
    ///     case .progress(let progress): print("\(progress.done) of \(progress.total) bytes")
    ///     case .ready(let path): runner = try await loadModel(path: path)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - options: folder, address and token; by default from the environment.
    ///   - configuration: of the session, for example to wait for a network that costs nothing. See
    ///     ``UrlSessionTransport``.
    /// - Throws: ``SdkError``, if an option is not valid.
    public convenience init(
        options: HubOptions = HubOptions(), configuration: URLSessionConfiguration = .ephemeral
    ) throws {
        try self.init(options: options, transport: UrlSessionTransport(configuration: configuration))
    }

    /// Downloads a model by its name, as far as it is missing or has changed. See ``Download``.
    public func pull(_ name: String) -> Download {
        Download {
            Log.start()
            return self.startPull(name: name)
        }
    }

    /// Downloads the files of a plan. See ``Download``.
    public func fetch(_ plan: DownloadPlan) -> Download {
        Download {
            Log.start()
            return self.startFetch(plan: plan)
        }
    }
}

/// A download, read in a `for try await` loop. Each loop is a download of its own, and continues where an earlier one
/// has stopped.
///
/// The loop ends after ``PullEvent/ready(path:)``, or throws one ``SdkError``. When its task is cancelled, the download
/// ends and the loop throws `CancellationError`; when the loop is left, the download ends. What has arrived is kept.
public struct Download: AsyncSequence, Sendable {
    /// The events of a download.
    public typealias Element = PullEvent

    private let start: @Sendable () -> DownloadStream

    init(_ start: @escaping @Sendable () -> DownloadStream) {
        self.start = start
    }

    /// Reads a download in a loop.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private let stream: DownloadStream

        fileprivate init(_ stream: DownloadStream) {
            self.stream = stream
        }

        /// The next event; `nil` after the last one.
        public mutating func next() async throws -> PullEvent? {
            let stream = stream
            do {
                return try await withTaskCancellationHandler {
                    try await stream.next()
                } onCancel: {
                    stream.cancel()
                }
            } catch {
                try Task.checkCancellation()
                throw error
            }
        }
    }

    /// Starts a download.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(start())
    }
}
