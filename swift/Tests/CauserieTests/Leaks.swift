#if os(Linux)
import Foundation
import Testing

@testable import Causerie

/// Generations that are abandoned, cancelled or read to their end at random must not leak. The test counts the threads
/// of the process, so it must run alone.
@Suite struct Leaks {
    @Test func nothingLeaks() async throws {
        let count = ProcessInfo.processInfo.environment["CAUSERIE_LEAK_GENERATIONS"].flatMap(Int.init) ?? 300
        #expect(engineThreads() == 0)
        try await generate(100)  // one-time allocations
        var random = Random(state: 7)
        let (before, files) = (residentBytes(), openFiles())
        var runners = 0
        for _ in 0..<(count / 100) {
            let streams = try await generate(100, &random)
            #expect(streams.allSatisfy { $0.stream == nil })
            runners += 1
        }
        // A runner's thread ends when neither Swift nor the engine references the runner any more.
        for _ in 0..<100_000 where engineThreads() > 0 { sched_yield() }
        #expect(engineThreads() == 0)
        #expect(openFiles() <= files)
        let grown = residentBytes() - before
        print("\(count) generations with \(runners) models: \(grown / 1024) KiB more memory")
        #expect(grown < 16 << 20)
    }

    private func generate(_ count: Int) async throws {
        var random = Random(state: 3)
        _ = try await generate(count, &random)
    }

    /// Generates with a separate model; returns weak references to the streams.
    private func generate(_ count: Int, _ random: inout Random) async throws -> [Weak] {
        let steps = (0..<20).map { #""\#($0) ""# }.joined(separator: ", ")
        let replies = Array(repeating: "[\(steps)]", count: count).joined(separator: ", ")
        let runner = try scripted(replies).modelRunner
        var streams: [Weak] = []
        for index in 0..<count {
            let stream = runner.createConversation().generateResponse(message: hi)
            streams.append(Weak(stream: stream))
            let events = Int.random(in: 0..<24, using: &random)
            switch index % 4 {
            case 0: break  // never read
            case 1: try await read(stream, events) { stream.cancel() }
            case 2:
                let task = Task {
                    try await read(stream, events) { withUnsafeCurrentTask { $0?.cancel() } }
                }
                if case .failure(let error) = await task.result { #expect(error is CancellationError) }
            default:
                var read = 0
                for try await _ in stream {
                    read += 1
                    if read > events { break }
                }
            }
        }
        return streams
    }

    private func read(_ stream: ResponseStream, _ count: Int, then end: () -> Void) async throws {
        var read = 0
        for try await _ in stream {
            if read == count { end() }
            read += 1
        }
    }

    private func engineThreads() -> Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return tasks.filter { task in
            (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8))?.hasPrefix("causerie")
                ?? false
        }.count
    }

    private func openFiles() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
    }

    private func residentBytes() -> Int {
        let pages = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]
        return (pages.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}

private struct Weak {
    weak var stream: ResponseStream?
}

/// A generator with the same sequence in every run.
private struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 29)
    }
}
#endif
