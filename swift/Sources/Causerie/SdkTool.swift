/// A function that the model may call, with its arguments as a type.
///
/// ```swift
/// struct CheckWeather: SdkTool {
///     struct Arguments: Codable, SdkDescribed {
///         var city: String
///         static let sdkDescriptions = ["city": "The city."]
///     }
///
///     let description = "Check the weather in a city."
///
///     func call(arguments: Arguments) async throws -> [String: String] {
///         ["city": arguments.city, "sky": "sunny"]
///     }
/// }
///
/// let conversation = try runner.createConversation(systemPrompt: "Be brief.", tools: [CheckWeather()])
/// print(try await conversation.respond(to: "What is the weather in Oslo?").text)  // check_weather runs meanwhile
/// ```
///
/// A tool may be an actor, or belong to the main actor. Its ``name`` and ``description`` are constants, or `nonisolated`.
///
/// Closures serve as well; see ``FunctionHandlers``.
public protocol SdkTool: Sendable {
    /// The arguments; see ``SdkFunction/init(of:)``. They are `Sendable` so that a tool may belong to an actor.
    associatedtype Arguments: Decodable & Sendable
    /// The result; see ``FunctionHandlers``.
    associatedtype Output

    /// The name of the function. Default: the name of the type in snake case, with its generic arguments: `search_notes`, `find_note`
    /// for `Find<Note>`.
    var name: String { get }
    /// The purpose of the function, for the model.
    var description: String { get }

    /// Runs a call. The arguments have been validated. The model reads the description of an error.
    func call(arguments: Arguments) async throws -> Output
}

extension SdkTool {
    public var name: String { functionName(of: Self.self) }
}

extension FunctionHandlers {
    /// Handlers that are tools. Of tools with the same name, the last one counts.
    ///
    /// - Throws: ``SdkError/InvalidFunction(reason:)`` for arguments of a type that is not supported.
    public init(tools: [any SdkTool]) throws {
        for tool in tools { try on(tool) }
    }

    /// Runs the calls of a tool, and adds its function to ``functions``.
    ///
    /// - Throws: ``SdkError/InvalidFunction(reason:)`` for arguments of a type that is not supported.
    public mutating func on<Tool: SdkTool>(_ tool: Tool) throws {
        var function = try SdkFunction(of: Tool.Arguments.self)
        function.name = tool.name
        function.functionDescription = tool.description
        on(function) { call in try await tool.call(arguments: try call.decoded(as: Tool.Arguments.self)) }
    }
}
