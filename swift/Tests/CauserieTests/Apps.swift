import Testing

@testable import Causerie

let hi = ChatMessage(role: .user, textContent: "Hi")

let weather = SdkFunction(
    name: "check_weather",
    functionDescription: "Check the weather in a city.",
    parameters: [
        SdkFunctionParameter(
            name: "city", type: SdkStr(enumValues: nil, description: nil), parameterDescription: "City.",
            optional: false)
    ])

/// Something that a test needs is missing.
struct Missing: Error {}

/// Returns a conversation with a model that gives these replies, each the JSON text of its steps.
func scripted(_ replies: String...) throws -> Conversation {
    try loadScriptedModel(script: #"{"replies": [\#(replies.joined(separator: ", "))]}"#).createConversation()
}

/// Returns a reply that consists of these calls.
func calling(_ calls: String) -> String {
    #"[{"control": "<|tool_call_start|>"}, "\#(calls)", {"control": "<|tool_call_end|>"}]"#
}

/// Reads a reply to its end, and returns its text.
func text(of reply: ResponseStream) async throws -> String {
    var text = ""
    for try await event in reply {
        if case .chunk(let chunk) = event { text += chunk }
    }
    return text
}

/// Reads a reply to its end, without a loop.
func completion(of reply: ResponseStream) async throws -> Completion {
    while let event = try await reply.next() {
        if case .complete(let completion) = event { return completion }
    }
    throw Missing()
}

/// A function without parameters.
func plainFunction(_ name: String) -> SdkFunction {
    SdkFunction(name: name, functionDescription: "", parameters: [])
}

/// Reads a reply with functions to its end, and returns their results. `f`, `g` and `check_weather` are registered.
func results(of conversation: Conversation, with handlers: FunctionHandlers) async throws -> [FunctionResult] {
    try conversation.registerFunctions(functions: [weather, plainFunction("f"), plainFunction("g")])
    var results: [FunctionResult] = []
    for try await event in conversation.respondWithFunctions(message: hi, handlers: handlers) {
        if case .functionResult(let result) = event { results.append(result) }
    }
    return results
}
