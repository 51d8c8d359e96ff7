extension ModelRunner {
    /// A conversation.
    ///
    /// - Parameter systemPrompt: the message that sets its frame; none when `nil` or empty.
    public func createConversation(systemPrompt: String? = nil) -> Conversation {
        createConversation(systemPrompt: systemPrompt ?? "")
    }

    /// The model's continuation of a prompt as it stands, with no template around it.
    ///
    /// - Parameters:
    ///   - prompt: the text to go on with.
    ///   - options: how it is generated.
    public func complete(prompt: String, options: GenerationOptions = GenerationOptions()) -> ResponseStream {
        options.reply { completeRaw(prompt: prompt, options: $0) }
    }

    /// The same for a prompt given as token ids.
    public func completeTokens(prompt: [UInt32], options: GenerationOptions = GenerationOptions()) -> ResponseStream {
        options.reply { completeTokensRaw(prompt: prompt, options: $0) }
    }

    /// The prompt that the model would read for these messages, up to where its reply begins.
    public func renderPrompt(messages: [ChatMessage]) throws -> String {
        try renderPrompt(messages: messages, addGenerationPrompt: true)
    }

    /// The token ids of that prompt.
    public func promptTokens(messages: [ChatMessage]) throws -> [UInt32] {
        try promptTokens(messages: messages, addGenerationPrompt: true)
    }
}
