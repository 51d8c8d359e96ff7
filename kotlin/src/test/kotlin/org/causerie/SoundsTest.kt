package org.causerie

import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.math.sin
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Sound of messages, on small models with random weights, and on the demo model, which hears. */
class SoundsTest {
    private val models = repository.resolve("tests/fixtures/models")
    private val options = generationOptions {
        temperature = 0f
        maxTokens = 4
    }

    private fun tone(length: Int): FloatArray = FloatArray(length) { sin(it / 5f) / 2 }

    /** The file that Rust's `audio_from_samples` makes: one channel, 16 bits. */
    private fun wav(rate: Int, vararg samples: Short): ByteArray {
        val size = 2 * samples.size
        val bytes = ByteBuffer.allocate(44 + size).order(ByteOrder.LITTLE_ENDIAN)
        bytes.put("RIFF".toByteArray()).putInt(36 + size).put("WAVEfmt ".toByteArray()).putInt(16)
        bytes.putShort(1).putShort(1).putInt(rate).putInt(2 * rate).putShort(2).putShort(16)
        bytes.put("data".toByteArray()).putInt(size)
        samples.forEach { bytes.putShort(it) }
        return bytes.array()
    }

    private fun ModelRunner.answer(vararg content: ChatMessageContent): MessageResponse.Complete =
        createConversation().use { conversation ->
            val message = ChatMessage(ChatMessage.Role.USER, content.toList())
            conversation.generateResponse(message, options).read().complete()
        }

    @Test
    fun `samples are a WAV file of sixteen bits`() {
        val samples = floatArrayOf(0f, 0.25f, -0.5f, 1.5f, -2f)
        val expected = wav(24_000, 0, 8192, -16_384, 32_767, -32_768)
        assertArrayEquals(expected, audioContent(samples, 24_000).data)
        assertEquals(audioContent(samples, 24_000), ChatMessageContent.Audio(expected))
        assertEquals("Audio(54 bytes)", audioContent(samples, 24_000).toString())
    }

    @Test
    fun `files are given as images are`() {
        val file = repository.resolve("tests/fixtures/sounds/short.wav")
        assertArrayEquals(file.readBytes(), audioContent(file).data)
        assertThrows(java.io.IOException::class.java) { audioContent(File("no/such.wav")) }
    }

    @Test
    fun `rates that no sound has and samples that are not finite are refused`() {
        for (rate in listOf(-1, 0, 999, 384_001, Int.MIN_VALUE)) {
            val err = assertThrows(SdkException.UnsupportedContent::class.java) { audioContent(FloatArray(1), rate) }
            assertEquals("a sound must have between 1000 and 384000 samples per second, found $rate", err.message)
        }
        for ((sample, name) in listOf(Float.NaN to "NaN", Float.POSITIVE_INFINITY to "inf")) {
            val err = assertThrows(SdkException.UnsupportedContent::class.java) {
                audioContent(floatArrayOf(0f, sample), 16_000)
            }
            assertEquals("samples[1] must be a finite number, found $name", err.message)
        }
    }

    @Test
    fun `sound is heard, and its length does not depend on the rate`() {
        loadModelBlocking(models.resolve("lfm2a/lfm2a-f16.gguf").path).use { runner ->
            assertTrue(runner.info.supportsAudio && runner.info.hearingMemory in 1 until runner.info.memoryEstimate)
            val question = ChatMessageContent.Text("What is this?")
            val rows = runner.answer(audioContent(tone(4_000), 16_000), question).stats.audioTokens
            assertTrue(rows > 0)
            assertEquals(rows, runner.answer(audioContent(tone(2_000), 8_000), question).stats.audioTokens)
            assertEquals(0, runner.answer(question).stats.audioTokens)
        }
    }

    @Test
    fun `the demo model hears a request`() {
        loadModelBlocking(demo).use { runner ->
            val functions = functionsFromJson(repository.resolve("server/src/chat/functions.json").readText())
            runner.createConversation("You are causerie, a small assistant on this device.").use { conversation ->
                conversation.registerFunctions(functions)
                val recording = audioContent(repository.resolve("tests/fixtures/sounds/timer.wav"))
                val message = ChatMessage(ChatMessage.Role.USER, listOf(recording))
                val calls = conversation.generateResponse(message).read().complete().fullMessage.functionCalls
                assertEquals(listOf("""set_timer(duration=12, unit="minutes")"""), calls?.map { it.rawText })
            }
        }
    }

    @Test
    fun `a reply speaks in samples of one rate`() {
        loadModelBlocking(models.resolve("lfm2a-speech/lfm2a-speech-f16.gguf").path).use { runner ->
            assertTrue(runner.info.supportsSpeech && runner.info.speechMemory in 1 until runner.info.memoryEstimate)
            val speech = generationOptions {
                temperature = 0f
                speechTemperature = 0f
                maxTokens = 24
            }
            runner.createConversation("Respond with interleaved text and audio.").use { conversation ->
                val events = conversation.generateResponse("Hi", speech).read()
                val rates = events.filterIsInstance<MessageResponse.AudioSample>().map { it.sampleRate }
                assertEquals(setOf(24_000), rates.toSet())
                assertTrue(conversation.history.last().content.any { it is ChatMessageContent.Audio })
            }
        }
    }

    @Test
    fun `texts are read aloud in a voice`() {
        val reading = generationOptions {
            speechTemperature = 0f
            maxTokens = 12
            // Token 3 begins sound; by itself, a model with random weights might begin with text.
            logitBias = mapOf(3 to 100f)
        }
        loadModelBlocking(models.resolve("lfm2a-speech/lfm2a-speech-f16.gguf").path).use { runner ->
            fun samples(voice: SpeechVoice): List<Float> {
                val events = runBlocking { runner.speak("Dinner is ready.", voice, reading).toList() }
                assertTrue((events.last() as MessageResponse.Complete).stats.spokenTokens in 1..12)
                return events.filterIsInstance<MessageResponse.AudioSample>().flatMap { it.samples }
            }
            val sound = samples(SpeechVoice.UK_MALE)
            assertTrue(sound.size > 1_920)
            assertEquals(sound, samples(SpeechVoice.UK_MALE))
            assertNotEquals(sound, samples(SpeechVoice.US_MALE))
        }
        loadModelBlocking(models.resolve("lfm2a/lfm2a-f16.gguf").path).use { runner ->
            assertThrows(SdkException.UnsupportedContent::class.java) {
                runBlocking { runner.speak("Dinner is ready.").collect() }
            }
        }
    }

    @Test
    fun `samples are written to files as they come`() {
        val whole = tone(4_000)
        val expected = audioContent(whole, 24_000).data.drop(44)
        for ((format, begin) in listOf(SoundFormat.PCM to "", SoundFormat.WAV to "RIFF", SoundFormat.FLAC to "fLaC")) {
            SoundFileWriter(format, 24_000).use { writer ->
                val pieces = whole.toList().chunked(700).map { writer.push(it) } + writer.finish()
                val file = pieces.flatMap { it.toList() }
                assertEquals(begin, String(file.take(begin.length).toByteArray(), Charsets.US_ASCII))
                assertTrue(format == SoundFormat.FLAC || file.takeLast(expected.size) == expected)
                assertTrue(writer.push(whole).isEmpty() && writer.finish().isEmpty())
            }
        }
        for (rate in listOf(-1, 0, 999, 384_001)) {
            assertThrows(SdkException.UnsupportedContent::class.java) { SoundFileWriter(SoundFormat.WAV, rate) }
        }
    }
}
