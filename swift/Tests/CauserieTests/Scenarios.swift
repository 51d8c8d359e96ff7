import Foundation
import Testing

@testable import Causerie

/// The scenarios of `tests/fixtures/scenarios`, run through the public interface. Their README describes the format.
@Suite struct Scenarios {
    static let folder = repository.appendingPathComponent("tests/fixtures/scenarios")
    static let names = try! FileManager.default.contentsOfDirectory(atPath: folder.path)
        .filter { $0.hasSuffix(".json") }.sorted()

    @Test func areFound() {
        #expect(Self.names.count >= 20)
    }

    @Test(arguments: names)
    func givesItsTrace(_ name: String) async throws {
        let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
        let scenario = try JsonReader.value(from: text)
        let player = try await Player(scenario)
        try await player.play(scenario["steps"]?.items ?? [])
    }
}

/// Plays the steps of a scenario.
private final class Player {
    private let runner: ModelRunner
    private var conversation: Conversation
    private let options: GenerationOptions
    private let counts: Bool

    init(_ scenario: JsonValue) async throws {
        if let script = scenario["script"] {
            runner = try loadScriptedModel(script: script.text)
        } else {
            let model = try #require(scenario["model"]?.string)
            runner = try await loadModel(url: repository.appendingPathComponent(model))
        }
        if let ranker = scenario["ranker"]?.string {
            let model = try await loadEmbeddingModel(url: repository.appendingPathComponent(ranker))
            try runner.setFunctionRanker(model: model)
        }
        counts = scenario["model"]?.string != "models/demo.gguf"
        conversation = runner.createConversation(systemPrompt: scenario["system"]?.string)
        if let functions = scenario["functions"] {
            try conversation.registerFunctions(functions: functionsFromJson(text: functions.text))
        }
        options = try GenerationOptions().changed(by: scenario["options"])
    }

    func play(_ steps: [JsonValue]) async throws {
        for (index, step) in steps.enumerated() {
            let seen: JsonValue
            let expected: JsonValue
            if let trace = step["trace"] {
                (seen, expected) = (.array(try await reply(to: step)), trace)
            } else if let history = step["history"] {
                (seen, expected) = (try JsonReader.value(from: messagesToJson(messages: conversation.history)), history)
            } else {
                (seen, expected) = (try change(by: step), step["error"] ?? .null)
            }
            let (left, right) = (seen.sorted.text, expected.sorted.text)
            // By bytes, because in Swift a precomposed and a decomposed "é" are equal.
            #expect(left.utf8.elementsEqual(right.utf8), "step \(index)\n  found    \(left)\n  expected \(right)")
        }
    }

    /// Runs a step without a reply; returns the name of its error.
    private func change(by step: JsonValue) throws -> JsonValue {
        do {
            if let message = step["append"] {
                try conversation.appendToHistory(message: ChatMessage(message))
            } else if let tool = step["register"] {
                let functions = try functionsFromJson(text: JsonValue.array([tool]).text)
                try conversation.registerFunctions(functions: functions)
            } else if let name = step["unregister"]?.string {
                _ = try conversation.unregisterFunction(name: name)
            } else if step["remove_last"] != nil {
                _ = try conversation.removeLastMessage()
            } else if case .integer(let count)? = step["truncate"] {
                try conversation.truncate(messageCount: count)
            } else if let place = step["reopen"]?.string {
                conversation = try reopened(from: place)
            } else {
                Issue.record("unknown step: \(step.text)")
            }
            return .null
        } catch let error as SdkError {
            return .string(error.caseName)
        }
    }

    private func reopened(from place: String) throws -> Conversation {
        let history = conversation.history
        switch place {
        case "history":
            return runner.createConversationFromHistory(history: history)
        case "json":
            let text = messagesToJson(messages: history)
            return runner.createConversationFromHistory(history: try messagesFromJson(text: text))
        case "fork":
            return conversation.fork()
        default:
            #expect(place == "session")
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).session")
            defer { try? FileManager.default.removeItem(at: file) }
            try conversation.saveSession(path: file.path, includeCache: true)
            return try runner.restoreSession(path: file.path)
        }
    }

    /// The events of a reply.
    private func reply(to step: JsonValue) async throws -> [JsonValue] {
        let options = try options.changed(by: step["options"])
        let message = try step["send"].map(ChatMessage.init)
        if step["handlers"] != nil {
            let cancel = Cancel()
            let handlers = try FunctionHandlers(step, cancel: cancel)
            let stream =
                if let message {
                    conversation.respondWithFunctions(message: message, handlers: handlers, generationOptions: options)
                } else {
                    conversation.continueWithFunctions(handlers: handlers, generationOptions: options)
                }
            cancel.set(stream.cancel)
            return try await events(of: stream, step)
        }
        let stream =
            if let message {
                conversation.generateResponse(message: message, generationOptions: options)
            } else {
                conversation.continueResponse(generationOptions: options)
            }
        return try await events(of: stream, step)
    }

    private func events(of stream: ResponseStream, _ step: JsonValue) async throws -> [JsonValue] {
        var trace = Trace(counts: counts)
        var cancelAt = step["cancel_at"]?.string
        let leaveAt = step["leave_at"]?.string
        do {
            if leaveAt == "" { return [] }
            try await cancelled(stream, at: &cancelAt, step, trace)
            for try await event in stream {
                trace.add(event)
                if trace.text == leaveAt { break }
                try await cancelled(stream, at: &cancelAt, step, trace)
            }
        } catch let error as SdkError {
            trace.add(error)
        }
        return trace.events
    }

    /// Cancels the reply when its text so far is that of the step.
    private func cancelled(
        _ stream: ResponseStream, at cancelAt: inout String?, _ step: JsonValue, _ trace: Trace
    ) async throws {
        if cancelAt == trace.text {
            cancelAt = nil
            try await play(step["meanwhile"]?.items ?? [])
            stream.cancel()
        }
    }
}
