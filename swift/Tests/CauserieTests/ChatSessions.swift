import Testing

@testable import Causerie

/// The session of a screen.
@MainActor @Suite struct ChatSessions {
    @available(macOS 14, iOS 17, *)
    @Test func showTheReplyAsItGrows() async throws {
        let chat = ChatSession(try scripted(#"["a", "b", {"stall": true}]"#))
        chat.draft = "Hi"
        chat.send()
        #expect(chat.draft.isEmpty && chat.isResponding)
        while chat.messages.last?.text != "ab" { await Task.yield() }
        #expect(chat.messages.map(\.role) == [.user, .assistant])
        #expect(chat.messages[1].incomplete && chat.isResponding)
        chat.stop()
        await chat.finish()
        #expect(!chat.isResponding && chat.error == nil)
        #expect(chat.completion?.finishReason == .interrupted)
        #expect(chat.messages == chat.conversation.history)
    }

    @available(macOS 14, iOS 17, *)
    @Test func sendTheNextMessageAfterTheStoppedReply() async throws {
        let chat = ChatSession(try scripted(#"["a", {"stall": true}]"#, #"["b"]"#))
        chat.send("1")
        while chat.messages.last?.text != "a" { await Task.yield() }
        chat.send("2")
        #expect(chat.isResponding)
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["1", "a", "2", "b"])
        #expect(chat.error == nil)
    }

    @available(macOS 14, iOS 17, *)
    @Test func keepTheirErrorUntilTheNextMessage() async throws {
        let chat = ChatSession(try scripted(#"[{"fail": "no memory"}]"#, #"["a"]"#))
        chat.send("1")
        await chat.finish()
        #expect(chat.error as? SdkError == .generation(reason: "no memory"))
        #expect(chat.messages == chat.conversation.history && !chat.isResponding)
        chat.send("2")
        await chat.finish()
        #expect(chat.error == nil && chat.messages.last?.text == "a")
    }

    @available(macOS 14, iOS 17, *)
    @Test func runFunctionsAndHideTheSystemMessage() async throws {
        var handlers = FunctionHandlers()
        handlers.on(weather) { _ in "It is sunny." }
        let script = #"{"replies": [\#(calling("[check_weather(city='Oslo')]")), ["Sunny."]]}"#
        let runner = try loadScriptedModel(script: script)
        let chat = ChatSession(runner.createConversation(systemPrompt: "Be brief.", handlers: handlers))
        #expect(chat.messages.isEmpty)
        chat.send("Weather?")
        await chat.finish()
        #expect(chat.messages.map(\.role) == [.user, .assistant, .tool, .assistant])
        #expect(chat.messages.last?.text == "Sunny.")
    }

    @available(macOS 14, iOS 17, *)
    @Test func replyAnew() async throws {
        let chat = ChatSession(try scripted(#"["a"]"#, #"["b"]"#))
        chat.regenerate()
        await chat.finish()
        #expect(SdkError.invalidMessage ~= (chat.error ?? Missing()))
        chat.send("Hi")
        await chat.finish()
        chat.regenerate()
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["Hi", "b"] && chat.error == nil)
    }

    @available(macOS 14, iOS 17, *)
    @Test func sendNoBlankDraft() throws {
        let chat = ChatSession(try scripted(#"["a"]"#))
        chat.draft = " \n"
        chat.send()
        #expect(!chat.isResponding && chat.draft == " \n")
    }

    @available(macOS 14, iOS 17, *)
    @Test func endWithTheirLastReference() async throws {
        let conversation = try scripted(#"["a", {"stall": true}]"#, #"["b"]"#)
        var chat: ChatSession? = ChatSession(conversation)
        chat?.send("1")
        while chat?.messages.last?.text != "a" { await Task.yield() }
        weak var dropped = chat
        chat = nil
        #expect(dropped == nil)
        #expect(try await conversation.respond(to: "2").text == "b")
    }

    @available(macOS 14, iOS 17, *)
    @Test func sendNothingAfterTheirLastReference() async throws {
        let conversation = try scripted(#"["a"]"#, #"["b"]"#)
        var chat: ChatSession? = ChatSession(conversation)
        chat?.send("1")
        chat = nil
        // The task of the message runs meanwhile.
        for _ in 0..<100 { await Task.yield() }
        #expect(try await conversation.respond(to: "2").text == "a")
        #expect(conversation.history.map(\.text) == ["2", "a"])
    }

    @available(macOS 14, iOS 17, *)
    @Test func keepEveryMessage() async throws {
        let chat = ChatSession(try scripted(#"["1"]"#, #"["2"]"#))
        for message in ["a", "b", "c"] { chat.send(message) }
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["a", "b", "c", "1"])
        #expect(chat.error == nil && chat.completion?.finishReason == .stop)
        chat.send("d")
        chat.stop()
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["a", "b", "c", "1", "d"])
        #expect(chat.messages == chat.conversation.history)
        #expect(chat.error == nil && chat.failed == nil && !chat.isResponding)
        chat.regenerate()
        await chat.finish()
        #expect(chat.messages.last?.text == "2")
    }

    /// The task of the reply may have begun when it is stopped, or not.
    @available(macOS 14, iOS 17, *)
    @Test(arguments: 0..<8) func keepAMessageWheneverItsReplyIsStopped(_ pause: Int) async throws {
        let chat = ChatSession(try scripted(#"[{"stall": true}]"#))
        chat.send("1")
        for _ in 0..<pause { await Task.yield() }
        chat.stop()
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["1"] && chat.error == nil)
    }

    @available(macOS 14, iOS 17, *)
    @Test func dropStoppedTurnsIfTheOptionsSaySo() async throws {
        let options = GenerationOptions().with(\.onCancel, .dropTurn)
        let chat = ChatSession(try scripted(#"["a"]"#), generationOptions: options)
        chat.send("1")
        chat.stop()
        await chat.finish()
        #expect(chat.messages.isEmpty && chat.error == nil)
    }

    @available(macOS 14, iOS 17, *)
    @Test func sendAFailedMessageAgain() async throws {
        let chat = ChatSession(try scripted(#"["a"]"#, #"["b"]"#, #"["c"]"#))
        chat.send("1")
        await chat.finish()
        chat.draft = "2"
        chat.generationOptions = GenerationOptions().with(\.temperature, -1)
        chat.send()
        await chat.finish()
        #expect(SdkError.invalidOption ~= (chat.error ?? Missing()))
        #expect(chat.failed?.text == "2" && chat.messages.map(\.text) == ["1", "a"])
        chat.regenerate()
        chat.stop()
        await chat.finish()
        #expect(chat.failed?.text == "2" && chat.messages.map(\.text) == ["1", "a"])
        chat.generationOptions = nil
        chat.regenerate()
        await chat.finish()
        #expect(chat.failed == nil && chat.error == nil)
        #expect(chat.messages.map(\.text) == ["1", "a", "2", "b"])
        chat.regenerate()
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["1", "a", "2", "c"])
    }

    @available(macOS 14, iOS 17, *)
    @Test func keepAReplyThatNoOtherReplaces() async throws {
        let chat = ChatSession(try scripted(#"["a"]"#, #"[{"fail": "no memory"}]"#))
        chat.send("1")
        await chat.finish()
        chat.regenerate()
        chat.stop()
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["1", "a"] && chat.error == nil)
        chat.generationOptions = GenerationOptions().with(\.temperature, -1)
        chat.regenerate()
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["1", "a"] && chat.error != nil && chat.failed == nil)
        chat.generationOptions = nil
        chat.regenerate()
        await chat.finish()
        #expect(chat.messages.map(\.text) == ["1", "a"])
        #expect(chat.error as? SdkError == .generation(reason: "no memory"))
    }

    @available(macOS 14, iOS 17, *)
    @Test func showReasoningAndCallsAsTheyGrow() async throws {
        let reasoning = try loadScriptedModel(
            script: #"{"replies": [["<think>", "hmm", " ok", {"stall": true}]]}"#)
        let options = GenerationOptions().with(\.enableThinking, true)
        var chat = ChatSession(reasoning.createConversation(), generationOptions: options)
        chat.send("1")
        while chat.messages.last?.reasoningContent?.hasSuffix("ok") != true { await Task.yield() }
        #expect(chat.messages.last?.text == "" && chat.messages.last?.incomplete == true)
        chat.stop()
        await chat.finish()

        let conversation = try scripted(calling("[f()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        let gate = AsyncStream<Void>.makeStream()
        handlers.on(plainFunction("f")) { _ in
            for await _ in gate.stream {}
            return nil
        }
        chat = ChatSession(conversation.modelRunner.createConversation(handlers: handlers))
        chat.send("1")
        while chat.messages.last?.functionCalls?.first?.name != "f" { await Task.yield() }
        #expect(chat.isResponding)
        gate.continuation.finish()
        await chat.finish()
        #expect(chat.messages.map(\.role) == [.user, .assistant, .tool, .assistant])
    }
}
