import Foundation
import Testing

@testable import Causerie

private enum Small: UInt8, Codable, CaseIterable { case low = 1, high }
private enum NotIterable: String, Codable { case a, b }
private enum Alone: Int, Codable { case one = 1 }
private enum Bare: Codable, CaseIterable { case one, two }
private enum Fraction: Double, Codable, CaseIterable { case half = 0.5 }

/// Typed functions with types of Foundation, and with numbers.
@Suite struct FoundationTypes {
    private struct Event: Codable, SdkDescribed, Equatable {
        var at: Date
        var links: [URL]?
        var place: Place?

        struct Place: Codable, Equatable {
            var id: UUID
            var photo: Data?
        }

        static let sdkDescriptions = ["at": "When."]
    }

    @Test func areDescribedAsStringsWithFormats() throws {
        let function = try SdkFunction(of: Event.self)
        let properties = try JsonReader.value(from: functionSchema(function: function))["parameters"]?["properties"]
        #expect(properties?["at"]?.text == #"{"type": "string", "format": "date-time", "description": "When."}"#)
        #expect(properties?["links"]?["items"]?.text == #"{"type": "string", "format": "uri"}"#)
        #expect(properties?["place"]?["properties"]?["id"]?.text == #"{"type": "string", "format": "uuid"}"#)
        #expect(
            properties?["place"]?["properties"]?["photo"]?.text == #"{"type": "string", "contentEncoding": "base64"}"#)
        #expect(
            try replySchema(of: Date.self) == #"{"type": "string", "format": "date-time"}"#)
        let conversation = try scripted()
        conversation.registerFunction(function: function)
        #expect(conversation.functions == [function])
    }

