package org.causerie

import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

/** Spoken replies that their listener interrupts, on a tiny model with random weights that speaks. */
class InterruptionTest {
    private val model = repository.resolve("tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf").path

    /** Samples of a frame, which has 80 ms. */
    private val frame = 1920

    /** The number of samples in a message: a WAV file states their bytes after its header of 40. */
    private fun ChatMessage.sampleCount(): Int = content.filterIsInstance<ChatMessageContent.Audio>().sumOf { part ->
        (0..3).sumOf { (part.data[40 + it].toInt() and 0xff) shl (8 * it) } / 2
    }

    @Test
    fun `an interrupted reply keeps what was heard`() {
        val options = generationOptions {
            temperature = 0f
            speechTemperature = 0f
        }
        val runner = loadModelBlocking(model, loadOptions { contextSize = 2048 })
        runner.createConversation("Respond with interleaved text and audio.").use { conversation ->
            var generated = 0
            var end: MessageResponse.Complete? = null
            runBlocking {
                conversation.generateResponse("Hi", options).collect { event ->
                    if (event is MessageResponse.AudioSample) {
                        generated += event.samples.size
                        if (4 * frame <= generated) conversation.interrupt(0.1)
                    }
                    if (event is MessageResponse.Complete) end = event
                }
            }
            assertEquals(FinishReason.INTERRUPTED, end?.finishReason)
            assertEquals(2 * frame, end?.fullMessage?.sampleCount())
            assertEquals(end?.fullMessage, conversation.history.last())
            // After the end, the message in the history is cut.
            conversation.interrupt(0.01)
            assertEquals(frame, conversation.history.last().sampleCount())
            conversation.interrupt(0.0)
            assertEquals(ChatMessage.Role.USER, conversation.history.last().role)
        }
    }
}
