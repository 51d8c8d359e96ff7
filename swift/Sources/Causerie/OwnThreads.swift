import Foundation

/// Runs tasks on threads of their own. One that blocks would keep a thread of Swift's pool, which has one for each core,
/// from the clock and from who reads.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class OwnThreads: TaskExecutor {
    static let shared = OwnThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A queue for each: what shares one waits for what blocks, or for the second that its next thread takes.
        DispatchQueue(label: "causerie.function").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs a task on such a thread, where this is possible.
func onOwnThread(_ run: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
        Task(executorPreference: OwnThreads.shared) { await run() }
    } else {
        Task { await run() }
    }
}
