// Ends during three replies: one that is not read any further, one whose next event a task waits for, and one whose
// events are read as fast as they arrive. scripts/test-swift runs it, and checks its exit status.

import Causerie
import Foundation

let message = ChatMessage(role: .user, textContent: "Hi")
func reply(_ steps: String) throws -> ResponseStream {
    let runner = try loadScriptedModel(script: #"{"replies": [[\#(steps)]]}"#)
    return runner.createConversation().generateResponse(message: message)
}

let stalled = #""a", {"stall": true}"#
let endless = Array(repeating: #""a""#, count: 100_000).joined(separator: ", ")
let unread = try reply(stalled)
_ = try await unread.next()
for steps in [stalled, endless] {
    let stream = try reply(steps)
    _ = try await stream.next()
    Task { while try await stream.next() != nil {} }
}
exit(0)
