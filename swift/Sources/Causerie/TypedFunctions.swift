import Foundation

/// Descriptions of a type for the model. All requirements have default implementations.
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
    /// The name of the function. Default: the name of the type in snake case, with its generic arguments.
    static var sdkName: String { get }
    /// The description of the function or value. Default: empty.
    static var sdkDescription: String { get }
    /// The descriptions of the properties, by their coding keys. Default: empty.
    static var sdkDescriptions: [String: String] { get }
}

extension SdkDescribed {
    public static var sdkName: String { functionName(of: Self.self) }
    public static var sdkDescription: String { "" }
    public static var sdkDescriptions: [String: String] { [:] }
}

extension SdkFunction {
    /// Creates a function whose parameters are the properties of a type.
    ///
    /// Optional properties may be omitted, all others are required: default values cannot be detected. Enums with strings or
    /// integers as raw values list these; enums with associated values are objects, as `Codable` writes them. Types may
    /// contain themselves. `Date`, `URL`, `UUID` and base64 `Data` are strings. ``SdkDescribed`` adds descriptions.
    ///
    /// - Throws: ``SdkError/InvalidFunction(reason:)`` for a type that is not supported.
    public init<Arguments: Decodable>(of type: Arguments.Type) throws {
        try self.init(of: type, shape: Shape(of: type))
    }

    fileprivate init(of type: Any.Type, shape: Shape) throws {
        guard case .object(let members) = shape.form else {
            throw SdkError.InvalidFunction(reason: "\(type) must have properties, which become the arguments")
        }
        let described = type as? any SdkDescribed.Type
        self.init(
            name: described?.sdkName ?? functionName(of: type),
            functionDescription: described?.sdkDescription ?? "",
            parameters: try Shape.Member.parameters(members))
    }
}

extension SdkFunctionCall {
    /// Decodes the arguments as a value of a type, after validating them against the function of that type.
    ///
    /// A `Date` is read in ISO 8601, with or without a time, fractions of seconds and an offset from UTC. Without an
    /// offset, the time zone is that of the device.
    ///
    /// - Throws: ``SdkError/InvalidArgument(reason:argument:)``, which names the argument.
    public func decoded<Arguments: Decodable>(as type: Arguments.Type) throws -> Arguments {
        let shape = try Shape(of: type)
        let arguments = try fitting(try SdkFunction(of: type, shape: shape))
        if let fault = shape.fault(in: arguments, at: "") { throw fault }
        return try decode(type, from: arguments)
    }

    /// Returns the arguments, converted to the types of a function.
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

/// Returns the JSON Schema of a type as JSON text, for ``GenerationOptions/jsonSchemaConstraint``.
///
/// - Throws: ``SdkError/InvalidFunction(reason:)`` for a type that is not supported.
public func replySchema<Value: Decodable>(of type: Value.Type) throws -> String {
    let function = try replyFunction(of: Shape(of: type))
    let parameters = try JsonReader.value(from: functionSchema(function: function))["parameters"]
    guard case .object(let schema)? = parameters?["properties"]?[replyName] else { return "{}" }
    let definitions = parameters?["$defs"].map { [(name: "$defs", value: $0)] } ?? []
    return JsonValue.object(schema + definitions).text
}

/// Decodes the text of a reply. An optional type accepts `null`.
///
/// - Throws: ``SdkError/InvalidArgument(reason:argument:)``, which names the path.
public func decodedReply<Value: Decodable>(_ text: String, as type: Value.Type) throws -> Value {
    let json = try readReply(text: text)
    let shape = try Shape(of: type)
    let call = SdkFunctionCall(name: replyName, argumentsObject: json)
    let arguments = try call.fitting(replyFunction(of: shape))
    if let fault = arguments[replyName].flatMap({ shape.fault(in: $0, at: replyName) }) { throw fault }
    return try decode(Reply<Value>.self, from: arguments).reply
}

/// Decodes the text of a part of a reply, which is not validated.
func decodedPart<Value: Decodable>(_ json: String, as type: Value.Type) throws -> Value {
    try decode(Reply<Value>.self, from: .object([(replyName, try JsonReader.value(from: json))])).reply
}

private let replyName = "reply"

private struct Reply<Value: Decodable>: Decodable {
    var reply: Value
}

/// A function with the reply as its only parameter, so that replies are checked like arguments.
private func replyFunction(of shape: Shape) throws -> SdkFunction {
    let member = Shape.Member(name: replyName, shape: shape, isOptional: shape.isNullable)
    return SdkFunction(name: replyName, functionDescription: "", parameters: try Shape.Member.parameters([member]))
}

private func decode<Value: Decodable>(_ type: Value.Type, from json: JsonValue) throws -> Value {
    do {
        return try JSONDecoder.dated.decode(type, from: Data(json.text.utf8))
    } catch let error as DecodingError {
        throw SdkError(error)
    }
}

extension SdkError {
    /// Converts an error of a decoder, with the path in the notation of validation.
    fileprivate init(_ error: DecodingError) {
        let (path, reason): ([any CodingKey], String) =
            switch error {
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                (context.codingPath, context.debugDescription)
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
            @unknown default: ([], error.localizedDescription)
            }
        let place = path.place(in: "")
        // Foundation does not report the path of a number that its type cannot represent.
        let subject = place.isEmpty ? "an argument does not fit its type:" : place
        self = .InvalidArgument(reason: "\(subject) \(reason)", argument: place)
    }
}

/// The default name of a function for a type: the words of the type's name in snake case, for example `find_note` for `Find<Note>`.
func functionName(of type: Any.Type) -> String {
    let words = String(describing: type).split { !($0.isLetter || $0.isNumber || $0 == "_") }
    return words.map { snakeCase(String($0)) }.joined(separator: "_")
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
