import Foundation
import Testing

@testable import Causerie

@Suite struct Loading {
    private let demo = repository.appendingPathComponent("models/demo.gguf")

    @Test func reportsProgress() async throws {
        let reported = Reported()
        let runner = try await loadModel(url: demo, options: LoadOptions().with(\.contextSize, 512)) { fraction in
            reported.add(fraction)
            return true
        }
        #expect(reported.fractions == reported.fractions.sorted())
        #expect(reported.fractions.last == 1)
        #expect(runner.contextSize() == 512)
        #expect(runner.info().architecture == "lfm2")
    }

    @Test func readsModelInformationWithoutLoading() async throws {
        let info = try readModelInfo(path: demo.path)
        #expect(try await loadModel(url: demo).info() == info)
        let small = try readModelInfo(path: demo.path, contextSize: 64)
        #expect(small.memoryEstimate < info.memoryEstimate && info.problems.isEmpty)
        #expect { try readModelInfo(path: "no/such.gguf") } throws: { ($0 as? SdkError)?.caseName == "ModelNotFound" }
    }

    @Test func loadsABundleLikeTheFileInIt() async throws {
        let fixtures = repository.appendingPathComponent("tests/fixtures")
        let bundle = fixtures.appendingPathComponent("bundles/lfm2.bundle")
        let file = fixtures.appendingPathComponent("models/lfm2-q4_0.gguf")
        #expect(try await loadModel(url: bundle).info() == loadModel(url: file).info())
        #expect(try readModelInfo(path: bundle.path) == readModelInfo(path: file.path))
    }

    @Test func acceptsThreadsAndACacheType() async throws {
        let options = LoadOptions().with(\.threads, 1)
        for cacheType in [CacheType.f16, .f32, .q80] {
            _ = try await loadModel(url: demo, options: options.with(\.cacheType, cacheType))
        }
        await #expect {
            try await loadModel(url: demo, options: options.with(\.threads, 0))
        } throws: { ($0 as? SdkError)?.caseName == "InvalidOption" }
    }

    @Test func refusesAGPUThatDoesNotExistOrTakesTheCPU() async throws {
        let options = LoadOptions().with(\.gpuName, "no such GPU").with(\.gpuBytes, 1 << 40)
        var message = ""
        do {
            _ = try await loadModel(url: demo, options: options.with(\.device, .gpu))
        } catch SdkError.InvalidOption(let reason, let option) {
            #expect(option == "device")
            message = reason
        }
        let runner = try await loadModel(url: demo, options: options.with(\.device, .auto))
        // Builds without GPUs have nothing to note: they always take the CPU.
        #expect(!message.isEmpty && (runner.deviceNote() == nil) == message.contains("this build does not have"))
        #expect(runner.info().gpu == nil && runner.info().gpuDifferences.isEmpty)
    }

    @Test func writesPackedWeightsOnce() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("causerie-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for memory in [WeightMemory.mapped, .copied, .auto] {
            let options = LoadOptions().with(\.packedFolder, folder.path).with(\.weightMemory, memory)
            _ = try await loadModel(url: demo, options: options)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(files.filter { $0.hasSuffix(".packed") }.count == 1)
        }
    }

    @Test func reportsPhasesAsTheyBegin() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("causerie-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        func phases(_ options: LoadOptions) async throws -> [LoadPhase] {
            let reported = Phases()
            _ = try await loadModel(url: demo, options: options, onPhase: reported.add)
            return reported.all
        }
        let mapped = LoadOptions().with(\.packedFolder, folder.path).with(\.weightMemory, .mapped)
        #expect(try await phases(LoadOptions()) == [.reading, .ready])
        #expect(try await phases(mapped) == [.packing, .mapping, .ready])
        #expect(try await phases(mapped) == [.mapping, .ready])
        #expect(try await phases(mapped.with(\.weightMemory, .copied)) == [.reading, .ready])
    }

    @Test func isCancelledByTheApp() async {
        await #expect { try await loadModel(url: demo) { _ in false } } throws: {
            ($0 as? SdkError)?.caseName == "LoadCancelled"
        }
    }

    @Test func throwsWhatTheAppThrows() async {
        await #expect(throws: Missing.self) { try await loadModel(url: demo) { _ in throw Missing() } }
    }

    @Test func survivesAnAppThatThrows() async {
        await #expect {
            try await rawLoadModel(path: demo.path, options: LoadOptions(), progress: Thrower())
        } throws: { ($0 as? SdkError)?.caseName == "Internal" }
    }

    @Test func isCancelledWithItsTask() async {
        let (begun, report) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let task = Task {
            try await loadModel(url: demo) { _ in
                report.yield()
                // Blocks the loading thread until the task is cancelled.
                gate.wait()
                gate.signal()
                return true
            }
        }
        for await _ in begun { break }
        task.cancel()
        gate.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func failsWithTypedErrors() async throws {
        await #expect { try await loadModel(path: "/nowhere/model.gguf") } throws: {
            ($0 as? SdkError)?.caseName == "ModelNotFound" && $0.localizedDescription.contains("/nowhere/model.gguf")
        }
        let address = try #require(URL(string: "https://example.org/demo.gguf"))
        let refusal = SdkError.ModelNotFound(reason: "url must be a file URL, found \(address.absoluteString)")
        await #expect(throws: refusal) {
            try await loadModel(url: address)
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).gguf")
        try Data("GGUF, but not really".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        await #expect { try await loadModel(url: file) } throws: { ($0 as? SdkError)?.caseName == "ModelLoad" }
        #expect { try loadScriptedModel(script: "{") } throws: { ($0 as? SdkError)?.caseName == "Serialization" }
    }
}

private final class Thrower: LoadProgress {
    func proceed(fraction: Float, phase: LoadPhase) throws -> Bool { throw Missing() }
}

private final class Phases: @unchecked Sendable {
    private let lock = NSLock()
    private var reported: [LoadPhase] = []

    var all: [LoadPhase] { lock.withLock { reported } }

    @Sendable func add(_ phase: LoadPhase) { lock.withLock { reported.append(phase) } }
}

private final class Reported: @unchecked Sendable {
    private let lock = NSLock()
    private var all: [Float] = []

    var fractions: [Float] { lock.withLock { all } }

    func add(_ fraction: Float) { lock.withLock { all.append(fraction) } }
}
