package org.causerie.examples

import android.media.AudioFormat
import android.media.AudioManager
import android.media.AudioRecord
import android.media.AudioTrack
import android.media.MediaRecorder
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.launch
import org.causerie.MessageResponse
import org.causerie.TranscriptEvent
import org.causerie.Transcriber

/** Samples of the microphone, a tenth of a second at a time. The app must have the permission RECORD_AUDIO. */
fun microphone(sampleRate: Int): Flow<FloatArray> = flow {
    val channel = AudioFormat.CHANNEL_IN_MONO
    val encoding = AudioFormat.ENCODING_PCM_16BIT // which every device has
    val size = AudioRecord.getMinBufferSize(sampleRate, channel, encoding)
    check(size > 0) { "the microphone does not record at $sampleRate Hz" }
    val source = MediaRecorder.AudioSource.VOICE_RECOGNITION
    val record = AudioRecord(source, sampleRate, channel, encoding, maxOf(size, sampleRate))
    try {
        check(record.state == AudioRecord.STATE_INITIALIZED) { "the microphone is not available" }
        record.startRecording()
        val chunk = ShortArray(sampleRate / 10)
        while (true) {
            currentCoroutineContext().ensureActive()
            val count = record.read(chunk, 0, chunk.size)
            check(count >= 0) { "the microphone failed with the code $count" }
            emit(FloatArray(count) { chunk[it] / 32_768f })
        }
    } finally {
        record.release()
    }
}.flowOn(Dispatchers.IO)

/** Writes what is said, until the coroutine is cancelled. */
suspend fun dictate(transcriber: Transcriber, show: (String) -> Unit) {
    transcriber.live(16_000).use { live ->
        coroutineScope {
            launch { microphone(16_000).collect { live.push(it) } }
            live.events.collect { event ->
                when (event) {
                    is TranscriptEvent.Segment -> show(event.segment.text)
                    is TranscriptEvent.Partial -> show(event.text + "…")
                    else -> {}
                }
            }
        }
    }
}

/** Plays the sound of replies. A call of [play] waits while the device still has enough to play. */
class Speaker : AutoCloseable {
    private var track: AudioTrack? = null

    /** Plays what an event of a reply brings. */
    fun play(event: MessageResponse.AudioSample) {
        val track = track ?: open(event.sampleRate).also { track = it }
        val samples = ShortArray(event.samples.size) { (event.samples[it].coerceIn(-1f, 1f) * 32_767f).toInt().toShort() }
        track.write(samples, 0, samples.size)
    }

    /** Falls silent at once, for example when the user speaks, or when the audio focus is lost. */
    fun stop() {
        track?.pause()
        track?.flush()
    }

    private fun open(sampleRate: Int): AudioTrack {
        val channel = AudioFormat.CHANNEL_OUT_MONO
        val encoding = AudioFormat.ENCODING_PCM_16BIT
        val size = AudioTrack.getMinBufferSize(sampleRate, channel, encoding)
        // Since API 26 `AudioTrack.Builder`, with attributes for speech.
        @Suppress("DEPRECATION")
        val track = AudioTrack(AudioManager.STREAM_MUSIC, sampleRate, channel, encoding, size, AudioTrack.MODE_STREAM)
        track.play()
        return track
    }

    override fun close() {
        track?.release()
        track = null
    }
}
