import Foundation

/// A type without properties or elements: its schema for the model, and its valid values.
struct PlainType {
    var parameterType: SdkFunctionParameterType
    /// A value of the type.
    var sample: Any
    /// JSON Schema keywords that parameter types cannot express.
    var keywords: [(name: String, value: JsonValue)] = []
    /// A description of the valid values, if not every value of its JSON type is valid.
    var expected = ""
    /// Whether a value of its JSON type is valid.
    var holds: (JsonValue) -> Bool = { _ in true }

    /// `nil` for a type that has properties or elements.
    init?(_ type: Any.Type) {
        switch type {
        case is String.Type: self.init(parameterType: SdkStr(), sample: "")
        case is Bool.Type: self.init(parameterType: SdkBool(), sample: false)
        case is Double.Type: self.init(parameterType: SdkNum(), sample: 0.0)
        case is Decimal.Type: self.init(parameterType: SdkNum(), sample: Decimal(0))
        case is Float.Type:
            let expected = "a number within the range of Float"
            self.init(parameterType: SdkNum(), sample: Float(0), expected: expected) { value in
                Float(value.text)?.isFinite == true
            }
        case let integer as any FixedWidthInteger.Type: self = Self.integer(integer)
        case is Date.Type:
            let epoch = Date(timeIntervalSince1970: 0)
            self = .text(epoch, ("format", "date-time"), Date.expected) { Date(iso8601: $0) != nil }
        case is URL.Type:
            let root = URL(fileURLWithPath: "/")
            self = .text(root, ("format", "uri"), "a URL such as https://example.org") {
                URL(string: $0)?.scheme != nil
            }
        case is UUID.Type: self = .text(UUID(), ("format", "uuid"), "a UUID") { UUID(uuidString: $0) != nil }
        case is Data.Type:
            self = .text(Data(), ("contentEncoding", "base64"), "a base64 string") { Data(base64Encoded: $0) != nil }
        case let cases as any CaseIterable.Type:
            guard let choice = Self.choice(cases) else { return nil }
            self = choice
        default: return nil
        }
    }

    func parameterType(described description: String?) -> SdkFunctionParameterType {
        switch parameterType {
        case .sdkStr(let values, _): .sdkStr(enumValues: values, description: description)
        case .sdkInt(let values, _): .sdkInt(enumValues: values, description: description)
        case .sdkNum(let values, _): .sdkNum(enumValues: values, description: description)
        case .sdkBool: .sdkBool(description: description)
        default: parameterType
        }
    }

    /// The error for a value of its JSON type that is not valid.
    func fault(in value: JsonValue, at place: String) -> SdkError? {
        if case .null = value { return nil }
        let reason = "\(place) must be \(expected), found \(value.text)"
        return holds(value) ? nil : .InvalidArgument(reason: reason, argument: place)
    }

    private init(
        parameterType: SdkFunctionParameterType, sample: Any, keywords: [(name: String, value: JsonValue)] = [],
        expected: String = "", holds: @escaping (JsonValue) -> Bool = { _ in true }
    ) {
        self.parameterType = parameterType
        self.sample = sample
        self.keywords = keywords
        self.expected = expected
        self.holds = holds
    }

    private static func text(
        _ sample: Any, _ keyword: (String, String), _ expected: String, _ holds: @escaping (String) -> Bool
    ) -> Self {
        let keywords = [(name: keyword.0, value: JsonValue.string(keyword.1))]
        return Self(parameterType: SdkStr(), sample: sample, keywords: keywords, expected: expected) { value in
            if case .string(let text) = value { holds(text) } else { false }
        }
    }

    private static func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Self {
        let expected = "an integer from \(Integer.min) to \(Integer.max)"
        let limits = [("minimum", Integer.min), ("maximum", Integer.max)]
        let keywords = limits.compactMap { name, limit in
            (try? JsonReader.value(from: "\(limit)")).map { (name: name, value: $0) }
        }
        return Self(parameterType: SdkInt(), sample: Integer(0), keywords: keywords, expected: expected) {
            Integer($0.text) != nil
        }
    }

    /// One of several strings or integers.
    private static func choice<Cases: CaseIterable>(_ type: Cases.Type) -> Self? {
        guard let first = type.allCases.first else { return nil }
        let values = type.allCases.map { ($0 as? any RawRepresentable)?.rawValue as Any? }
        if let texts = values as? [String] { return Self(parameterType: SdkStr(enumValues: texts), sample: first) }
        let numbers = values.compactMap { ($0 as? any BinaryInteger).flatMap { Int(exactly: $0) } }
        guard numbers.count == values.count else { return nil }
        return Self(parameterType: SdkInt(enumValues: numbers), sample: first)
    }
}
