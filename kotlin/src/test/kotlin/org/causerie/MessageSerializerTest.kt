package org.causerie

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.encoding.AbstractDecoder
import kotlinx.serialization.json.Json
import kotlinx.serialization.modules.EmptySerializersModule
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test

/** Messages in the serializable classes of an app. */
class MessageSerializerTest {
    @Serializable
    private data class ScreenState(val draft: String, val history: List<ChatMessage>, val failed: ChatMessage? = null)

    private val call = SdkFunctionCall("f", mapOf("n" to 1L, "city" to "Oslo"), callId = "call_0")
    private val picture = ChatMessageContent.Image(byteArrayOf(1, 2))
    private val history = listOf(
        ChatMessage(ChatMessageRole.SYSTEM, "Be brief.").copy(functions = listOf(SdkFunction("f", "Runs.", listOf()))),
        ChatMessage(ChatMessageRole.USER, listOf(picture, ChatMessageContent.Text("?"))),
        ChatMessage(ChatMessageRole.ASSISTANT, listOf(), reasoningContent = "Hm.", functionCalls = listOf(call)),
        ChatMessage(ChatMessageRole.TOOL, "sunny").copy(toolCallId = "call_0", name = "f"),
        ChatMessage(ChatMessageRole.ASSISTANT, "Sun").copy(incomplete = true, extra = """{"custom": 1}""")
    )

    @Test
    fun `a history is a property of a class`() {
        val text = Json.encodeToString(history)
        assertEquals(json(messagesToJson(history)), json(text))
        assertEquals(history, Json.decodeFromString<List<ChatMessage>>(text))
        val state = ScreenState("Hi", history, user())
        assertEquals(state, Json.decodeFromString<ScreenState>(Json.encodeToString(state)))
    }

    @Test
    fun `what is not a message is refused`() {
        assertThrows(SerializationException::class.java) { Json.decodeFromString<ChatMessage>("""{"role": "robot"}""") }
        assertThrows(SerializationException::class.java) { ChatMessageSerializer.deserialize(TextDecoder("[]")) }
        val two = messagesToJson(listOf(user(), user()))
        assertThrows(SerializationException::class.java) { ChatMessageSerializer.deserialize(TextDecoder(two)) }
    }

    /** A format that is not JSON. */
    @OptIn(ExperimentalSerializationApi::class)
    private class TextDecoder(private val text: String) : AbstractDecoder() {
        override val serializersModule = EmptySerializersModule()
        override fun decodeElementIndex(descriptor: SerialDescriptor) = 0
        override fun decodeString() = text
    }
}
