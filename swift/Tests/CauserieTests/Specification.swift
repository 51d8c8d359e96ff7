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
                        properties: ["e": .SdkBool(description: "E"), "n": .SdkNull()], required: ["e"],
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
        try conversation.registerFunction(function: function)
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
        #expect(SdkObj(properties: ["a": SdkBool()]) == .SdkObj(properties: ["a": .SdkBool()], required: []))
    }

    @Test func runsAFunctionCall() async throws {
        let modelRunner = try await loadModel(url: repository.appendingPathComponent("models/demo.gguf"))
        let conversation = modelRunner.createConversation(systemPrompt: "You are a small assistant on this device.")
        try conversation.registerFunction(function: weather)
        var options = GenerationOptions()
        options.temperature = 0
        options.maxTokens = 100
        let userMessage = ChatMessage(role: .user, textContent: "Check the weather in Oslo")

        var calls: [SdkFunctionCall] = []
        for try await response in conversation.generateResponse(message: userMessage, generationOptions: options) {
            switch response {
            case .functionCalls(let functionCalls): calls += functionCalls
            case .functionResult(let result): print(result.text)
            case .complete(let completion): #expect(completion.fullMessage.functionCalls == calls)
            default: Issue.record("\(response)")
            }
        }
        #expect(calls.map(\.name) == ["check_weather"])
        #expect(calls.first?.arguments["city"] as? String == "Oslo")

        let result = ChatMessage(role: .tool, textContent: #"{"sky": "sunny"}"#)
        let next = conversation.modelRunner.createConversationFromHistory(history: conversation.history + [result])
        #expect(next.functions == [weather])
        let answer = try await text(of: next.continueResponse(generationOptions: options))
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

    @Test func refusesInvalidFunctions() throws {
        let conversation = try scripted()
        let function = SdkFunction(name: "9 lives", functionDescription: "", parameters: [])
        #expect { try conversation.registerFunction(function: function) } throws: { error in
            guard case .InvalidFunction(let reason)? = error as? SdkError else { return false }
            return reason == error.localizedDescription && reason == "\(error)" && reason.contains("9 lives")
        }
    }

    @Test func acceptsPartsOfAMessage() {
        let message = ChatMessage(role: .user, content: [.text("a"), .image(data: .init([1, 2])), .text("b")])
        #expect(message.text == "ab")
        #expect(ChatMessage(role: .user, textContent: "a").content == [.text("a")])
    }
}
