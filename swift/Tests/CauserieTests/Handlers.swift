import Foundation
import Testing

@testable import Causerie

/// Function handlers, and the results that the model reads.
@Suite struct Handlers {
    /// The example in the documentation of `FunctionHandlers` compiles without a warning.
    @Test func mayReturnDictionaries() async throws {
        let conversation = try scripted(
            calling("[check_weather(city='Oslo'), check_weather(city=1)]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.on("check_weather") { call in ["sky": "sunny", "city": call.arguments["city"] as? String] }
        let results = try await results(of: conversation, with: handlers)
        let expected = [#"{"city": "Oslo", "sky": "sunny"}"#, #"{"city": "1", "sky": "sunny"}"#]
        #expect(results.map(\.text) == expected)
    }

    @Test func needTheirFunction() async throws {
        let conversation = try scripted(#"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.on("check_the_weather") { _ in () }
        await #expect { try await results(of: conversation, with: handlers) } throws: { error in
            guard case .InvalidOption(let reason, "handlers")? = error as? SdkError else { return false }
            return reason.contains("check_the_weather")
        }
    }

    @Test func mayReturnNothing() async throws {
        let conversation = try scripted(calling("[f()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.on("f") { _ in () }
        let results = try await results(of: conversation, with: handlers)
        #expect(results.map(\.isError) == [false])
        #expect(results.map(\.text) == ["null"])
    }

    /// A function that never ends is not awaited after the time limit.
    @Test func areAbandonedAfterTheTimeLimit() async throws {
        let conversation = try scripted(
            calling("[f()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.timeLimit = .leastNonzeroMagnitude
        handlers.on("f") { _ in
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                Forever.shared.keep(continuation)
            }
        }
        let results = try await results(of: conversation, with: handlers)
        #expect(results.map(\.isError) == [true])
    }

    /// Functions that block, more of them than Swift's thread pool has threads, are not awaited either.
    @available(macOS 15, iOS 18, *)
    @Test func areAbandonedWhenTheyBlock() async throws {
        let n = ProcessInfo.processInfo.activeProcessorCount + 1
        let calls = (0..<n).map { _ in "f()" }.joined(separator: ", ")
        let conversation = try scripted(calling("[\(calls)]"), #"["Done."]"#)
        let gate = DispatchSemaphore(value: 0)
        @Sendable func block() { gate.wait() }
        var handlers = FunctionHandlers()
        handlers.timeLimit = .leastNonzeroMagnitude
        handlers.inParallel = true
        handlers.on("f") { _ in block() }
        let results = try await results(of: conversation, with: handlers)
        #expect(results.map(\.isError) == (0..<n).map { _ in true })
        for _ in 0..<n { gate.signal() }
    }

    @Test(arguments: [0, -1, -Double.infinity, .nan]) func areNotRunWithoutTime(_ limit: TimeInterval) async throws {
        let conversation = try scripted(calling("[f()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.timeLimit = limit
        handlers.on("f") { _ in Issue.record("it ran") }
        let results = try await results(of: conversation, with: handlers)
        #expect(results.map(\.text) == [#"{"error": "f gave no result within 0 seconds"}"#])
    }

    /// An error without a description is reported with its case and values.
    @Test func failWithTheMessageOfTheirError() async throws {
        let conversation = try scripted(calling("[f(), g()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.on("f") { _ in throw ShopError.soldOut(item: "ink") }
        handlers.on("g") { _ in throw SdkError.Internal(reason: "no shop") }
        let results = try await results(of: conversation, with: handlers)
        #expect(results.map(\.text) == [#"{"error": "soldOut(item: \"ink\")"}"#, #"{"error": "no shop"}"#])
        // The thrown errors themselves are on the results.
        guard case .soldOut(item: "ink")? = results[0].error as? ShopError else { throw Missing() }
        #expect(results[1].error as? SdkError == .Internal(reason: "no shop"))
    }

    @Test func haveNoErrorIfTheyDoNotRun() async throws {
        let conversation = try scripted(calling("[f(), h()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.timeLimit = 0
        handlers.on("f") { _ in () }
        let results = try await results(of: conversation, with: handlers)
        #expect(results.map(\.isError) == [true, true])
        #expect(results.allSatisfy { $0.error == nil })
    }

    @Test func mayReturnPartsOfAMessage() async throws {
        let image = ChatMessageContent.image(data: Data([1, 2]))
        let returned: [(@Sendable () -> Any?, [ChatMessageContent])] = [
            ({ image }, [image]), ({ Optional(image) }, [image]),
            ({ [.text("See:"), image] as [ChatMessageContent] }, [.text("See:"), image]),
            ({ [ChatMessageContent.audio(data: Data([3]))] as [Any] }, [.audio(data: Data([3]))]),
            ({ [String]() }, [.text("[]")]),
        ]
        for (value, content) in returned {
            let conversation = try scripted(calling("[f()]"), #"["Done."]"#)
            var handlers = FunctionHandlers()
            handlers.on("f") { _ in value() }
            try conversation.registerFunctions(functions: [plainFunction("f")])
            // The scripted model takes text only, so the reply may fail when it reads the result.
            let end = try? await conversation.respond(to: "Hi", handlers: handlers)
            #expect(conversation.history.first { $0.role == .tool }?.content == content)
            #expect((end == nil) == (content != [.text("[]")]))
        }
    }

    /// A value that refuses to be encoded, and one that JSON does not have.
    @Test(arguments: [false, true]) func mustReturnJson(inParallel: Bool) async throws {
        let values: [@Sendable () -> Any?] = [
            { Refusing() }, { ["price": Refusing()] }, { [Double.nan] }, { Opaque() }, { ["a": Opaque()] },
        ]
        for value in values {
            let conversation = try scripted(calling("[f(), g()]"), #"["Done."]"#)
            var handlers = FunctionHandlers()
            handlers.inParallel = inParallel
            handlers.on("f") { _ in value() }
            handlers.on("g") { _ in "ok" }
            await #expect { try await results(of: conversation, with: handlers) } throws: { error in
                guard case .Serialization(let reason)? = error as? SdkError else { return false }
                return reason.hasPrefix("the result of f")
            }
            let cancelled = #"{"error": "cancelled"}"#
            #expect(conversation.history.suffix(2).map(\.text) == [cancelled, cancelled])
            #expect(try await conversation.respond(to: "2").text == "Done.")
        }
    }
}

/// The log, which is one of the process.
@Suite(.serialized) struct Logging {
    @Test func hasTheErrorsOfFunctionsAndTheFactsOfTheEngine() async throws {
        let kept = KeptLog()
        setLogHandler { level, message, error in kept.add(level, message, error) }
        defer { setLogHandler(nil) }
        let conversation = try scripted(calling("[only_here()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.on(SdkFunction(name: "only_here", functionDescription: "", parameters: [])) { _ in
            throw ShopError.soldOut(item: "ink")
        }
        for try await _ in conversation.respondWithFunctions("Hi", handlers: handlers) {}
        flushLog()
        let errors = kept.records.filter { $0.message == "function only_here failed" }
        #expect(errors.map(\.level) == [.error])
        #expect(errors.first?.error is ShopError)
        #expect(kept.records.contains { $0.level == .debug && $0.message.hasPrefix("a reply of") })
    }
}

extension Logging {
    @Test func hasNoErrorsOfFunctionsThatWereCancelled() async throws {
        let kept = KeptLog()
        setLogHandler { level, message, _ in kept.add(level, message, nil) }
        defer { setLogHandler(nil) }
        let (started, ended) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        var ends = ended.stream.makeAsyncIterator()
        var handlers = FunctionHandlers()
        handlers.on(plainFunction("slow")) { _ in
            started.continuation.yield()
            do { try await Task.sleep(nanoseconds: .max / 2) } catch { throw Released(signal: ended.continuation) }
            return nil
        }
        let calls = calling("[slow()]")
        let conversation = try scripted(calls, calls, #"["Done."]"#)
        let reply = conversation.respondWithFunctions("Hi", handlers: handlers)
        let reading = Task { for try await _ in reply {} }
        for await _ in started.stream { break }
        reply.cancel()
        try await reading.value
        await ends.next()
        handlers.timeLimit = .leastNonzeroMagnitude
        #expect(try await conversation.respond(to: "Hi", handlers: handlers).text == "Done.")
        await ends.next()
        #expect(kept.records.filter { $0.message == "function slow failed" }.isEmpty)
    }
}

/// An error that signals when nothing uses it any more, so after it would have been logged.
private final class Released: Error {
    let signal: AsyncStream<Void>.Continuation

    init(signal: AsyncStream<Void>.Continuation) {
        self.signal = signal
    }

    deinit { signal.yield() }
}

private final class KeptLog: @unchecked Sendable {
    struct Record {
        var level: LogLevel
        var message: String
        var error: (any Error)?
    }

    private let lock = NSLock()
    private var kept: [Record] = []

    var records: [Record] { lock.withLock { kept } }

    func add(_ level: LogLevel, _ message: String, _ error: (any Error)?) {
        lock.withLock { kept.append(Record(level: level, message: message, error: error)) }
    }
}

private struct Refusing: Encodable {
    func encode(to encoder: any Encoder) throws { throw ShopError.soldOut(item: "ink") }
}

private final class Opaque: Sendable {}

/// Keeps continuations that are never resumed.
private final class Forever: @unchecked Sendable {
    static let shared = Forever()
    private let lock = NSLock()
    private var kept: [CheckedContinuation<Void, Never>] = []

    func keep(_ continuation: CheckedContinuation<Void, Never>) {
        lock.withLock { kept.append(continuation) }
    }
}

private enum ShopError: Error {
    case soldOut(item: String)
}
