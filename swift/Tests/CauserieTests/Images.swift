import Foundation
import Testing

@testable import Causerie

/// Images of messages, on a small vision model with random weights.
@Suite struct Images {
    private let folder = repository.appendingPathComponent("tests/fixtures/models/lfm2vl")
    private let options = GenerationOptions().with(\.temperature, 0).with(\.maxTokens, 4)
    private let question = ChatMessageContent.text("What is it?")

    /// A picture of the scenarios.
    private func picture() throws -> Data {
        let file = Scenarios.folder.appendingPathComponent("images.json")
        let scenario = try JsonReader.value(from: String(contentsOf: file, encoding: .utf8))
        let message = try #require(scenario["steps"]?.items?.first?["send"])
        guard case .image(let data)? = try ChatMessage(message).content.first else { throw Missing() }
        return data
    }

    private func answer(_ runner: ModelRunner, _ content: ChatMessageContent...) async throws -> Completion {
        let message = ChatMessage(role: .user, content: content)
        let reply = runner.createConversation().generateResponse(message: message, generationOptions: options)
        return try await reply.completion()
    }

    @Test func areMadeOfDataAndFiles() throws {
        let data = try picture()
        #expect(ChatMessageContent.image(data) == .image(data: data))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).png")
        try data.write(to: file)
        #expect(try ChatMessageContent.image(contentsOf: file) == .image(data: data))
        try FileManager.default.removeItem(at: file)
        #expect(throws: (any Error).self) { try ChatMessageContent.image(contentsOf: file) }
        let address = try #require(URL(string: "https://example.org/picture.png"))
        let refusal = SdkError.UnsupportedContent(reason: "url must be a file URL, found \(address.absoluteString)")
        #expect(throws: refusal) { try ChatMessageContent.image(contentsOf: address) }
    }

    @Test func areSeenWithAProjectorThatIsFoundOrGiven() async throws {
        let image = ChatMessageContent.image(try picture())
        let model = folder.appendingPathComponent("lfm2vl-f16.gguf")
        let alone = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())")
        try FileManager.default.createDirectory(at: alone, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: alone) }
        let copy = alone.appendingPathComponent("model.gguf")
        try FileManager.default.copyItem(at: model, to: copy)

        let blind = try await loadModel(url: copy)
        #expect(!blind.info().supportsImages && blind.info().visionMemory == 0)
        await #expect { try await answer(blind, question, image) } throws: { error in
            guard case .UnsupportedContent(let reason)? = error as? SdkError else { return false }
            return reason.hasPrefix("messages[0].content[1]: images require the model's projector file")
        }

        let projector = folder.appendingPathComponent("mmproj-lfm2vl-f16.gguf").path
        let given = try await loadModel(url: copy, options: LoadOptions().with(\.projector, projector))
        #expect(given.info().supportsImages && 0 < given.info().visionMemory)
        let expected = try await answer(given, image, question)
        let beside = try await loadModel(url: model)
        let found = try await answer(beside, image, question)
        #expect(found.fullMessage == expected.fullMessage)
        #expect(try await answer(beside, question).stats.promptTokens < found.stats.promptTokens)
    }

    @Test func areCountedByTheProgressOfAPrompt() async throws {
        let runner = try await loadModel(url: folder.appendingPathComponent("lfm2vl-f16.gguf"))
        let conversation = runner.createConversation()
        #expect(conversation.prefillProgress.totalTokens == 0)
        let message = ChatMessage(role: .user, content: [.image(try picture()), question])
        let reply = try await conversation.generateResponse(message: message, generationOptions: options).completion()
        let progress = conversation.prefillProgress
        #expect(progress.doneTokens == reply.stats.promptTokens && progress.totalTokens == reply.stats.promptTokens)
        #expect(progress.doneImages == 1 && progress.totalImages == 1)
    }

    @Test func replaceTheMarkersOfAPrompt() async throws {
        let runner = try await loadModel(url: repository.appendingPathComponent("tests/fixtures/models/lfm2vl-hf"))
        let placeholder = ChatMessageContent.image(Data())
        let prompt = try runner.renderPrompt(messages: [ChatMessage(role: .user, content: [placeholder, question])])
        #expect(prompt.contains("<image>"))
        let data = try picture()
        let expected = try await answer(runner, .image(data), question)
        let shown = try await text(of: runner.completeWithImages(prompt: prompt, images: [data], options: options))
        #expect(shown == expected.text)
        await #expect { try await text(of: runner.completeWithImages(prompt: "none", images: [data])) } throws: {
            ($0 as? SdkError)?.caseName == "InvalidMessage"
        }
    }
}
