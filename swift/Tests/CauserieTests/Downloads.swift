// iOS has no processes, such as the hub.
#if !os(iOS)
import Foundation
import Testing

@testable import Causerie

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Downloads, from a fake hub on loopback. `tests/fixtures/downloads/README.md` describes the scenarios.
@Suite struct Downloads {
    private static let file = repository.appendingPathComponent("tests/fixtures/downloads/scenarios.json")
    static let scenarios = try! JsonReader.value(from: String(contentsOf: file, encoding: .utf8)).items ?? []

    @Test(arguments: scenarios)
    func goAsTheScenarioSays(_ scenario: JsonValue) async throws {
        let player = try Player()
        for step in try #require(scenario["steps"]?.items) {
            try await player.play(step)
        }
    }

    @Test func aTaskThatIsCancelledEndsItsDownload() async throws {
        let fake = try FakeHub()
        try fake.tell(#"{"fault": {"matches": "store GET", "times": 1, "stall": 100000}}"#)
        let folder = try Folder()
        let hub = try hub(fake, folder)
        let (arrived, report) = AsyncStream<Void>.makeStream()
        let task = Task {
            for try await event in hub.pull("ns/demo:Q4_0") {
                if case .progress(let progress) = event, progress.done == 100_000 { report.finish() }
            }
        }
        for await _ in arrived {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        var last: PullEvent?
        for try await event in hub.pull("ns/demo:Q4_0") { last = event }
        guard case .ready(let path) = last else { throw Missing() }
        #expect(path.hasSuffix("demo-Q4_0.gguf"))
    }

    @Test func aServerThatCannotBeReachedIsAnError() async throws {
        let folder = try Folder()
        let options = HubOptions(
            cache: folder.url.path, endpoint: "http://127.0.0.1:1", isOffline: false, retryPauseMilliseconds: 1)
        await #expect {
            for try await _ in try Hub(options: options).pull("ns/demo") {}
        } throws: {
            if case .Download(_, "network", true) = $0 as? SdkError { true } else { false }
        }
    }

    @Test func aModelIsLoadedByItsName() async throws {
        let (fake, folder) = (try FakeHub(), try Folder())
        let hub = try hub(fake, folder)
        let seen = Seen()
        let runner = try await ModelRunner.load("ns/tiny:Q4_0", hub: hub) { seen.add($0) }
        #expect(runner.contextSize() > 0)
        let phases = seen.all.map(\.phase)
        let loading = try #require(phases.firstIndex(of: .loading))
        #expect(loading > 0 && phases[loading...].allSatisfy { $0 == .loading })
        #expect(seen.all[loading - 1].download?.done == seen.all[loading - 1].download?.total)
        #expect(seen.all.allSatisfy { 0...1 ~= $0.fraction } && seen.all.last?.description == "loading, 100 %")
        // The second time, no request is sent.
        try fake.tell("")
        _ = try await ModelRunner.load("ns/tiny:Q4_0", hub: hub)
        #expect(try fake.tell("") == [])
        await #expect(throws: SdkError.self) { try await ModelRunner.load("ns/absent", hub: hub) }
    }

    @Test func plansComeFromALockFile() async throws {
        let (fake, folder) = (try FakeHub(), try Folder())
        let hub = try hub(fake, folder)
        let plan = try await hub.plan(name: "ns/demo:Q4_0")
        let lock = #"{"format": "causerie/lock", "format_version": 1, "models": [\#(plan.toJson())]}"#
        let read = try #require(try plansFromLock(json: lock).first)
        #expect(read.name() == "ns/demo:Q4_0" && read.license() == "apache-2.0" && !read.isGated())
        for try await _ in hub.fetch(read) {}
        #expect(try hub.find(name: "ns/demo:Q4_0").hasSuffix("demo-Q4_0.gguf"))
    }
}

private func hub(_ fake: FakeHub, _ folder: Folder) throws -> Hub {
    try Hub(
        options: HubOptions(
            cache: folder.url.appendingPathComponent("hub").path, endpoint: fake.url, isOffline: false,
            retryPauseMilliseconds: 1))
}

/// Progress that was reported.
private final class Seen: @unchecked Sendable {
    private let lock = NSLock()
    private var kept: [ModelLoadProgress] = []

    var all: [ModelLoadProgress] { lock.withLock { kept } }

    func add(_ progress: ModelLoadProgress) {
        lock.withLock { kept.append(progress) }
    }
}

/// A folder that is removed at the end.
private final class Folder: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("causerie-\(UUID())")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}

