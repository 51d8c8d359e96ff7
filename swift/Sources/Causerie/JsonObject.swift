/// A JSON object.
///
/// Values are `String`, `Int`, `Double`, `Bool`, `nil`, `[Any?]` and `[String: Any?]`; integers beyond `Int` are
/// ``SdkBigInteger``. Two objects are equal when they have the same entries, in any order.
public struct SdkJsonObject: Sendable {
    /// The JSON text of the object, with its entries in their original order.
    public let json: String

    /// An object from the engine, known to be valid JSON.
    init(json: String) {
        self.json = json
    }

    /// Converts a dictionary.
    ///
    /// - Parameter dictionary: values that JSON can represent: strings, booleans, numbers of any type, `nil`, arrays,
    ///   dictionaries, and `Encodable` values.
    /// - Throws: ``SdkError/Serialization(reason:)`` with the path of a value that JSON cannot represent.
    public init(_ dictionary: [String: Any?]) throws {
        json = try JsonValue(dictionary, at: "").text
    }

    /// Parses JSON text.
    ///
    /// - Parameter text: the text of a JSON object.
    /// - Throws: ``SdkError/Serialization(reason:)`` when it is not a JSON object.
    public init(text: String) throws {
        guard case let value = try JsonReader.value(from: text), case .object = value else {
            throw SdkError.Serialization(reason: "text must be a JSON object")
        }
        json = value.text
    }

    /// The object as a Swift dictionary.
    ///
    /// If names are equal in Swift but differ in bytes, such as a precomposed and a decomposed "é", the first entry is
    /// used.
    public var dictionary: [String: Any?] {
        // The engine or this library wrote it, so it is valid.
        guard case .object(let entries)? = try? JsonReader.value(from: json) else { return [:] }
        return JsonValue.dictionary(of: entries)
    }
}

extension SdkJsonObject: Hashable {
    /// The text with sorted names, which is the same for equal objects.
    private var sorted: String { (try? JsonReader.value(from: json))?.sorted.text ?? json }

    public static func == (left: Self, right: Self) -> Bool {
        left.json == right.json || left.sorted == right.sorted
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(sorted)
    }
}

extension SdkJsonObject: CustomStringConvertible {
    /// The object as JSON text.
    public var description: String { json }
}

/// An integer that is too large for `Int`, exact at any size.
///
/// Up to 38 digits, `Decimal(string: number.description)` gives a number for calculations.
public struct SdkBigInteger: Hashable, Sendable, LosslessStringConvertible {
    /// Its decimal digits, after a `-` if it is negative.
    public let description: String

    /// An integer from its decimal digits, which may have a sign; `nil` for any other string.
    public init?(_ description: String) {
        let isNegative = description.hasPrefix("-")
        let digits = description.utf8.dropFirst(isNegative || description.hasPrefix("+") ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        let significant = String(decoding: digits.drop { $0 == 0x30 }, as: UTF8.self)
        self.description = significant.isEmpty ? "0" : (isNegative ? "-" : "") + significant
    }
}
