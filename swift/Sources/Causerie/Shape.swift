/// The structure of a `Decodable` type, found by decoding it from a recording decoder.
final class Shape {
    enum Form {
        case unknown
        case plain(PlainType)
        case array(Shape)
        /// Any names, or integers as names; the values may be anything if there is no shape.
        case map(of: Shape?, isByInteger: Bool)
        case object([Member])
        /// One of several objects: an enum with associated values.
        case choice([[Member]])
        /// A type that occurred before, or that contains this place.
        case reference(Shape)
    }

    struct Member {
        var name: String
        var shape: Shape
        var isOptional: Bool
        var description: String?
    }

    var form = Form.unknown
    /// Whether it has the associated values of an enum's case.
    var isCase = false
    /// The name of the type.
    private(set) var name = ""
    private(set) var description = ""
    /// Whether an element or a value may be null.
    private(set) var isNullable = false
    /// Whether its type occurs again.
    private(set) var isShared = false
    /// Whether only a value is wanted, the smallest one.
    var isMinimal: Bool { types.isMinimal }
    private let types: RecordedTypes
    private let depth: Int
    private var descriptions: [String: String] = [:]

    private init(in types: RecordedTypes, depth: Int) {
        self.types = types
        self.depth = depth
    }

    /// The shape of a type.
    convenience init<Value: Decodable>(of type: Value.Type) throws {
        self.init(in: RecordedTypes(isMinimal: false), depth: 0)
        do {
            _ = try record(type)
        } catch let error as DecodingError {
            throw SdkError.InvalidFunction(reason: "\(type) is not supported: \(error)")
        } catch let endless as EndlessType {
            throw SdkError.InvalidFunction(reason: "\(endless.type) must not require a value of itself")
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
        // Collections and optionals are written in place; they repeat themselves only through other types.
        if type is any Collection.Type || type is any ExpressibleByNilLiteral.Type { return try structure(of: type) }
        if let earlier = types.shapes[ObjectIdentifier(type)] { return try refer(to: earlier, type) }
        types.shapes[ObjectIdentifier(type)] = self
        name = name.isEmpty ? "\(type)" : name
        do {
            let value = try structure(of: type)
            types.samples[ObjectIdentifier(type)] = value
            return value
        } catch {
            types.shapes[ObjectIdentifier(type)] = nil
            throw error
        }
    }

    /// Records a type that was recorded before, or is being recorded.
    private func refer<Value: Decodable>(to earlier: Shape, _ type: Value.Type) throws -> Value {
        if earlier !== self {
            earlier.isShared = true
            form = .reference(earlier)
        }
        if let sample = types.samples[ObjectIdentifier(type)] as? Value { return sample }
        guard !isMinimal else { throw EndlessType(type: type) }
        let sample = try Shape(in: RecordedTypes(isMinimal: true), depth: 0).record(type)
        types.samples[ObjectIdentifier(type)] = sample
        return sample
    }

    private func structure<Value: Decodable>(of type: Value.Type) throws -> Value {
        let value: Value
        do {
            value = try isEnum(type) ? choice(type) : Value(from: ShapeDecoder(shape: self))
        } catch is DecodingError where type is any RawRepresentable.Type {
            throw Self.unsupported(type)
        }
        if value is any RawRepresentable, isEnum(type) { throw Self.unsupported(type) }
        if let map = type as? any Map.Type, map.keys == String.self || map.keys == Int.self {
            form = .map(of: isMinimal ? nil : values(map.values), isByInteger: map.keys == Int.self)
        } else if case .unknown = form {
            form = .object([])  // it has no properties
        }
        return value
    }

    /// Records an enum with associated values: decodes each of its cases.
    private func choice<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let cases = EnumCases()
        var sample: Result<Value, any Error>
        var forms: [Form] = []
        repeat {
            form = .unknown
            sample = Result { try Value(from: ShapeDecoder(shape: self, cases: cases)) }
            // The smallest value may be of any case that has one.
            if isMinimal, case .success = sample { break }
            if !isMinimal { _ = try sample.get() }
            forms.append(form)
            cases.current += 1
        } while cases.current < cases.count
        if !isMinimal, cases.count > 0 {
            form = .choice(forms.map { if case .object(let members) = $0 { members } else { [] } })
        }
        return try sample.get()
    }

    /// The shape of a dictionary's values; `nil` for a type that inspects what it decodes.
    private func values(_ type: Any.Type) -> Shape? {
        guard let decodable = type as? any Decodable.Type else { return nil }
        let shape = Shape(in: types, depth: depth + 1)
        guard (try? shape.record(decodable)) != nil else { return nil }
        if case .plain = shape.form, PlainType(type) == nil, !shape.isNullable { return nil }
        return shape
    }

    private static func unsupported(_ type: Any.Type) -> SdkError {
        let wanted = "an enum must have strings or integers as its raw values, or associated values"
        return .InvalidFunction(reason: "\(type) is not supported: \(wanted)")
    }

    /// Adds a member to an object.
    func add(_ name: String, isOptional: Bool = false) -> Shape {
        let inner = Shape(in: types, depth: depth + 1)
        var members: [Member] = []
        if case .object(let before) = form { members = before.filter { $0.name != name } }
        members.append(
            Member(name: name, shape: inner, isOptional: isOptional, description: descriptions[name]))
        form = .object(members)
        return inner
    }

    /// The shape of the elements of an array.
    func item() -> Shape {
        let inner = Shape(in: types, depth: depth + 1)
        form = .array(inner)
        return inner
    }
}

/// The types that were recorded, or are being recorded.
private final class RecordedTypes {
    let isMinimal: Bool
    var shapes: [ObjectIdentifier: Shape] = [:]
    /// Values of types.
    var samples: [ObjectIdentifier: Any] = [:]

    init(isMinimal: Bool) {
        self.isMinimal = isMinimal
    }
}

/// The error for a type whose smallest value would contain another value of the type.
private struct EndlessType: Error {
    var type: Any.Type
}

/// A dictionary. If its keys are strings or integers, it decodes no particular names.
private protocol Map {
    static var keys: Any.Type { get }
    static var values: Any.Type { get }
}

extension Dictionary: Map {
    fileprivate static var keys: Any.Type { Key.self }
    fileprivate static var values: Any.Type { Value.self }
}
