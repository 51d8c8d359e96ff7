import Foundation

/// What runs the functions that a model calls.
///
/// ```swift
/// var handlers = FunctionHandlers()
/// handlers.on("check_weather") { call in ["sky": "sunny", "city": call.arguments["city"] as? String] }
/// ```
///
/// A text that is returned reaches the model as it is; dictionaries, arrays, numbers and what is `Encodable` do as JSON. An
/// error that is thrown is told to the model.
public struct FunctionHandlers: Sendable {
    /// What runs a call, and gives what JSON can hold.
    public typealias Handler = @Sendable (_ call: SdkFunctionCall) async throws -> Any?

    /// Replies whose calls are run, one after the other. The calls of the next one are left to the app.
    public var maxRounds = 8
    /// Seconds that a function may take. Then its task is cancelled, and the model is told. At 0 and below, none is run.
    ///
    /// Functions run on threads of their own, so that the limit holds for those that block as well. Before iOS 18 and
    /// macOS 15 they run where Swift runs all tasks: as many that block there as the device has cores hold up the reply.
    public var timeLimit: TimeInterval?
    /// Whether all calls of a reply are run at once. Their results come in order.
    public var inParallel = false

    /// The functions that were given with their types, to be registered.
    public private(set) var functions: [SdkFunction] = []
    private var handlers: [String: @Sendable (SdkFunctionCall) async throws -> FunctionOutcome] = [:]

    /// No functions yet.
    public init() {}

    /// Runs the calls of a function. Their arguments fit its parameters, where it is registered.
    public mutating func on(_ name: String, _ handler: @escaping Handler) {
        handlers[name] = { call in try Self.outcome(of: try await handler(call)) }
    }

    /// Runs the calls of a function, and has it among ``functions``.
    public mutating func on(_ function: SdkFunction, _ handler: @escaping Handler) {
        functions.removeAll { $0.name == function.name }
        functions.append(function)
        on(function.name, handler)
    }

    /// Runs the calls of a function whose arguments are a type; see ``SdkFunction/init(of:)``. It is among ``functions``.
    public mutating func on<Arguments: Decodable>(
        _ type: Arguments.Type, _ handler: @escaping @Sendable (_ arguments: Arguments) async throws -> Any?
    ) throws {
        let function = try SdkFunction(of: type)
        on(function) { call in try await handler(try call.decoded(as: type)) }
    }

    var names: [String] { Array(handlers.keys) }

    var options: RoundOptions {
        RoundOptions(maxRounds: maxRounds, timeLimit: timeLimit, inParallel: inParallel)
    }

    /// What comes of calls, in their order.
    func run(_ calls: [SdkFunctionCall]) async -> [FunctionOutcome] {
        await withTaskGroup(of: (Int, FunctionOutcome).self) { group in
            for (index, call) in calls.enumerated() {
                group.addTask { (index, await run(call)) }
            }
            var outcomes = calls.map { _ in FunctionOutcome.timedOut }
            for await (index, outcome) in group { outcomes[index] = outcome }
            return outcomes
        }
    }

    private func run(_ call: SdkFunctionCall) async -> FunctionOutcome {
        if let timeLimit, !(0 < timeLimit) { return .timedOut }
        let first = First<FunctionOutcome>()
        let work = onOwnThread { first.give(await outcome(call)) }
        let clock = timeLimit.map { limit in
            Task {
                try await Task.sleep(nanoseconds: UInt64(min(limit, 1e9) * 1e9))
                first.give(.timedOut)
            }
        }
        // A function that does not heed its cancellation is not waited for.
        return await withTaskCancellationHandler {
            let outcome = await first.value()
            work.cancel()
            clock?.cancel()
            return outcome
        } onCancel: {
            first.give(.failed(reason: "cancelled"))
        }
    }

    private func outcome(_ call: SdkFunctionCall) async -> FunctionOutcome {
        guard let handler = handlers[call.name] else { return .failed(reason: "nothing runs \(call.name)") }
        do {
            return try await handler(call)
        } catch {
            return .failed(reason: Self.reason(of: error))
        }
    }

    /// What an error says of itself. `localizedDescription` of one that is written for no reader hides its case and values.
    private static func reason(of error: any Error) -> String {
        if let said = (error as? any LocalizedError)?.errorDescription { return said }
        let isCocoa = error is any CustomNSError || type(of: error) is NSError.Type
        return isCocoa ? error.localizedDescription : String(describing: error)
    }

    private static func outcome(of returned: Any?) throws -> FunctionOutcome {
        if returned is Void { return .json(text: "null") }
        if let text = returned as? String { return .text(text: text) }
        return .json(text: try JsonValue(returned, at: "the result").text)
    }
}

/// A value that may come from several sides: the first one counts.
private final class First<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    // Both behind the lock.
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

extension Conversation {
    /// The reply to a message with all that the model does for it: its calls are run by the handlers, the results go back
    /// to it, and so on until it answers. All messages join the history as if they were sent by hand.
    ///
    /// Every event is that of a plain reply; ``MessageResponse/functionResult(_:)`` tells what came of each call, and the
    /// one ``MessageResponse/complete(_:)`` comes last. A call that does not fit its function, that was rejected, or that
    /// names a function which is neither declared nor handled is answered with an error, so that the model can mend it. A
    /// call of a function that is declared but not handled ends the reply: all calls of that round are the app's. The
    /// conversation is busy up to the end. The options hold for each reply on the way.
    ///
    /// - Parameters:
    ///   - message: as for ``generateResponse(message:generationOptions:)``.
    ///   - handlers: what runs the functions.
    ///   - generationOptions: how each reply is generated; the model's own defaults when `nil`.
    public func respondWithFunctions(
        message: ChatMessage, handlers: FunctionHandlers, generationOptions: GenerationOptions? = nil
    ) -> FunctionStream {
        rounds(message, handlers, generationOptions)
    }

    /// The reply to a text of the person, with the functions called on the way.
    ///
    /// - Parameters:
    ///   - text: what the person says.
    ///   - handlers: what runs the functions.
    ///   - generationOptions: how each reply is generated; the model's own defaults when `nil`.
    public func respondWithFunctions(
        _ text: String, handlers: FunctionHandlers, generationOptions: GenerationOptions? = nil
    ) -> FunctionStream {
        rounds(ChatMessage(role: .user, textContent: text), handlers, generationOptions)
    }

    /// The same for a reply to the history as it stands.
    ///
    /// - Parameters:
    ///   - handlers: what runs the functions.
    ///   - generationOptions: how each reply is generated; the model's own defaults when `nil`.
    public func continueWithFunctions(
        handlers: FunctionHandlers, generationOptions: GenerationOptions? = nil
    ) -> FunctionStream {
        rounds(nil, handlers, generationOptions)
    }

    private func rounds(
        _ message: ChatMessage?, _ handlers: FunctionHandlers, _ options: GenerationOptions?
    ) -> FunctionStream {
        let options = options ?? GenerationOptions()
        let rounds = Result {
            try options.check()
            try checkCount(handlers.maxRounds, "max_rounds")
            return startRounds(message: message, handled: handlers.names, rounds: handlers.options, options: options)
        }
        return FunctionStream(rounds: rounds, handlers: handlers)
    }
}
