import Foundation

extension ModelRunner {
    /// Creates a conversation.
    ///
    /// - Parameter systemPrompt: the system message; none when `nil` or empty.
    public func createConversation(systemPrompt: String? = nil) -> Conversation {
        createConversation(systemPrompt: systemPrompt ?? "")
    }

    /// Continues a prompt as it is, without a chat template.
    ///
    /// - Parameters:
    ///   - prompt: the text to continue.
    ///   - options: the options for generation.
    public func complete(prompt: String, options: GenerationOptions = GenerationOptions()) -> ResponseStream {
        options.reply { completeRaw(prompt: prompt, options: $0) }
    }

    /// Continues a prompt that shows images.
    ///
    /// - Parameters:
    ///   - prompt: the text to continue, with the markers that the chat template prints for images, such as `<image>`.
    ///   - images: the files that replace the markers, in their order.
    ///   - options: the options for generation.
    public func completeWithImages(
        prompt: String, images: [Data], options: GenerationOptions = GenerationOptions()
    ) -> ResponseStream {
        options.reply { completeWithImagesRaw(prompt: prompt, images: images, options: $0) }
    }

    /// Continues a prompt of token ids. See ``complete(prompt:options:)``.
    public func completeTokens(prompt: [UInt32], options: GenerationOptions = GenerationOptions()) -> ResponseStream {
        options.reply { completeTokensRaw(prompt: prompt, options: $0) }
    }

    /// Returns the prompt for these messages, up to the start of the model's reply.
    public func renderPrompt(messages: [ChatMessage]) throws -> String {
        try renderPrompt(messages: messages, addGenerationPrompt: true)
    }

    /// Returns the token ids of the prompt for these messages, up to the start of the model's reply.
    public func promptTokens(messages: [ChatMessage]) throws -> [UInt32] {
        try promptTokens(messages: messages, addGenerationPrompt: true)
    }
}
