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
    /// Optional properties may be left out. Enums of texts or whole numbers that are `CaseIterable` are the values
    /// allowed. ``SdkDescribed`` says the rest.
    ///
    /// - Throws: ``SdkError/InvalidFunction(reason:)`` for a type that a model cannot be told.
    public init<Arguments: Decodable>(of type: Arguments.Type) throws {
        let shape = try Shape(of: type)
        guard case .object(let members) = shape.form else {
            throw SdkError.InvalidFunction(reason: "\(type) has no properties that could be arguments")
        }
        let described = type as? any SdkDescribed.Type
        self.init(
            name: described?.sdkName ?? snakeCase(String(describing: type)),
            functionDescription: described?.sdkDescription ?? "",
            parameters: try members.map { member in
                SdkFunctionParameter(
                    name: member.name, type: try member.shape.parameterType(described: nil),
                    parameterDescription: member.description ?? member.shape.description,
                    optional: member.isOptional)
            })
    }
}

extension SdkFunctionCall {
    /// The arguments as a value of a type, once they fit the function that it is.
    ///
    /// - Throws: ``SdkError/InvalidArgument(reason:argument:)``, which names the argument, unless it is a number that its
    ///   type cannot hold.
    public func decoded<Arguments: Decodable>(as type: Arguments.Type) throws -> Arguments {
        try decoded(as: type, by: try SdkFunction(of: type), from: nil)
    }

    fileprivate func decoded<Value: Decodable>(
        as type: Value.Type, by function: SdkFunction, from member: String?
    ) throws -> Value {
        var call = self
        call.name = function.name
        let validation = validate(call: call, functions: [function])
        if let fault = validation.diagnostics.first(where: { $0.severity == .error }) {
            throw SdkError.InvalidArgument(reason: fault.text, argument: fault.path)
        }
        do {
            let data = Data(validation.argumentsObject.json.utf8)
            guard member != nil else { return try JSONDecoder().decode(type, from: data) }
            return try JSONDecoder().decode(Reply<Value>.self, from: data).reply
        } catch let error as DecodingError {
            throw SdkError(error)
        }
    }
}

/// The JSON Schema of a type as JSON text, for ``GenerationOptions/jsonSchemaConstraint``.
///
/// - Throws: ``SdkError/InvalidFunction(reason:)`` for a type that a model cannot be told.
public func replySchema<Value: Decodable>(of type: Value.Type) throws -> String {
    let schema = try JsonReader.value(from: functionSchema(function: replyFunction(of: type)))
    var value: JsonValue? = schema
    for key in ["parameters", "properties", replyName] {
        guard case .object(let entries)? = value else { break }
        value = entries.first { $0.name == key }?.value
    }
    return value?.text ?? "{}"
}

/// The value that the text of a reply is.
///
/// - Throws: ``SdkError/InvalidArgument(reason:argument:)``, which names the place.
public func decodedReply<Value: Decodable>(_ text: String, as type: Value.Type) throws -> Value {
    guard let json = try? SdkJsonObject(text: "{\"\(replyName)\": \(text)}") else {
        throw SdkError.InvalidArgument(reason: "\(replyName) is no JSON", argument: replyName)
    }
    let call = SdkFunctionCall(name: replyName, argumentsObject: json)
    return try call.decoded(as: type, by: try replyFunction(of: type), from: replyName)
}

private let replyName = "reply"

private struct Reply<Value: Decodable>: Decodable {
    var reply: Value
}

/// A reply is checked as the one argument of a function.
private func replyFunction<Value: Decodable>(of type: Value.Type) throws -> SdkFunction {
    let shape = try Shape(of: type)
    let reply = SdkFunctionParameter(
        name: replyName, type: try shape.parameterType(described: nil), parameterDescription: shape.description,
        optional: false)
    return SdkFunction(name: replyName, functionDescription: "", parameters: [reply])
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
        let place = path.reduce(into: "") { place, key in
            if let index = key.intValue {
                place += "[\(index)]"
            } else {
                place += (place.isEmpty ? "" : ".") + key.stringValue
            }
        }
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
