import Foundation
import Testing

@testable import Causerie

/// Measurements, on request; nothing is tested.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["CAUSERIE_MEASURE"] != nil, "CAUSERIE_MEASURE is not set"))
struct Costs {
    /// Measures the overhead of an event: a scripted model computes nothing.
    @Test func ofAnEvent() async throws {
        let tokens = (0..<20_000).map { "\"\($0) \"" }.joined(separator: ", ")
        let stream = try scripted("[\(tokens)]").generateResponse(message: hi)
        var costs: [Duration] = []
        var reader = stream.makeAsyncIterator()
        let clock = ContinuousClock()
        var before = clock.now
        while try await reader.next() != nil {
            let now = clock.now
            costs.append(now - before)
            before = now
        }
        costs.sort()
        print(
            "\(costs.count) events: median \(costs[costs.count / 2]), 90th percentile \(costs[costs.count * 9 / 10])")
    }
}
