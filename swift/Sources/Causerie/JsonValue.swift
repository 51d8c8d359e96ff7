/// The entries of a JSON object, in their order.
typealias JsonEntries = [(name: String, value: JsonValue)]

/// A JSON value. Integers are exact, and entries keep their order.
// Sendable is declared because the compiler fails to infer it through the tuples: "circular reference".
enum JsonValue: Sendable {
    case null
    case boolean(Bool)
    case integer(Int)
    case bigInteger(SdkBigInteger)
    case double(Double)
    case string(String)
    case array([JsonValue])
    case object(JsonEntries)

    /// The nesting limit, which is that of the engine.
    static let deepest = 128

    /// The value as a Swift type.
    var native: Any? {
        switch self {
        case .null: nil
        case .boolean(let value): value
        case .integer(let value): value
        case .bigInteger(let value): value
        case .double(let value): value
        case .string(let value): value
        case .array(let items): items.map(\.native)
        case .object(let entries): Self.dictionary(of: entries)
        }
    }

    static func dictionary(of entries: JsonEntries) -> [String: Any?] {
        // Names with different bytes can be equal in Swift: a precomposed and a decomposed "é". The first one is used.
        Dictionary(entries.map { ($0.name, $0.value.native) }) { first, _ in first }
    }

    /// The value of a name, if this is an object with that name.
    subscript(name: String) -> JsonValue? {
        guard case .object(let entries) = self else { return nil }
        return entries.first { $0.name == name }?.value
    }

    /// This value with the value of a name changed, if this is an object with that name.
    func changing(_ name: String, _ change: (JsonValue) -> JsonValue) -> JsonValue {
        guard case .object(let entries) = self else { return self }
        return .object(entries.map { $0.name == name ? (name, change($0.value)) : $0 })
    }

    /// The value with the names of every object sorted.
    var sorted: JsonValue {
        switch self {
        case .array(let items): .array(items.map(\.sorted))
        case .object(let entries):
            .object(entries.map { ($0.name, $0.value.sorted) }.sorted { $0.name < $1.name })
        default: self
        }
    }

    /// The value as JSON text.
    var text: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .bigInteger(let value): value.description
        case .double(let value): value.description
        case .string(let value): Self.quoted(value)
        case .array(let items): "[" + items.map(\.text).joined(separator: ", ") + "]"
        case .object(let entries):
            "{" + entries.map { "\(Self.quoted($0.name)): \($0.value.text)" }.joined(separator: ", ") + "}"
        }
    }

    private static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                text += "\\\(scalar)"
            case "\u{0}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default:
                text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
