import Foundation

/// What a model is told of a type beyond what Swift says of it; each part has a default.
///
/// ```swift
/// struct GetWeather: Codable, SdkDescribed {
///     var city: String
///     var days: Int?
///
///     static let sdkDescription = "The weather in a city."
///     static let sdkDescriptions = ["city": "The city.", "days": "How many days."]
/// }
///
/// let function = try SdkFunction(of: GetWeather.self)  // get_weather
/// ```
public protocol SdkDescribed {
    /// The function's name. Default: that of the type, in snake case.
    static var sdkName: String { get }
    /// The purpose of the function, or the meaning of the value. Default: none.
    static var sdkDescription: String { get }
    /// What the properties mean, by their names as they are encoded. Default: none.
    static var sdkDescriptions: [String: String] { get }
}

extension SdkDescribed {
    public static var sdkName: String { snakeCase(String(describing: Self.self)) }
    public static var sdkDescription: String { "" }
    public static var sdkDescriptions: [String: String] { [:] }
}

extension SdkFunction {
    /// The function that takes the properties of a type as its arguments.
    ///
    /// Optional properties may be left out, and no others: a default value is not seen from here. Enums of texts or whole
    /// numbers that are `CaseIterable` are the values allowed. A `Date`, a `URL`, a `UUID` and base64 `Data` are texts.
    /// ``SdkDescribed`` says the rest.
    ///
    /// - Throws: ``SdkError/InvalidFunction(reason:)`` for a type that a model cannot be told.
    public init<Arguments: Decodable>(of type: Arguments.Type) throws {
        try self.init(of: type, shape: Shape(of: type))
    }

    fileprivate init(of type: Any.Type, shape: Shape) throws {
        guard case .object(let members) = shape.form else {
            throw SdkError.InvalidFunction(reason: "\(type) has no properties that could be arguments")
        }
        let described = type as? any SdkDescribed.Type
        self.init(
            name: described?.sdkName ?? snakeCase(String(describing: type)),
            functionDescription: described?.sdkDescription ?? "",
            parameters: try members.map { try $0.parameter() })
    }
}

extension SdkFunctionCall {
    /// The arguments as a value of a type, once they fit the function that it is.
    ///
    /// A `Date` is read as ISO 8601 has it, with or without a time, fractions of seconds, and how far it is from UTC; where
    /// that is not said, it is in the time zone of the device.
    ///
    /// - Throws: ``SdkError/InvalidArgument(reason:argument:)``, which names the argument.
    public func decoded<Arguments: Decodable>(as type: Arguments.Type) throws -> Arguments {
        let shape = try Shape(of: type)
        let arguments = try fitting(try SdkFunction(of: type, shape: shape))
        if let fault = shape.fault(in: arguments, at: "") { throw fault }
        return try decode(type, from: arguments)
    }

    /// The arguments, made to fit a function.
    fileprivate func fitting(_ function: SdkFunction) throws -> JsonValue {
        var call = self
        call.name = function.name
        let validation = validate(call: call, functions: [function])
        if let fault = validation.diagnostics.first(where: { $0.severity == .error }) {
            throw SdkError.InvalidArgument(reason: fault.text, argument: fault.path)
        }
        return try JsonReader.value(from: validation.argumentsObject.json)
    }
}

/// The JSON Schema of a type as JSON text, for ``GenerationOptions/jsonSchemaConstraint``.
///
/// - Throws: ``SdkError/InvalidFunction(reason:)`` for a type that a model cannot be told.
public func replySchema<Value: Decodable>(of type: Value.Type) throws -> String {
    try replyMember(of: type).parameter().told.text
}

/// The value that the text of a reply is. An optional type takes `null`.
///
/// - Throws: ``SdkError/InvalidArgument(reason:argument:)``, which names the place.
public func decodedReply<Value: Decodable>(_ text: String, as type: Value.Type) throws -> Value {
    guard let value = try? JsonReader.value(from: text),
        let json = try? SdkJsonObject(text: JsonValue.object([(replyName, value)]).text)
    else { throw SdkError.InvalidArgument(reason: "\(replyName) must be valid JSON", argument: replyName) }
    // A reply is checked as the one argument of a function.
    let member = try replyMember(of: type)
    let function = SdkFunction(name: replyName, functionDescription: "", parameters: [try member.parameter()])
    let call = SdkFunctionCall(name: replyName, argumentsObject: json)
    guard let reply = try call.fitting(function)[replyName] else { return try nothing(of: type) }
    if let fault = member.shape.fault(in: reply, at: replyName) { throw fault }
    return try decode(Reply<Value>.self, from: .object([(replyName, reply)])).reply
}

private let replyName = "reply"

private struct Reply<Value: Decodable>: Decodable {
    var reply: Value
}

/// What is left where `null` was left out.
private func nothing<Value>(of type: Value.Type) throws -> Value {
    if let type = type as? any ExpressibleByNilLiteral.Type, let nothing = type.init(nilLiteral: ()) as? Value {
        return nothing
    }
    throw SdkError.InvalidArgument(reason: "\(replyName) is missing", argument: replyName)
}

private func replyMember<Value: Decodable>(of type: Value.Type) throws -> Shape.Member {
    let isOptional = type is any ExpressibleByNilLiteral.Type
    return Shape.Member(name: replyName, shape: try Shape(of: type), isOptional: isOptional)
}

private func decode<Value: Decodable>(_ type: Value.Type, from json: JsonValue) throws -> Value {
    do {
        return try JSONDecoder.dated.decode(type, from: Data(json.text.utf8))
    } catch let error as DecodingError {
        throw SdkError(error)
    }
}

extension SdkError {
    /// What a decoder says, with its place as validation writes it.
    fileprivate init(_ error: DecodingError) {
        let (path, reason): ([any CodingKey], String) =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                (context.codingPath, context.debugDescription)
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
            @unknown default: ([], error.localizedDescription)
            }
        let place = path.place(in: "")
        // Foundation does not say where a number stands that its type cannot hold.
        let subject = place.isEmpty ? "an argument does not fit its type:" : place
        self = .InvalidArgument(reason: "\(subject) \(reason)", argument: place)
    }
}

private func snakeCase(_ name: String) -> String {
    var snake = ""
    var lastIsLower = false
    for character in name {
        if character.isUppercase, lastIsLower { snake += "_" }
        lastIsLower = !character.isUppercase && character != "_"
        snake += character.lowercased()
    }
    return snake
}
