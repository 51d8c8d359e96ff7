/// Lets a type decode sample values, and records the names and types that it requests.
struct ShapeDecoder: Decoder {
    let shape: Shape
    /// The cases of an enum with associated values; `nil` for another type.
    var cases: EnumCases?
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        if case .unknown = shape.form { shape.form = .object([]) }
        return KeyedDecodingContainer(Members<Key>(shape: shape, cases: cases))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer {
        Items(shape: shape.item())
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        One(shape: shape)
    }
}

/// The cases of an enum, which are decoded one after the other.
final class EnumCases {
    /// The case that is decoded now.
    var current = 0
    /// The number of cases, once the enum has asked which one it is.
    private(set) var count = 0

    /// The key of the current case, which the enum finds alone.
    fileprivate func keys<Key: CodingKey>(of type: Key.Type) -> [Key] {
        guard let keys = enumValues(of: type), current < keys.count else { return [] }
        count = keys.count
        return [keys[current]]
    }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let shape: Shape
    let cases: EnumCases?
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { cases?.keys(of: Key.self) ?? [] }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { shape.isMinimal }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try shape.add(key.stringValue).record(type)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try optional(type, key)
    }

    // For basic types, `Decodable` calls these overloads, not the generic ones above.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(type, key) }

    private func optional<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
        shape.isMinimal ? nil : try shape.add(key.stringValue, isOptional: true).record(type)
    }

    func nestedContainer<Inner: CodingKey>(
        keyedBy type: Inner.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Inner> {
        let inner = shape.add(key.stringValue)
        inner.isCase = cases != nil
        return ShapeDecoder(shape: inner).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        ShapeDecoder(shape: shape.add(key.stringValue)).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { ShapeDecoder(shape: shape.add("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { ShapeDecoder(shape: shape.add(key.stringValue)) }
}

/// An array that appears to have one element, or none where the smallest value is wanted.
private struct Items: UnkeyedDecodingContainer {
    let shape: Shape
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { shape.isMinimal ? 0 : 1 }
    var isAtEnd: Bool { shape.isMinimal || 0 < currentIndex }

    mutating func decodeNil() -> Bool { shape.isMinimal }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        currentIndex += 1
        return try shape.record(type)
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        currentIndex += 1
        return ShapeDecoder(shape: shape).container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        currentIndex += 1
        return ShapeDecoder(shape: shape).unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { ShapeDecoder(shape: shape) }
}

private struct One: SingleValueDecodingContainer {
    let shape: Shape
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { shape.isMinimal }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try shape.record(type)
    }
}
