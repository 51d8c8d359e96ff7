import Foundation
import Testing

@testable import Causerie

/// Cancels a reply, once it is set.
final class Cancel: @unchecked Sendable {
    private let lock = NSLock()
    private var cancel: (@Sendable () -> Void)?

    func set(_ cancel: @escaping @Sendable () -> Void) {
        lock.withLock { self.cancel = cancel }
    }

    func callAsFunction() {
        lock.withLock { cancel }?()
    }
}

extension FunctionHandlers {
    /// The handlers of a scenario's step.
    init(_ step: JsonValue, cancel: Cancel) throws {
        self.init()
        if case .object(let entries)? = step["rounds"] {
            for (name, value) in entries {
                switch (name, value) {
                case ("max_rounds", .integer(let count)): maxRounds = count
                case ("time_limit", .double(let seconds)): timeLimit = seconds
                case ("in_parallel", .boolean(let flag)): inParallel = flag
                default: Issue.record("unknown option \(name)")
                }
            }
        }
        guard case .object(let scripts)? = step["handlers"] else { return }
        for (name, script) in scripts {
            let actions = Actions(script.items?.map(\.text) ?? [])
            on(name) { call in try await actions.run(call, cancel: cancel) }
        }
    }
}

/// The actions of a handler, one for each call.
private final class Actions: @unchecked Sendable {
    private let lock = NSLock()
    private var actions: [String]

    init(_ actions: [String]) {
        self.actions = actions
    }

    func run(_ call: SdkFunctionCall, cancel: Cancel) async throws -> Any? {
        let text = lock.withLock { actions.removeFirst() }
        guard case .object(let entries) = try JsonReader.value(from: text), let (action, value) = entries.first else {
            throw Missing()
        }
        switch action {
        case "returns": return value.native
        case "fails": throw SdkError.Internal(reason: value.string ?? "")
        case "echoes": return call.argumentsObject
        case "cancels":
            cancel()
            return nil
        default:
            #expect(action == "hangs")
            try await Task.sleep(nanoseconds: .max / 2)
            return nil
        }
    }
}
