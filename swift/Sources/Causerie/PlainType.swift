import Foundation

/// A type without properties or elements: its schema, and its valid values.
struct PlainType {
    /// Its JSON Schema.
    var schema: JsonEntries
    /// A value of the type.
    var sample: Any
    /// A description of the valid values, if not every value of its JSON type is valid.
    var expected = ""
    /// Whether a value of its JSON type is valid.
    var holds: (JsonValue) -> Bool = { _ in true }

    /// `nil` for a type that has properties or elements.
    init?(_ type: Any.Type) {
        switch type {
        case is String.Type: self.init("string", sample: "")
        case is Bool.Type: self.init("boolean", sample: false)
        case is Double.Type: self.init("number", sample: 0.0)
        case is Decimal.Type: self.init("number", sample: Decimal(0))
        case is Float.Type:
            let expected = "a number within the range of Float"
            self.init("number", sample: Float(0), expected: expected) { value in
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
        case let cases as any RawRepresentable.Type:
            guard let choice = Self.choice(cases) else { return nil }
            self = choice
        default: return nil
        }
    }

    /// The error for a value of its JSON type that is not valid.
    func fault(in value: JsonValue, at place: String) -> SdkError? {
        if case .null = value { return nil }
        let reason = "\(place) must be \(expected), found \(value.text)"
        return holds(value) ? nil : .InvalidArgument(reason: reason, argument: place)
    }

    private init(
        _ type: String, _ keywords: JsonEntries = [], sample: Any, expected: String = "",
        holds: @escaping (JsonValue) -> Bool = { _ in true }
    ) {
        schema = [("type", .string(type))] + keywords
        self.sample = sample
        self.expected = expected
        self.holds = holds
    }

    private static func text(
        _ sample: Any, _ keyword: (String, String), _ expected: String, _ holds: @escaping (String) -> Bool
    ) -> Self {
        Self("string", [(keyword.0, .string(keyword.1))], sample: sample, expected: expected) { value in
            if case .string(let text) = value { holds(text) } else { false }
        }
    }

    private static func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Self {
        let expected = "an integer from \(Integer.min) to \(Integer.max)"
        let limits = [("minimum", Integer.min), ("maximum", Integer.max)]
        let keywords: JsonEntries = limits.compactMap { name, limit in
            JsonValue.exactInteger("\(limit)").map { (name, $0) }
        }
        return Self("integer", keywords, sample: Integer(0), expected: expected) { Integer($0.text) != nil }
    }

    /// An enum of strings or integers.
    private static func choice<Choice: RawRepresentable>(_ type: Choice.Type) -> Self? {
        guard let cases = enumValues(of: type), let first = cases.first else { return nil }
        if let texts = cases.map(\.rawValue) as? [String] {
            return Self("string", [("enum", .array(texts.map(JsonValue.string)))], sample: first)
        }
        let integers = cases.compactMap { $0.rawValue as? any BinaryInteger }
        let numbers = integers.compactMap { JsonValue.exactInteger("\($0)") }
        guard numbers.count == cases.count else { return nil }
        return Self("integer", [("enum", .array(numbers))], sample: first)
    }
}
