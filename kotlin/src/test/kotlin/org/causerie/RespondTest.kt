package org.causerie

import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Whole replies in every form, and what a conversation is created with. */
class RespondTest {
    private val weather = SdkFunction(
        name = "check_weather",
        description = "Check the weather in a city.",
        parameters = listOf(SdkFunctionParameter(name = "city", type = SdkStr(), description = "City."))
    )

    private fun answering(text: String) = functionHandlers { on(weather) { text } }

    private val asking = call("[check_weather(city='Oslo')]")

    @Test
    fun `functions are given where the conversation is created`() = runBlocking {
        val conversation = scripted(
            asking,
            listOf("Sunny.")
        ).createConversation("Be brief.", functions = listOf(weather))
        assertEquals(listOf(weather), conversation.functions)
        assertEquals("Be brief.", conversation.history[0].text)
        val calls = conversation.respond("Weather?").fullMessage.functionCalls
        assertEquals(listOf("check_weather"), calls?.map { it.name })
        assertEquals("Sunny.", conversation.respond(ChatMessage(ChatMessageRole.TOOL, "{}")).fullMessage.text)
    }

    @Test
    fun `the next step has no message`() = runBlocking {
        val runner = scripted(asking, listOf("Sunny."))
        val first = runner.createConversation(functions = listOf(weather))
        first.respond(user())
        val next = runner.createConversationFromHistory(first.history + ChatMessage(ChatMessageRole.TOOL, "{}"))
        assertEquals("Sunny.", next.respond().fullMessage.text)
    }

    @Test
    fun `handlers of the conversation run the calls of every reply`() = runBlocking {
        val runner = scripted(asking, listOf("A"), asking, listOf("B"), asking, listOf("C"), asking, listOf("D"))
        val conversation = runner.createConversation("Be brief.", handlers = answering("It is sunny."))
        assertEquals(listOf(weather), conversation.functions)
        assertEquals("A", conversation.respond("1").fullMessage.text)
        assertEquals("B", conversation.fork().generateResponse("2").read().text())
        val again = runner.createConversationFromHistory(conversation.history + user(), answering("It is sunny."))
        assertEquals("C", again.respond().fullMessage.text)
        assertEquals("D", conversation.generateResponseBlocking("3").use { it.toList() }.text())
    }

    @Test
    fun `handlers of one reply replace the handlers of its conversation`() = runBlocking {
        val conversation = scripted(asking, listOf("Rain.")).createConversation(handlers = answering("It is sunny."))
        assertEquals("Rain.", conversation.respond("Weather?", handlers = answering("It rains.")).fullMessage.text)
        assertEquals("It rains.", conversation.history.first { it.role == ChatMessageRole.TOOL }.text)
    }

    /** A conversation of an app that wraps one of the library. */
    private class WrappedConversation(conversation: Conversation) :
        ConversationMembers,
        ConversationInterface by conversation

    @Test
    fun `a conversation may be wrapped`() {
        val conversation = WrappedConversation(scripted(listOf("a")).createConversation())
        assertEquals("a", conversation.generateResponse("Hi").read().text())
    }

    @Test
    fun `a message may have pictures`() {
        val question = ChatMessage(
            ChatMessage.Role.USER,
            listOf(ChatMessageContent.Image(byteArrayOf(1)), ChatMessageContent.Text("What is this?"))
        )
        // The scripted model takes text only, so the error shows that the picture has come to it.
        assertThrows(SdkException.UnsupportedContent::class.java) {
            runBlocking { scripted(listOf("a")).createConversation().respond(question) }
        }
    }

    @Test
    fun `a function that is refused is an error at once`() {
        val runner = scripted(listOf("a"))
        assertThrows(SdkException.InvalidFunction::class.java) {
            runner.createConversation(functions = listOf(SdkFunction("9 lives", "", listOf())))
        }
    }

    @Test
    fun `times are durations`() = runBlocking {
        val options = generationOptions { timeout = 1.5.seconds }
        assertEquals(1500L, options.timeoutMilliseconds)
        assertEquals(1.5.seconds, options.timeout)
        assertEquals(1L, generationOptions { timeout = 1.microseconds }.timeoutMilliseconds)
        assertEquals(0L, generationOptions { timeout = (-1).seconds }.timeoutMilliseconds)
        assertTrue(Long.MAX_VALUE / 2 <= generationOptions { timeout = Duration.INFINITE }.timeoutMilliseconds!!)
        assertNull(generationOptions { timeout = null }.timeout)
        val handlers = FunctionHandlers().apply { timeout = 250.milliseconds }
        assertEquals(0.25, handlers.timeLimit)
        assertEquals(250.milliseconds, handlers.timeout)
        val hub = hubOptions {
            cache = "models"
            idleTimeout = 2.seconds
            retryPause = 3.milliseconds
        }
        assertEquals(HubOptions(cache = "models", idleTimeoutMilliseconds = 2000, retryPauseMilliseconds = 3), hub)
        assertEquals(2.seconds to 3.milliseconds, hub.idleTimeout to hub.retryPause)
        val stats = scripted(listOf("a")).createConversation().respond("Hi").stats
        assertEquals(stats.decodeTime.seconds, stats.decodeDuration)
        assertEquals(stats.timeToFirstToken.seconds, stats.durationToFirstToken)
    }
}
