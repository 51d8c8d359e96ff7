/// Replies as streams of events.
extension Conversation {
    /// The reply to a message, as it is generated.
    ///
    /// Nothing happens before the first event is requested. The engine generates at most eighteen events ahead of the
    /// loop and then waits. Leaving the loop stops it, and so does cancelling the task. The history may then contain
    /// more than was read.
    ///
    /// ```swift
    /// let question = ChatMessage(role: .user, textContent: "What is the weather in Oslo?")
    /// for try await response in conversation.generateResponse(message: question) {
    ///     switch response {
    ///     case .chunk(let text): print(text, terminator: "")
    ///     case .functionCalls(let calls): print(calls.functionCalls)
    ///     case .complete(let completion): print(completion.finishReason)
    ///     default: break
    ///     }
    /// }
    /// ```
    ///
    /// If the conversation was created with handlers, they run the calls, as in
    /// ``respondWithFunctions(message:handlers:generationOptions:)``.
    ///
    /// - Parameters:
    ///   - message: a message of the user, or the result of a function with the role ``ChatMessageRole/tool``.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func generateResponse(
        message: ChatMessage, generationOptions: GenerationOptions? = nil
    ) -> ResponseStream {
        reply(to: message, generationOptions)
    }

    /// The reply to a message. See ``generateResponse(message:generationOptions:)``.
    public func generateResponse(_ message: ChatMessage, generationOptions: GenerationOptions? = nil) -> ResponseStream
    {
        reply(to: message, generationOptions)
    }

    /// The reply to a text of the user. See ``generateResponse(message:generationOptions:)``.
    ///
    /// - Parameters:
    ///   - text: the text of the user.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func generateResponse(_ text: String, generationOptions: GenerationOptions? = nil) -> ResponseStream {
        reply(to: .user(text), generationOptions)
    }

    /// A reply to the history as it stands, for example on a conversation that was created from a history. The same as
    /// ``continueResponse(generationOptions:)``.
    ///
    /// - Parameter generationOptions: the options for generation; the model's defaults when `nil`.
    public func generateResponse(generationOptions: GenerationOptions? = nil) -> ResponseStream {
        reply(to: nil, generationOptions)
    }

    /// A reply to the history as it stands, for example after several results of functions were appended to it.
    ///
    /// - Parameter generationOptions: the options for generation; the model's defaults when `nil`.
    public func continueResponse(generationOptions: GenerationOptions? = nil) -> ResponseStream {
        reply(to: nil, generationOptions)
    }

    /// The reply to a message with all its function calls: the handlers run the calls, the model reads the results, and
    /// so on until it answers. All messages join the history as if they were sent by hand. The functions of the handlers
    /// are registered when the reply begins; one of the same name is replaced.
    ///
    /// The events are the same as of a plain reply. ``MessageResponse/functionResult(_:)`` reports the result of each call,
    /// ``MessageResponse/roundComplete(_:)`` the end of a reply with calls, and one ``MessageResponse/complete(_:)``
    /// the end of the last reply. If a call does not fit its function, was rejected, or names a function that is
    /// neither declared nor handled, the model reads an error that lets it repair the call. A call of a function that
    /// is declared but not handled ends the stream: all calls of that reply are left to the app. The conversation is
    /// busy until the end. The options apply to each reply.
    ///
    /// - Parameters:
    ///   - message: as for ``generateResponse(message:generationOptions:)``.
    ///   - handlers: the handlers of the functions, in place of those that the conversation was created with.
    ///   - generationOptions: the options for each reply; the model's defaults when `nil`.
    public func respondWithFunctions(
        message: ChatMessage, handlers: FunctionHandlers, generationOptions: GenerationOptions? = nil
    ) -> ResponseStream {
        reply(to: message, generationOptions, handlers)
    }

    /// The reply to a message with all its function calls. See ``respondWithFunctions(message:handlers:generationOptions:)``.
    public func respondWithFunctions(
        _ message: ChatMessage, handlers: FunctionHandlers, generationOptions: GenerationOptions? = nil
    ) -> ResponseStream {
        reply(to: message, generationOptions, handlers)
    }

    /// The reply to a text of the user with all its function calls.
    ///
    /// - Parameters:
    ///   - text: the text of the user.
    ///   - handlers: the handlers of the functions.
    ///   - generationOptions: the options for each reply; the model's defaults when `nil`.
    public func respondWithFunctions(
        _ text: String, handlers: FunctionHandlers, generationOptions: GenerationOptions? = nil
    ) -> ResponseStream {
        reply(to: .user(text), generationOptions, handlers)
    }

    /// Like ``respondWithFunctions(message:handlers:generationOptions:)``, as a reply to the history as it stands.
    ///
    /// - Parameters:
    ///   - handlers: the handlers of the functions.
    ///   - generationOptions: the options for each reply; the model's defaults when `nil`.
    public func continueWithFunctions(
        handlers: FunctionHandlers, generationOptions: GenerationOptions? = nil
    ) -> ResponseStream {
        reply(to: nil, generationOptions, handlers)
    }

    /// The reply to a message, or to the history as it stands when `nil`.
    func reply(
        to message: ChatMessage?, _ options: GenerationOptions?, _ handlers: FunctionHandlers? = nil
    ) -> ResponseStream {
        let options = options ?? GenerationOptions()
        guard let handlers = handlers ?? self.handlers else {
            return options.reply { options in
                if let message { return raw.startResponse(message: message, options: options) }
                return raw.startContinuation(options: options)
            }
        }
        return ResponseStream(handlers: handlers) {
            try options.check()
            try checkCount(handlers.maxRounds, "maxRounds")
            return raw.startResponseWithFunctions(
                message: message, functions: handlers.names, offered: handlers.functions, rounds: handlers.options,
                options: options)
        }
    }
}

