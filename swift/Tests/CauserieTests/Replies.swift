import Testing

@testable import Causerie

/// Replies that are read, abandoned and cancelled.
@Suite struct Replies {
    @Test func areNotStartedBeforeTheyAreRead() async throws {
        let conversation = try scripted(#"["a"]"#)
        let stream = conversation.generateResponse(message: hi)
        #expect(!conversation.isGenerating)
        #expect(conversation.history.isEmpty)
        #expect(try await text(of: stream) == "a")
        #expect(conversation.history.map(\.text) == ["Hi", "a"])
    }

    @Test func areGeneratedNoFasterThanTheyAreRead() async throws {
        let long = (1...5_000).map { _ in #""a""# }.joined(separator: ", ")
        let conversation = try scripted("[\(long)]", #"["b"]"#)
        let stream = conversation.generateResponse(message: hi)
        #expect(try await stream.next() == .chunk("a"))
        // The engine alternates between the replies, so the first would end before this one if nothing held it back.
        let other = conversation.modelRunner.createConversation()
        #expect(try await text(of: other.generateResponse(message: hi)) == "b")
        #expect(conversation.isGenerating)
        stream.cancel()
        let written = try await completion(of: stream).stats.completionTokens
        #expect(written < 100)
    }

    @Test func areGeneratedAtMostEighteenEventsAhead() async throws {
        let long = (1...5_000).map { _ in #""a""# }.joined(separator: ", ")
        let conversation = try scripted("[\(long)]", #"["b"]"#)
        for try await _ in conversation.generateResponse(message: hi) { break }
        // It waits in the request queue after the abandoned reply.
        let options = GenerationOptions().with(\.onBusy, .queue)
        #expect(try await text(of: conversation.generateResponse(message: hi, generationOptions: options)) == "b")
        #expect(1...19 ~= conversation.history[1].text.count)
    }

    @Test func areReadOnTheMainActor() async throws {
        let conversation = try scripted(#"["a", "b"]"#)
        let text = try await Task { @MainActor in
            var text = ""
            for try await event in conversation.generateResponse(message: hi) {
                MainActor.assertIsolated()
                if case .chunk(let chunk) = event { text += chunk }
            }
            return text
        }.value
        #expect(text == "ab")
    }

    @Test func stopWhenTheLoopIsLeft() async throws {
        let conversation = try scripted(#"["a", {"stall": true}]"#, #"["b"]"#)
        let stream = conversation.generateResponse(message: hi)
        for try await _ in stream { break }
        // It would be refused if the first reply were still generating; the stream itself is still referenced.
        #expect(try await text(of: conversation.generateResponse(message: hi)) == "b")
        #expect(conversation.history[1].incomplete)
        stream.cancel()
    }

    @Test func stopWhenTheTaskIsCancelled() async throws {
        let conversation = try scripted(#"["a", {"stall": true}]"#, #"["b"]"#)
        let (seen, report) = AsyncStream<MessageResponse>.makeStream()
        let task = Task {
            for try await event in conversation.generateResponse(message: hi) { report.yield(event) }
        }
        for await event in seen {
            #expect(event == .chunk("a"))
            break
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await text(of: conversation.generateResponse(message: hi)) == "b")
    }

    @Test func doNotStartInACancelledTask() async throws {
        let conversation = try scripted(#"["a"]"#)
        let (start, go) = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in start {}
            for try await _ in conversation.generateResponse(message: hi) {}
        }
        task.cancel()
        go.finish()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(conversation.history.isEmpty)
    }

    @Test func areReadOnce() async throws {
        let conversation = try scripted(#"["a", "b"]"#)
        let stream = conversation.generateResponse(message: hi)
        var first = stream.makeAsyncIterator()
        #expect(try await first.next() != nil)
        var second = stream.makeAsyncIterator()
        await #expect { try await second.next() } throws: { ($0 as? SdkError)?.caseName == "StreamAlreadyConsumed" }
        #expect(try await second.next() == nil)
        // The first reader is not disturbed.
        var last: MessageResponse?
        while let event = try await first.next() { last = event }
        guard case .complete(let completion)? = last else { throw Missing() }
        #expect(completion.fullMessage.text == "ab")
        #expect(completion.finishReason == .stop)
    }

    @Test func endWithACompleteWhenTheyAreCancelled() async throws {
        let conversation = try scripted(#"["a", {"stall": true}]"#)
        let stream = conversation.generateResponse(message: hi)
        var events: [MessageResponse] = []
        for try await event in stream {
            events.append(event)
            stream.cancel()
            stream.cancel()
        }
        guard case .complete(let completion)? = events.last else { throw Missing() }
        #expect(completion.finishReason == .interrupted)
        #expect(completion.fullMessage.incomplete)
        #expect(try await stream.next() == nil)
    }

    @Test func failWithTypedErrors() async throws {
        let conversation = try scripted(#"["a", {"fail": "no memory"}]"#, #"[{"panic": true}]"#)
        var iterator = conversation.generateResponse(message: hi).makeAsyncIterator()
        #expect(try await iterator.next() == .chunk("a"))
        await #expect { try await iterator.next() } throws: {
            $0.localizedDescription == "no memory" && $0 as? SdkError == .Generation(reason: "no memory")
        }
        #expect(try await iterator.next() == nil)
        await #expect { try await text(of: conversation.generateResponse(message: hi)) } throws: {
            ($0 as? SdkError)?.caseName == "Internal"
        }
    }

    @Test func areReadAsText() async throws {
        let conversation = try scripted(#"["a", "b"]"#, #"["c", "d"]"#)
        var pieces: [String] = []
        for try await text in conversation.generateResponse("Hi").text { pieces.append(text) }
        #expect(pieces.joined() == "ab")
        #expect(try await conversation.respond(to: "Hi").text == "cd")
        #expect(conversation.history.map(\.text) == ["Hi", "ab", "Hi", "cd"])
    }

    /// A task of an actor that waits for an event is cancelled within the call of `cancel`.
    @MainActor @Test func areCancelledBeforeTheNextMessage() async throws {
        for _ in 0..<20 {
            let conversation = try scripted(#"["a", {"stall": true}]"#, #"["b"]"#)
            let (begun, begin) = AsyncStream<Void>.makeStream()
            let first = Task { @MainActor in
                for try await _ in conversation.generateResponse("1") { begin.yield() }
            }
            for await _ in begun { break }
            first.cancel()
            let second = Task { @MainActor in try await conversation.respond(to: "2").text }
            #expect(try await second.value == "b")
            _ = await first.result
        }
    }

    /// Copies of an iterator share its place in the stream, and the stream ends with the last of them.
    @Test func areReadByCopiesOfAnIterator() async throws {
        let conversation = try scripted(#"["a", "b"]"#, #"["c"]"#)
        var copies = [conversation.generateResponse("Hi").makeAsyncIterator()]
        copies.append(copies[0])
        #expect(try await copies[1].next() != nil)
        copies.removeFirst()
        while try await copies[0].next() != nil {}
        copies = []
        #expect(try await conversation.respond(to: "Hi").text == "c")
    }

    @Test func areRefusedWhileAnotherIsGenerated() async throws {
        let conversation = try scripted(#"["a", {"stall": true}]"#)
        let stream = conversation.generateResponse(message: hi)
        #expect(try await stream.next() == .chunk("a"))
        #expect(conversation.isGenerating)
        await #expect { try await text(of: conversation.generateResponse(message: hi)) } throws: {
            ($0 as? SdkError)?.caseName == "Busy"
        }
        #expect { try conversation.registerFunctions(functions: [weather]) } throws: {
            ($0 as? SdkError)?.caseName == "Busy"
        }
        stream.cancel()
    }

    @Test func waitInTheRequestQueueOnRequest() async throws {
        let conversation = try scripted(#"["a", "b"]"#, #"["c"]"#)
        let first = conversation.generateResponse(message: hi)
        #expect(try await first.next() != nil)
        let queued = Task {
            let options = GenerationOptions().with(\.onBusy, .queue)
            return try await text(of: conversation.generateResponse(message: hi, generationOptions: options))
        }
        while try await first.next() != nil {}
        #expect(try await queued.value == "c")
    }

    @Test func areCallTextWithoutAParser() async throws {
        let conversation = try scripted(
            #"[{"control": "<|tool_call_start|>"}, "[f(a=1)]", {"control": "<|tool_call_end|>"}]"#)
        var options = GenerationOptions()
        options.functionCallParser = nil
        let reply = conversation.generateResponse(message: hi, generationOptions: options)
        #expect(try await text(of: reply) == "<|tool_call_start|>[f(a=1)]<|tool_call_end|>")
    }

    @Test func endWithTheModel() async throws {
        let conversation = try scripted(#"["a"]"#)
        try await conversation.modelRunner.unload()
        try await conversation.modelRunner.unload()
        await #expect { try await text(of: conversation.generateResponse(message: hi)) } throws: {
            ($0 as? SdkError)?.caseName == "ModelUnloaded"
        }
        #expect(conversation.history.isEmpty)
    }
}
