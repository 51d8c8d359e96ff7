import Foundation

/// Handlers of the functions that a model calls.
///
/// ```swift
/// var handlers = FunctionHandlers()
/// handlers.on("check_weather") { call in ["sky": "sunny", "city": call.arguments["city"] as? String] }
/// ```
///
/// The model reads a returned string as it is, and dictionaries, arrays, numbers and `Encodable` values as JSON, in which a `Date`
/// and a `Duration` are strings in ISO 8601. A ``ChatMessageContent``, or an array of them, is a part of the message that the model
/// reads, for models that read pictures or sound in results. The model also reads the description of a thrown error, which is the
/// ``FunctionResult/error`` of the result and is logged, unless the function was cancelled; see ``setLogHandler(_:)``. A result that
/// JSON cannot represent ends the reply with ``SdkError/Serialization(reason:)``.
public struct FunctionHandlers: Sendable {
    /// Runs a call and returns a value that JSON can represent, or parts of a message.
    public typealias Handler = @Sendable (_ call: SdkFunctionCall) async throws -> Any?

    /// Maximum number of replies whose calls are run. The calls of the next reply are left to the app.
    public var maxRounds = 8
    /// Seconds that a function may take. Then its task is cancelled, and the model reads an error. At 0 and below, no
    /// function runs.
    ///
    /// Functions run on separate threads, so that the limit also applies to functions that block. Before iOS 18 and
    /// macOS 15 they run on Swift's shared pool: if as many functions block there as the device has cores, the reply
    /// waits.
    public var timeLimit: TimeInterval?
    /// Whether all calls of a reply run at once. Their results come in order.
    public var inParallel = false

    /// The functions that were added with their types. Replies with these handlers offer them to the model.
    public private(set) var functions: [SdkFunction] = []
    private var handlers: [String: Handler] = [:]

    /// Handlers of no functions.
    public init() {}

    /// Runs the calls of a function. If the function is registered, the arguments fit its parameters.
    public mutating func on(_ name: String, _ handler: @escaping Handler) {
        handlers[name] = handler
    }

    /// Runs the calls of a function, and adds it to ``functions``.
    public mutating func on(_ function: SdkFunction, _ handler: @escaping Handler) {
        functions.removeAll { $0.name == function.name }
        functions.append(function)
        on(function.name, handler)
    }

    /// Runs the calls of a function whose arguments are a type, and adds it to ``functions``; see
    /// ``SdkFunction/init(of:)``.
    public mutating func on<Arguments: Decodable>(
        _ type: Arguments.Type, _ handler: @escaping @Sendable (_ arguments: Arguments) async throws -> Any?
    ) throws {
        let function = try SdkFunction(of: type)
        on(function) { call in try await handler(try call.decoded(as: type)) }
    }

    var names: [String] { Array(handlers.keys) }

    var options: RawRoundOptions {
        RawRoundOptions(maxRounds: maxRounds, timeLimit: timeLimit, inParallel: inParallel)
    }

    /// The outcomes of calls, in their order.
    ///
    /// - Throws: ``SdkError/Serialization(reason:)`` for a result that JSON cannot represent.
    func run(_ calls: [SdkFunctionCall]) async throws -> [RanFunction] {
        try await withThrowingTaskGroup(of: (Int, RanFunction).self) { group in
            for (index, call) in calls.enumerated() {
                group.addTask { (index, try await run(call)) }
            }
            var outcomes = calls.map { _ in RanFunction.timedOut }
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return outcomes
        }
    }

    private func run(_ call: SdkFunctionCall) async throws -> RanFunction {
        if let timeLimit, !(0 < timeLimit) { return .timedOut }
        let first = First<Result<RanFunction, any Error>>()
        let work = onOwnThread { first.give(await outcome(call)) }
        let clock = timeLimit.map { limit in
            Task {
                try await Task.sleep(nanoseconds: UInt64(min(limit, 1e9) * 1e9))
                first.give(.success(.timedOut))
            }
        }
        // A function that ignores its cancellation is not awaited.
        return try await withTaskCancellationHandler {
            let outcome = await first.value()
            work.cancel()
            clock?.cancel()
            return try outcome.get()
        } onCancel: {
            first.give(.success(RanFunction(outcome: .failed(reason: "cancelled"))))
        }
    }

    private func outcome(_ call: SdkFunctionCall) async -> Result<RanFunction, any Error> {
        guard let handler = handlers[call.name] else {
            return .success(RanFunction(outcome: .failed(reason: "\(call.name) has no handler")))
        }
        let returned: Any?
        do {
            returned = try await handler(call)
        } catch {
            // A function that was cancelled, or took too long, has not failed by itself.
            if !Task.isCancelled { Log.write(Self.level(of: error), "function \(call.name) failed", error) }
            return .success(RanFunction(outcome: .failed(reason: Self.reason(of: error)), error: error))
        }
        do {
            return .success(RanFunction(outcome: try Self.outcome(of: returned, at: "the result of \(call.name)")))
        } catch let error as SdkError {
            return .failure(error)
        } catch {
            // Of an encoding that the app has written.
            let reason = "the result of \(call.name) must be representable as JSON: \(Self.reason(of: error))"
            return .failure(SdkError.Serialization(reason: reason))
        }
    }

    /// Arguments that do not fit are an error of the model, which can repair them.
    private static func level(of error: any Error) -> LogLevel {
        if case .InvalidArgument? = error as? SdkError { .info } else { .error }
    }

    /// The description of an error. Without an `errorDescription`, `localizedDescription` would hide the case and its
    /// values.
    private static func reason(of error: any Error) -> String {
        if let description = (error as? any LocalizedError)?.errorDescription { return description }
        let isCocoa = error is any CustomNSError || type(of: error) is NSError.Type
        return isCocoa ? error.localizedDescription : String(describing: error)
    }

    private static func outcome(of returned: Any?, at place: String) throws -> RawFunctionOutcome {
        switch returned {
        case is Void: .json(text: "null")
        case let text as String: .text(text: text)
        case let part as ChatMessageContent: .content(content: [part])
        // An empty array of any type can be cast to this one.
        case let parts as [ChatMessageContent] where !parts.isEmpty: .content(content: parts)
        default: .json(text: try JsonValue(returned, at: place).text)
        }
    }
}

/// The outcome of running a function, and the error if it threw one.
struct RanFunction: Sendable {
    static let timedOut = RanFunction(outcome: .timedOut)

    var outcome: RawFunctionOutcome
    var error: (any Error)?
}

/// A value that several tasks may give. The first one counts.
private final class First<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    // The lock protects both.
    private var given: Value?
    private var waiting: CheckedContinuation<Value, Never>?

    func give(_ value: Value) {
        let waiting = lock.withLock {
            guard given == nil else { return nil as CheckedContinuation<Value, Never>? }
            given = value
            return self.waiting
        }
        waiting?.resume(returning: value)
    }

    func value() async -> Value {
        await withCheckedContinuation { continuation in
            let given = lock.withLock {
                waiting = continuation
                return self.given
            }
            if let given { continuation.resume(returning: given) }
        }
    }
}
