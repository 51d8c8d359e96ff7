extension SdkFunctionCall {
    /// A call, for example for a test.
    ///
    /// - Parameters:
    ///   - name: the function wanted.
    ///   - arguments: its arguments by name, see ``SdkJsonObject``.
    /// - Throws: ``SdkError/Serialization(reason:)`` when an argument is no JSON value.
    public init(name: String, arguments: [String: Any?]) throws {
        self.init(name: name, argumentsObject: try SdkJsonObject(arguments))
    }

    /// Exactly what the model wrote; arguments may be missing or of the wrong type.
    ///
    /// Values are `String`, `Int`, `Double`, `Bool`, `nil`, `[Any?]` and `[String: Any?]`; whole numbers beyond `Int` are
    /// ``SdkBigInteger``. A value is of exactly one of these types: `as? Bool` never takes a number, nor `as? Int` a
    /// number with a point.
    public var arguments: [String: Any?] { argumentsObject.dictionary }
}

extension Validation {
    /// The arguments, with what obviously fits made to fit.
    public var arguments: [String: Any?] { argumentsObject.dictionary }
}
