/// Encodes a value as a ``JsonValue``, and what it consists of in the forms of `JsonValue.init(_:at:depth:)`.
///
/// Foundation's `JSONEncoder` has no forms of its own for types such as `Duration`, and none can be added.
final class ValueEncoder: Encoder {
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]
    private let place: String
    private let depth: Int
    // At most one of them is used.
    private var single: JsonValue?
    private var items: [ValueEncoder]?
    private var members: [String: ValueEncoder] = [:]

    /// - Parameters:
    ///   - place: the path of the outermost value, for error messages.
    ///   - depth: the number of arrays and objects around the value.
    ///   - codingPath: the path of the value in the outermost one.
    init(at place: String, depth: Int, codingPath: [any CodingKey] = []) {
        self.place = place
        self.depth = depth
        self.codingPath = codingPath
    }

    /// The value that was encoded; an empty object if none was.
    var value: JsonValue {
        if let single { return single }
        if let items { return .array(items.map(\.value)) }
        return .object(members.sorted { $0.key < $1.key }.map { ($0.key, $0.value.value) })
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Members(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        items = items ?? []
        return Items(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

    fileprivate func set(_ value: Any?) throws {
        let place = codingPath.place(in: place)
        try JsonValue.checkDepth(depth - 1, at: place)
        single = try JsonValue(value, at: place, depth: depth)
    }

    fileprivate var count: Int { items?.count ?? 0 }

    /// The encoder of the next item of an array.
    fileprivate func item() -> ValueEncoder {
        let item = inner(AnyKey(intValue: count))
        items?.append(item)
        return item
    }

    /// The encoder of a member of an object.
    fileprivate func member(_ key: any CodingKey) -> ValueEncoder {
        let member = inner(AnyKey(stringValue: key.stringValue))
        members[key.stringValue] = member
        return member
    }

    /// The encoder of a member that is put together, perhaps in several pieces.
    fileprivate func nested(_ key: any CodingKey) -> ValueEncoder {
        members[key.stringValue] ?? member(key)
    }

    private func inner(_ key: AnyKey) -> ValueEncoder {
        ValueEncoder(at: place, depth: depth + 1, codingPath: codingPath + [key])
    }
}

/// A key of any object, or an index of an array.
private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) throws { try encoder.member(key).set(nil) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try encoder.member(key).set(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.nested(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.member(AnyKey(stringValue: "super")) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder.member(key) }
}

private struct Items: UnkeyedEncodingContainer {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.count }

    func encodeNil() throws { try encoder.item().set(nil) }

    func encode<Value: Encodable>(_ value: Value) throws { try encoder.item().set(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.item().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.item().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.item() }
}

private struct Single: SingleValueEncodingContainer {
    let encoder: ValueEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil() throws { try encoder.set(nil) }

    func encode<Value: Encodable>(_ value: Value) throws { try encoder.set(value) }
}
