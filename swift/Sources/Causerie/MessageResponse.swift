/// One event of a reply.
public enum MessageResponse: Equatable, Hashable, Sendable {
    /// Text, in whole characters.
    case chunk(String)
    /// Text of the model's reasoning, in whole characters. Only with ``GenerationOptions/enableThinking``.
    case reasoningChunk(String)
    /// Sound: mono samples from -1 to 1, and how many of them are a second.
    case audioSample(samples: [Float], sampleRate: Int)
    /// Calls that the model wants made: one event for each block of calls that it wrote.
    case functionCalls([SdkFunctionCall])
    /// Call text that could not be delivered as calls.
    case functionCallsRejected([RejectedCall])
    /// The end. Nothing follows.
    case complete(Completion)
}

/// A reply that ended.
public struct Completion: Equatable, Hashable, Sendable {
    /// The assembled reply, as it stands in the history, with all its calls.
    public var fullMessage: ChatMessage
    /// Why it ended.
    public var finishReason: FinishReason
    /// Counts and times.
    public var stats: GenerationStats
    /// What the prompt left out of the history, and whether the results in it match the calls.
    public var prompt: PromptReport
    /// Why calls were not constrained, or from some token on no longer, where that was asked for.
    public var unconstrained: String?
}

extension MessageResponse {
    init(_ event: RawMessageResponse) {
        switch event {
        case .chunk(let text):
            self = .chunk(text)
        case .reasoningChunk(let reasoning):
            self = .reasoningChunk(reasoning)
        case .audioSample(let samples, let sampleRate):
            self = .audioSample(samples: samples, sampleRate: Int(sampleRate))
        case .functionCalls(let functionCalls):
            self = .functionCalls(functionCalls)
        case .functionCallsRejected(let rejectedCalls):
            self = .functionCallsRejected(rejectedCalls)
        case .complete(let fullMessage, let finishReason, let stats, let prompt, let unconstrained):
            self = .complete(
                Completion(
                    fullMessage: fullMessage, finishReason: finishReason, stats: stats, prompt: prompt,
                    unconstrained: unconstrained))
        }
    }
}
