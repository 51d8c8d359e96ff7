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

extension Responding {
    @Test func toolsMayBelongToActors() async throws {
        let runner = try runner(calling("[counter(by=2), screen(title='Oslo'), counter(by=3)]"), #"["Done."]"#)
        let counter = Counter()
        let screen = Screen()
        let conversation = try runner.createConversation(tools: [counter, screen])
        #expect(try await conversation.respond("Weather?").text == "Done.")
        #expect(conversation.history.filter { $0.role == .tool }.map(\.text) == ["2", "null", "5"])
        #expect(await counter.total == 5)
        #expect(await screen.title == "Oslo")
    }

    @Test func handlersMayBelongToTheMainActor() async throws {
        let runner = try runner(calling("[check_weather(city='Oslo')]"), #"["Done."]"#)
        let screen = Screen()
        var handlers = FunctionHandlers()
        handlers.on(weather) { @MainActor call in
            screen.show(call.arguments["city"] as? String)
            return screen.title
        }
        _ = try await runner.createConversation(handlers: handlers).respond("Weather?")
        #expect(await screen.title == "Oslo")
    }

    @Test func genericToolsHaveNames() async throws {
        let runner = try runner(calling("[find_note(title='a')]"), #"["Done."]"#)
        let conversation = try runner.createConversation(tools: [Find<Note>(), Find<[String: Int]>()])
        #expect(conversation.functions.map(\.name) == ["find_note", "find_dictionary_string_int"])
        #expect(try await conversation.respond("Notes?").text == "Done.")
        #expect(conversation.history.first { $0.role == .tool }?.text == "a")
        #expect(try SdkFunction(of: Page<Note>.self).name == "page_note")
        #expect(Described<Note>.sdkName == "described_note")
    }

    @Test func aToolWithAnInvalidNameIsRefusedAtOnce() throws {
        let runner = try runner(#"["a"]"#)
        #expect { try runner.createConversation(tools: [Misnamed()]) } throws: { SdkError.invalidFunction ~= $0 }
    }

    @Test func aConversationKeepsItsRunner() async throws {
        let runner = try runner(calling("[check_weather(city='Oslo')]"), #"["Sunny."]"#)
        let conversation = runner.createConversation("Be brief.")
        #expect(conversation.modelRunner === runner && conversation.fork().modelRunner === runner)
        #expect(runner.createConversationFromHistory(history: [hi]).modelRunner === runner)
        #expect(try runner.createConversation(tools: [Clock()]).modelRunner === runner)
        #expect(conversation.history.map(\.text) == ["Be brief."])
    }

    /// As the specification writes the calls, which names no label for a message.
    @Test func messagesNeedNoLabel() async throws {
        let value = #"["{\"title\": \"a\"}"]"#
        let runner = try runner(#"["a"]"#, #"["b"]"#, #"["c"]"#, #"["d"]"#, #"["e"]"#, value, value, value)
        let conversation = runner.createConversation()
        let handlers = weatherHandlers
        #expect(try await text(of: conversation.generateResponse(hi)) == "a")
        #expect(try await text(of: conversation.generateResponse(hi, generationOptions: GenerationOptions())) == "b")
        #expect(try await conversation.respond(hi).text == "c")
        #expect(try await conversation.respond("Hi").text == "d")
        #expect(try await text(of: conversation.respondWithFunctions(hi, handlers: handlers)) == "e")
        #expect(try await conversation.respond(hi, as: Note.self).title == "a")
        #expect(try await conversation.respond("Hi", as: Note.self).title == "a")
        for try await snapshot in conversation.generateResponse(hi, as: Note.self) where snapshot.isComplete {
            #expect(snapshot.value?.title == "a")
        }
    }
}

private struct Note: Codable, Sendable {
    var title: String
}

private struct Page<Item: Codable & Sendable>: Codable {
    var items: [Item]
}

private struct Described<Item>: SdkDescribed {}

private struct Find<Item>: SdkTool {
    let description = "Find something."

    func call(arguments: Note) async throws -> String { arguments.title }
}

private struct Misnamed: SdkTool {
    let name = "9 lives"
    let description = "Live."

    func call(arguments: Note) async throws {}
}

private actor Counter: SdkTool {
    struct Arguments: Codable {
        var by: Int
    }

    let description = "Count."
    var total = 0

    func call(arguments: Arguments) async throws -> Int {
        total += arguments.by
        return total
    }
}

@MainActor private final class Screen: SdkTool {
    let description = "Show a title."
    var title: String?

    func show(_ title: String?) {
        self.title = title
    }

    func call(arguments: Note) async throws {
        show(arguments.title)
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
