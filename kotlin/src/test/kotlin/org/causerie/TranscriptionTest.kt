package org.causerie

import kotlin.math.sin
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance

/** Speech to text, on a small model with random weights. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TranscriptionTest {
    private val models = repository.resolve("tests/fixtures/models")
    private val file = repository.resolve("tests/fixtures/sounds/tones.wav").readBytes()
    private val tone = FloatArray(24_000) { sin(it / 3f) / 2 }
    private val transcriber = loadTranscriberBlocking(models.resolve("whisper").path)

    // Texts of random weights fail all thresholds, so that each window would be tried at each temperature.
    private val options = TranscribeOptions(temperatures = listOf(0f))
    private val english = options.copy(language = "en")

    @AfterAll
    fun close() = transcriber.close()

    private fun List<TranscriptEvent>.transcript(): Transcript = (last() as TranscriptEvent.Complete).transcript

    @Test
    fun `a recording is transcribed with its events`() = runBlocking {
        val events = transcriber.stream(file, options).toList()
        val transcript = events.transcript()
        assertEquals((events.first() as TranscriptEvent.Language).code, transcript.language)
        assertEquals(events.filterIsInstance<TranscriptEvent.Segment>().map { it.segment }, transcript.segments)
        assertEquals(transcript.segments.joinToString("") { it.text }.trim(), transcript.text)
        assertEquals(transcript, transcriber.transcribe(file, options))
        assertEquals(transcript, transcriber.transcribeBlocking(file, options))
        assertTrue(transcript.language in transcriber.languages && !transcript.wasCancelled)
    }

    @Test
    fun `samples are transcribed at their rate`() = runBlocking {
        assertEquals(1.5, transcriber.transcribe(tone, 16_000, english).duration, 1e-3)
        assertEquals(3.0, transcriber.transcribeBlocking(tone, 8_000, english).duration, 1e-3)
    }

    @Test
    fun `live samples give the transcript of the whole`() = runBlocking {
        transcriber.live(16_000, english).use { live ->
            val events = async(start = CoroutineStart.UNDISPATCHED) { live.events.toList() }
            tone.toList().chunked(4_000).forEach { live.push(it.toFloatArray()) }
            live.end()
            val transcript = events.await().transcript()
            assertEquals(1.5, transcript.duration, 1e-3)
            val segments = events.await().filterIsInstance<TranscriptEvent.Segment>().map { it.segment }
            assertEquals(segments, transcript.segments)
            live.push(tone) // ignored after the end
            assertEquals(listOf<TranscriptEvent>(), live.events.toList())
        }
    }

    @Test
    fun `a cancelled live transcription ends with what it has`() = runBlocking {
        transcriber.live(16_000, english).use { live ->
            live.push(tone)
            live.cancel()
            assertTrue(live.events.toList().transcript().wasCancelled)
        }
    }

    @Test
    fun `leaving stops`() = runBlocking {
        assertTrue(transcriber.stream(file, options).first() is TranscriptEvent.Language)
        val live = transcriber.live(16_000, english)
        val waiting = launch(start = CoroutineStart.UNDISPATCHED) { live.events.collect { } }
        waiting.cancelAndJoin()
        live.close()
    }

    @Test
    fun `wrong options and sounds are typed errors`() {
        val invalid = assertThrows(SdkException.InvalidOption::class.java) {
            transcriber.transcribeBlocking(file, options.copy(language = "xx"))
        }
        assertEquals("language", invalid.option)
        assertThrows(SdkException.UnsupportedContent::class.java) { transcriber.transcribeBlocking(byteArrayOf(1)) }
        val rate = assertThrows(SdkException.UnsupportedContent::class.java) { transcriber.live(-5) }
        assertTrue(rate.message.endsWith("found -5"))
        transcriber.live(16_000).use { live ->
            val err = assertThrows(SdkException.UnsupportedContent::class.java) { live.push(floatArrayOf(Float.NaN)) }
            assertEquals("samples[0] must be a finite number, found NaN", err.message)
        }
        assertThrows(SdkException.InvalidOption::class.java) { TranscriberOptions(threads = -1) }
    }

    @Test
    fun `loading fails with typed errors`() {
        assertThrows(SdkException.ModelNotFound::class.java) { loadTranscriberBlocking("no/such/model") }
        assertThrows(SdkException.ModelLoad::class.java) {
            loadTranscriberBlocking(models.resolve("lfm2-q4_0.gguf").path)
        }
        val quantised = TranscriberOptions(threads = 1, quantize = GgufType.Q8_0)
        loadTranscriberBlocking(models.resolve("ggml-whisper-f16.bin").path, quantised).use { ggml ->
            assertEquals(transcriber.languages, ggml.languages)
        }
    }
}
