package org.causerie

import java.io.File
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Values with bytes: equal if their bytes are, and printed by their size. */
class BytesTest {
    /** Makes equal values of all data classes that have bytes, from equal seeds. */
    private val values: List<(Byte) -> Any> = listOf(
        { seed -> ChatMessageContent.Image(byteArrayOf(1, seed)) },
        { seed -> ChatMessageContent.Audio(byteArrayOf(1, seed)) },
        { seed -> ScoredToken(1, "a", byteArrayOf(1, seed), -0.5) }
    )

    @Test
    fun `values are equal if their bytes are`() {
        for (make in values) {
            assertEquals(make(2), make(2))
            assertEquals(make(2).hashCode(), make(2).hashCode())
            assertNotEquals(make(2), make(3))
            assertEquals(1, setOf(make(2), make(2)).size)
        }
        assertNotEquals(values[0](2), values[1](2))
        val token = values[2](2) as ScoredToken
        assertNotEquals(token, token.copy(logprob = -0.25))
        assertEquals(token.copy(logprob = Double.NaN), token.copy(logprob = Double.NaN))
    }

    @Test
    fun `messages and events are equal if their parts are`() {
        val message = { seed: Byte ->
            val image = values[0](seed) as ChatMessageContent
            ChatMessage(ChatMessage.Role.USER, listOf(ChatMessageContent.Text("See"), image))
        }
        assertEquals(message(2), message(2))
        assertNotEquals(message(2), message(3))
        val conversation = scripted().createConversationFromHistory(listOf(message(2)))
        assertEquals(conversation.history, conversation.history)
        assertEquals(conversation.history, messagesFromJson(messagesToJson(conversation.history)))
        val logprobs = { seed: Byte ->
            val token = values[2](seed) as ScoredToken
            MessageResponse.Logprobs(listOf(TokenLogprob(token, ReplySection.TEXT, listOf(token))))
        }
        assertEquals(logprobs(2), logprobs(2))
        assertNotEquals(logprobs(2), logprobs(3))
    }

    @Test
    fun `files and audio are printed by their size`() {
        val parts = listOf(ChatMessageContent.Image(ByteArray(100_000)), ChatMessageContent.Audio(ByteArray(3708)))
        val text = ChatMessage(ChatMessage.Role.USER, parts).toString()
        assertTrue("Image(100000 bytes)" in text && "Audio(3708 bytes)" in text && text.length < 500, text)
        val sample = MessageResponse.AudioSample(List(24_000) { 0f }, 16_000)
        assertEquals("AudioSample(24000 samples, sampleRate=16000)", sample.toString())
    }

    /** A class that the generator adds must join [values]. */
    @Test
    fun `no other data class has bytes`() {
        val folder = File(ChatMessage::class.java.protectionDomain.codeSource.location.toURI()).resolve("org/causerie")
        val classes = folder.list().orEmpty().filter { it.endsWith(".class") && !it.startsWith("AndroidImages") }
            .map { Class.forName("org.causerie.${it.removeSuffix(".class")}", false, javaClass.classLoader) }
            .filter { type -> type.declaredMethods.any { it.name == "component1" } }
        assertTrue(40 < classes.size, "data classes are found")
        val isArray = { type: java.lang.reflect.Type -> "[]" in type.typeName || "byte[" in type.typeName }
        val found = classes.filter { type -> type.declaredFields.any { isArray(it.genericType) } }
        assertEquals(values.map { it(0).javaClass }.toSet(), found.toSet())
    }
}
