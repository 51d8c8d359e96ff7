import Foundation
import Testing

import Causerie

/// Whole replies in every form, and what a conversation is created with.
@Suite struct Responding {
    private func runner(_ replies: String...) throws -> ModelRunner {
        try loadScriptedModel(script: #"{"replies": [\#(replies.joined(separator: ", "))]}"#)
    }

    private var weatherHandlers: FunctionHandlers {
        var handlers = FunctionHandlers()
        handlers.on(weather) { _ in "It is sunny." }
        return handlers
    }

    @Test func functionsAreGivenWhereTheConversationIsCreated() async throws {
        let runner = try runner(calling("[check_weather(city='Oslo')]"), #"["Sunny."]"#)
        let conversation = runner.createConversation(systemPrompt: "Be brief.", functions: [weather])
        #expect(conversation.functions == [weather])
        #expect(conversation.history.first?.text == "Be brief.")
        let calls = try await conversation.respond(to: "Weather?").fullMessage.functionCalls
        #expect(calls?.map(\.name) == ["check_weather"])
        let result = ChatMessage(role: .tool, textContent: #"{"sky": "sunny"}"#)
        #expect(try await conversation.respond(to: result).text == "Sunny.")
        #expect(conversation.history.map(\.role) == [.system, .user, .assistant, .tool, .assistant])
    }

    @Test func theNextStepHasNoMessage() async throws {
        let runner = try runner(calling("[check_weather(city='Oslo')]"), #"["Sunny."]"#)
        let first = runner.createConversation(functions: [weather])
        _ = try await first.respond(to: hi)
        let result = ChatMessage(role: .tool, textContent: "{}")
        let next = runner.createConversationFromHistory(history: first.history + [result])
        #expect(try await next.respond().text == "Sunny.")
    }

    @Test func handlersOfTheConversationRunTheCallsOfEveryReply() async throws {
        let call = calling("[check_weather(city='Oslo')]")
        let runner = try runner(call, #"["A"]"#, call, #"["B"]"#, call, #"["C"]"#)
        let conversation = runner.createConversation(handlers: weatherHandlers)
        #expect(conversation.functions == [weather])
        #expect(try await conversation.respond(to: "1").text == "A")
        #expect(try await text(of: conversation.fork().generateResponse("2")) == "B")
        let again = runner.createConversationFromHistory(
            history: conversation.history + [hi], handlers: weatherHandlers)
        #expect(try await again.respond().text == "C")
    }

    @Test func handlersOfOneReplyReplaceThoseOfTheConversation() async throws {
        let runner = try runner(calling("[check_weather(city='Oslo')]"), #"["Rain."]"#)
        let conversation = runner.createConversation(handlers: weatherHandlers)
        var handlers = FunctionHandlers()
        handlers.on(weather) { _ in "It rains." }
        #expect(try await conversation.respond(to: "Weather?", handlers: handlers).text == "Rain.")
        #expect(conversation.history.first { $0.role == .tool }?.text == "It rains.")
    }

    @Test func aMessageMayHavePictures() async throws {
        let conversation = try runner(#"["a"]"#).createConversation()
        let question = ChatMessage(role: .user, content: [.image(Data([1])), .text("What is this?")])
        // The scripted model takes text only, so the error shows that the picture has come to it.
        await #expect {
            try await conversation.respond(to: question)
        } throws: {
            SdkError.unsupportedContent ~= $0
        }
    }

    @Test func aRefusedFunctionIsTheErrorOfTheFirstReply() async throws {
        let conversation = try runner(#"["a"]"#).createConversation(functions: [plainFunction("9 lives")])
        await #expect { try await conversation.respond(to: "Hi") } throws: { SdkError.invalidFunction ~= $0 }
    }

    @Test func toolsAreFunctionsWithTypes() async throws {
        let runner = try runner(
            calling("[check_weather(city='Oslo'), now(), check_weather(days=1)]"), #"["Done."]"#)
        let conversation = try runner.createConversation(tools: [CheckWeather(), Clock()])
        #expect(conversation.functions.map(\.name) == ["check_weather", "now"])
        #expect(conversation.functions[0].functionDescription == "Check the weather in a city.")
        #expect(conversation.functions[0].parameters.map(\.parameterDescription) == ["The city."])
        #expect(try await conversation.respond(to: "Weather?").text == "Done.")
        let results = conversation.history.filter { $0.role == .tool }.map(\.text)
        #expect(results.count == 3)
        #expect(results.prefix(2) == [#"{"city": "Oslo", "sky": "sunny"}"#, "12:00"])
        #expect(results[2].contains("city"))
    }
}

private struct CheckWeather: SdkTool {
    struct Arguments: Codable, SdkDescribed {
        var city: String
        static let sdkDescriptions = ["city": "The city."]
    }

    let description = "Check the weather in a city."

    func call(arguments: Arguments) async throws -> [String: String] {
        ["city": arguments.city, "sky": "sunny"]
    }
}

private struct Clock: SdkTool {
    struct Arguments: Codable {}

    let name = "now"
    let description = "The time."

    func call(arguments: Arguments) async throws -> String { "12:00" }
}
