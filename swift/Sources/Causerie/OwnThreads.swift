import Foundation

/// Runs each task on a separate thread. Swift's thread pool has only one thread per core, so a task that blocks there
/// could delay timers and readers.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class OwnThreads: TaskExecutor {
    static let shared = OwnThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Each job has its own queue. In a shared queue, jobs would wait for those that block.
        DispatchQueue(label: "causerie.function").async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs a task on a separate thread, if the system supports it.
func onOwnThread(_ run: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
        Task(executorPreference: OwnThreads.shared) { await run() }
    } else {
        Task { await run() }
    }
}
