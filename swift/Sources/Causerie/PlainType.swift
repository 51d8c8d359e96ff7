import Foundation

/// A type whose values have no parts: what a model is told of it, and which values are its own.
struct PlainType {
    var parameterType: SdkFunctionParameterType
    /// A value of it.
    var sample: Any
    /// What a JSON Schema says of it that no type of a parameter does.
    var keyword: (name: String, value: String)?
    /// Its values in words, where not all that fit its JSON type are.
    var words = ""
    /// Whether a value that fits its JSON type is one of its own.
    var holds: (JsonValue) -> Bool = { _ in true }

    /// `nil` for a type that has parts.
    init?(_ type: Any.Type) {
        switch type {
        case is String.Type: self.init(parameterType: SdkStr(), sample: "")
        case is Bool.Type: self.init(parameterType: SdkBool(), sample: false)
        case is Double.Type: self.init(parameterType: SdkNum(), sample: 0.0)
        case is Decimal.Type: self.init(parameterType: SdkNum(), sample: Decimal(0))
        case is Float.Type:
            self.init(parameterType: SdkNum(), sample: Float(0), words: "a number that Float can hold") { value in
                Float(value.text)?.isFinite == true
            }
        case let whole as any FixedWidthInteger.Type: self = Self.whole(whole)
        case is Date.Type:
            let epoch = Date(timeIntervalSince1970: 0)
            self = .text(epoch, ("format", "date-time"), Date.told) { Date(iso8601: $0) != nil }
        case is URL.Type:
            let root = URL(fileURLWithPath: "/")
            self = .text(root, ("format", "uri"), "a URL such as https://example.org") {
                URL(string: $0)?.scheme != nil
            }
        case is UUID.Type: self = .text(UUID(), ("format", "uuid"), "a UUID") { UUID(uuidString: $0) != nil }
        case is Data.Type:
            self = .text(Data(), ("contentEncoding", "base64"), "base64 text") { Data(base64Encoded: $0) != nil }
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

    /// What is wrong with a value that fits its JSON type, and yet is none of its own.
    func fault(in value: JsonValue, at place: String) -> SdkError? {
        if case .null = value { return nil }
        return holds(value) ? nil : .InvalidArgument(reason: "\(place) is not \(words)", argument: place)
    }

    private init(
        parameterType: SdkFunctionParameterType, sample: Any, keyword: (name: String, value: String)? = nil,
        words: String = "", holds: @escaping (JsonValue) -> Bool = { _ in true }
    ) {
        self.parameterType = parameterType
        self.sample = sample
        self.keyword = keyword
        self.words = words
        self.holds = holds
    }

    private static func text(
        _ sample: Any, _ keyword: (String, String), _ words: String, _ holds: @escaping (String) -> Bool
    ) -> Self {
        Self(parameterType: SdkStr(), sample: sample, keyword: keyword, words: words) { value in
            if case .string(let text) = value { holds(text) } else { false }
        }
    }

    private static func whole<Whole: FixedWidthInteger>(_ type: Whole.Type) -> Self {
        let words = "a whole number from \(Whole.min) to \(Whole.max)"
        return Self(parameterType: SdkInt(), sample: Whole(0), words: words) { Whole($0.text) != nil }
    }

    /// One of several texts or whole numbers.
    private static func choice<Cases: CaseIterable>(_ type: Cases.Type) -> Self? {
        guard let first = type.allCases.first else { return nil }
        let values = type.allCases.map { ($0 as? any RawRepresentable)?.rawValue as Any? }
        if let texts = values as? [String] { return Self(parameterType: SdkStr(enumValues: texts), sample: first) }
        let numbers = values.compactMap { ($0 as? any BinaryInteger).flatMap { Int(exactly: $0) } }
        guard numbers.count == values.count else { return nil }
        return Self(parameterType: SdkInt(enumValues: numbers), sample: first)
    }
}
