import Foundation
import Testing

@testable import Causerie

/// Speech to text, on a small model with random weights.
@Suite struct Transcriptions {
    private let models = repository.appendingPathComponent("tests/fixtures/models")
    private let file = repository.appendingPathComponent("tests/fixtures/sounds/tones.wav")
    private let tone: [Float] = (0..<24_000).map { sin(Float($0) / 3) / 2 }
    // Texts of random weights fail all thresholds, so that each window would be tried at each temperature.
    private let options = TranscribeOptions().with(\.temperatures, [0])
    private var english: TranscribeOptions { options.with(\.language, "en") }

    private func load() async throws -> Transcriber {
        try await loadTranscriber(path: models.appendingPathComponent("whisper").path)
    }

    private func read<Events: AsyncSequence>(_ events: Events) async throws -> [TranscriptEvent]
    where Events.Element == TranscriptEvent {
        var read: [TranscriptEvent] = []
        for try await event in events { read.append(event) }
        return read
    }

    private func segments(_ events: [TranscriptEvent]) -> [TranscriptSegment] {
        events.compactMap { if case .segment(let segment) = $0 { segment } else { nil } }
    }

    private func transcript(_ events: [TranscriptEvent]) throws -> Transcript {
        guard case .complete(let transcript)? = events.last else { throw Missing() }
        return transcript
    }

    @Test func giveTheEventsOfARecording() async throws {
        let transcriber = try await load()
        let events = try await read(transcriber.stream(file: Data(contentsOf: file), options: options))
        let whole = try transcript(events)
        guard case .language(let code, _)? = events.first else { throw Missing() }
        #expect(code == whole.language && transcriber.languages().contains(code))
        #expect(segments(events) == whole.segments && !whole.wasCancelled)
        #expect(try await transcriber.transcribe(contentsOf: file, options: options) == whole)
    }

    @Test func takeSamplesAtTheirRate() async throws {
        let transcriber = try await load()
        let second = try await transcriber.transcribe(samples: tone, sampleRate: 16_000, options: english)
        #expect(abs(second.duration - 1.5) < 1e-3)
        let slow = try await transcriber.transcribe(samples: tone, sampleRate: 8_000, options: english)
        #expect(abs(slow.duration - 3) < 1e-3)
    }

    @Test func hearSamplesAsTheyCome() async throws {
        let live = try await load().live(sampleRate: 16_000, options: english)
        async let reading = read(live.events)
        for start in stride(from: 0, to: tone.count, by: 4_000) {
            try live.push(Array(tone[start..<(start + 4_000)]))
        }
        live.end()
        let events = try await reading
        let whole = try transcript(events)
        #expect(abs(whole.duration - 1.5) < 1e-3 && segments(events) == whole.segments)
        try live.push(tone)  // ignored after the end
        #expect(try await read(live.events).isEmpty)
    }

    @Test func endWithWhatTheyHaveWhenCancelled() async throws {
        let live = try await load().live(sampleRate: 16_000, options: english)
        try live.push(tone)
        live.cancel()
        #expect(try await transcript(read(live.events)).wasCancelled)
    }

    @Test func endWhenNoMoreSamplesCanCome() async throws {
        let transcriber = try await load()
        var live: LiveTranscription? = try transcriber.live(sampleRate: 16_000, options: english)
        let events = try #require(live?.events)
        try live?.push(tone)
        live = nil
        #expect(try await !transcript(read(events)).wasCancelled)
    }

    @Test func areCancelledWithTheirTask() async throws {
        let live = try await load().live(sampleRate: 16_000)
        let waiting = Task { try await read(live.events) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func failWithTypedErrors() async throws {
        let transcriber = try await load()
        let unknown = english.with(\.language, "xx")
        await #expect { try await transcriber.transcribe(contentsOf: file, options: unknown) } throws: {
            guard case .InvalidOption(_, let option)? = $0 as? SdkError else { return false }
            return option == "language"
        }
        await #expect { try await transcriber.transcribe(file: Data([1])) } throws: {
            ($0 as? SdkError)?.caseName == "UnsupportedContent"
        }
        #expect { try transcriber.live(sampleRate: -5) } throws: { $0.localizedDescription.hasSuffix("found -5") }
        let live = try transcriber.live(sampleRate: 16_000)
        let rule = "samples[0] must be a finite number, found NaN"
        #expect(throws: SdkError.UnsupportedContent(reason: rule)) { try live.push([.nan]) }
        await #expect { try await loadTranscriber(path: "/no/such/model") } throws: {
            ($0 as? SdkError)?.caseName == "ModelNotFound"
        }
        let none = TranscriberOptions().with(\.threads, -1)
        await #expect { try await loadTranscriber(path: "x", options: none) } throws: {
            ($0 as? SdkError)?.caseName == "InvalidOption"
        }
    }

    @Test func areQuantisedWhileTheyAreLoaded() async throws {
        let path = models.appendingPathComponent("ggml-whisper-f16.bin").path
        let options = TranscriberOptions().with(\.threads, 1).with(\.quantize, .q80)
        #expect(try await loadTranscriber(path: path, options: options).languages() == load().languages())
    }
}
