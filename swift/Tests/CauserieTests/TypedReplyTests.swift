import Foundation
import Testing

@testable import Causerie

private struct Dish: Codable, Equatable {
    var title: String
    var steps: [String]
}

private struct Draft: Codable, Equatable {
    var title: String?
    var steps: [String]?
}

/// Replies whose text is a value of a type.
@Suite struct TypedReplies {
    private let pieces = #"["{\"title\": \"So", "up\", \"steps\": [\"Bo", "il.\", \"Eat.\"]}"]"#

    @Test func areValues() async throws {
        let conversation = try scripted(pieces, pieces, pieces)
        let soup = Dish(title: "Soup", steps: ["Boil.", "Eat."])
        #expect(try await conversation.respond(to: "Soup?", as: Dish.self) == soup)
        #expect(try await conversation.respond(to: hi, as: Dish.self) == soup)
        try conversation.removeLastMessage()
        #expect(try await conversation.respond(as: Dish.self) == soup)
        #expect(conversation.history.map(\.role) == [.user, .assistant, .user, .assistant])
    }

    @Test func growWhileTheyAreWritten() async throws {
        let conversation = try scripted(pieces)
        var snapshots: [ReplySnapshot<Dish>] = []
        for try await snapshot in conversation.generateResponse("Soup?", as: Dish.self) { snapshots.append(snapshot) }
        let drafts = snapshots.map { $0.partial(as: Draft.self) }
        // Pieces may arrive joined, so only their order is certain.
        let possible: [Draft] = [
            Draft(title: "So"), Draft(title: "Soup", steps: ["Bo"]), Draft(title: "Soup", steps: ["Boil.", "Eat."]),
        ]
        var at = 0
        for draft in drafts {
            at = try #require(possible[at...].firstIndex { $0 == draft })
        }
        #expect(snapshots.last?.value == Dish(title: "Soup", steps: ["Boil.", "Eat."]))
        #expect(snapshots.last?.completion?.finishReason == .stop)
        #expect(snapshots.filter(\.isComplete).count == 1)
        #expect(snapshots.last?.dictionary["title"] as? String == "Soup")
    }

