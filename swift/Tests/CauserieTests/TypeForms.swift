import Foundation
import Testing

@testable import Causerie

private enum Form: Codable, Equatable, SdkDescribed {
    case circle(radius: UInt8, note: String?)
    case pair(Int8, UInt16)
    case point

    static let sdkDescription = "A form."
    static let sdkDescriptions = ["point": "A place."]
}

private indirect enum Expression: Codable, Equatable {
    case sum([Expression])
    case negated(Expression, times: UInt8)
    case named([String: Expression])
    case constant(Int8)
}

private struct Branch: Codable, Equatable, SdkDescribed {
    var size: Int8
    var left: [Branch]?
    var named: [String: Branch]
    var right: [Branch?]

    static let sdkDescriptions = ["left": "On the left."]
}

private enum Moment: Codable {
    case at(Date)
    case after([Moment])
    case never
}

private struct Author: Codable, Equatable {
    var books: [Book]
    var name: String
}

private struct Book: Codable, Equatable {
    var authors: [Author]
    var title: Title
}

private struct Title: Codable, Equatable {
    var text: String
    var editor: Person?
}

private final class Person: Codable, Equatable {
    var name = "Ada"
    var friend: Person?

    init(friend: Person?) { self.friend = friend }

    static func == (left: Person, right: Person) -> Bool { left.name == right.name && left.friend == right.friend }
}

private final class Endless: Codable {
    var next: Endless
}

private struct Box<Item: Codable & Equatable>: Codable, Equatable {
    var item: Item
}

/// A type that is an array in JSON.
private struct Path: Codable, Equatable {
    var steps: [Path]

    init(steps: [Path]) { self.steps = steps }
    init(from decoder: any Decoder) throws { steps = try decoder.singleValueContainer().decode([Path].self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(steps)
    }
}

private class Base: Codable {
    var base: UInt8
}

private final class Derived: Base {
    var own: Bool

    enum CodingKeys: CodingKey { case own }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        own = try container.decode(Bool.self, forKey: .own)
        try super.init(from: container.superDecoder())
    }
}

private struct Everything: Codable, Equatable {
    var form: Form
    var expressions: [Expression]
    var branch: Branch
    var books: [String: Book]
    var person: Person
    var paths: Path
    var first: Box<UInt8>
    var second: Box<[Branch]>
}

/// The schemas of enums with associated values, and of types that contain themselves.
@Suite struct TypeForms {
    private func schema<Value: Decodable>(of type: Value.Type) throws -> String {
        try JsonReader.value(from: replySchema(of: type)).sorted.text
    }

    private func sorted(_ text: String) throws -> String { try JsonReader.value(from: text).sorted.text }

    private func range<Integer: FixedWidthInteger>(_ type: Integer.Type) -> String {
        #"{"type": "integer", "minimum": \#(Integer.min), "maximum": \#(Integer.max)}"#
    }

    private func choice(_ name: String, _ properties: String, _ required: String) -> String {
        let inner = #"{"type": "object", "properties": {\#(properties)}, "required": [\#(required)]}"#
        return #"{"type": "object", "properties": {"\#(name)": \#(inner)}, "required": ["\#(name)"], "#
            + #""additionalProperties": false}"#
    }