    @Test func areDecodedAndChecked() throws {
        let id = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        let event = try decoded(
            #"{"at": "2026-01-31T12:00:00Z", "links": ["https://a.b/c"], "place": {"id": "\#(id)", "photo": "aGk="}}"#,
            as: Event.self)
        let place = Event.Place(id: try #require(UUID(uuidString: id)), photo: Data("hi".utf8))
        let links = try [#require(URL(string: "https://a.b/c"))]
        #expect(event == Event(at: Date(timeIntervalSince1970: 1_769_860_800), links: links, place: place))
        check(
            #"{"at": "noon"}"#, as: Event.self,
            #"at must be a date and time such as 2026-01-31T12:00:00Z, found "noon""#)
        check(
            #"{"at": 1769860800}"#, as: Event.self,
            #"at must be a date and time such as 2026-01-31T12:00:00Z, found "1769860800""#)
        check(
            #"{"at": "2026-01-31", "links": ["a:b", "a"]}"#, as: Event.self,
            #"links[1] must be a URL such as https://example.org, found "a""#)
        check(#"{"at": "2026-01-31", "place": {"id": "1"}}"#, as: Event.self, #"place.id must be a UUID, found "1""#)
        check(
            #"{"at": "2026-01-31", "place": {"id": "\#(id)", "photo": "a"}}"#, as: Event.self,
            #"place.photo must be a base64 string, found "a""#)
        #expect(throws: SdkError.InvalidArgument(reason: #"reply must be a UUID, found "x""#, argument: "reply")) {
            try decodedReply(#""x""#, as: UUID.self)
        }
    }

    @Test(arguments: [
        ("2026-01-31T12:00:00Z", 0), ("2026-01-31t12:00:00z", 0), ("2026-01-31 12:00Z", 0),
        ("2026-01-31T12:00:00.25Z", 0.25), ("2026-01-31T12:00:00,5Z", 0.5), ("2026-01-31T12:00:00+01:00", -3600),
        ("2026-01-31T12:00:00-0130", 5400), ("2026-01-31T12:00:00+02", -7200), ("2026-01-31T12:00:00-23:59", 86_340),
        ("2026-01-31T12:00:60Z", 60), ("2026-01-31T12:00:00.2500000000000000000000000Z", 0.25),
    ])
    func readDatesInAllForms(_ text: String, seconds: Double) {
        #expect(Date(iso8601: text)?.timeIntervalSince1970 == 1_769_860_800 + seconds)
    }

    @Test func readDatesWithoutAnOffsetInTheTimeZoneOfTheDevice() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .current
        let noon = DateComponents(year: 2026, month: 1, day: 31, hour: 12)
        #expect(Date(iso8601: "2026-01-31T12:00") == calendar.date(from: noon))
        let day = DateComponents(year: 2026, month: 1, day: 31)
        #expect(Date(iso8601: "2026-01-31") == calendar.date(from: day))
    }

    @Test(arguments: [
        "", "2026", "2026-02-31", "2026-13-01", "2026-01-31T25:00:00Z", "2026-01-31T12:61Z", "2026-01-31T12Z",
        "1769860800",
        "2026-01-31T12:00:00Z\n", " 2026-01-31", "2026-01-31T12:00:00+99:00", "٢٠٢٦-01-31",
    ])
    func readNoOtherStringAsADate(_ text: String) {
        #expect(Date(iso8601: text) == nil)
    }

    @Test func areWrittenAsTheyAreRead() async throws {
        let at = Date(timeIntervalSince1970: 0)
        let id = UUID()
        let event = Event(at: at, links: [URL(fileURLWithPath: "/a")], place: Event.Place(id: id))
        #expect(try await result { at } == "1970-01-01T00:00:00Z")
        #expect(
            try await result { ["at": at, "days": [at]] as [String: Any] }
                == #"{"at": "1970-01-01T00:00:00Z", "days": ["1970-01-01T00:00:00Z"]}"#)
        #expect(
            try await result { ["event": event] as [String: Any] }
                == #"{"event": {"at": "1970-01-01T00:00:00Z", "links": ["file:///a"], "place": {"id": "\#(id)"}}}"#)
        // A result that is not JSON is an error of the app, which the model does not read.
        await #expect(throws: SdkError.self) {
            _ = try await result { ["a": [Ratio(value: .nan)]] as [String: Any] }
        }
    }

    private struct Trip: Encodable {
        enum Stop: Encodable {
            case town(String, wait: Duration)
        }

        var lasts: Duration
        var stops: [Stop]
        var days: Set<Date>
        var links: [Int: URL]
        var photo: Data?
        var price: Decimal
        var share: Float
        var missing: Int?
    }

    @available(macOS 13, iOS 16, *)
    @Test func areWrittenInTheSameFormAtAnyDepth() async throws {
        let at = Date(timeIntervalSince1970: 0)
        let id = try #require(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"))
        let url = try #require(URL(string: "https://a.b/c", relativeTo: URL(string: "https://a.b")))
        let price = try #require(Decimal(string: "1.50"))
        let wait = Duration.seconds(1.5)
        #expect(try await result { Duration.seconds(3) } == "PT3S")
        #expect(try await result { [Duration.zero, wait] } == #"["PT0S", "PT1.5S"]"#)
        #expect(try await result { ["a": Optional(wait)] } == #"{"a": "PT1.5S"}"#)
        #expect(try await result { id } == id.uuidString)
        #expect(try await result { url } == "https://a.b/c")
        #expect(try await result { Data("hi".utf8) } == "aGk=")
        #expect(try await result { price } == "1.5")
        #expect(try await result { 1...3 } == "[1, 3]")
        let trip = Trip(
            lasts: .seconds(5_400), stops: [.town("Oslo", wait: wait)], days: [at], links: [1: url],
            photo: Data("hi".utf8), price: price, share: 0.1)
        #expect(
            try await result { trip }
                == #"{"days": ["1970-01-01T00:00:00Z"], "lasts": "PT1H30M", "links": {"1": "https://a.b/c"}, "#
                + #""photo": "aGk=", "price": 1.5, "share": 0.1, "#
                + #""stops": [{"town": {"_0": "Oslo", "wait": "PT1.5S"}}]}"#)
    }

    @available(macOS 13, iOS 16, *)
    @Test(arguments: [
        (0, 0, "PT0S"), (59, 0, "PT59S"), (60, 0, "PT1M"), (3_600, 0, "PT1H"), (90_061, 0, "PT25H1M1S"),
        (3_605, 0, "PT1H5S"), (-3, 0, "-PT3S"), (-1, -500_000_000_000_000_000, "-PT1.5S"),
        (0, 1_000_000_000, "PT0.000000001S"), (0, 999_999_999, "PT0S"), (Int64.max, 0, "PT2562047788015215H30M7S"),
    ])
    func durationsAreWrittenInISO8601(_ seconds: Int64, _ attoseconds: Int64, _ text: String) {
        #expect(Duration(secondsComponent: seconds, attosecondsComponent: attoseconds).iso8601 == text)
    }

    @Test func mayBeTextOfAnyType() async throws {
        #expect(try await result { "a, b".dropFirst(3) } == "b")
        #expect(try await result { Character("é") } == "é")
        #expect(try await result { ["a" as Character, "b"] } == #"["a", "b"]"#)
        #expect(
            try await result { ["a": "xyz".prefix(1), "b": "z" as Unicode.Scalar] as [String: Any] }
                == #"{"a": "x", "b": "z"}"#)
        #expect(try await result { "a b".split(separator: " ") } == #"["a", "b"]"#)
        #expect(try await result { NSString(string: "a") } == "a")
        #expect(try await result { [NSString(string: "a")] } == #"["a"]"#)
    }

    /// Containers in every way in which a type may ask for them.
    private final class Custom: Encodable, Sendable {
        enum Key: String, CodingKey { case a, b, c, d }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encodeNil(forKey: .a)
            var inner = members.nestedContainer(keyedBy: Key.self, forKey: .b)
            try inner.encode(1, forKey: .a)
            var items = members.nestedUnkeyedContainer(forKey: .c)
            try items.encodeNil()
            try items.encode("x")
            var nested = items.nestedUnkeyedContainer()
            try nested.encode(true)
            _ = items.nestedContainer(keyedBy: Key.self)
            try "y".encode(to: items.superEncoder())
            try [2].encode(to: members.superEncoder())
            try 3.5.encode(to: members.superEncoder(forKey: .d))
            // A second container of the same object.
            var more = encoder.container(keyedBy: Key.self)
            try more.encode(UInt64.max, forKey: .a)
            var rest = more.nestedContainer(keyedBy: Key.self, forKey: .b)
            try rest.encode(2, forKey: .b)
        }
    }

    private final class Cycle: Encodable, Sendable {
        func encode(to encoder: any Encoder) throws {
            var items = encoder.unkeyedContainer()
            try items.encode(self)
        }
    }

    @Test func mayEncodeThemselves() async throws {
        #expect(
            try SdkJsonObject(["v": Custom()]).json == #"{"v": {"a": 18446744073709551615, "b": {"a": 1, "b": 2}, "#
                + #""c": [null, "x", [true], {}, "y"], "d": 3.5, "super": [2]}}"#)
        #expect {
            try SdkJsonObject(["v": Cycle()])
        } throws: {
            "\($0)".hasSuffix("must not be nested deeper than 128 levels")
        }
        let reason = "v[0].value must be a finite number, found nan"
        #expect(throws: SdkError.Serialization(reason: reason)) { try SdkJsonObject(["v": [Ratio(value: .nan)]]) }
    }

    private struct Ratio: Codable {
        var value: Double
    }

    private struct Numbers: Codable, Equatable {
        var price: Decimal?
        var level: Small?
        var small: Int8?
        var size: UInt?
        var half: Float?
        var counts: [String: Int8]?
    }

    @Test func areNumbersWithinTheirRange() throws {
        let schema = functionSchema(function: try SdkFunction(of: Numbers.self))
        let properties = try JsonReader.value(from: schema)["parameters"]?["properties"]
        #expect(properties?["price"]?["type"]?.string == "number")
        #expect(properties?["level"]?.text == #"{"type": "integer", "enum": [1, 2]}"#)
        let largest = #"{"price": 1.10, "level": 2, "small": -128, "size": 18446744073709551615, "counts": {"a": 127}}"#
        #expect(
            try decoded(largest, as: Numbers.self)
                == Numbers(
                    price: Decimal(string: "1.1"), level: .high, small: .min, size: .max, half: nil,
                    counts: ["a": 127]))
        check(#"{"small": 300}"#, as: Numbers.self, "small must be an integer from -128 to 127, found 300")
        check(#"{"size": -1}"#, as: Numbers.self, "size must be an integer from 0 to 18446744073709551615, found -1")
        check(#"{"half": 1e300}"#, as: Numbers.self, "half must be a number within the range of Float, found 1e+300")
        check(#"{"counts": {"a": 300}}"#, as: Numbers.self, "counts.a must be an integer from -128 to 127, found 300")
        check(#"{"level": 3}"#, as: Numbers.self, "level must be one of 1, 2, found 3")
    }

    private struct Now: Codable {}

    @Test func mayHaveNoProperties() throws {
        let function = try SdkFunction(of: Now.self)
        #expect(function == SdkFunction(name: "now", functionDescription: "", parameters: []))
        _ = try decoded("{}", as: Now.self)
        #expect(try replySchema(of: Now.self) == #"{"type": "object", "properties": {}}"#)
    }

    private struct Holder<Held: Codable>: Codable {
        var held: Held
    }

    @Test func mayBeEnumsThatAreNotIterable() throws {
        #expect(try replySchema(of: NotIterable.self) == #"{"type": "string", "enum": ["a", "b"]}"#)
        #expect(try replySchema(of: Alone.self) == #"{"type": "integer", "enum": [1]}"#)
        #expect(try decodedReply(#""b""#, as: NotIterable.self) == .b)
        #expect(try decodedReply("1", as: Alone.self) == .one)
        #expect(try decodedReply(#"{"two": {}}"#, as: Bare.self) == .two)
    }

    @Test func areRefusedIfAnEnumIsNotSupported() {
        let wanted = "an enum must have strings or integers as its raw values, or associated values"
        let reason = "Fraction is not supported: \(wanted)"
        #expect(throws: SdkError.InvalidFunction(reason: reason)) { try SdkFunction(of: Holder<Fraction>.self) }
    }

    private func decoded<Value: Decodable>(_ arguments: String, as type: Value.Type) throws -> Value {
        try SdkFunctionCall(name: "f", argumentsObject: SdkJsonObject(text: arguments)).decoded(as: type)
    }

    private func check<Value: Decodable>(_ arguments: String, as type: Value.Type, _ reason: String) {
        let place = String(reason.prefix { $0 != " " })
        #expect(throws: SdkError.InvalidArgument(reason: reason, argument: place)) {
            _ = try decoded(arguments, as: type)
        }
    }

    /// Returns the text that a model reads for the result of a function.
    private func result(_ returned: @escaping @Sendable () -> Any?) async throws -> String? {
        let conversation = try scripted(calling("[f()]"), #"["Done."]"#)
        var handlers = FunctionHandlers()
        handlers.on("f") { _ in returned() }
        return try await results(of: conversation, with: handlers).first?.text
    }
}
