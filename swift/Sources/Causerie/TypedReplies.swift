/// A reply as it is written, with the value that its text is so far.
public struct ReplySnapshot<Value> {
    /// The JSON text so far, with closed strings, arrays and objects.
    public var json: String
    /// The value, as soon as everything is there that its type requires. Its strings and arrays may still grow.
    public var value: Value?
    /// The end of the reply; `nil` before the last snapshot.
    public var completion: Completion?

    /// Whether the value is complete. The last snapshot of a reply that was interrupted has a value that is not.
    public var isComplete: Bool { completion.map { $0.finishReason != .interrupted } ?? false }

    /// The members so far, if the value is an object: see ``SdkJsonObject/dictionary``.
    public var dictionary: [String: Any?] { SdkJsonObject(json: json).dictionary }

    /// Decodes the members so far as another type, whose properties are optional; `nil` if they do not fit.
    public func partial<Partial: Decodable>(as type: Partial.Type) -> Partial? {
        try? decodedPart(json, as: type)
    }
}

extension ReplySnapshot: Sendable where Value: Sendable {}
extension ReplySnapshot: Equatable where Value: Equatable {}

/// A reply whose text is a value of a type, read once in a `for try await` loop. Its elements are the value as it grows.
///
/// ```swift
/// struct Recipe: Codable { var title: String; var steps: [String] }
/// struct Draft: Codable { var title: String?; var steps: [String]? }
///
/// for try await snapshot in conversation.generateResponse("A soup, please.", as: Recipe.self) {
///     show(snapshot.partial(as: Draft.self))
/// }
/// ```
///
/// The last snapshot has the whole value, which is validated. The loop throws
/// ``SdkError/InvalidArgument(reason:argument:)`` for a reply that is not such a value, for example because it was cut short
/// by ``GenerationOptions/maxTokens``. It stops the engine as that of a ``ResponseStream`` does; after ``cancel()`` the last
/// snapshot has the value so far, if any.
public struct TypedResponseStream<Value: Decodable>: AsyncSequence, Sendable {
    /// The value as it grows.
    public typealias Element = ReplySnapshot<Value>

    private let stream: ResponseStream

    init(_ stream: ResponseStream) {
        self.stream = stream
    }

    /// Reads a reply in a loop.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var events: ResponseStream.AsyncIterator
        private var text = PartialJson()
        private var last: String?

        fileprivate init(_ events: ResponseStream.AsyncIterator) {
            self.events = events
        }

        /// The next snapshot; `nil` after the last one.
        public mutating func next() async throws -> ReplySnapshot<Value>? {
            try await next(isolation: nil)
        }

        /// The next snapshot; `nil` after the last one.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ReplySnapshot<Value>? {
            while let event = try await events.next(isolation: actor) {
                switch event {
                case .chunk(let piece):
                    text.push(piece)
                    guard let json = text.closed, json != last else { continue }
                    last = json
                    return ReplySnapshot(json: json, value: try? decodedPart(json, as: Value.self))
                case .roundComplete:
                    // The text beside calls is not the value.
                    (text, last) = (PartialJson(), nil)
                case .complete(let completion):
                    return try end(completion)
                default: continue
                }
            }
            return nil
        }

        private func end(_ completion: Completion) throws -> ReplySnapshot<Value> {
            if completion.finishReason == .interrupted {
                let value = last.flatMap { try? decodedPart($0, as: Value.self) }
                return ReplySnapshot(json: last ?? "null", value: value, completion: completion)
            }
            let value = try TypedResponseStream.value(of: completion)
            return ReplySnapshot(json: completion.text, value: value, completion: completion)
        }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(stream.makeAsyncIterator())
    }

    /// Stops the reply. See ``ResponseStream/cancel()``.
    public func cancel() {
        stream.cancel()
    }

    /// Reads the reply, and returns the whole value.
    func value() async throws -> Value {
        try Self.value(of: try await stream.completion())
    }

    /// The value of a whole reply.
    private static func value(of completion: Completion) throws -> Value {
        if completion.fullMessage.functionCalls?.isEmpty == false {
            throw SdkError.InvalidArgument(
                reason: "the reply called functions that the app must run", argument: "reply")
        }
        return try decodedReply(completion.text, as: Value.self)
    }
}

/// Replies whose text is a value of a type. The type's JSON Schema constrains the text; see ``replySchema(of:)``.
extension Conversation {
    /// The reply to a text of the user as a value of a type, while it grows. See ``TypedResponseStream``.
    ///
    /// - Parameters:
    ///   - text: the text of the user.
    ///   - type: the type of the value; see ``SdkFunction/init(of:)``.
    ///   - generationOptions: the options for generation, of which the type replaces the schema.
    public func generateResponse<Value: Decodable>(
        _ text: String, as type: Value.Type, generationOptions: GenerationOptions? = nil
    ) -> TypedResponseStream<Value> {
        reply(to: .user(text), as: type, generationOptions)
    }

