import Foundation
import Testing

@testable import Causerie

/// Conversion between JSON and Swift types.
@Suite struct Json {
    @Test func givesEveryValueOneType() throws {
        let text = #"{"t": true, "one": 1, "point": 1.0, "s": "1", "n": null, "l": [1, null]}"#
        let arguments = try SdkJsonObject(text: text).dictionary
        #expect(arguments["t"] as? Bool == true)
        #expect(arguments["t"] as? Int == nil)
        #expect(arguments["one"] as? Int == 1)
        #expect(arguments["one"] as? Bool == nil)
        #expect(arguments["one"] as? Double == nil)
        #expect(arguments["point"] as? Double == 1)
        #expect(arguments["point"] as? Int == nil)
        #expect(arguments["s"] as? String == "1")
        #expect(arguments.keys.contains("n"))
        #expect(arguments["n"]! == nil)
        #expect(arguments["missing"] == nil)
        #expect((arguments["l"] as? [Any?])?.count == 2)
    }

    @Test(arguments: [
        "0", "-7", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809",
        "123456789012345678901234567890123456789012345678901234567890",
    ])
    func keepsEveryDigit(_ digits: String) throws {
        let object = try SdkJsonObject(text: #"{"a": \#(digits)}"#)
        #expect(try SdkJsonObject(object.dictionary).json == #"{"a": \#(digits)}"#)
        let call = SdkFunctionCall(name: "f", argumentsObject: object)
        let message = ChatMessage(role: .assistant, content: [], functionCalls: [call])
        let crossed = try messagesFromJson(text: messagesToJson(messages: [message]))[0].functionCalls?.first
        #expect(crossed?.argumentsObject == object)
        if Int(digits) == nil { #expect(crossed?.arguments["a"] as? SdkBigInteger == SdkBigInteger(digits)) }
    }

    @Test func writesEveryValueOfSwift() throws {
        let object = try SdkJsonObject([
            "bool": true, "int8": Int8(-1), "uint64": UInt64.max, "double": 0.1, "float": Float(0.1),
            "decimal": Decimal(string: "12345678901234567890.5")!, "whole": Decimal(7), "big": SdkBigInteger("-00012")!,
            "list": [1, 2], "map": ["b": nil, "a": "é\"\\\n\u{0}👩"] as [String: Any?], "null": NSNull(), "nil": nil,
            "absent": Optional<Int>.none as Any, "present": Optional<Int>.some(1) as Any, "large": 1e300,
        ])
        #expect(
            object.json == #"{"absent": null, "big": -12, "bool": true, "decimal": 1.2345678901234567e+19, "#
                + #""double": 0.1, "float": 0.1, "int8": -1, "large": 1e+300, "list": [1, 2], "#
                + #""map": {"a": "é\"\\\u000a\u0000👩", "b": null}, "nil": null, "null": null, "present": 1, "#
                + #""uint64": 18446744073709551615, "whole": 7}"#)
        #expect(try SdkJsonObject(text: object.json) == object)
    }

    @Test func readsNumbersAndBooleansOfFoundation() throws {
        let text = #"{"f": false, "i": 3, "l": [true, 0, 1.5, "s"]}"#
        let parsed = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(try SdkJsonObject(parsed).json == text)
        #expect(
            try SdkJsonObject(["n": NSNumber(value: 1), "b": NSNumber(value: true)]).json == #"{"b": true, "n": 1}"#)
    }

    @Test func namesValuesThatItCannotRepresent() {
        func check(_ value: Any?, _ reason: String) {
            #expect(throws: SdkError.Serialization(reason: reason)) { try SdkJsonObject(["a": ["b": [value]]]) }
        }
        check(Double.nan, "a.b[0] must be a finite number, found nan")
        check(-Float.infinity, "a.b[0] must be a finite number, found -inf")
        check(Missing(), "a.b[0] must be a JSON value, found the type Missing")
    }

    @Test(arguments: [
        "", "{", "[]", "{}x", #"{"a"}"#, #"{"a": }"#, #"{"a": 1,}"#, #"{a: 1}"#, #"{"a": 01}"#, #"{"a": 1.}"#,
        #"{"a": -}"#, #"{"a": 1e}"#, #"{"a": 1e999}"#, #"{"a": tru}"#, #"{"a": "\x"}"#, #"{"a": "\ud83d"}"#,
        #"{"a": "\u12"}"#, #"{"a": "\u+123"}"#, #"{"a": 1, "a": 2}"#, "{\"a\": \"\n\"}", #"{"a": "b"#, #"{"a": NaN}"#,
    ])
    func refusesInvalidJson(_ text: String) {
        #expect { try SdkJsonObject(text: text) } throws: { ($0 as? SdkError)?.caseName == "Serialization" }
    }

    @Test func survivesDamage() throws {
        let text = #"{"a": [-1.5e+3, "\u00e9\ud83d\udc69\n", true, null], "b": {"c": 12345678901234567890}}"#
        let whole = Array(text.utf8)
        func read(_ bytes: some Collection<UInt8>) throws {
            guard let object = try? SdkJsonObject(text: String(decoding: bytes, as: UTF8.self)) else { return }
            #expect(try SdkJsonObject(text: object.json).json == object.json)
            // The engine must accept what this parser accepts: a failure in a function that does not throw is fatal.
            let call = SdkFunctionCall(name: "f", argumentsObject: object)
            #expect(validate(call: call, functions: []).argumentsObject == object)
        }
        for index in whole.indices {
            try read(whole[..<index])
            for byte in #"{}[]",:\u0-.eE n"#.utf8 {
                var damaged = whole
                damaged[index] = byte
                try read(damaged)
            }
        }
        try read(whole)
    }

    @Test func readsEscapes() throws {
        let object = try SdkJsonObject(text: #" { "a" : "\"\\\/\b\f\n\r\t\u00e9\ud83d\uDC69" , "b" : [ ] } "#)
        #expect(object.dictionary["a"] as? String == "\"\\/\u{8}\u{c}\n\r\té👩")
    }

    @Test func reachesTheEngineAtTheNestingLimit() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"a": "#, count: levels) + "1" + String(repeating: "}", count: levels)
        }
        let deepest = try SdkJsonObject(text: nested(128))
        // This function does not throw, so if the engine could not read the object, the app would end.
        let call = SdkFunctionCall(name: "f", argumentsObject: deepest)
        #expect(validate(call: call, functions: []).argumentsObject == deepest)
        #expect { try SdkJsonObject(text: nested(129)) } throws: { ($0 as? SdkError)?.caseName == "Serialization" }
        let native = deepest.dictionary
        #expect(try SdkJsonObject(native) == deepest)
        #expect { try SdkJsonObject(["b": native]) } throws: { ($0 as? SdkError)?.caseName == "Serialization" }
    }

    @Test func comparesObjectsByTheirEntries() throws {
        let one = try SdkJsonObject(text: #"{"a": 1, "b": {"c": 2, "d": 3}}"#)
        let other = try SdkJsonObject(text: #"{"b":{"d":3,"c":2},"a":1}"#)
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        let third = try SdkJsonObject(text: #"{"a": 1.0, "b": {"c": 2, "d": 3}}"#)
        #expect(one != third)
        #expect(other.json == #"{"b": {"d": 3, "c": 2}, "a": 1}"#)
    }

    @Test func keepsNamesThatAreEqualOnlyInSwift() throws {
        let object = try SdkJsonObject(text: "{\"\u{e9}\": 1, \"e\u{301}\": 2}")
        #expect(object.dictionary.count == 1)
        #expect(object.dictionary["é"] as? Int == 1)
        #expect(object.json == "{\"\u{e9}\": 1, \"e\u{301}\": 2}")
    }

    @Test func readsOnlyDigitsAsIntegers() {
        #expect(SdkBigInteger("+0012")?.description == "12")
        #expect(SdkBigInteger("-0")?.description == "0")
        for text in ["", "-", "1.5", "1e3", "٣", " 1", "--1"] { #expect(SdkBigInteger(text) == nil) }
    }
}

/// A history as a part of an app's state.
@Suite struct CodableHistories {
    private struct State: Codable, Equatable {
        var title: String
        var history: [ChatMessage]
    }

    @Test func areTheSameWhenTheyAreDecoded() async throws {
        let types = ["z", "a", "m", "b"].map { name in
            SdkFunctionParameter(name: name, type: .SdkStr(), parameterDescription: "", optional: true)
        }
        let function = SdkFunction(name: "f", functionDescription: "d", parameters: types)
        var handlers = FunctionHandlers()
        handlers.on(function) { _ in "1" }
        let first = calling("[f(z='1', a='2')]")
        let runner = try loadScriptedModel(script: #"{"replies": [\#(first), ["Do", "ne.", {"stall": true}]]}"#)
        let conversation = runner.createConversation(systemPrompt: "é\"", handlers: handlers)
        let reply = conversation.generateResponse("Hi")
        for try await event in reply { if case .chunk = event { reply.cancel() } }
        let picture = ChatMessage(role: .user, content: [.image(data: .init([1, 2])), .text("b")])
        let state = State(title: "t", history: conversation.history + [picture])
        #expect(state.history.map(\.role) == [.system, .user, .assistant, .tool, .assistant, .user])
        #expect(state.history[4].incomplete)
        #expect(try JSONDecoder().decode(State.self, from: JSONEncoder().encode(state)) == state)
        #expect(try PropertyListDecoder().decode(State.self, from: PropertyListEncoder().encode(state)) == state)
    }

    @Test func mustBeMessages() throws {
        for text in [
            #"["x"]"#, #"[""]"#,
            #"["{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"user\", \"content\": \"b\"}"]"#,
        ] {
            #expect(throws: (any Error).self) { try JSONDecoder().decode([ChatMessage].self, from: Data(text.utf8)) }
        }
        let message = #"["{\"role\": \"user\", \"content\": \"Hi\"}"]"#
        #expect(try JSONDecoder().decode([ChatMessage].self, from: Data(message.utf8)) == [hi])
    }
}
