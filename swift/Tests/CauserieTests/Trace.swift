import Foundation
import Testing

@testable import Causerie

/// The root of the repository.
let repository = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardized

/// The events of a reply, in the format of the scenarios.
struct Trace {
    private(set) var events: [JsonValue] = []
    /// All text so far.
    private(set) var text = ""
    private let counts: Bool

    init(counts: Bool) {
        self.counts = counts
    }

    mutating func add(_ event: MessageResponse) {
        switch event {
        case .chunk(let chunk):
            text += chunk
            join("text", chunk)
        case .reasoningChunk(let chunk): join("reasoning", chunk)
        case .functionCalls(let calls): events.append(.object([("calls", .array(calls.map(\.event)))]))
        case .functionCallsRejected(let calls): events.append(.object([("rejected", .array(calls.map(\.event)))]))
        case .logprobs(let tokens): events.append(.object([("logprobs", .array(tokens.map(\.event)))]))
        case .functionResult(let result): events.append(result.event)
        case .roundComplete(let completion): add("round", completion)
        case .complete(let completion): add("complete", completion)
        case .audioSample: Issue.record("unexpected audio")
        }
    }

    mutating func add(_ error: SdkError) {
        events.append(.object([("error", .string(error.caseName)), ("reason", .string(reason(of: error)))]))
    }

    /// The reason of an error, which names an option in the fixtures as Rust does.
    private func reason(of error: SdkError) -> String {
        guard case .InvalidOption(let reason, let option) = error else { return error.localizedDescription }
        let name = option.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
        return reason.replacingOccurrences(of: option, with: name)
    }

    private mutating func join(_ name: String, _ chunk: String) {
        if case .object(let entries)? = events.last, entries[0].name == name, let before = entries[0].value.string {
            events[events.count - 1] = .object([(name, .string(before + chunk))])
        } else {
            events.append(.object([(name, .string(chunk))]))
        }
    }

    private mutating func add(_ key: String, _ completion: Completion) {
        let message = try? JsonReader.value(from: messagesToJson(messages: [completion.fullMessage]))
        var entries: [(name: String, value: JsonValue)] = [
            (key, .string(completion.finishReason.name)), ("message", message?.items?.first ?? .null),
        ]
        if let stopSequence = completion.stopSequence { entries.append(("stop_sequence", .string(stopSequence))) }
        if !completion.diagnostics.isEmpty {
            entries.append(("diagnostics", .array(completion.diagnostics.map { .string($0.code) })))
        }
        if counts {
            entries.append(("prompt_tokens", .integer(completion.stats.promptTokens)))
            entries.append(("cached_prompt_tokens", .integer(completion.stats.cachedPromptTokens)))
            entries.append(("completion_tokens", .integer(completion.stats.completionTokens)))
        }
        events.append(.object(entries))
    }
}

extension SdkFunctionCall {
    /// The arguments are converted to Swift types and back, as for an app.
    fileprivate var event: JsonValue {
        var entries: [(name: String, value: JsonValue)] = [
            ("name", .string(name)),
            ("arguments", (try? JsonValue(arguments, at: "")) ?? .null),
            ("call_id", .string(callId)),
            ("raw_text", .string(rawText)),
        ]
        if !repairs.isEmpty { entries.append(("repairs", .array(repairs.map(JsonValue.string)))) }
        if !diagnostics.isEmpty {
            entries.append(("diagnostics", .array(diagnostics.map { JsonValue.string($0.code) })))
        }
        return .object(entries)
    }
}

extension TokenLogprob {
    fileprivate var event: JsonValue {
        .object([
            ("token", .string(token.text)),
            ("n_bytes", .integer(token.bytes.count)),
            ("logprob", .double(token.logprob)),
            ("place", .string("\(place)")),
            ("alternatives", .array(alternatives.map { .string($0.text) })),
        ])
    }
}

extension FunctionResult {
    fileprivate var event: JsonValue {
        var entries: [(name: String, value: JsonValue)] = [("result", .string(text))]
        if let name { entries.append(("name", .string(name))) }
        if let callId { entries.append(("call_id", .string(callId))) }
        if isError { entries.append(("is_error", .boolean(true))) }
        return .object(entries)
    }
}

extension RejectedCall {
    fileprivate var event: JsonValue {
        var entries: [(name: String, value: JsonValue)] = [("reason", .string(reason)), ("raw_text", .string(rawText))]
        if let name { entries.append(("name", .string(name))) }
        return .object(entries)
    }
}

extension FinishReason {
    fileprivate var name: String {
        switch self {
        case .stop: "stop"
        case .toolCalls: "tool_calls"
        case .constraint: "constraint"
        case .maxTokens: "max_tokens"
        case .exceedContext: "exceed_context"
        case .interrupted: "interrupted"
        }
    }
}

extension SdkError {
    /// The name of its case.
    var caseName: String {
        Mirror(reflecting: self).children.first?.label ?? "\(self)"
    }
}

extension JsonValue {
    var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    var items: [JsonValue]? {
        if case .array(let items) = self { items } else { nil }
    }
}

extension ChatMessage {
    /// A chat-completions message.
    init(_ message: JsonValue) throws {
        self = try messagesFromJson(text: JsonValue.array([message]).text)[0]
    }
}
