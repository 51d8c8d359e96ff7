/// The structure of a `Decodable` type, found by decoding it from a recording decoder.
final class Shape {
    enum Form {
        case unknown
        case plain(PlainType)
        case array(Shape)
        /// Any names; the values may be anything if there is no shape.
        case map(of: Shape?)
        case object([Member])
    }

    struct Member {
        var name: String
        var shape: Shape
        var isOptional: Bool
        var description: String?
    }

    var form = Form.unknown
    private(set) var description = ""
    /// Whether an element or a value may be null.
    private(set) var isNullable = false
    private let depth: Int
    private var descriptions: [String: String] = [:]

    private init(depth: Int) {
        self.depth = depth
    }

    /// The shape of a type.
    convenience init<Value: Decodable>(of type: Value.Type) throws {
        self.init(depth: 0)
        do {
            _ = try record(type)
        } catch let error as DecodingError {
            throw SdkError.InvalidFunction(reason: "\(type) is not supported: \(error)")
        }
    }

    /// The type as a parameter type.
    func parameterType(described outer: String?) throws -> SdkFunctionParameterType {
        let description = [outer, self.description].compactMap { $0 }.first { !$0.isEmpty }
        switch form {
        case .unknown: throw SdkError.InvalidFunction(reason: "a type did not decode anything")
        case .plain(let plain): return plain.parameterType(described: description)
        case .array(let item):
            return .sdkArr(itemType: try item.parameterType(described: nil), description: description)
        case .map: return .sdkObj(properties: [:], required: [], description: description)
        case .object(let members):
            var properties: [String: SdkFunctionParameterType] = [:]
            for member in members {
                properties[member.name] = try member.shape.parameterType(described: member.description)
            }
            let required = members.filter { !$0.isOptional }.map(\.name)
            return .sdkObj(properties: properties, required: required, description: description)
        }
    }

    /// Records the structure of a type, and returns a sample value.
    func record<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if let described = type as? any SdkDescribed.Type {
            description = described.sdkDescription
            descriptions = described.sdkDescriptions
        }
        isNullable = isNullable || type is any ExpressibleByNilLiteral.Type
        if let plain = PlainType(type), let sample = plain.sample as? Value {
            form = .plain(plain)
            return sample
        }
        guard depth < 32 else {
            throw SdkError.InvalidFunction(reason: "\(type) must not be nested deeper than 32 levels")
        }
        let value: Value
        do {
            value = try Value(from: ShapeDecoder(shape: self))
        } catch is DecodingError where type is any RawRepresentable.Type || type is any CaseIterable.Type {
            throw Self.unsupported(type)
        }
        if value is any RawRepresentable, Mirror(reflecting: value).displayStyle == .enum {
            throw Self.unsupported(type)
        }
        if let map = type as? any Map.Type {
            form = .map(of: values(map.values))
        } else if case .unknown = form {
            form = .object([])  // it has no properties
        }
        return value
    }

    /// The shape of a dictionary's values; `nil` for a type that inspects what it decodes.
    private func values(_ type: Any.Type) -> Shape? {
        guard let decodable = type as? any Decodable.Type else { return nil }
        let shape = Shape(depth: depth + 1)
        guard (try? shape.record(decodable)) != nil else { return nil }
        if case .plain = shape.form, PlainType(type) == nil, !shape.isNullable { return nil }
        return shape
    }

    private static func unsupported(_ type: Any.Type) -> SdkError {
        let wanted = "an enum must be CaseIterable, with strings or integers as its raw values"
        return .InvalidFunction(reason: "\(type) is not supported: \(wanted)")
    }

    func add(_ key: any CodingKey, isOptional: Bool) -> Shape {
        let inner = Shape(depth: depth + 1)
        var members: [Member] = []
        if case .object(let before) = form { members = before }
        let name = key.stringValue
        members.append(
            Member(name: name, shape: inner, isOptional: isOptional, description: descriptions[name]))
        form = .object(members)
        return inner
    }

    func item() -> Shape {
        let inner = Shape(depth: depth + 1)
        form = .array(inner)
        return inner
    }
}

/// A dictionary with string keys, which decodes no particular names.
private protocol Map {
    static var values: Any.Type { get }
}

extension Dictionary: Map where Key == String {
    fileprivate static var values: Any.Type { Value.self }
}
