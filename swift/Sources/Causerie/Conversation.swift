/// A conversation with a model.
///
/// ```swift
/// let conversation = runner.createConversation(systemPrompt: "Be brief.")
/// print(try await conversation.respond(to: "What is a fjord?").text)
/// ```
///
/// One reply is generated at a time: the option ``GenerationOptions/onBusy`` says what a message does meanwhile.
public final class Conversation: Sendable {
    let raw: RawConversation
    let handlers: FunctionHandlers?
    /// The runner that created this conversation, or the one that it is a fork of.
    public let modelRunner: ModelRunner

    init(_ raw: RawConversation, of modelRunner: ModelRunner, handlers: FunctionHandlers?) {
        self.raw = raw
        self.modelRunner = modelRunner
        self.handlers = handlers
    }

    /// All messages so far, as a copy. A reply joins them before its ``MessageResponse/complete(_:)`` is delivered. Waits for a reply
    /// that was cancelled or left: it ends with the running step of the model.
    ///
    /// The registered functions are part of the first message, so a conversation created from a history has them as
    /// well.
    public var history: [ChatMessage] { raw.history() }

    /// The registered functions.
    public var functions: [SdkFunction] { raw.functions() }

    /// Whether a reply is being generated, or waits in the request queue.
    public var isGenerating: Bool { raw.isGenerating() }

    /// How much of the latest reply's prompt is prefilled, to show while its first event is awaited.
    ///
    /// All zeros before the first reply. With function calls, the prompt is that of the current round.
    ///
    /// ```swift
    /// let progress = conversation.prefillProgress
    /// print("\(progress.doneTokens) of \(progress.totalTokens) tokens, image \(progress.doneImages) of \(progress.totalImages)")
    /// ```
    public var prefillProgress: PrefillProgress { raw.prefillProgress() }

    /// Offers a function to the model. It replaces a function of the same name in place.
    ///
    /// A function that is refused, for example for its name, is the error of the next reply.
    public func registerFunction(function: SdkFunction) { raw.offerFunction(function: function) }

    /// Offers functions to the model, all or none. Each replaces a function of the same name in place.
    public func registerFunctions(functions: [SdkFunction]) throws { try raw.registerFunctions(functions: functions) }

    /// Stops offering a function. Returns false if none has this name.
    @discardableResult
    public func unregisterFunction(name: String) throws -> Bool { try raw.unregisterFunction(name: name) }

    /// Adds a message without generating, for example one of several results of functions.
    public func appendToHistory(message: ChatMessage) throws { try raw.appendToHistory(message: message) }

    /// Removes the last message and returns it, for example to generate it anew.
    @discardableResult
    public func removeLastMessage() throws -> ChatMessage? { try raw.removeLastMessage() }

    /// Keeps the first messages of the history.
    ///
    /// - Parameter messageCount: the number of messages to keep; all if the history has fewer.
    public func truncate(messageCount: Int) throws {
        try checkCount(messageCount, "messageCount")
        try raw.truncate(messageCount: messageCount)
    }

    /// Creates an independent conversation with the same history and the same handlers.
    public func fork() -> Conversation { Conversation(raw.fork(), of: modelRunner, handlers: handlers) }

    /// Interrupts the reply that the listener hears, and cuts its message to what was heard.
    ///
    /// A reply under way is cancelled. All of the message remains up to the last frame of which something was played, also the
    /// text before it; no message remains if nothing was heard. Calls stay, and a reply without sound keeps its text.
    ///
    /// - Parameter playedUntil: the end of what was played, in seconds from the beginning of the sound of the replies to the last
    ///   message of the user.
    public func interrupt(playedUntil: Double) { raw.interrupt(playedUntil: playedUntil) }

    /// The number of tokens of the prompt that a reply to the history as it stands would have.
    public func promptTokenCount() throws -> Int { try raw.promptTokenCount() }

    /// What a reply to the history as it stands would leave out of the prompt.
    ///
    /// - Parameter options: the options of the reply.
    public func planContext(options: GenerationOptions = GenerationOptions()) throws -> ContextPlan {
        try options.check()
        return try raw.planContext(options: options)
    }

    /// Saves the conversation to a file, which ``ModelRunner/restoreSession(path:handlers:)`` reads.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - includeCache: whether the file has the model's cache of the conversation, so that nothing is prefilled again.
    public func saveSession(path: String, includeCache: Bool = true) throws {
        try raw.saveSession(path: path, includeCache: includeCache)
    }
}

extension ModelRunner {
    /// Creates a conversation.
    ///
    /// ```swift
    /// let conversation = runner.createConversation(systemPrompt: "Be brief.", functions: [checkWeather])
    /// ```
    ///
    /// A function that is refused, for example for its name, is the error of the first reply.
    ///
    /// - Parameters:
    ///   - systemPrompt: the system message; none when `nil` or empty.
    ///   - functions: the functions that the model may call.
    ///   - handlers: they run the calls of every reply, which then has the events of
    ///     ``Conversation/respondWithFunctions(message:handlers:generationOptions:)``. Their functions are offered as well. When
    ///     `nil`, calls are left to the app.
    public func createConversation(
        systemPrompt: String? = nil, functions: [SdkFunction] = [], handlers: FunctionHandlers? = nil
    ) -> Conversation {
        let conversation = Conversation(
            raw.createConversation(systemPrompt: systemPrompt ?? ""), of: self, handlers: handlers)
        for function in functions + (handlers?.functions ?? []) { conversation.registerFunction(function: function) }
        return conversation
    }

    /// Creates a conversation with a system message. See ``createConversation(systemPrompt:functions:handlers:)``.
    public func createConversation(
        _ systemPrompt: String, functions: [SdkFunction] = [], handlers: FunctionHandlers? = nil
    ) -> Conversation {
        createConversation(systemPrompt: systemPrompt, functions: functions, handlers: handlers)
    }

    /// Creates a conversation whose calls are run by tools.
    ///
    /// - Parameters:
    ///   - systemPrompt: the system message; none when `nil` or empty.
    ///   - tools: the functions that the model may call; see ``SdkTool``.
    /// - Throws: ``SdkError/InvalidFunction(reason:)`` for arguments of a type that is not supported, or a name that a function
    ///   cannot have.
    public func createConversation(systemPrompt: String? = nil, tools: [any SdkTool]) throws -> Conversation {
        let handlers = try FunctionHandlers(tools: tools)
        let conversation = Conversation(
            raw.createConversation(systemPrompt: systemPrompt ?? ""), of: self, handlers: handlers)
        try conversation.registerFunctions(functions: handlers.functions)
        return conversation
    }

    /// Creates a conversation that continues a history. The functions in its first message are registered.
    ///
    /// - Parameters:
    ///   - history: the messages.
    ///   - handlers: as for ``createConversation(systemPrompt:functions:handlers:)``.
    public func createConversationFromHistory(
        history: [ChatMessage], handlers: FunctionHandlers? = nil
    ) -> Conversation {
        Conversation(raw.createConversationFromHistory(history: history), of: self, handlers: handlers)
    }

    /// Restores a conversation that ``Conversation/saveSession(path:includeCache:)`` saved.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - handlers: as for ``createConversation(systemPrompt:functions:handlers:)``.
    /// - Throws: ``SdkError/Session(reason:fault:)`` for a file that is damaged or belongs to another model.
    public func restoreSession(path: String, handlers: FunctionHandlers? = nil) throws -> Conversation {
        Conversation(try raw.restoreSession(path: path), of: self, handlers: handlers)
    }
}
