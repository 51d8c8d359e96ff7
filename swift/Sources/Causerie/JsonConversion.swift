import Foundation

extension JsonValue {
    /// Converts a value of a Swift or Foundation type.
    ///
    /// - Parameters:
    ///   - value: a string, boolean, number, `nil`, array, dictionary, JSON object, `Duration`, or any `Encodable` value.
    ///   - place: its path, for error messages.
    ///   - depth: the number of arrays and dictionaries around it.
    init(_ value: Any?, at place: String, depth: Int = 0) throws {
        guard let value else {
            self = .null
            return
        }
        // Foundation's boxed numbers come first, because they also match every number type, and `Bool`.
        if type(of: value) is NSNumber.Type, let number = value as? NSNumber {
            self = try Self.number(number, at: place)
            return
        }
        if #available(macOS 13, iOS 16, tvOS 16, watchOS 9, *), let duration = value as? Duration {
            self = .string(duration.iso8601)
            return
        }
        switch value {
        // Also the strings of Foundation, which no other case takes.
        case let value as String: self = .string(value)
        case let value as any StringProtocol: self = .string(value.description)
        case let value as Character: self = .string(String(value))
        case let value as Unicode.Scalar: self = .string(String(value))
        case let value as Bool: self = .boolean(value)
        case let value as any BinaryInteger: self = Self.exactInteger("\(value)") ?? .null
        case let value as SdkBigInteger: self = .bigInteger(value)
        case let value as Double: self = try Self.finite(value, at: place)
        // Via its decimal digits, so that 0.1 stays 0.1.
        case let value as Float: self = try Self.finite(Double(value.description) ?? Double(value), at: place)
        case let value as Decimal: self = try Self.decimal(value, at: place)
        case is NSNull: self = .null
        // Its members stay in their order. Within other values, the limit of nesting must be checked.
        case let value as SdkJsonObject where depth == 0: self = try JsonReader.value(from: value.json)
        case let value as SdkJsonObject: self = try JsonValue(value.dictionary, at: place, depth: depth)
        case let value as [String: Any?]: self = try Self.object(value, at: place, depth: depth)
        case let value as [Any?]: self = try Self.array(value, at: place, depth: depth)
        case let value as any Absentable: self = try JsonValue(value.present, at: place, depth: depth)
        // Types of Foundation that encode themselves in another form.
        case let value as Date: self = .string(value.ISO8601Format())
        case let value as URL: self = .string(value.absoluteString)
        case let value as Data: self = .string(value.base64EncodedString())
        case let value as any Encodable: self = try Self.encoded(value, at: place, depth: depth)
        default: throw Self.fault(place, "must be a JSON value, found the type \(type(of: value))")
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

    /// Converts a value with its own encoding.
    private static func encoded(_ value: any Encodable, at place: String, depth: Int) throws -> Self {
        let encoder = ValueEncoder(at: place, depth: depth)
        do {
            try value.encode(to: encoder)
            return encoder.value
        } catch EncodingError.invalidValue(_, let context) {
            let reason = "must be representable as JSON: \(context.debugDescription)"
            throw fault(context.codingPath.place(in: place), reason)
        }
    }

    static func checkDepth(_ depth: Int, at place: String) throws {
        if depth >= deepest { throw fault(place, "must not be nested deeper than \(deepest) levels") }
    }

    private static func number(_ number: NSNumber, at place: String) throws -> Self {
        if let number = number as? NSDecimalNumber { return try decimal(number as Decimal, at: place) }
        if number.isBoolean { return .boolean(number.boolValue) }
        return try exactInteger(number.stringValue) ?? finite(number.doubleValue, at: place)
    }

    private static func decimal(_ number: Decimal, at place: String) throws -> Self {
        if let integer = exactInteger("\(number)") { return integer }
        return try finite(Double("\(number)") ?? .nan, at: place)
    }

    /// An integer from its decimal digits.
    static func exactInteger(_ digits: String) -> Self? {
        Int(digits).map(JsonValue.integer) ?? SdkBigInteger(digits).map(JsonValue.bigInteger)
    }

    private static func finite(_ number: Double, at place: String) throws -> Self {
        guard number.isFinite else { throw fault(place, "must be a finite number, found \(number)") }
        return .double(number)
    }

    private static func fault(_ place: String, _ text: String) -> SdkError {
        .Serialization(reason: "\(place) \(text)")
    }
}

extension [any CodingKey] {
    /// The path in the notation of validation.
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

/// An optional inside `Any`.
private protocol Absentable {
    var present: Any? { get }
}

extension Optional: Absentable {
    fileprivate var present: Any? { self }
}

extension NSNumber {
    /// Whether it boxes a boolean.
    fileprivate var isBoolean: Bool {
        #if canImport(Darwin)
        CFGetTypeID(self) == CFBooleanGetTypeID()
        #else
        String(cString: objCType) == "c"
        #endif
    }
}
