@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.runBlocking

/** What the companion of [Transcriber] can do. */
public interface TranscriberLoading {
    /**
     * Loads a model of speech to text: a Hugging Face folder, or a file of ggml, which whisper.cpp reads. Loading runs
     * on a separate thread.
     *
     * ```
     * val transcriber = Transcriber.load("whisper-base")
     * println(transcriber.transcribe(File("meeting.wav").readBytes()).text)
     * ```
     *
     * @throws SdkException.ModelNotFound if there is no model at the path
     * @throws SdkException.ModelLoad if its files cannot be used
     */
    public suspend fun load(path: String, options: TranscriberOptions = TranscriberOptions()): Transcriber {
        Log.start()
        return loadTranscriber(path, options)
    }
}

/** Loads a model of speech to text and blocks the thread. See [TranscriberLoading.load]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun loadTranscriberBlocking(path: String, options: TranscriberOptions = TranscriberOptions()): Transcriber =
    runBlocking { Transcriber.load(path, options) }

/** What a [Transcriber] can do beside the calls of the engine. */
public interface TranscriberMembers : TranscriberInterface {
    /**
     * The events of the transcription of a WAV, FLAC, MP3 or Ogg Opus file.
     *
     * The flow is cold, and is computed while it is collected. It ends after [TranscriptEvent.Complete], or with one
     * [SdkException]. When the collector leaves or its coroutine is cancelled, the computation stops.
     */
    public fun stream(file: ByteArray, options: TranscribeOptions = TranscribeOptions()): Flow<TranscriptEvent> =
        transcription { startTranscription(file, options) }

    /** The events of the transcription of samples of one channel, usually between -1 and 1. See [stream]. */
    public fun stream(
        samples: FloatArray,
        sampleRate: Int,
        options: TranscribeOptions = TranscribeOptions()
    ): Flow<TranscriptEvent> =
        transcription { startTranscriptionOfSamples(samples.littleEndian(), sampleRate.toLong(), options) }

    /** The transcript of a WAV, FLAC, MP3 or Ogg Opus file. */
    public suspend fun transcribe(file: ByteArray, options: TranscribeOptions = TranscribeOptions()): Transcript =
        stream(file, options).transcript()

    /** The transcript of samples of one channel, usually between -1 and 1. */
    public suspend fun transcribe(
        samples: FloatArray,
        sampleRate: Int,
        options: TranscribeOptions = TranscribeOptions()
    ): Transcript = stream(samples, sampleRate, options).transcript()

    /** Starts the transcription of a file with default options. */
    public fun startTranscription(file: ByteArray): TranscriptStream = startTranscription(file, TranscribeOptions())

    /**
     * Starts the transcription of samples that are pushed as they come. Close it, or collect its [events] to the end.
     *
     * ```
     * transcriber.live(sampleRate = 48_000).use { live ->
     *     launch { live.events.collect { event -> show(event) } }
     *     microphone.collect { samples -> live.push(samples) }
     *     live.end()
     * }
     * ```
     *
     * @throws SdkException.UnsupportedContent if no sound has the rate
     */
    @Throws(SdkException::class)
    public fun live(sampleRate: Int, options: TranscribeOptions = TranscribeOptions()): LiveTranscription =
        startLiveTranscription(sampleRate.toLong(), options)

    /** Starts the transcription of samples that are pushed as they come, with default options. */
    @Throws(SdkException::class)
    public fun live(sampleRate: Int): LiveTranscription = live(sampleRate, TranscribeOptions())
}

/** What a [LiveTranscription] can do beside the calls of the engine. */
public interface LiveTranscriptionMembers : LiveTranscriptionInterface {
    /**
     * Adds samples of one channel, and returns at once. After the end, they are ignored.
     *
     * @throws SdkException.UnsupportedContent if a sample is NaN or infinite
     */
    @Throws(SdkException::class)
    public fun push(samples: FloatArray): Unit = push(samples.littleEndian())

    /**
     * Segments that do not change any more, and the text after them so far. The flow waits for samples, and ends after
     * [TranscriptEvent.Complete]. Collect it once. When the collector leaves or its coroutine is cancelled, the
     * computation stops.
     */
    public val events: Flow<TranscriptEvent>
        get() = flow {
            try {
                while (true) emit(next() ?: break)
            } finally {
                try {
                    cancel()
                } catch (_: IllegalStateException) {
                    // Closing has stopped it.
                }
            }
        }
}

/** The transcript of a file, which blocks the thread. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Transcriber.transcribeBlocking(
    file: ByteArray,
    options: TranscribeOptions = TranscribeOptions()
): Transcript = runBlocking { transcribe(file, options) }

/** The transcript of samples of one channel, which blocks the thread. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Transcriber.transcribeBlocking(
    samples: FloatArray,
    sampleRate: Int,
    options: TranscribeOptions = TranscribeOptions()
): Transcript = runBlocking { transcribe(samples, sampleRate, options) }

private suspend fun Flow<TranscriptEvent>.transcript(): Transcript = (last() as TranscriptEvent.Complete).transcript

private fun transcription(start: () -> TranscriptStream): Flow<TranscriptEvent> = flow {
    // Leaving closes the stream, which stops the computation.
    start().use { stream ->
        while (true) emit(stream.next() ?: break)
    }
}