/// Whole replies.
extension Conversation {
    /// Sends a text of the user, reads the reply, and returns its end, with the whole message.
    ///
    /// - Parameters:
    ///   - text: the text of the user.
    ///   - handlers: they run the calls of functions; the conversation's own when `nil`.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func respond(
        to text: String, handlers: FunctionHandlers? = nil, generationOptions: GenerationOptions? = nil
    ) async throws -> Completion {
        try await reply(to: .user(text), generationOptions, handlers).completion()
    }

    /// Sends a message, for example one with images or the result of a function, and returns the end of the reply.
    ///
    /// ```swift
    /// let question = ChatMessage(role: .user, content: [.image(photo), .text("What is this?")])
    /// print(try await conversation.respond(to: question).text)
    /// ```
    ///
    /// - Parameters:
    ///   - message: as for ``generateResponse(message:generationOptions:)``.
    ///   - handlers: they run the calls of functions; the conversation's own when `nil`.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func respond(
        to message: ChatMessage, handlers: FunctionHandlers? = nil, generationOptions: GenerationOptions? = nil
    ) async throws -> Completion {
        try await reply(to: message, generationOptions, handlers).completion()
    }

    /// Sends a text of the user, and returns the end of the reply. The same as `respond(to:)`.
    public func respond(
        _ text: String, handlers: FunctionHandlers? = nil, generationOptions: GenerationOptions? = nil
    ) async throws -> Completion {
        try await respond(to: text, handlers: handlers, generationOptions: generationOptions)
    }

    /// Sends a message, and returns the end of the reply. The same as `respond(to:)`.
    public func respond(
        _ message: ChatMessage, handlers: FunctionHandlers? = nil, generationOptions: GenerationOptions? = nil
    ) async throws -> Completion {
        try await respond(to: message, handlers: handlers, generationOptions: generationOptions)
    }

    /// Reads a reply to the history as it stands, for example after results of functions, and returns its end.
    ///
    /// - Parameters:
    ///   - handlers: they run the calls of functions; the conversation's own when `nil`.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func respond(
        handlers: FunctionHandlers? = nil, generationOptions: GenerationOptions? = nil
    ) async throws -> Completion {
        try await reply(to: nil, generationOptions, handlers).completion()
    }
}

extension ChatMessage {
    static func user(_ text: String) -> Self { ChatMessage(role: .user, textContent: text) }
}
