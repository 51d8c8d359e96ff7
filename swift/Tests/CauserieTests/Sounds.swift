import Foundation
import Testing

@testable import Causerie

/// Sound of messages, on small models with random weights, and on the demo model, which hears.
@Suite struct Sounds {
    private let models = repository.appendingPathComponent("tests/fixtures/models")
    private let options = GenerationOptions().with(\.temperature, 0).with(\.maxTokens, 4)

    private func tone(_ length: Int) -> [Float] {
        (0..<length).map { sin(Float($0) / 5) / 2 }
    }

    /// The file that Rust's `audio_from_samples` makes: one channel, 16 bits.
    private func wav(_ rate: UInt32, _ samples: Int16...) -> Data {
        func bytes(_ number: some FixedWidthInteger) -> Data { withUnsafeBytes(of: number.littleEndian) { Data($0) } }
        let size = UInt32(2 * samples.count)
        var file = Data("RIFF".utf8) + bytes(36 + size) + Data("WAVEfmt ".utf8) + bytes(UInt32(16))
        file += bytes(UInt16(1)) + bytes(UInt16(1)) + bytes(rate) + bytes(2 * rate)
        file += bytes(UInt16(2)) + bytes(UInt16(16)) + Data("data".utf8) + bytes(size)
        for sample in samples { file += bytes(sample) }
        return file
    }

    private func answer(_ runner: ModelRunner, _ content: ChatMessageContent...) async throws -> Completion {
        let message = ChatMessage(role: .user, content: content)
        let reply = runner.createConversation().generateResponse(message: message, generationOptions: options)
        return try await reply.completion()
    }

    @Test func samplesAreAWavFileOfSixteenBits() throws {
        let samples: [Float] = [0, 0.25, -0.5, 1.5, -2]
        let expected = wav(24_000, 0, 8192, -16_384, 32_767, -32_768)
        #expect(try ChatMessageContent.audio(samples: samples, sampleRate: 24_000) == .audio(expected))
        #expect(try ChatMessageContent.audio(samples: [], sampleRate: 24_000) == .audio(wav(24_000)))
    }

    @Test func filesAreGivenAsImagesAre() throws {
        let file = repository.appendingPathComponent("tests/fixtures/sounds/short.wav")
        #expect(try ChatMessageContent.audio(contentsOf: file) == .audio(data: Data(contentsOf: file)))
        let address = try #require(URL(string: "https://example.org/short.wav"))
        let refusal = SdkError.UnsupportedContent(reason: "url must be a file URL, found \(address.absoluteString)")
        #expect(throws: refusal) { try ChatMessageContent.audio(contentsOf: address) }
    }

