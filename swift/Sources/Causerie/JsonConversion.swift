import Foundation

extension JsonValue {
    /// The JSON value of one of Swift's, or of Foundation's.
    ///
    /// - Parameters:
    ///   - value: text, a boolean, a number, nothing, an array, a dictionary, or what encodes itself.
    ///   - place: where it stands, for the error.
    ///   - depth: how many arrays and dictionaries it stands in.
    init(_ value: Any?, at place: String, depth: Int = 0) throws {
        guard let value else {
            self = .null
            return
        }
        // Foundation's boxed numbers first: they pass for numbers of every type, and for booleans.
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber {
            self = try Self.number(number, at: place)
            return
        }
        switch value {
        case let value as String: self = .string(value)
        case let value as Bool: self = .boolean(value)
        case let value as any BinaryInteger: self = Self.whole("\(value)") ?? .null
        case let value as SdkBigInteger: self = .bigInteger(value)
        case let value as Double: self = try Self.finite(value, at: place)
        // By its digits: 0.1 stays 0.1.
        case let value as Float: self = try Self.finite(Double(value.description) ?? Double(value), at: place)
        case let value as Decimal: self = try Self.decimal(value, at: place)
        case is NSNull: self = .null
        case let value as [String: Any?]: self = try Self.object(value, at: place, depth: depth)
        case let value as [Any?]: self = try Self.array(value, at: place, depth: depth)
        case let value as any Absentable: self = try JsonValue(value.present, at: place, depth: depth)
        case let value as any Encodable: self = try Self.encoded(value, at: place, depth: depth)
        default: throw Self.fault(place, "is of the type \(type(of: value)), which JSON has not")
        }
    }

    private static func object(_ dictionary: [String: Any?], at place: String, depth: Int) throws -> Self {
        try checkDepth(depth, at: place)
        return try .object(
            dictionary.sorted { $0.key < $1.key }.map { name, value in
                let place = place.isEmpty ? name : "\(place).\(name)"
                return (name, try JsonValue(value, at: place, depth: depth + 1))
            })
    }

    private static func array(_ items: [Any?], at place: String, depth: Int) throws -> Self {
        try checkDepth(depth, at: place)
        return try .array(
            items.enumerated().map { index, item in
                try JsonValue(item, at: "\(place)[\(index)]", depth: depth + 1)
            })
    }

    /// What a value makes of itself.
    private static func encoded(_ value: any Encodable, at place: String, depth: Int) throws -> Self {
        do {
            let data = try JSONEncoder.dated.encode(value)
            let json = try JsonReader.value(from: String(decoding: data, as: UTF8.self))
            return try JsonValue(json.native, at: place, depth: depth)
        } catch EncodingError.invalidValue(_, let context) {
            throw fault(context.codingPath.place(in: place), "has no JSON: \(context.debugDescription)")
        }
    }

    private static func checkDepth(_ depth: Int, at place: String) throws {
        if depth >= deepest { throw fault(place, "is nested deeper than \(deepest) levels") }
    }

    private static func number(_ number: NSNumber, at place: String) throws -> Self {
        if let number = number as? NSDecimalNumber { return try decimal(number as Decimal, at: place) }
        if number.isBoolean { return .boolean(number.boolValue) }
        return try whole(number.stringValue) ?? finite(number.doubleValue, at: place)
    }

    private static func decimal(_ number: Decimal, at place: String) throws -> Self {
        if let whole = whole("\(number)") { return whole }
        return try finite(Double("\(number)") ?? .nan, at: place)
    }

    /// A whole number from its digits.
    static func whole(_ digits: String) -> Self? {
        Int(digits).map(JsonValue.integer) ?? SdkBigInteger(digits).map(JsonValue.bigInteger)
    }

    private static func finite(_ number: Double, at place: String) throws -> Self {
        guard number.isFinite else { throw fault(place, "is \(number), which JSON has not") }
        return .double(number)
    }

    private static func fault(_ place: String, _ text: String) -> SdkError {
        .Serialization(reason: "\(place) \(text)")
    }
}

extension [any CodingKey] {
    /// The place that a coder means, as validation writes it.
    func place(in outer: String) -> String {
        reduce(into: outer) { place, key in
            if let index = key.intValue {
                place += "[\(index)]"
            } else {
                place += (place.isEmpty ? "" : ".") + key.stringValue
            }
        }
    }
}

/// An optional within `Any`.
private protocol Absentable {
    var present: Any? { get }
}

extension Optional: Absentable {
    fileprivate var present: Any? { self }
}

extension NSNumber {
    /// Whether it was made from a boolean.
    fileprivate var isBoolean: Bool {
        #if canImport(Darwin)
        CFGetTypeID(self) == CFBooleanGetTypeID()
        #else
        String(cString: objCType) == "c"
        #endif
    }
}
