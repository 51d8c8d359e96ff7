extension SdkFunctionCall {
    /// Creates a call, for example for a test.
    ///
    /// - Parameters:
    ///   - name: the name of the function.
    ///   - arguments: its arguments by name; see ``SdkJsonObject``.
    /// - Throws: ``SdkError/Serialization(reason:)`` when JSON cannot represent an argument.
    public init(name: String, arguments: [String: Any?]) throws {
        self.init(name: name, argumentsObject: try SdkJsonObject(arguments))
    }

    /// The arguments as the model wrote them. Some may be missing or have the wrong type.
    ///
    /// Values are `String`, `Int`, `Double`, `Bool`, `nil`, `[Any?]` and `[String: Any?]`; integers beyond `Int` are
    /// ``SdkBigInteger``. A value has exactly one of these types: `as? Bool` never matches a number, and `as? Int`
    /// never matches a number with a decimal point.
    public var arguments: [String: Any?] { argumentsObject.dictionary }
}

extension Validation {
    /// The arguments, with values such as `"7"` converted to the declared type.
    public var arguments: [String: Any?] { argumentsObject.dictionary }
}
