import Foundation
import Testing

@testable import Causerie

struct GetWeather: Codable, SdkDescribed {
    var city: String
    var days: UInt8?
    var unit: Unit?

    enum Unit: String, Codable, CaseIterable {
        case celsius, fahrenheit
    }

    static let sdkDescription = "The weather in a city."
    static let sdkDescriptions = [
        "city": "The city.", "days": "How many days.", "unit": "The unit to report.",
    ]
}

struct BookTable: Codable, SdkDescribed {
    var restaurant: String
    var guests: [Guest]
    var hours: Double
    var place: Place?
    var hasChild: Bool?

    enum CodingKeys: String, CodingKey {
        case restaurant, guests, hours, place
        case hasChild = "with_child"
    }

    struct Guest: Codable, SdkDescribed {
        var name: String
        var age: UInt8?

        static let sdkDescription = "A guest."
        static let sdkDescriptions = ["name": "As it is called.", "age": "In years."]
    }

    enum Place: String, Codable, CaseIterable {
        case inside, outside
        case atTheBar = "at_the_bar"
    }

    static let sdkDescription = "Book a table in a restaurant."
    static let sdkDescriptions = [
        "restaurant": "Name of the restaurant.", "guests": "The guests.", "hours": "From now.",
        "place": "Where to sit.", "with_child": "Whether a child comes.",
    ]
}

struct Recipe: Codable, SdkDescribed {
    var title: String
    var minutes: UInt32?
    var steps: [String]

    static let sdkDescription = "How to cook."
    static let sdkDescriptions = ["minutes": "How long it takes."]
}

/// The cases of `tests/fixtures/typed`, with Swift types.
@Suite struct TypedFunctions {
    static let shared = try! JsonReader.value(
        from: String(
            contentsOf: repository.appendingPathComponent("tests/fixtures/typed/functions.json"), encoding: .utf8))

    @Test func giveTheSameFunctionsAsAllLanguages() throws {
        let functions = try [SdkFunction(of: GetWeather.self), SdkFunction(of: BookTable.self)]
        let found = try JsonReader.value(from: functionsToJson(functions: functions))
        #expect(found.sorted.text == Self.shared["functions"]?.sorted.text)
        let schema = try JsonReader.value(from: replySchema(of: Recipe.self))
        #expect(schema.sorted.text == Self.shared["reply_schema"]?.sorted.text)
    }

    @Test func decodeCallsOrNameThePath() throws {
        for entry in try #require(Self.shared["calls"]?.items) {
            let arguments = try SdkJsonObject(text: try #require(entry["arguments"]).text)
            let call = SdkFunctionCall(name: "book_table", argumentsObject: arguments)
            try check(entry) { try call.decoded(as: BookTable.self) }
        }
        for entry in try #require(Self.shared["replies"]?.items) {
            try check(entry) { try decodedReply(entry["text"]?.string ?? "", as: Recipe.self) }
        }
    }

    @Test(arguments: [#"[], "x": [1]"#, "[], 5", "[]]", "nil", #"{"a": 1, "a": 2}"#])
    func refuseRepliesThatAreInvalidJson(_ text: String) {
        #expect(throws: SdkError.InvalidArgument(reason: "reply must be valid JSON", argument: "reply")) {
            try decodedReply(text, as: [Int].self)
        }
    }

    @Test func acceptNullForAnOptionalReply() throws {
        #expect(try decodedReply(" null ", as: Int?.self) == nil)
        #expect(try decodedReply("5", as: Int?.self) == 5)
        #expect(try decodedReply("null", as: Recipe?.self)?.title == nil)
        #expect(throws: SdkError.InvalidArgument(reason: "reply must not be null", argument: "reply")) {
            try decodedReply("null", as: Int.self)
        }
    }

    @Test func areRunWithTypes() async throws {
        let conversation = try scripted(
            calling("[book_table(restaurant='Da Ugo', guests=[{'name': 'Ada'}], hours=1)]"),
            calling("[book_table(restaurant='Da Ugo', guests=[{'name': 'Ada', 'age': 900}], hours=1)]"),
            #"["Done."]"#)
        var handlers = FunctionHandlers()
        try handlers.on(BookTable.self) { table in table.guests }
        let results = try await results(of: conversation, with: handlers)
        #expect(handlers.functions.allSatisfy(conversation.functions.contains))
        #expect(results.map(\.isError) == [false, true])
        #expect(results.first?.text == #"[{"name": "Ada"}]"#)
        #expect(results.last?.text.contains("does not fit") == true || results.last?.text.contains("age") == true)
    }

    @Test func areRefusedForUnsupportedTypes() {
        #expect { try SdkFunction(of: String.self) } throws: { ($0 as? SdkError)?.caseName == "InvalidFunction" }
    }

    private func check<Value: Encodable>(_ entry: JsonValue, _ decode: () throws -> Value) throws {
        do {
            let data = try JSONEncoder().encode(try decode())
            let value = try JsonReader.value(from: String(decoding: data, as: UTF8.self))
            // Foundation writes 2.0 as 2.
            let expected = entry["value"]?.sorted.text.replacingOccurrences(of: ".0", with: "")
            #expect(value.sorted.text == expected)
        } catch SdkError.InvalidArgument(let reason, let argument) {
            #expect(argument == entry["argument"]?.string)
            #expect(reason == entry["reason"]?.string)
        }
    }
}
