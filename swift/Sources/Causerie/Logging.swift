import Foundation

#if canImport(os)
import os
#endif

/// Takes messages to developers; see ``setLogHandler(_:)``. The error is that of a function that failed.
public typealias LogHandler = @Sendable (_ level: LogLevel, _ message: String, _ error: (any Error)?) -> Void

/// Sets what takes messages to developers: about loading, downloads, repaired calls, and functions that failed. They
/// have no text of conversations, except for the errors of the app's functions.
///
/// Without a handler they go to `os.Logger`, with the subsystem `org.causerie`, where texts of errors are private. On
/// other systems, errors and warnings go to the standard error. Messages of the engine come on a separate thread.
///
/// - Parameter handler: what takes messages; the platform's log when `nil`.
public func setLogHandler(_ handler: LogHandler?) {
    Log.set(handler)
    Log.start()
}

/// The log of the package.
enum Log {
    private static let current = Current()
    /// Once, the engine's messages are directed here.
    private static let started: Void = rawSetLogSink(sink: Sink())

    static func start() { started }

    static func set(_ handler: LogHandler?) { current.set(handler ?? Self.writeToPlatform) }

    static func write(_ level: LogLevel, _ message: String, _ error: (any Error)?) {
        current.handler(level, message, error)
    }

    private final class Current: @unchecked Sendable {
        private let lock = NSLock()
        // The lock protects it.
        private var value: LogHandler = Log.writeToPlatform

        var handler: LogHandler { lock.withLock { value } }

        func set(_ handler: @escaping LogHandler) { lock.withLock { value = handler } }
    }

    private final class Sink: LogSink {
        func write(record: RawLogRecord) throws {
            Log.write(record.level, record.message, nil)
        }
    }

    #if canImport(os)
    private static let logger = Logger(subsystem: "org.causerie", category: "causerie")

    @Sendable private static func writeToPlatform(_ level: LogLevel, _ message: String, _ error: (any Error)?) {
        let type: OSLogType =
            switch level {
            case .error: .error
            case .warning: .default
            case .info: .info
            case .debug: .debug
            }
        if let error {
            logger.log(level: type, "\(message, privacy: .public): \(String(describing: error))")
        } else {
            logger.log(level: type, "\(message, privacy: .public)")
        }
    }
    #else
    @Sendable private static func writeToPlatform(_ level: LogLevel, _ message: String, _ error: (any Error)?) {
        guard level == .error || level == .warning else { return }
        let text = error.map { "\(message): \(String(describing: $0))" } ?? message
        try? FileHandle.standardError.write(contentsOf: Data("causerie: \(text)\n".utf8))
    }
    #endif
}
