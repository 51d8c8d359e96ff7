package org.causerie

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancel
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.job
import kotlinx.coroutines.runBlocking
import org.causerie.ffi.Conversation as RawConversation
import org.causerie.ffi.NoHandle
import org.causerie.ffi.ResponseStream as RawResponseStream
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
    fun `no message is lost when another one is sent before its reply begins`() = runBlocking {
        // One thread, so no reply begins before all messages are sent.
        val conversation = scripted(listOf("a")).createConversation()
        val chat = ChatSession(conversation, this)
        for (text in listOf("1", "2", "3")) chat.send(text)
        chat.join()
        assertEquals(listOf("1", "2", "3", "a"), chat.state.value.messages.map { it.text })
        assertEquals(conversation.history, chat.state.value.messages)
    }

    @Test
    fun `a message stays when its reply is stopped before it begins`() = runBlocking {
        val chat = ChatSession(scripted(listOf("a")).createConversation(), this)
        chat.send("1")
        chat.stop()
        chat.join()
        assertEquals(listOf("1"), chat.state.value.messages.map { it.text })
        assertEquals(FinishReason.INTERRUPTED, chat.state.value.complete?.finishReason)
        chat.generationOptions = generationOptions { onCancel = OnCancel.DROP_TURN }
        chat.send("2")
        chat.stop()
        chat.join()
        assertEquals(listOf("1"), chat.state.value.messages.map { it.text })
    }

    @Test
    fun `reasoning and calls are shown as they grow`() = runBlocking {
        val (_, chat) = session(listOf("<think>", "Hm", "m.", "</think>", "a", STALL))
        chat.generationOptions = generationOptions { enableThinking = true }
        chat.send("Hi")
        val growing = chat.awaitText("a").messages.last()
        assertEquals("Hmm.", growing.reasoningContent)
        chat.stop()
        chat.join()
        val handlers = functionHandlers { on(SdkFunction("f", "", listOf())) { awaitCancellation() } }
        val calling = ChatSession(scripted(call("[f()]")).createConversation(handlers = handlers), scope)
        calling.send("Hi")
        val state = calling.state.first { it.messages.lastOrNull()?.functionCalls != null }
        assertEquals(listOf("f"), state.messages.last().functionCalls?.map { it.name })
    }

    /** A model of which the context is too small for a long message. */
    private fun smallContext(vararg replies: String) =
        loadScriptedModel("""{"replies": [${replies.joinToString { "[\"$it\"]" }}], "context_size": 60}""")

    @Test
    fun `a message that failed is sent again`() = runBlocking {
        val chat = ChatSession(smallContext("A.", "B.", "C.").createConversation(), scope)
        chat.send("1")
        chat.join()
        val long = "long ".repeat(100)
        chat.send(long)
        chat.join()
        assertEquals(long, chat.state.value.failed?.text)
        assertTrue(chat.state.value.error is SdkException.PromptExceedsContext, "${chat.state.value.error}")
        chat.regenerate()
        chat.join()
        assertEquals(listOf("1", "A."), chat.state.value.messages.map { it.text })
        assertEquals(long, chat.state.value.failed?.text)
        chat.send("2")
        chat.join()
        assertEquals(listOf("1", "A.", "2", "B."), chat.state.value.messages.map { it.text })
        assertNull(chat.state.value.failed)
    }

    @Test
    fun `a first message fails although its reply has added functions to the history`() = runBlocking {
        val handlers = functionHandlers { on(SdkFunction("f", "", listOf())) { "1" } }
        val conversation = smallContext("A.").createConversationFromHistory(listOf(), handlers)
        val chat = ChatSession(conversation, scope)
        val long = "long ".repeat(100)
        chat.send(long)
        chat.join()
        assertEquals(long, chat.state.value.failed?.text)
        assertEquals(listOf<ChatMessage>(), chat.state.value.messages)
    }

    @Test
    fun `a reply stays when it cannot be generated anew`() = runBlocking {
        val chat = ChatSession(scripted(listOf("a"), listOf("b")).createConversation(), this)
        chat.send("1")
        chat.join()
        chat.regenerate()
        chat.stop()
        chat.join()
        assertEquals(listOf("1", "a"), chat.state.value.messages.map { it.text })
        chat.generationOptions = generationOptions { temperature = -1f }
        chat.regenerate()
        chat.join()
        assertTrue(chat.state.value.error is SdkException.InvalidOption)
        assertEquals(listOf("1", "a"), chat.state.value.messages.map { it.text })
        assertNull(chat.state.value.failed)
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

    @Test
    fun `the conversation may be closed after the scope has ended`() = runBlocking {
        val errors = mutableListOf<Throwable>()
        val handler = CoroutineExceptionHandler { _, err -> errors += err }
        // One thread, so the coroutine of the session goes on after the conversation is closed.
        val screen = CoroutineScope(coroutineContext + SupervisorJob() + handler)
        val conversation = scripted(listOf("a", STALL)).createConversation()
        val chat = ChatSession(conversation, screen)
        chat.send("1")
        chat.awaitText("a")
        screen.cancel()
        conversation.close()
        screen.coroutineContext.job.join()
        assertEquals(listOf<Throwable>(), errors)
        assertFalse(chat.state.value.isResponding)
    }

    @Test
    fun `a message that is sent while a reply ends is under way`() = runBlocking {
        val watched = WatchedConversation(scripted(listOf("a", STALL), listOf("b", STALL)).createConversation())
        val chat = ChatSession(Conversation(watched), scope)
        chat.send("1")
        chat.awaitText("a")
        val isResponding = CompletableDeferred<Boolean>()
        watched.onHistory = {
            watched.onHistory = { isResponding.complete(chat.state.value.isResponding) }
            chat.send("2")
        }
        chat.stop()
        assertTrue(isResponding.await())
    }

    @Test
    fun `replies that fail before they begin are closed`() = runBlocking {
        val watched = WatchedConversation(scripted(listOf("a")).createConversation())
        val screen = CoroutineScope(coroutineContext + SupervisorJob())
        val chat = ChatSession(Conversation(watched), screen)
        chat.regenerate()
        chat.join()
        chat.send("1")
        screen.cancel()
        screen.coroutineContext.job.join()
        assertEquals(listOf(true, true), watched.started.map { it.uniffiIsDestroyed })
    }

    /** A conversation that notes its replies, and runs [onHistory] after its history is read. */
    private class WatchedConversation(private val conversation: Conversation) : RawConversation(NoHandle) {
        val started = mutableListOf<RawResponseStream>()

        @Volatile
        var onHistory: () -> Unit = {}

        override fun history(): List<ChatMessage> = conversation.history.also { onHistory() }

        override fun startResponse(message: ChatMessage, options: GenerationOptions): RawResponseStream =
            conversation.raw.startResponse(message, options).also { started += it }

        override fun startContinuation(options: GenerationOptions): RawResponseStream =
            conversation.raw.startContinuation(options).also { started += it }
    }
}
