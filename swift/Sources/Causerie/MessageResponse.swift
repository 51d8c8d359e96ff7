/// One event of a reply. Later versions may add cases: a `switch` over them should have a `default`.
public enum MessageResponse: Equatable, Hashable, Sendable {
    /// Text, in whole characters.
    case chunk(String)
    /// Text of the model's reasoning, in whole characters. Only with ``GenerationOptions/enableThinking``.
    case reasoningChunk(String)
    /// Audio.
    case audioSample(AudioSample)
    /// Calls that the model made: one event for each block of calls that it wrote.
    case functionCalls(FunctionCalls)
    /// Call text that could not be delivered as calls.
    case functionCallsRejected([RejectedCall])
    /// Log-probabilities of tokens, if ``GenerationOptions/logprobs`` requests them: each token once, in order, no
    /// later than its text. The token that ends the reply and tokens that a stop sequence cuts off are left out.
    case logprobs([TokenLogprob])
    /// The result of a call, if functions run during the reply.
    case functionResult(FunctionResult)
    /// The end of a reply whose calls were run; another reply follows. The results of its calls come before this event.
    case roundComplete(Completion)
    /// The last event.
    case complete(Completion)
}

/// A piece of audio.
public struct AudioSample: Equatable, Hashable, Sendable {
    /// Mono samples from -1 to 1.
    public var samples: [Float]
    /// Samples per second.
    public var sampleRate: Int
}

extension AudioSample: CustomStringConvertible {
    /// The number of samples, not the samples.
    public var description: String { "AudioSample(\(samples.count) samples, sampleRate: \(sampleRate))" }
}

/// Calls that the model made, in order. It is a collection of the calls.
public struct FunctionCalls: Equatable, Hashable, Sendable, RandomAccessCollection {
    /// The calls.
    public var functionCalls: [SdkFunctionCall]

    /// The index of the first call.
    public var startIndex: Int { functionCalls.startIndex }
    /// The index after the last call.
    public var endIndex: Int { functionCalls.endIndex }
    /// The call at an index.
    public subscript(index: Int) -> SdkFunctionCall { functionCalls[index] }
}

/// The result of a call, as the model reads it.
public struct FunctionResult: Equatable, Hashable, Sendable {
    /// The call's id; `nil` for a call that was rejected.
    public var callId: String?
    /// The function; `nil` for a rejected call whose name could not be read.
    public var name: String?
    /// The text of the message with the tool role that was added to the history.
    public var text: String
    /// Whether the text describes an error of the function or of the call.
    public var isError: Bool
    /// The error that the function threw; `nil` if it threw none, did not run, or took too long.
    public var error: (any Error)?

    /// Whether all but the ``error`` is equal, which cannot be compared.
    public static func == (left: Self, right: Self) -> Bool {
        (left.callId, left.name, left.text, left.isError) == (right.callId, right.name, right.text, right.isError)
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(callId)
        hasher.combine(name)
        hasher.combine(text)
        hasher.combine(isError)
    }
}

/// A reply that has ended.
public struct Completion: Equatable, Hashable, Sendable {
    /// The assembled reply, as it stands in the history, with all its calls.
    public var fullMessage: ChatMessage
    /// Why it ended.
    public var finishReason: FinishReason
    /// The stop sequence that was met, if one was.
    public var stopSequence: String?
    /// Counts and durations.
    public var stats: GenerationStats
    /// Counts and durations of the earlier replies of the same stream, in order; empty unless functions were run.
    public var earlierRounds: [GenerationStats]
    /// What the prompt left out of the history, and whether the results in it match the calls.
    public var prompt: PromptReport
    /// Why calls were not constrained, or only up to some token, although that was requested.
    public var unconstrained: String?
    /// Remarks about the reply as a whole: that its text looks like a call, although no function was called.
    public var diagnostics: [Diagnostic]

    /// The text of the reply.
    public var text: String { fullMessage.text }
}

extension MessageResponse {
    /// `nil` for calls to run, which the stream handles itself.
    init?(_ event: RawMessageResponse) {
        switch event {
        case .runFunctions:
            return nil
        case .chunk(let text):
            self = .chunk(text)
        case .reasoningChunk(let reasoning):
            self = .reasoningChunk(reasoning)
        case .audioSample(let samples, let sampleRate):
            self = .audioSample(AudioSample(samples: samples, sampleRate: Int(sampleRate)))
        case .functionCalls(let functionCalls):
            self = .functionCalls(FunctionCalls(functionCalls: functionCalls))
        case .functionCallsRejected(let rejectedCalls):
            self = .functionCallsRejected(rejectedCalls)
        case .logprobs(let tokens):
            self = .logprobs(tokens)
        case .functionResult(let callId, let name, let text, let isError):
            self = .functionResult(FunctionResult(callId: callId, name: name, text: text, isError: isError))
        case .roundComplete(
            let fullMessage, let finishReason, let stopSequence, let stats, let prompt, let unconstrained,
            let diagnostics):
            self = .roundComplete(
                Completion(
                    fullMessage: fullMessage, finishReason: finishReason, stopSequence: stopSequence, stats: stats,
                    earlierRounds: [], prompt: prompt, unconstrained: unconstrained, diagnostics: diagnostics))
        case .complete(
            let fullMessage, let finishReason, let stopSequence, let stats, let earlierRounds, let prompt,
            let unconstrained, let diagnostics):
            self = .complete(
                Completion(
                    fullMessage: fullMessage, finishReason: finishReason, stopSequence: stopSequence, stats: stats,
                    earlierRounds: earlierRounds, prompt: prompt, unconstrained: unconstrained,
                    diagnostics: diagnostics))
        }
    }
}
