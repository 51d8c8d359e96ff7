import Foundation

extension ModelRunner {
    /// Continues a prompt as it is, without a chat template.
    ///
    /// - Parameters:
    ///   - prompt: the text to continue.
    ///   - options: the options for generation.
    public func complete(prompt: String, options: GenerationOptions = GenerationOptions()) -> ResponseStream {
        options.reply { raw.complete(prompt: prompt, options: $0) }
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
        options.reply { raw.completeWithImages(prompt: prompt, images: images, options: $0) }
    }

    /// Continues a prompt of token ids. See ``complete(prompt:options:)``.
    public func completeTokens(prompt: [UInt32], options: GenerationOptions = GenerationOptions()) -> ResponseStream {
        options.reply { raw.completeTokens(prompt: prompt, options: $0) }
    }

    /// Reads a text aloud. The sound is in the ``MessageResponse/audioSample(_:)`` events; text that the model writes
    /// beside it is not part of what is read.
    ///
    /// ```swift
    /// let writer = try SoundFileWriter(format: .wav, sampleRate: 24_000)
    /// var file = Data()
    /// for try await case .audioSample(let sound) in runner.speak("Dinner is ready.", voice: .ukMale) {
    ///     file += writer.push(sound.samples)
    /// }
    /// file += writer.finish()
    /// ```
    ///
    /// - Parameters:
    ///   - text: what is read.
    ///   - voice: the voice that reads it.
    ///   - options: the options for generation. The most probable tokens of text are taken, unless they have a temperature.
    /// - Returns: the reply; its loop throws ``SdkError/UnsupportedContent(reason:)`` if the model does not speak.
    public func speak(
        _ text: String, voice: SpeechVoice = .usFemale, options: GenerationOptions = GenerationOptions()
    ) -> ResponseStream {
        options.reply { try raw.speak(text: text, voice: voice, options: $0) }
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
