import Foundation
import Testing

@testable import Causerie

/// The calls of the specification, as it writes them.
@Suite struct Specification {
    @Test func namesTheTypesOfParameters() throws {
        let function = SdkFunction(
            name: "f",
            functionDescription: "d",
            parameters: [
                SdkFunctionParameter(
                    name: "a", type: SdkStr(enumValues: ["x", "y"], description: nil), parameterDescription: "A",
                    optional: false),
                SdkFunctionParameter(
                    name: "b", type: SdkNum(enumValues: [1, 2.5], description: nil), parameterDescription: "B",
                    optional: true),
                SdkFunctionParameter(
                    name: "c",
                    type: SdkArr(itemType: SdkInt(enumValues: [1, 2], description: "one"), description: nil),
                    parameterDescription: "C", optional: false),
                SdkFunctionParameter(
                    name: "d",
                    type: .SdkObj(
                        properties: ["e": .SdkBool(description: "E"), "n": .SdkNull], required: ["e"],
                        description: nil),
                    parameterDescription: "D", optional: true),
                SdkFunctionParameter(name: "n", type: SdkNull(), parameterDescription: "N", optional: true),
            ])
        let schema = try JsonReader.value(from: functionSchema(function: function))
        #expect(
            schema["parameters"]?["properties"]?["c"]?.sorted.text
                == #"{"description": "C", "items": {"description": "one", "enum": [1, 2], "type": "integer"}, "type": "array"}"#
        )
        #expect(schema["parameters"]?["required"]?.text == #"["a", "c"]"#)
        let conversation = try scripted()
        conversation.registerFunction(function: function)
        #expect(conversation.functions == [function])
        #expect(conversation.history[0].functions == [function])
        #expect(try functionsFromJson(text: functionsToJson(functions: [function])) == [function])
    }

    @Test func namesEveryTypeInBothWays() {
        #expect(SdkStr(enumValues: ["a"]) == .SdkStr(enumValues: ["a"]))
        #expect(SdkNum(description: "d") == .SdkNum(description: "d"))
        #expect(SdkInt(enumValues: [1]) == .SdkInt(enumValues: [1], description: nil))
        #expect(SdkBool() == .SdkBool(description: nil))
        #expect(SdkArr(itemType: SdkNull()) == .SdkArr(itemType: .SdkNull()))
        #expect(SdkArr(itemType: SdkNull) == .SdkArr(itemType: .SdkNull))
        #expect(SdkObj(properties: ["a": SdkBool()]) == .SdkObj(properties: ["a": .SdkBool()], required: []))
    }

    /// The flow for tool use, step by step.
    @Test func runsAFunctionCall() async throws {
        // 1. Create a conversation and register functions.
        let modelRunner = try await loadModel(url: repository.appendingPathComponent("models/demo.gguf"))
        let conversation = modelRunner.createConversation(systemPrompt: "You are a small assistant on this device.")
        conversation.registerFunction(function: weather)
        // 2. Call generateResponse with the user message and read the responses.
        var options = GenerationOptions()
        options.functionCallParser = DefaultFunctionCallParser()
        options.temperature = 0
        options.maxTokens = 100
        let userMessage = ChatMessage(role: .user, textContent: "Check the weather in Oslo")

        var calls: [SdkFunctionCall] = []
        for try await response in conversation.generateResponse(message: userMessage, generationOptions: options) {
            switch response {
            case .chunk(let text): print(text)
            case .reasoningChunk(let text): print(text)
            case .audioSample(let audioSample): print(audioSample)
            case .functionCalls(let found): calls += found.functionCalls
            case .complete(let completion): #expect(completion.fullMessage.functionCalls == calls)
            default: break
            }
        }
        // 3. Validate each call's arguments against the tool's expected shape, then run the tool.
        #expect(calls.map(\.name) == ["check_weather"])
        #expect(calls.first?.arguments["city"] as? String == "Oslo")

        // 4. Build a ChatMessage with the tool role whose text content is the tool output.
        let result = ChatMessage(role: .tool, textContent: #"{"sky": "sunny"}"#)
        // 5. Create a new conversation from the history plus that message; call generateResponse on it.
        let next = conversation.modelRunner.createConversationFromHistory(history: conversation.history + [result])
        #expect(next.functions == [weather])
        let answer = try await text(of: next.generateResponse(generationOptions: options))
        #expect(answer.contains("sunny"))
        #expect(next.history.map(\.role) == [.system, .user, .assistant, .tool, .assistant])
    }

    @Test func hasOptionsAsAMutableValue() {
        let defaults = GenerationOptions()
        #expect(defaults.functionCallParser == ModelFunctionCallParser())
        var options = defaults
        options.functionCallParser = nil
        #expect(defaults.functionCallParser != nil)
        options = defaults.with(\.functionCallParser, JsonStyleFunctionCallParser()).with(\.maxTokens, 64)
        #expect(options.functionCallParser == .jsonStyle)
        #expect(options.maxTokens == 64)
        #expect(LoadOptions().with(\.contextSize, 512).contextSize == 512)
    }

    /// Registering throws nothing, so the next reply reports a function that is refused.
    @Test func refusesInvalidFunctions() async throws {
        let conversation = try scripted(#"["Hello."]"#)
        let function = SdkFunction(name: "9 lives", functionDescription: "", parameters: [])
        conversation.registerFunction(function: function)
        await #expect { try await text(of: conversation.generateResponse("Hi")) } throws: { error in
            guard case .InvalidFunction(let reason)? = error as? SdkError else { return false }
            return reason == error.localizedDescription && reason == "\(error)" && reason.contains("9 lives")
        }
        #expect(try await conversation.respond(to: "Hi").text == "Hello.")
        #expect(throws: SdkError.self) { try conversation.registerFunctions(functions: [function]) }
    }

    @Test func acceptsPartsOfAMessage() {
        let message = ChatMessage(role: .user, content: [.text("a"), .image(data: .init([1, 2])), .text("b")])
        #expect(message.text == "ab")
        #expect(ChatMessage(role: .user, textContent: "a").content == [.text("a")])
    }
}
