import Foundation
import Testing

@testable import Causerie

/// Spoken replies that their listener interrupts, on a tiny model with random weights that speaks.
@Suite struct Interruptions {
    private let model = repository.appendingPathComponent(
        "tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf")
    /// Samples of a frame, which has 80 ms.
    private let frame = 1920

    /// The number of samples in a message: a WAV file states their bytes after its header of 40.
    private func sampleCount(_ message: ChatMessage?) -> Int {
        let files = (message?.content ?? []).compactMap { part -> [UInt8]? in
            if case .audio(let data) = part { [UInt8](data) } else { nil }
        }
        return files.map { file in (0..<4).map { Int(file[40 + $0]) << (8 * $0) }.reduce(0, +) / 2 }.reduce(0, +)
    }

    @Test func keepWhatWasHeard() async throws {
        let runner = try await loadModel(url: model, options: LoadOptions().with(\.contextSize, 2048))
        let conversation = runner.createConversation(systemPrompt: "Respond with interleaved text and audio.")
        let options = GenerationOptions().with(\.temperature, 0).with(\.speechTemperature, 0)
        var generated = 0
        var end: Completion?
        for try await event in conversation.generateResponse("Hi", generationOptions: options) {
            if case .audioSample(let sound) = event {
                generated += sound.samples.count
                if 4 * frame <= generated { conversation.interrupt(playedUntil: 0.1) }
            }
            if case .complete(let completion) = event { end = completion }
        }
        #expect(end?.finishReason == .interrupted && sampleCount(end?.fullMessage) == 2 * frame)
        #expect(conversation.history.last == end?.fullMessage)
        // After the end, the message in the history is cut.
        conversation.interrupt(playedUntil: 0.01)
        #expect(sampleCount(conversation.history.last) == frame)
        conversation.interrupt(playedUntil: 0)
        #expect(conversation.history.last?.role == .user)
    }
}
