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
    /// Log-probabilities of tokens, where ``GenerationOptions/logprobs`` asks for them: of each once, in order, no later
    /// than what its text became. The token that ends the reply, and those that a stop sequence cuts off, are left out.
    case logprobs([TokenLogprob])
    /// What came of a call, where functions are run along with the reply.
    case functionResult(FunctionResult)
    /// The end. Nothing follows.
    case complete(Completion)
}

/// What came of a call, as the model reads it.
public struct FunctionResult: Equatable, Hashable, Sendable {
    /// The call's id; `nil` for a call that was rejected.
    public var callId: String?
    /// The function; `nil` for a rejected call whose name could not be read.
    public var name: String?
    /// The text of the message with the tool role that was added to the history.
    public var text: String
    /// Whether the text tells an error: of the function, or of the call.
    public var isError: Bool
}

/// A reply that ended.
public struct Completion: Equatable, Hashable, Sendable {
    /// The assembled reply, as it stands in the history, with all its calls.
    public var fullMessage: ChatMessage
    /// Why it ended.
    public var finishReason: FinishReason
    /// The stop sequence that was met, if one was.
    public var stopSequence: String?
    /// Counts and times.
    public var stats: GenerationStats
    /// Those of the replies before it whose calls were run along the way, in order; else empty.
    public var earlierRounds: [GenerationStats]
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
        case .logprobs(let tokens):
            self = .logprobs(tokens)
        case .functionResult(let callId, let name, let text, let isError):
            self = .functionResult(FunctionResult(callId: callId, name: name, text: text, isError: isError))
        case .complete(
            let fullMessage, let finishReason, let stopSequence, let stats, let earlierRounds, let prompt,
            let unconstrained):
            self = .complete(
                Completion(
                    fullMessage: fullMessage, finishReason: finishReason, stopSequence: stopSequence, stats: stats,
                    earlierRounds: earlierRounds, prompt: prompt, unconstrained: unconstrained))
        }
    }
}
