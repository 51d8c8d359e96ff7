/// A map of names to JSON values.
///
/// Values are `String`, `Int`, `Double`, `Bool`, `nil`, `[Any?]` and `[String: Any?]`; whole numbers beyond `Int` are
/// ``SdkBigInteger``. Two maps are equal when they hold the same, in whatever order.
public struct SdkJsonObject: Sendable {
    /// The map as JSON text, with its entries in the order in which they were written.
    public let json: String

    /// What crossed the border, and is known to be JSON.
    init(json: String) {
        self.json = json
    }

    /// A map made of Swift's values.
    ///
    /// - Parameter dictionary: what JSON can hold: text, booleans, numbers of any type, `nil`, arrays, dictionaries, and what
    ///   is `Encodable`.
    /// - Throws: ``SdkError/Serialization(reason:)`` naming the place of what JSON cannot hold.
    public init(_ dictionary: [String: Any?]) throws {
        json = try JsonValue(dictionary, at: "").text
    }

    /// A map read from JSON text.
    ///
    /// - Parameter text: the text of a JSON object.
    /// - Throws: ``SdkError/Serialization(reason:)`` when it is none.
    public init(text: String) throws {
        guard case let value = try JsonReader.value(from: text), case .object = value else {
            throw SdkError.Serialization(reason: "expected JSON text of an object")
        }
        json = value.text
    }

    /// The map as Swift's values.
    ///
    /// Of names that are the same to Swift but not to the model, such as an "é" as one character and as two, the first
    /// one counts.
    public var dictionary: [String: Any?] {
        // It was written by the engine or by us, so it can be read.
        guard case .object(let entries)? = try? JsonReader.value(from: json) else { return [:] }
        return JsonValue.dictionary(of: entries)
    }
}

extension SdkJsonObject: Hashable {
    /// The same map has the same text when its names are sorted.
    private var sorted: String { (try? JsonReader.value(from: json))?.sorted.text ?? json }

    public static func == (left: Self, right: Self) -> Bool {
        left.json == right.json || left.sorted == right.sorted
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(sorted)
    }
}

extension SdkJsonObject: CustomStringConvertible {
    /// The map as JSON text.
    public var description: String { json }
}

/// A whole number that is too large for `Int`, exact at any size.
///
/// `Decimal(string: number.description)` calculates with it as long as it has no more than 38 digits.
public struct SdkBigInteger: Hashable, Sendable, LosslessStringConvertible {
    /// Its decimal digits, behind a `-` when it is negative.
    public let description: String

    /// A number from its decimal digits, which may have a sign; `nil` for any other text.
    public init?(_ description: String) {
        let isNegative = description.hasPrefix("-")
        let digits = description.utf8.dropFirst(isNegative || description.hasPrefix("+") ? 1 : 0)
        guard !digits.isEmpty, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        let significant = String(decoding: digits.drop { $0 == 0x30 }, as: UTF8.self)
        self.description = significant.isEmpty ? "0" : (isNegative ? "-" : "") + significant
    }
}