    @Test func enumsAreChoicesOfObjects() throws {
        let circle = choice(
            "circle", #""radius": \#(range(UInt8.self)), "note": {"type": "string"}"#, #""radius""#)
        let pair = choice("pair", #""_0": \#(range(Int8.self)), "_1": \#(range(UInt16.self))"#, #""_0", "_1""#)
        let inner = #"{"type": "object", "properties": {}, "description": "A place.", "additionalProperties": false}"#
        let point =
            #"{"type": "object", "properties": {"point": \#(inner)}, "required": ["point"], "#
            + #""additionalProperties": false}"#
        #expect(
            try schema(of: Form.self)
                == sorted(#"{"anyOf": [\#(circle), \#(pair), \#(point)], "description": "A form."}"#))
    }

    @Test func typesThatContainThemselvesAreDefinitions() throws {
        let reference = ##"{"$ref": "#/$defs/Branch"}"##
        let branch = #"""
            {"type": "object", "properties": {
                "size": \#(range(Int8.self)),
                "left": {"type": "array", "items": \#(reference), "description": "On the left."},
                "named": {"type": "object", "additionalProperties": \#(reference)},
                "right": {"type": "array", "items": {"anyOf": [\#(reference), {"type": "null"}]}}
            }, "required": ["size", "named", "right"]}
            """#
        #expect(
            try schema(of: Branch.self) == sorted(##"{"$ref": "#/$defs/Branch", "$defs": {"Branch": \##(branch)}}"##))
        #expect(try SdkFunction(of: Branch.self).parameters.map(\.name) == ["size", "left", "named", "right"])
        #expect(try schema(of: Expression.self).contains(##"{"$ref": "#/$defs/Expression"}"##))
        #expect(try schema(of: Author.self).contains(#""title": {"#))
        let path = ##"{"type": "array", "items": {"$ref": "#/$defs/Path"}}"##
        #expect(try schema(of: Path.self) == sorted(##"{"$ref": "#/$defs/Path", "$defs": {"Path": \##(path)}}"##))
        #expect(try schema(of: Derived.self).contains(#""super": {"properties": {"base": "#))
    }

    @Test func aTypeWithoutASmallestValueIsRefused() {
        let reason = "Endless must not require a value of itself"
        #expect(throws: SdkError.InvalidFunction(reason: reason)) { try SdkFunction(of: Endless.self) }
    }

    @Test func errorsNameThePlace() {
        func check<Value: Decodable>(_ text: String, _ type: Value.Type, _ place: String, _ reason: String) {
            let error = SdkError.InvalidArgument(reason: "\(place) \(reason)", argument: place)
            #expect(throws: error) { _ = try decodedReply(text, as: type) }
        }
        check(
            #"{"size": 1, "left": [{"size": 128, "named": {}, "right": []}], "named": {}, "right": []}"#, Branch.self,
            "reply.left[0].size", "must be an integer from -128 to 127, found 128")
        check(
            #"{"after": {"_0": [{"never": {}}, {"at": {"_0": "noon"}}]}}"#, Moment.self,
            "reply.after._0[1].at._0", #"must be a date and time such as 2026-01-31T12:00:00Z, found "noon""#)
    }

    @Test(arguments: [
        #"{"circle": {"radius": 256}}"#, #"{"circle": {}}"#, #"{"pair": {"_0": 1}}"#, "{}", "[]", #""point""#,
        #"{"square": {}}"#, #"{"point": {}, "pair": {"_0": 1, "_1": 2}}"#, #"{"point": 1}"#, "null",
        #"{"point": {"a": 1}}"#,
    ])
    func otherFormsAreRefused(_ text: String) {
        #expect { try decodedReply(text, as: Form.self) } throws: { ($0 as? SdkError)?.caseName == "InvalidArgument" }
    }

    @Test func randomValuesFitTheirSchemas() throws {
        var random = RandomValues()
        for _ in 0..<100 {
            let everything = random.everything()
            let text = String(decoding: try JSONEncoder().encode(everything), as: UTF8.self)
            #expect(try decodedReply(text, as: Everything.self) == everything)
        }
    }

    @Test func whatASchemaLetsAModelWriteIsDecoded() async throws {
        let runner = try await loadModel(url: repository.appendingPathComponent("models/demo.gguf"))
        func complete<Value: Decodable>(_ type: Value.Type) async throws -> Int {
            var complete = 0
            for seed in 0..<2 as Range<UInt64> {
                let options = GenerationOptions().with(\.jsonSchemaConstraint, try replySchema(of: type))
                    .with(\.temperature, 2).with(\.rngSeed, seed).with(\.maxTokens, 100)
                let reply = try await runner.createConversation().respond(to: "Hello!", generationOptions: options)
                guard reply.finishReason == .stop else { continue }
                _ = try decodedReply(reply.text, as: type)
                complete += 1
            }
            return complete
        }
        var total = try await complete(Form.self) + complete(Form?.self) + complete(Expression.self)
        total += try await complete(Author.self) + complete(Path.self) + complete(Person.self)
        #expect(total > 2)
    }
}

/// Values of the types above.
private struct RandomValues {
    private var generator = SystemRandomNumberGenerator()

    private mutating func isTrue() -> Bool { .random(using: &generator) }

    private mutating func integer<Integer: FixedWidthInteger>() -> Integer {
        .random(in: .min ... .max, using: &generator)
    }

    private mutating func list<Item>(_ depth: Int, _ item: (inout Self, Int) -> Item) -> [Item] {
        depth == 0 ? [] : (0..<Int.random(in: 0...2, using: &generator)).map { _ in item(&self, depth - 1) }
    }

    mutating func everything() -> Everything {
        Everything(
            form: form(), expressions: list(3) { $0.expression($1) }, branch: branch(3),
            books: ["é \"": book(4)], person: Person(friend: isTrue() ? nil : Person(friend: nil)), paths: path(3),
            first: Box(item: integer()), second: Box(item: list(2) { $0.branch($1) }))
    }

    private mutating func form() -> Form {
        let forms: [Form] = [
            .circle(radius: integer(), note: isTrue() ? nil : "é"), .pair(integer(), integer()), .point,
        ]
        return forms.randomElement(using: &generator) ?? .point
    }

    private mutating func expression(_ depth: Int) -> Expression {
        switch depth == 0 ? 3 : Int.random(in: 0...3, using: &generator) {
        case 0: .sum(list(depth) { $0.expression($1) })
        case 1: .negated(expression(depth - 1), times: integer())
        case 2: .named(["a": expression(depth - 1)])
        default: .constant(integer())
        }
    }

    private mutating func branch(_ depth: Int) -> Branch {
        Branch(
            size: integer(), left: isTrue() ? nil : list(depth) { $0.branch($1) },
            named: depth == 0 ? [:] : ["a": branch(depth - 1)],
            right: list(depth) { values, depth in values.isTrue() ? nil : values.branch(depth) })
    }

    private mutating func book(_ depth: Int) -> Book {
        let authors = list(depth) { values, depth in Author(books: values.list(depth) { $0.book($1) }, name: "é") }
        return Book(authors: authors, title: Title(text: "a", editor: isTrue() ? nil : Person(friend: nil)))
    }

    private mutating func path(_ depth: Int) -> Path {
        Path(steps: list(depth) { $0.path($1) })
    }
}
