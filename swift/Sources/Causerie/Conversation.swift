extension Conversation {
    /// All messages so far, as a copy. A reply joins them before its ``MessageResponse/complete(_:)`` is delivered.
    ///
    /// The functions registered are part of the first message, so a conversation made from a history has them as well.
    public var history: [ChatMessage] { historySnapshot() }

    /// The runner that made this conversation.
    public var modelRunner: ModelRunner { modelRunnerObject() }

    /// The functions registered.
    public var functions: [SdkFunction] { functionsSnapshot() }

    /// Whether a reply is being generated, or waits for its turn.
    public var isGenerating: Bool { generatingSnapshot() }

    /// The reply to a message, as it is written.
    ///
    /// Nothing happens before the first event is asked for. The engine writes at most eighteen events ahead of the loop and
    /// then waits. Leaving the loop stops it, and so does cancelling the task; the history may then hold some more than was
    /// read.
    ///
    /// ```swift
    /// let question = ChatMessage(role: .user, textContent: "What is the weather in Oslo?")
    /// for try await response in conversation.generateResponse(message: question) {
    ///     switch response {
    ///     case .chunk(let text): print(text, terminator: "")
    ///     case .functionCalls(let calls): print(calls.map(\.name))
    ///     case .complete(let completion): print(completion.finishReason)
    ///     default: break
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - message: a message of the person, or the result of a function with the role ``ChatMessageRole/tool``.
    ///   - generationOptions: how it is generated; the model's own defaults when `nil`.
    public func generateResponse(
        message: ChatMessage, generationOptions: GenerationOptions? = nil
    ) -> ResponseStream {
        startResponse(message: message, options: generationOptions ?? GenerationOptions())
    }

    /// A reply to the history as it stands, for example after several results of functions were appended to it.
    ///
    /// - Parameter generationOptions: how it is generated; the model's own defaults when `nil`.
    public func continueResponse(generationOptions: GenerationOptions? = nil) -> ResponseStream {
        startContinuation(options: generationOptions ?? GenerationOptions())
    }
}