/// The fake hub, as a program.
private final class FakeHub {
    let url: String
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    init() throws {
        let libraries = try #require(ProcessInfo.processInfo.environment["CAUSERIE_LIB_DIR"])
        process.executableURL = URL(fileURLWithPath: libraries).appendingPathComponent("examples/fake_hub")
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        url = Self.line(output)
    }

    private static func line(_ output: Pipe) -> String {
        var line = Data()
        while true {
            let byte = output.fileHandleForReading.readData(ofLength: 1)
            if byte.isEmpty || byte == Data("\n".utf8) { return String(decoding: line, as: UTF8.self) }
            line += byte
        }
    }

    /// The answer to a step; to an empty line, the requests since the last one.
    @discardableResult
    func tell(_ line: String) throws -> [String] {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
        var answer: [String] = []
        while case let next = Self.line(output), !next.isEmpty { answer.append(next) }
        return answer
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

/// Plays the steps of a scenario.
private final class Player {
    private let fake: FakeHub
    private let folder: Folder
    private let hub: Hub
    private var restarts = false

    init() throws {
        fake = try FakeHub()
        folder = try Folder()
        hub = try CauserieTests.hub(fake, folder)
    }

    func play(_ step: JsonValue) async throws {
        if let names = step["models"] {
            #expect(JsonValue.array(hub.models().map { .string($0.name) }).text == names.text)
        } else if let name = step["remove"]?.string {
            guard case .integer(let least)? = step["freed"] else { throw Missing() }
            #expect(try least <= Int(hub.remove(name: name)))
        } else if let count = step["requests"] {
            #expect(JsonValue.integer(try fake.tell("").count).text == count.text)
        } else if step["restart"] != nil {
            restarts = true
        } else if step["fault"] != nil || step["heal"] != nil {
            try fake.tell(step.text)
        } else {
            try await check(step)
        }
    }

    private func check(_ step: JsonValue) async throws {
        do {
            let path = try await path(of: step)
            #expect(step["error"] == nil && path.hasSuffix(step["path"]?.string ?? ""), "\(step.text)\n\(path)")
        } catch let error as SdkError {
            var name = error.caseName
            if case .Download(_, let fault, _) = error { name += "/\(fault)" }
            #expect(step["error"]?.string == name, "\(step.text)\n\(error)")
            if let part = step["says"]?.string { #expect(error.description.contains(part)) }
        }
    }

    private func path(of step: JsonValue) async throws -> String {
        if let name = step["find"]?.string {
            return try hub.find(name: name)
        } else if let name = step["load"]?.string {
            let path = try hub.find(name: name)
            _ = try await loadModel(path: path)
            return path
        } else if let name = step["pull"]?.string {
            return try await pull(name, step)
        }
        return try await fetch(#require(step["fetch"]?.string), step)
    }

    private func pull(_ name: String, _ step: JsonValue) async throws -> String {
        if case .integer(let bytes)? = step["cancel_at"] {
            let stream = hub.startPull(name: name)
            while let event = try await stream.next() {
                if case .progress(let progress) = event, bytes <= progress.done { stream.cancel() }
            }
        }
        var last: PullProgress?
        for try await event in hub.pull(name) {
            switch event {
            case .progress(let progress): last = progress
            case .ready(let path):
                for (key, value) in [("total", last?.total), ("resumed_from", last?.resumedFrom)] {
                    guard let expected = step[key], let value else { continue }
                    #expect(JsonValue.integer(Int(value)).text == expected.text)
                }
                return path
            }
        }
        throw Missing()
    }

    private func fetch(_ name: String, _ step: JsonValue) async throws -> String {
        var plan = try await hub.plan(name: name)
        if restarts { plan = try DownloadPlan.fromJson(json: plan.toJson()) }
        let missing = hub.missingFiles(plan: plan)
        let seen: [(String, JsonValue)] = [
            ("size", .integer(Int(plan.size()))), ("missing", .integer(Int(hub.missingBytes(plan: plan)))),
            ("files", .array(missing.map { .string($0.path) })),
        ]
        for (key, value) in seen {
            if let expected = step[key] { #expect(value.text == expected.text) }
        }
        for file in missing {
            let received = folder.url.appendingPathComponent("received")
            try await content(of: #require(URL(string: file.url))).write(to: received)
            #expect(try await hub.install(plan: plan, file: received.path) == file.path)
        }
        return try hub.finish(plan: plan)
    }
}

/// What any HTTP client gets from an address.
private func content(of url: URL) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
        let task = URLSession(configuration: .ephemeral).dataTask(with: url) { data, _, error in
            continuation.resume(with: data.map { .success($0) } ?? .failure(error ?? Missing()))
        }
        task.resume()
    }
}
#endif