    /// The reply to a message as a value of a type, while it grows. See ``TypedResponseStream``.
    ///
    /// - Parameters:
    ///   - message: as for ``generateResponse(message:generationOptions:)``.
    ///   - type: the type of the value.
    ///   - generationOptions: the options for generation, of which the type replaces the schema.
    public func generateResponse<Value: Decodable>(
        message: ChatMessage, as type: Value.Type, generationOptions: GenerationOptions? = nil
    ) -> TypedResponseStream<Value> {
        reply(to: message, as: type, generationOptions)
    }

    /// The reply to a message as a value of a type, while it grows. See ``TypedResponseStream``.
    public func generateResponse<Value: Decodable>(
        _ message: ChatMessage, as type: Value.Type, generationOptions: GenerationOptions? = nil
    ) -> TypedResponseStream<Value> {
        reply(to: message, as: type, generationOptions)
    }

    /// A reply to the history as it stands as a value of a type, while it grows. See ``TypedResponseStream``.
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - generationOptions: the options for generation, of which the type replaces the schema.
    public func generateResponse<Value: Decodable>(
        as type: Value.Type, generationOptions: GenerationOptions? = nil
    ) -> TypedResponseStream<Value> {
        reply(to: nil, as: type, generationOptions)
    }

    /// Sends a text of the user, and returns the reply as a value of a type.
    ///
    /// ```swift
    /// struct Recipe: Codable { var title: String; var steps: [String] }
    /// let recipe = try await conversation.respond(to: "A soup, please.", as: Recipe.self)
    /// ```
    ///
    /// - Parameters:
    ///   - text: the text of the user.
    ///   - type: the type of the value; see ``SdkFunction/init(of:)``.
    ///   - handlers: they run the calls of functions; the conversation's own when `nil`.
    ///   - generationOptions: the options for generation, of which the type replaces the schema.
    /// - Throws: ``SdkError/InvalidArgument(reason:argument:)`` for a reply that is not such a value, for example because it was
    ///   cut short.
    public func respond<Value: Decodable>(
        to text: String, as type: Value.Type, handlers: FunctionHandlers? = nil,
        generationOptions: GenerationOptions? = nil
    ) async throws -> Value {
        try await reply(to: .user(text), as: type, generationOptions, handlers).value()
    }

    /// Sends a message, and returns the reply as a value of a type. See `respond(to:as:)` with a text.
    ///
    /// - Parameters:
    ///   - message: as for ``generateResponse(message:generationOptions:)``.
    ///   - type: the type of the value.
    ///   - handlers: they run the calls of functions; the conversation's own when `nil`.
    ///   - generationOptions: the options for generation, of which the type replaces the schema.
    public func respond<Value: Decodable>(
        to message: ChatMessage, as type: Value.Type, handlers: FunctionHandlers? = nil,
        generationOptions: GenerationOptions? = nil
    ) async throws -> Value {
        try await reply(to: message, as: type, generationOptions, handlers).value()
    }

    /// Sends a text of the user, and returns the reply as a value of a type. The same as `respond(to:as:)`.
    public func respond<Value: Decodable>(
        _ text: String, as type: Value.Type, handlers: FunctionHandlers? = nil,
        generationOptions: GenerationOptions? = nil
    ) async throws -> Value {
        try await reply(to: .user(text), as: type, generationOptions, handlers).value()
    }

    /// Sends a message, and returns the reply as a value of a type. The same as `respond(to:as:)`.
    public func respond<Value: Decodable>(
        _ message: ChatMessage, as type: Value.Type, handlers: FunctionHandlers? = nil,
        generationOptions: GenerationOptions? = nil
    ) async throws -> Value {
        try await reply(to: message, as: type, generationOptions, handlers).value()
    }

    /// Returns a reply to the history as it stands as a value of a type.
    ///
    /// - Parameters:
    ///   - type: the type of the value.
    ///   - handlers: they run the calls of functions; the conversation's own when `nil`.
    ///   - generationOptions: the options for generation, of which the type replaces the schema.
    public func respond<Value: Decodable>(
        as type: Value.Type, handlers: FunctionHandlers? = nil, generationOptions: GenerationOptions? = nil
    ) async throws -> Value {
        try await reply(to: nil, as: type, generationOptions, handlers).value()
    }

    private func reply<Value: Decodable>(
        to message: ChatMessage?, as type: Value.Type, _ options: GenerationOptions?,
        _ handlers: FunctionHandlers? = nil
    ) -> TypedResponseStream<Value> {
        do {
            let options = (options ?? GenerationOptions()).with(\.jsonSchemaConstraint, try replySchema(of: type))
            return TypedResponseStream(reply(to: message, options, handlers))
        } catch {
            return TypedResponseStream(ResponseStream { throw error })
        }
    }
}
