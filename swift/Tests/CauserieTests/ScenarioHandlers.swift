import Foundation
import Testing

@testable import Causerie

/// What cancels a reply, once it is there.
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
                default: Issue.record("no option \(name)")
                }
            }
        }
        guard case .object(let scripts)? = step["handlers"] else { return }
        for (name, script) in scripts {
            let acts = Acts(script.items?.map(\.text) ?? [])
            on(name) { call in try await acts.run(call, cancel: cancel) }
        }
    }
}

/// What a handler does, call by call.
private final class Acts: @unchecked Sendable {
    private let lock = NSLock()
    private var acts: [String]

    init(_ acts: [String]) {
        self.acts = acts
    }

    func run(_ call: SdkFunctionCall, cancel: Cancel) async throws -> Any? {
        let act = lock.withLock { acts.removeFirst() }
        guard case .object(let entries) = try JsonReader.value(from: act), let (what, value) = entries.first else {
            throw Missing()
        }
        switch what {
        case "returns": return value.native
        case "fails": throw SdkError.Internal(reason: value.string ?? "")
        case "echoes": return call.arguments
        case "cancels":
            cancel()
            return nil
        default:
            #expect(what == "hangs")
            try await Task.sleep(nanoseconds: .max / 2)
            return nil
        }
    }
}
