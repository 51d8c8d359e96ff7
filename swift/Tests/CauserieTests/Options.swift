import Foundation
import Testing

@testable import Causerie

/// Options that are refused, and default values.
@Suite struct Options {
    private let demo = repository.appendingPathComponent("models/demo.gguf")

    @Test func areRefusedBelowZero() async throws {
        let conversation = try scripted(#"["a"]"#)
        func check(_ option: String, _ expected: String, _ options: GenerationOptions) async {
            let refusal = Self.refusal(option, expected)
            await #expect(throws: refusal) {
                try await text(of: conversation.generateResponse("Hi", generationOptions: options))
            }
            await #expect(throws: refusal) {
                try await text(of: conversation.continueResponse(generationOptions: options))
            }
            await #expect(throws: refusal) {
                try await text(of: conversation.modelRunner.complete(prompt: "Hi", options: options))
            }
            await #expect(throws: refusal) {
                try await text(of: conversation.modelRunner.completeTokens(prompt: [1], options: options))
            }
            await #expect(throws: refusal) {
                try await conversation.generateResponse("Hi", generationOptions: options).next()
            }
            await #expect(throws: refusal) {
                for try await _ in conversation.respondWithFunctions(
                    "Hi", handlers: FunctionHandlers(), generationOptions: options)
                {}
            }
            #expect(throws: refusal) { try conversation.planContext(options: options) }
        }
        await check("maxTokens", "1 or more", GenerationOptions().with(\.maxTokens, -1))
        await check("topK", "0 or more", GenerationOptions().with(\.topK, -1))
        await check("logprobs", "between 0 and 20", GenerationOptions().with(\.logprobs, -1))
        await check("logitBias", "token ids", GenerationOptions().with(\.logitBias, [3: 1, -1: 1]))
        #expect(conversation.history.isEmpty && !conversation.isGenerating)
        #expect(try await text(of: conversation.generateResponse("Hi")) == "a")
    }

    @Test func areRefusedBelowZeroForFunctions() async throws {
        let conversation = try scripted(#"["a"]"#)
        var handlers = FunctionHandlers()
        handlers.maxRounds = -1
        let reply = conversation.continueWithFunctions(handlers: handlers)
        reply.cancel()
        await #expect(throws: Self.refusal("maxRounds")) { for try await _ in reply {} }
        #expect(!conversation.isGenerating)
    }

    @Test func areRefusedBelowZeroForLoading() async throws {
        func check(_ option: String, _ expected: String, _ options: LoadOptions) async {
            await #expect(throws: Self.refusal(option, expected)) { try await loadModel(url: demo, options: options) }
        }
        await check("contextSize", "1 or more", LoadOptions().with(\.contextSize, -1))
        await check("threads", "between 1 and 1024", LoadOptions().with(\.threads, -1))
        await check("topK", "0 or more", LoadOptions().with(\.generationDefaults, SamplingDefaults(topK: -1)))
        #expect(throws: Self.refusal("contextSize", "1 or more")) {
            try readModelInfo(path: demo.path, contextSize: -1)
        }
    }

    @Test func truncateToAtMostTheExistingMessages() async throws {
        let conversation = try scripted(#"["a"]"#)
        _ = try await text(of: conversation.generateResponse("Hi"))
        #expect(throws: Self.refusal("messageCount")) { try conversation.truncate(messageCount: -1) }
        try conversation.truncate(messageCount: Int.max)
        #expect(conversation.history.map(\.text) == ["Hi", "a"])
        try conversation.truncate(messageCount: 1)
        #expect(conversation.history.map(\.text) == ["Hi"])
    }

    @Test func mayBeOmitted() async throws {
        let conversation = try scripted(#"["a"]"#, #"["b"]"#, #"["c"]"#)
        let modelRunner = conversation.modelRunner
        #expect(try await text(of: conversation.generateResponse("Hi")) == "a")
        var last: MessageResponse?
        for try await event in conversation.respondWithFunctions("Hi", handlers: FunctionHandlers()) { last = event }
        guard case .complete(let completion)? = last else { throw Missing() }
        #expect(completion.fullMessage.text == "b")
        #expect(conversation.history.map(\.role) == [.user, .assistant, .user, .assistant])
        #expect(try await text(of: modelRunner.complete(prompt: "Hi")) == "c")
        #expect(try conversation.planContext().droppedMessages == [])
        let prompt = try modelRunner.renderPrompt(messages: [hi])
        #expect(try prompt == modelRunner.renderPrompt(messages: [hi], addGenerationPrompt: true))
        let tokens = try modelRunner.promptTokens(messages: [hi])
        #expect(try tokens == modelRunner.promptTokens(messages: [hi], addGenerationPrompt: true))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).session")
        defer { try? FileManager.default.removeItem(at: file) }
        try conversation.saveSession(path: file.path)
        #expect(try modelRunner.restoreSession(path: file.path).history == conversation.history)
    }

    @Test func areSpelledAsInSwiftInErrors() {
        #expect(spelled("max_tokens must be 1 or more, found 0") == "maxTokens must be 1 or more, found 0")
        #expect(spelled("top_p") == "topP")
        #expect(spelled("temperature must be a snake_case") == "temperature must be a snake_case")
        #expect(spelled("maxTokens must be 1") == "maxTokens must be 1")
        #expect(spelled("") == "")
    }

    @Test func outOfRangeAreNamedInSwiftsSpelling() async throws {
        let options = GenerationOptions().with(\.topP, 1.5)
        let reply = try scripted(#"["a"]"#).generateResponse("Hi", generationOptions: options)
        let expected = SdkError.InvalidOption(reason: "topP must be between 0 and 1, found 1.5", option: "topP")
        await #expect(throws: expected) { for try await _ in reply {} }
    }

    private static func refusal(_ option: String, _ expected: String = "0 or more") -> SdkError {
        .InvalidOption(reason: "\(option) must be \(expected), found -1", option: option)
    }
}