    @Test func sayThatTheyWereCutShort() async throws {
        let conversation = try scripted(pieces, pieces)
        let options = GenerationOptions().with(\.maxTokens, 2)
        for type in [0, 1] {
            await #expect {
                if type == 0 { _ = try await conversation.respond(to: hi, as: Dish.self, generationOptions: options) }
                for try await _ in conversation.generateResponse("Hi", as: Dish.self, generationOptions: options) {}
            } throws: {
                "\($0)".contains("cut short")
            }
        }
    }

    @Test func sayThatTheyCalledFunctionsOfTheApp() async throws {
        for type in [0, 1] {
            let conversation = try scripted(calling("[check_weather(city='Oslo')]"))
            conversation.registerFunction(function: weather)
            await #expect(
                throws: SdkError.invalidArgument(
                    reason: "the reply called functions that the app must run", argument: "reply")
            ) {
                if type == 0 { _ = try await conversation.respond(to: hi, as: Dish.self) }
                for try await _ in conversation.generateResponse("Hi", as: Dish.self) {}
            }
        }
    }

    @Test func endWithTheValueSoFarWhenTheyAreCancelled() async throws {
        let conversation = try scripted(#"["{\"title\": \"Soup\", \"steps\": [", {"stall": true}]"#)
        let reply = conversation.generateResponse("Soup?", as: Dish.self)
        var last: ReplySnapshot<Dish>?
        for try await snapshot in reply {
            last = snapshot
            reply.cancel()
        }
        #expect(last?.value == Dish(title: "Soup", steps: []))
        #expect(last?.completion?.finishReason == .interrupted)
        #expect(last?.isComplete == false)
    }

    @Test func areNotCompleteWhenTheyRunOutOfTime() async throws {
        let conversation = try scripted(#"["{\"title\": \"Soup\", \"steps\": [", {"stall": true}]"#)
        let options = GenerationOptions().with(\.timeoutMilliseconds, 100)
        var last: ReplySnapshot<Dish>?
        for try await snapshot in conversation.generateResponse("Soup?", as: Dish.self, generationOptions: options) {
            last = snapshot
        }
        #expect(last?.completion?.finishReason == .interrupted && last?.isComplete == false)
    }

    @Test func refuseTypesThatAreNotSupported() async throws {
        struct Endless: Decodable {
            init(from decoder: any Decoder) throws { throw Missing() }
        }
        let conversation = try scripted(#"["a"]"#)
        await #expect(throws: (any Error).self) { try await conversation.respond(to: "Hi", as: Endless.self) }
        #expect(conversation.history.isEmpty)
    }

    @Test func areClosedAtAnyPoint() throws {
        let expected =
            [
                ("", nil), ("  ", nil), ("{", "{}"), (#"{"a"#, "{}"), (#"{"a": "#, "{}"), (#"{"a": ""#, #"{"a": ""}"#),
                (#"{"a": "x"#, #"{"a": "x"}"#), (#"{"a": "x\"#, #"{"a": "x"}"#), (#"{"a": "x\n"#, #"{"a": "x\n"}"#),
                (#"{"a": 1"#, "{}"), (#"{"a": 1,"#, #"{"a": 1}"#), (#"{"a": tru"#, "{}"),
                (#"{"a": true "#, #"{"a": true}"#),
                (#"{"a": [[1, 2"#, #"{"a": [[1]]}"#), (#"[{"b": "]"}, "#, #"[{"b": "]"}]"#),
                (#""\ud83d"#, #""""#), (#""\ud83d\ude0"#, #""""#), (#""\ud83d\ude00"#, #""\ud83d\ude00""#),
                (#""\u00e"#, #""""#), (#""\u00e9"#, #""\u00e9""#), (#"{"\"": "v"#, #"{"\"": "v"}"#), ("12", nil),
                ("[]", "[]"),
            ] as [(String, String?)]
        for (text, closed) in expected {
            var partial = PartialJson()
            partial.push(text)
            #expect(partial.closed == closed, "\(text)")
        }
    }

    /// Foundation reads what is closed after each character.
    @Test func areValidAfterEachCharacter() throws {
        let text =
            #" {"a": [1, -2.5e3, {"b\\\"": null}], "é": "\ud83d\ude00 \" \\ x😀", "c": {}, "d": [], "e": [true, false]} "#
        var partial = PartialJson()
        var values = 0
        for character in text {
            partial.push(String(character))
            guard let closed = partial.closed else { continue }
            _ = try JSONSerialization.jsonObject(with: Data(closed.utf8))
            values += 1
        }
        #expect(values == text.count - 1)
        #expect(
            partial.closed.map { $0.trimmingCharacters(in: .whitespaces) } == text.trimmingCharacters(in: .whitespaces))
    }
}

/// Times in the platform's type.
@Suite struct Durations {
    @available(macOS 13, iOS 16, *)
    @Test func areDurations() async throws {
        var options = GenerationOptions()
        #expect(options.timeout == nil)
        options.timeout = .seconds(1.5)
        #expect(options.timeoutMilliseconds == 1_500)
        options.timeout = .microseconds(1)
        #expect(options.timeout == .milliseconds(1))
        options.timeout = .seconds(-1)
        #expect(options.timeoutMilliseconds == 0)
        options.timeout = .seconds(Int64.max)
        #expect(options.timeoutMilliseconds == .max)
        var handlers = FunctionHandlers()
        handlers.timeout = .milliseconds(250)
        #expect(handlers.timeLimit == 0.25 && handlers.timeout == .milliseconds(250))
        var hub = HubOptions()
        (hub.idleTimeout, hub.retryPause) = (.seconds(2), .milliseconds(3))
        #expect(hub.idleTimeoutMilliseconds == 2_000 && hub.retryPauseMilliseconds == 3)
        let stats = try await scripted(#"["a"]"#).respond(to: "Hi").stats
        #expect(stats.decodeDuration == .seconds(stats.decodeTime))
        #expect(stats.durationToFirstToken == .seconds(stats.timeToFirstToken))
    }
}

/// Errors as patterns.
@Suite struct ErrorKinds {
    @Test func areNamedByTheirCases() {
        let error = SdkError.promptExceedsContext(reason: "r", needed: 3, available: 2)
        #expect(error == .PromptExceedsContext(reason: "r", needed: 3, available: 2))
        #expect(error.kind == .promptExceedsContext)
        for kind in SdkError.Kind.allCases where kind != .promptExceedsContext { #expect(!(kind ~= error)) }
        let name = "\(error.kind)"
        #expect(name.prefix(1).uppercased() + name.dropFirst() == error.caseName)
    }

    @Test func areCaughtInLowerCamelCase() async throws {
        var caught: [String] = []
        do {
            _ = try await loadModel(path: "no/such.gguf")
        } catch SdkError.busy {
            caught.append("busy")
        } catch SdkError.modelNotFound {
            caught.append("not found")
        }
        switch SdkError.Busy(reason: "r") {
        case .modelNotFound: caught.append("not found")
        case .busy: caught.append("busy")
        default: caught.append("other")
        }
        switch SdkError.Busy(reason: "r") {
        case .Busy(let reason): caught.append(reason)
        default: caught.append("other")
        }
        #expect(caught == ["not found", "busy", "r"])
    }
}
