// The specification's flow of a function call: `swift run weather "Check the weather in Oslo" [MODEL]`
// The demo model chooses the function and its arguments, and writes the answer; the weather itself is invented here.
import Causerie
import Foundation

let checkWeather = SdkFunction(
    name: "check_weather",
    functionDescription: "Check the weather in a city.",
    parameters: [
        SdkFunctionParameter(
            name: "city",
            type: SdkStr(enumValues: nil, description: nil),
            parameterDescription: "City.",
            optional: false)
    ])

/// Runs a call: checks the arguments, runs the function, and returns its result as JSON text.
func result(of call: SdkFunctionCall) -> String {
    guard call.name == checkWeather.name, let city = call.arguments["city"] as? String else {
        return #"{"error": "unknown function or missing city"}"#
    }
    let weather: [String: Any?] = ["city": city, "sky": "sunny", "temperature": 21]
    return (try? SdkJsonObject(weather).json) ?? "{}"
}

/// Prints a reply as it is generated, and returns its calls.
func show(_ reply: ResponseStream) async throws -> [SdkFunctionCall] {
    var calls: [SdkFunctionCall] = []
    for try await response in reply {
        switch response {
        case .chunk(let text):
            print(text, terminator: "")
            fflush(nil)
        case .functionCalls(let found):
            calls += found.functionCalls
        case .complete(let completion):
            print(calls.isEmpty ? "\n[\(completion.stats.completionTokens) tokens]" : "[\(calls.count) call]")
        default:
            break
        }
    }
    return calls
}

let demo = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../models/demo.gguf").standardized
let model = CommandLine.arguments.dropFirst(2).first.map(URL.init(fileURLWithPath:)) ?? demo
let runner = try await loadModel(url: model)
let options = GenerationOptions().with(\.temperature, 0).with(\.maxTokens, 100)

let conversation = runner.createConversation(systemPrompt: "You are a small assistant on this device.")
conversation.registerFunction(function: checkWeather)
let question = CommandLine.arguments.dropFirst().first ?? "Check the weather in Oslo"
print("> \(question)")
let message = ChatMessage(role: .user, textContent: question)
let calls = try await show(conversation.generateResponse(message: message, generationOptions: options))

if let call = calls.first {
    let answer = ChatMessage(role: .tool, textContent: result(of: call))
    print("\(call.rawText) -> \(answer.text)")
    // A conversation created from the history and the result continues from there, with its functions.
    let next = conversation.modelRunner.createConversationFromHistory(history: conversation.history + [answer])
    _ = try await show(next.generateResponse(generationOptions: options))
}
