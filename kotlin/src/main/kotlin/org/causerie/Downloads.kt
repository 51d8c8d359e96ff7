@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runBlocking

/**
 * A hub, from which models are downloaded by name with the HTTP client of the platform.
 *
 * ```
 * val hub = Hub.open(HubOptions(cache = context.noBackupFilesDir.resolve("models").path))
 * hub.pull("LiquidAI/LFM2-350M-GGUF:Q4_K_M").collect { event ->
 *     when (event) {
 *         is PullEvent.Progress -> println("${event.progress.done} of ${event.progress.total} bytes")
 *         is PullEvent.Ready -> runner = ModelRunner.load(event.path)
 *     }
 * }
 * ```
 *
 * @throws SdkException if an option is not valid
 */
@JvmSynthetic
public fun Hub.Companion.open(options: HubOptions = HubOptions(), transport: HttpTransport = UrlTransport()): Hub =
    Hub(options, transport)

/**
 * Downloads a model by its name, as far as it is missing or has changed.
 *
 * The flow is cold, and ends after [PullEvent.Ready], or with one [SdkException]. When the collector leaves or its
 * coroutine is cancelled, the download ends. What has arrived is kept, and the next collection continues from there.
 */
@JvmSynthetic
public fun Hub.pull(name: String): Flow<PullEvent> = download { startPull(name) }

/** Downloads the files of a plan. See [pull]. */
@JvmSynthetic
public fun Hub.fetch(plan: DownloadPlan): Flow<PullEvent> = download { startFetch(plan) }

private fun download(start: () -> DownloadStream): Flow<PullEvent> = flow {
    Log.start()
    start().use { stream ->
        try {
            while (true) emit(stream.next() ?: break)
        } finally {
            stream.cancel()
        }
    }
}

/** Receives the progress of a download. */
public fun interface PullListener {
    /** Takes the progress; returns whether to continue. */
    public fun proceed(progress: PullProgress): Boolean
}

/** Downloads a model and blocks the thread; returns the file or folder to load. See [pull]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Hub.pullBlocking(name: String, listener: PullListener? = null): String = runBlocking {
    Log.start()
    startPull(name).use { stream ->
        var path = ""
        try {
            while (true) {
                when (val event = stream.next() ?: break) {
                    is PullEvent.Progress -> if (listener?.proceed(event.progress) == false) stream.cancel()
                    is PullEvent.Ready -> path = event.path
                }
            }
        } finally {
            stream.cancel()
        }
        path
    }
}
