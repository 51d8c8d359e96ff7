extension Conversation {
    /// All messages so far, as a copy. A reply joins them before its ``MessageResponse/complete(_:)`` is delivered.
    ///
    /// The registered functions are part of the first message, so a conversation created from a history has them as
    /// well.
    public var history: [ChatMessage] { historySnapshot() }

    /// The runner that created this conversation.
    public var modelRunner: ModelRunner { modelRunnerObject() }

    /// The registered functions.
    public var functions: [SdkFunction] { functionsSnapshot() }

    /// Whether a reply is being generated, or waits in the request queue.
    public var isGenerating: Bool { generatingSnapshot() }

    /// How much of the latest reply's prompt is prefilled, to show while its first event is awaited.
    ///
    /// All zeros before the first reply. With function calls, the prompt is that of the current round.
    ///
    /// ```swift
    /// let progress = conversation.prefillProgress
    /// print("\(progress.doneTokens) of \(progress.totalTokens) tokens, image \(progress.doneImages) of \(progress.totalImages)")
    /// ```
    public var prefillProgress: PrefillProgress { prefillProgressSnapshot() }

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
    /// - Parameters:
    ///   - message: a message of the user, or the result of a function with the role ``ChatMessageRole/tool``.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func generateResponse(
        message: ChatMessage, generationOptions: GenerationOptions? = nil
    ) -> ResponseStream {
        (generationOptions ?? GenerationOptions()).reply { startResponse(message: message, options: $0) }
    }

    /// The reply to a text of the user. See ``generateResponse(message:generationOptions:)``.
    ///
    /// - Parameters:
    ///   - text: the text of the user.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func generateResponse(_ text: String, generationOptions: GenerationOptions? = nil) -> ResponseStream {
        generateResponse(message: ChatMessage(role: .user, textContent: text), generationOptions: generationOptions)
    }

    /// A reply to the history as it stands, for example on a conversation that was created from a history. The same as
    /// ``continueResponse(generationOptions:)``.
    ///
    /// - Parameter generationOptions: the options for generation; the model's defaults when `nil`.
    public func generateResponse(generationOptions: GenerationOptions? = nil) -> ResponseStream {
        continueResponse(generationOptions: generationOptions)
    }

    /// Sends a text of the user, reads the reply, and returns its end, with the whole message.
    ///
    /// - Parameters:
    ///   - text: the text of the user.
    ///   - generationOptions: the options for generation; the model's defaults when `nil`.
    public func respond(to text: String, generationOptions: GenerationOptions? = nil) async throws -> Completion {
        try await generateResponse(text, generationOptions: generationOptions).completion()
    }

    /// A reply to the history as it stands, for example after several results of functions were appended to it.
    ///
    /// - Parameter generationOptions: the options for generation; the model's defaults when `nil`.
    public func continueResponse(generationOptions: GenerationOptions? = nil) -> ResponseStream {
        (generationOptions ?? GenerationOptions()).reply { startContinuation(options: $0) }
    }

    /// What a reply to the history as it stands would leave out of the prompt.
    ///
    /// - Parameter options: the options of the reply.
    public func planContext(options: GenerationOptions = GenerationOptions()) throws -> ContextPlan {
        try options.check()
        return try planContextRaw(options: options)
    }

    /// Keeps the first messages of the history.
    ///
    /// - Parameter messageCount: the number of messages to keep; all if the history has fewer.
    public func truncate(messageCount: Int) throws {
        try checkCount(messageCount, "message_count")
        try truncateRaw(messageCount: messageCount)
    }

    /// Saves the conversation to a file, with the model's cache of it.
    public func saveSession(path: String) throws {
        try saveSession(path: path, includeCache: true)
    }
}
