package org.causerie

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancel
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** The session of a screen. */
class ChatSessionTest {
    private val scope = CoroutineScope(Dispatchers.Default)

    @AfterEach
    fun end() = scope.cancel()

    private fun session(vararg replies: List<String>) = scripted(*replies).createConversation("Be brief.").let {
        it to ChatSession(it, scope)
    }

    private suspend fun ChatSession.awaitText(text: String) = state.first { it.messages.lastOrNull()?.text == text }

    @Test
    fun `the reply is shown as it grows`() = runBlocking {
        val (conversation, chat) = session(listOf("a", "b", STALL))
        assertTrue(chat.state.value.messages.isEmpty())
        chat.send("Hi")
        val growing = chat.awaitText("ab")
        assertTrue(growing.isResponding && growing.messages[1].incomplete)
        chat.stop()
        chat.join()
        val end = chat.state.value
        assertFalse(end.isResponding)
        assertNull(end.error)
        assertEquals(FinishReason.INTERRUPTED, end.complete?.finishReason)
        assertEquals(conversation.history.drop(1), end.messages)
    }

    @Test
    fun `the next message is sent after the stopped reply`() = runBlocking {
        val (_, chat) = session(listOf("a", STALL), listOf("b"))
        chat.send("1")
        chat.awaitText("a")
        chat.send("2")
        assertTrue(chat.state.value.isResponding)
        chat.join()
        assertEquals(listOf("1", "a", "2", "b"), chat.state.value.messages.map { it.text })
    }

    @Test
    fun `an error stays until the next message`() = runBlocking {
        val (conversation, chat) = session(listOf("""{"fail": "no memory"}"""), listOf("a"))
        chat.send("1")
        chat.join()
        assertEquals("no memory", chat.state.value.error?.message)
        assertEquals(conversation.history.drop(1), chat.state.value.messages)
        chat.send("2")
        chat.join()
        assertNull(chat.state.value.error)
        assertEquals("a", chat.state.value.messages.last().text)
    }

    @Test
    fun `functions run`() = runBlocking {
        val handlers = functionHandlers { on(SdkFunction("f", "", listOf())) { "1" } }
        val conversation = scripted(call("[f()]"), listOf("Done.")).createConversation(handlers = handlers)
        val chat = ChatSession(conversation, scope)
        chat.send("Hi")
        chat.join()
        assertEquals(listOf("Hi", "", "1", "Done."), chat.state.value.messages.map { it.text })
    }

    @Test
    fun `a reply is generated anew`() = runBlocking {
        val (_, chat) = session(listOf("a"), listOf("b"))
        chat.regenerate()
        chat.join()
        assertTrue(chat.state.value.error is SdkException.InvalidMessage)
        chat.send("Hi")
        chat.join()
        chat.regenerate()
        chat.join()
        assertEquals(listOf("Hi", "b"), chat.state.value.messages.map { it.text })
    }

    @Test
    fun `blanks are not sent`() {
        val (_, chat) = session(listOf("a"))
        chat.send(" \n")
        assertFalse(chat.state.value.isResponding)
    }

    @Test
    fun `the end of the scope stops the reply`() = runBlocking {
        val (conversation, chat) = session(listOf("a", STALL), listOf("b"))
        chat.send("1")
        chat.awaitText("a")
        scope.cancel()
        assertEquals("b", conversation.respond("2", generationOptions { onBusy = OnBusy.QUEUE }).fullMessage.text)
    }
}
