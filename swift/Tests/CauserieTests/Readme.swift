import Foundation
import Testing

import Causerie

/// The example of the repository's README, which is compiled here.
private func example() async throws {
    let model = try await loadModel(path: "models/demo.gguf")
    let conversation = model.createConversation(systemPrompt: "You are a small assistant on this device.")
    for try await text in conversation.generateResponse("Hello!").text { print(text, terminator: "") }
}

@Test func theReadmeHasTheExampleThatIsCompiled() throws {
    let readme = try String(contentsOf: repository.appendingPathComponent("README.md"), encoding: .utf8)
    let here = try String(contentsOfFile: #filePath, encoding: .utf8)
    let example = try #require(readme.components(separatedBy: "```swift\n").dropFirst().first)
    let lines = example.components(separatedBy: "\n```")[0].split(separator: "\n")
    #expect(lines.count > 1 && here.contains(lines.map { "    \($0)\n" }.joined()))
}
