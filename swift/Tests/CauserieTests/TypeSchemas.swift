import Foundation
import Testing

@testable import Causerie

/// Schemas are as tight as types: values fit them, and what they allow is decoded.
@Suite struct TypeSchemas {
    struct Numbers: Codable, Equatable {
        var int8: Int8
        var int16: Int16
        var int32: Int32
        var int64: Int64
        var uint8: UInt8
        var uint16: UInt16
        var uint32: UInt32
        var uint64: UInt64
        var optionals: [Int8?]
        var map: [String: UInt8]
        var maps: [String: [Int16]]
        var counts: [Int: Bool?]
        var set: Set<UInt8>
        var id: UUID

        static func random(_ generator: inout some RandomNumberGenerator) -> Self {
            Self(
                int8: .random(in: .min ... .max, using: &generator),
                int16: .random(in: .min ... .max, using: &generator),
                int32: .random(in: .min ... .max, using: &generator),
                int64: .random(in: .min ... .max, using: &generator),
                uint8: .random(in: .min ... .max, using: &generator),
                uint16: .random(in: .min ... .max, using: &generator),
                uint32: .random(in: .min ... .max, using: &generator),
                uint64: .random(in: .min ... .max, using: &generator),
                optionals: [nil, .random(in: .min ... .max, using: &generator)],
                map: ["a": .random(in: .min ... .max, using: &generator)],
                maps: ["b \"é": [.random(in: .min ... .max, using: &generator)]],
                counts: [.random(in: -99_999_999...99_999_999, using: &generator): true, 0: nil],
                set: [.random(in: .min ... .max, using: &generator)], id: UUID())
        }
    }

    private func schema<Value: Decodable>(of type: Value.Type) throws -> String {
        try JsonReader.value(from: replySchema(of: type)).sorted.text
    }

    private func sorted(_ text: String) throws -> String { try JsonReader.value(from: text).sorted.text }

    @Test func integersHaveTheRangesOfTheirTypes() throws {
        func check<Integer: FixedWidthInteger & Decodable>(_ type: Integer.Type) throws {
            let expected = #"{"type": "integer", "minimum": \#(Integer.min), "maximum": \#(Integer.max)}"#
            #expect(try schema(of: type) == sorted(expected))
            let map = #"{"type": "object", "additionalProperties": \#(expected)}"#
            #expect(try schema(of: [String: Integer].self) == sorted(map))
            let counts =
                #"{"type": "object", "patternProperties": {"^-?(0|[1-9][0-9]{0,17})$": \#(expected)}, "#
                + #""additionalProperties": false}"#
            #expect(try schema(of: [Int: Integer].self) == sorted(counts))
            let list = #"{"type": "array", "items": {"anyOf": [\#(expected), {"type": "null"}]}}"#
            #expect(try schema(of: [Integer?].self) == sorted(list))
        }
        try check(Int8.self)
        try check(Int64.self)
        try check(Int.self)
        try check(UInt8.self)
        try check(UInt64.self)
    }

    @Test func randomValuesFitTheirSchemas() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<100 {
            let numbers = Numbers.random(&generator)
            let text = String(decoding: try JSONEncoder().encode(numbers), as: UTF8.self)
            #expect(try decodedReply(text, as: Numbers.self) == numbers)
        }
    }
}