    @Test(arguments: [-1, 0, 999, 384_001, Int.min])
    func ratesThatNoSoundHasAreRefused(rate: Int) {
        let rule = "a sound must have between 1000 and 384000 samples per second, found \(rate)"
        #expect(throws: SdkError.UnsupportedContent(reason: rule)) {
            try ChatMessageContent.audio(samples: [0], sampleRate: rate)
        }
    }

    @Test func samplesMustBeFinite() {
        for (sample, name) in [(Float.nan, "NaN"), (.infinity, "inf")] {
            let rule = "samples[1] must be a finite number, found \(name)"
            #expect(throws: SdkError.UnsupportedContent(reason: rule)) {
                try ChatMessageContent.audio(samples: [0, sample], sampleRate: 16_000)
            }
        }
    }

    @Test func areHeardAtTheirRate() async throws {
        let runner = try await loadModel(url: models.appendingPathComponent("lfm2a/lfm2a-f16.gguf"))
        let info = runner.info()
        #expect(info.supportsAudio && 0 < info.hearingMemory && info.hearingMemory < info.memoryEstimate)
        let question = ChatMessageContent.text("What is this?")
        let sound = try ChatMessageContent.audio(samples: tone(4_000), sampleRate: 16_000)
        let rows = try await answer(runner, sound, question).stats.audioTokens
        let half = try ChatMessageContent.audio(samples: tone(2_000), sampleRate: 8_000)
        #expect(try await answer(runner, half, question).stats.audioTokens == rows && 0 < rows)
        #expect(try await answer(runner, question).stats.audioTokens == 0)
    }

    @Test func theDemoModelHearsARequest() async throws {
        let runner = try await loadModel(url: repository.appendingPathComponent("models/demo.gguf"))
        let file = repository.appendingPathComponent("server/src/chat/functions.json")
        let conversation = runner.createConversation(
            systemPrompt: "You are causerie, a small assistant on this device.")
        try conversation.registerFunctions(
            functions: functionsFromJson(text: String(contentsOf: file, encoding: .utf8)))
        let recording = repository.appendingPathComponent("tests/fixtures/sounds/timer.wav")
        let message = ChatMessage(role: .user, content: [try .audio(contentsOf: recording)])
        let calls = try await conversation.generateResponse(message: message).completion().fullMessage.functionCalls
        #expect(calls?.map(\.rawText) == [#"set_timer(duration=12, unit="minutes")"#])
    }

    @Test func areSpokenInSamplesOfOneRate() async throws {
        let runner = try await loadModel(url: models.appendingPathComponent("lfm2a-speech/lfm2a-speech-f16.gguf"))
        #expect(runner.info().supportsSpeech && 0 < runner.info().speechMemory)
        let conversation = runner.createConversation(systemPrompt: "Respond with interleaved text and audio.")
        let speech = options.with(\.speechTemperature, 0).with(\.maxTokens, 24)
        var rates: Set<Int> = []
        for try await event in conversation.generateResponse(message: hi, generationOptions: speech) {
            if case .audioSample(let sample) = event { rates.insert(sample.sampleRate) }
        }
        #expect(rates == [24_000])
        let last = try #require(conversation.history.last)
        #expect(last.content.contains { if case .audio = $0 { true } else { false } })
    }

    @Test func textsAreReadAloudInAVoice() async throws {
        let runner = try await loadModel(url: models.appendingPathComponent("lfm2a-speech/lfm2a-speech-f16.gguf"))
        // Token 3 begins sound; by itself, a model with random weights might begin with text.
        let reading = options.with(\.speechTemperature, 0).with(\.maxTokens, 12).with(\.logitBias, [3: 100])
        func samples(_ voice: SpeechVoice) async throws -> [Float] {
            var samples: [Float] = []
            for try await event in runner.speak("Dinner is ready.", voice: voice, options: reading) {
                if case .audioSample(let sound) = event { samples += sound.samples }
                if case .complete(let completion) = event { #expect(1...12 ~= completion.stats.spokenTokens) }
            }
            return samples
        }
        let sound = try await samples(.ukMale)
        #expect(1_920 < sound.count)
        #expect(try await samples(.ukMale) == sound)
        #expect(try await samples(.usMale) != sound)

        let hearing = try await loadModel(url: models.appendingPathComponent("lfm2a/lfm2a-f16.gguf"))
        await #expect(throws: SdkError.self) { try await hearing.speak("Dinner is ready.").completion() }
    }

    @Test func samplesAreWrittenToFilesAsTheyCome() throws {
        let whole = tone(4_000)
        guard case .audio(let wav) = try ChatMessageContent.audio(samples: whole, sampleRate: 24_000) else { return }
        for (format, begin) in [(SoundFormat.pcm, ""), (.wav, "RIFF"), (.flac, "fLaC")] {
            let writer = try SoundFileWriter(format: format, sampleRate: 24_000)
            var file = Data()
            for start in stride(from: 0, to: whole.count, by: 700) {
                file += writer.push(Array(whole[start..<min(start + 700, whole.count)]))
            }
            file += writer.finish()
            #expect(file.starts(with: Data(begin.utf8)))
            #expect(format == .flac || file.suffix(2 * whole.count) == wav.suffix(2 * whole.count))
            #expect(writer.push(whole).isEmpty && writer.finish().isEmpty)
        }
        for rate in [-1, 0, 999, 384_001] {
            #expect(throws: SdkError.self) { try SoundFileWriter(format: .wav, sampleRate: rate) }
        }
    }
}
