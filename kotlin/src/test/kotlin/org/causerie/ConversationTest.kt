package org.causerie

import java.util.concurrent.CancellationException
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executors
import kotlin.concurrent.thread
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.retry
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** The guarantees of a flow. [ScenarioTest] tests the replies themselves. */
class ConversationTest {
    @Test
    fun `nothing happens before the flow is collected`() {
        val conversation = scripted(listOf("one"), listOf("two")).createConversation("")
        conversation.generateResponse(user("never"))
        val reply = conversation.generateResponse(user("Hi"))
        assertEquals(listOf<ChatMessage>(), conversation.history)
        assertEquals("one", reply.read().text())
        assertEquals(listOf("Hi", "one"), conversation.history.map { it.text })
    }

    @Test
    fun `each collection of a flow sends the message again`() {
        val conversation = scripted(
            listOf("""{"fail": "no memory"}"""),
            listOf("one"),
            listOf("two")
        ).createConversation()
        val reply = conversation.generateResponse("Hi")
        assertEquals("one", reply.retry(1).read().text())
        assertEquals("two", runBlocking { reply.text().toList() }.joinToString(""))
        assertEquals(listOf("Hi", "Hi", "one", "Hi", "two"), conversation.history.map { it.text })
    }

    @Test
    fun `respond reads a reply to its end`() = runBlocking {
        val conversation = scripted(listOf("one", " two"), listOf("""{"fail": "no memory"}""")).createConversation()
        assertEquals("one two", conversation.respond("Hi").fullMessage.text)
        val err = runCatching { conversation.respond("Hi") }.exceptionOrNull()
        assertTrue(err is SdkException.Generation, "$err")
    }

    /** Cancels a reader that gets no thread to notice it, while it waits [within] the loop or for an event. */
    private fun sendAfterCancel(within: suspend () -> Unit) = runBlocking {
        val executor = Executors.newSingleThreadExecutor()
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation()
        val begun = CompletableDeferred<Unit>()
        val job = launch(executor.asCoroutineDispatcher()) {
            conversation.generateResponse("1").collect {
                begun.complete(Unit)
                within()
            }
        }
        begun.await()
        val busy = CountDownLatch(1)
        executor.execute { busy.await() }
        job.cancel()
        assertEquals("b", withContext(Dispatchers.Default) { conversation.generateResponse("2").toList() }.text())
        busy.countDown()
        job.join()
        executor.shutdown()
    }

    @Test
    fun `after a cancel the next message is never refused as busy`() {
        sendAfterCancel {}
        sendAfterCancel { awaitCancellation() }
    }

    @Test
    fun `the engine waits for the collector`() = runBlocking {
        val runner = scripted(List(1000) { "a" }, List(500) { "b" })
        val slow = runner.createConversation("")
        slow.generateResponse("Hi").take(1).onEach {
            // The engine alternates between the replies, so the other one has 500 steps.
            assertEquals(500, runner.createConversation("").generateResponse("Hi").toList().text().length)
        }.collect()
        await("the reply has ended") { !slow.isGenerating }
        val written = slow.history.last()
        assertTrue(written.incomplete)
        assertTrue(written.text.length in 1..40, "${written.text.length} tokens were written for a reader of one")
    }

    @Test
    fun `leaving the flow stops the reply`() = runBlocking {
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation("")
        conversation.generateResponse("Hi").first()
        assertEquals("b", conversation.generateResponse("Hi").toList().text())
        assertEquals(listOf("Hi", "a", "Hi", "b"), conversation.history.map { it.text })
    }

    @Test
    fun `an exception of the collector stops the reply and is rethrown`() {
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation("")
        val err = assertThrows(IllegalStateException::class.java) {
            runBlocking { conversation.generateResponse("Hi").collect { error("no paper") } }
        }
        assertEquals("no paper", err.message)
        assertEquals("b", conversation.generateResponse("Hi").read().text())
    }

    @Test
    fun `cancelling the coroutine stops the reply`() = runBlocking {
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation("")
        val seen = mutableListOf<Throwable>()
        val begun = CompletableDeferred<Unit>()
        val job = launch(Dispatchers.Default) {
            try {
                conversation.generateResponse("Hi").collect { begun.complete(Unit) }
            } catch (err: Throwable) {
                seen += err
                throw err
            }
        }
        begun.await()
        job.cancelAndJoin()
        assertTrue(seen.single() is CancellationException, "$seen")
        assertEquals("b", conversation.generateResponse("Hi").toList().text())
        assertFalse(conversation.isGenerating)
    }

    @Test
    fun `dropTurn leaves no trace of a cancelled reply`() = runBlocking {
        val conversation = scripted(listOf("a", STALL)).createConversation("")
        conversation.generateResponse(user(), generationOptions { onCancel = OnCancel.DROP_TURN }).first()
        await("the history is empty") { conversation.history.isEmpty() }
    }

    @Test
    fun `a pulled stream can be cancelled from any thread and reports its end`() = runBlocking {
        val conversation = scripted(listOf("a", STALL)).createConversation("")
        conversation.startResponse(user(), GenerationOptions()).use { stream ->
            assertEquals(MessageResponse.Chunk("a"), stream.next())
            val end = async(Dispatchers.Default) { stream.next() }
            thread { stream.cancel() }.join()
            assertEquals(FinishReason.INTERRUPTED, (end.await() as MessageResponse.Complete).finishReason)
            assertEquals(null, stream.next())
            stream.cancel()
        }
    }

    @Test
    fun `a busy conversation refuses or queues`() = runBlocking {
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation("")
        val waiting = generationOptions { onBusy = OnBusy.QUEUE }
        val first = conversation.startResponse(user(), GenerationOptions())
        first.next()
        assertThrows(SdkException.Busy::class.java) { conversation.generateResponse("Hi").read() }
        val second = async(Dispatchers.Default) { conversation.generateResponse(user(), waiting).toList() }
        first.cancel()
        assertEquals("b", second.await().text())
    }

    @Test
    fun `conversations of one model generate at the same time`() = runBlocking {
        val runner = scripted(List(50) { "x" }, List(50) { "x" }, List(50) { "x" })
        val replies =
            List(3) { async(Dispatchers.Default) { runner.createConversation("").generateResponse("Hi").toList() } }
        replies.forEach { assertEquals("x".repeat(50), it.await().text()) }
    }

    @Test
    fun `faults are typed and readable`() {
        val script = arrayOf(listOf("""{"panic": true}"""), listOf("""{"fail": "no memory"}"""), listOf("fine"))
        val conversation = scripted(*script).createConversation("")
        assertThrows(SdkException.Internal::class.java) { conversation.generateResponse("Hi").read() }
        val err = assertThrows(SdkException.Generation::class.java) { conversation.generateResponse("Hi").read() }
        assertEquals("no memory", err.message)
        assertEquals("org.causerie.SdkException\$Generation: no memory", err.toString())
        assertEquals("fine", conversation.generateResponse("Hi").read().text())
        val option = assertThrows(SdkException.InvalidOption::class.java) {
            conversation.generateResponse(user(), generationOptions { temperature = -1f }).read()
        }
        assertEquals("temperature", option.option)
        val named = assertThrows(SdkException.InvalidOption::class.java) {
            conversation.generateResponse(user(), generationOptions { topP = 1.5f }).read()
        }
        assertEquals("topP" to "topP must be between 0 and 1, found 1.5", named.option to named.message)
        assertThrows(SdkException.InvalidFunction::class.java) {
            conversation.registerFunction(SdkFunction("1 f", "", listOf()))
        }
        assertThrows(SdkException.Serialization::class.java) { messagesFromJson("[{]") }
    }

    @Test
    fun `a history that does not fit is an error with its size`() {
        val runner = loadScriptedModel("""{"replies": [["a"]], "context_size": 20}""")
        val err = assertThrows(SdkException.PromptExceedsContext::class.java) {
            runner.createConversation("").generateResponse("x".repeat(100)).read()
        }
        assertEquals(20, err.available)
        assertTrue(100 < err.needed)
    }

    @Test
    fun `a negative count is refused by name and a negative seed is accepted`() {
        fun refused(make: () -> Unit) = assertThrows(SdkException.InvalidOption::class.java, make)
        val err = refused { generationOptions { maxTokens = -1 } }
        assertEquals("maxTokens" to "maxTokens must be 0 or more, found -1", err.option to err.message)
        assertEquals("topK", refused { GenerationOptions().copy(topK = -40) }.option)
        assertEquals("topK", refused { SamplingDefaults(topK = -1) }.option)
        assertEquals("cacheBytes", refused { loadOptions { cacheBytes = -1 } }.option)
        assertEquals("packedBytes", refused { loadOptions { packedBytes = -1 } }.option)
        assertEquals("gpuBytes", refused { loadOptions { gpuBytes = -1 } }.option)
        val conversation = scripted(listOf("a")).createConversation("")
        val endless = functionHandlers { maxRounds = -1 }
        assertEquals("maxRounds", refused { conversation.respondWithFunctions("Hi", endless).read() }.option)
        assertEquals("a", conversation.generateResponse("Hi", generationOptions { rngSeed = -1 }).read().text())
    }

    @Test
    fun `a lone surrogate is replaced`() {
        val conversation = scripted(listOf("🦀")).createConversation("")
        assertEquals("🦀", conversation.generateResponse("🦀".take(1) + "日本 \u0000 <|im_end|>").read().text())
        assertEquals("?日本 \u0000 <|im_end|>", conversation.history[0].text)
    }

    @Test
    fun `using a closed conversation is an error`() {
        val conversation = scripted(listOf("a")).createConversation("")
        conversation.use { it.registerFunction(SdkFunction("f", "", listOf())) }
        assertThrows(IllegalStateException::class.java) { conversation.history }
        conversation.close()
    }

    @Test
    fun `a blocking reply is read once and stopped by closing`() {
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation("")
        val reply = conversation.generateResponseBlocking(user())
        assertEquals(MessageResponse.Chunk("a"), reply.iterator().next())
        assertThrows(SdkException.StreamAlreadyConsumed::class.java) { reply.iterator() }
        reply.close()
        reply.close()
        reply.cancel()
        assertEquals("b", conversation.generateResponseBlocking(user()).use { it.toList() }.text())
    }

    @Test
    fun `closing a stream ends the wait for its next event`() = runBlocking {
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation("")
        val stream = conversation.startResponse(user(), GenerationOptions())
        assertEquals(MessageResponse.Chunk("a"), stream.next())
        val end = async(start = CoroutineStart.UNDISPATCHED) { stream.next() }
        stream.close()
        assertEquals(FinishReason.INTERRUPTED, (end.await() as MessageResponse.Complete).finishReason)
        assertEquals("b", conversation.generateResponse("Hi").toList().text())
    }

    @Test
    fun `closing a blocking reply ends the reading of another thread`() {
        val conversation = scripted(listOf(STALL)).createConversation("")
        val waiting = conversation.generateResponseBlocking(user())
        lateinit var events: List<MessageResponse>
        val reader = thread { events = waiting.toList() }
        await("the reply has begun") { conversation.isGenerating }
        waiting.close()
        reader.join()
        assertEquals(FinishReason.INTERRUPTED, events.complete().finishReason)

        val between = scripted(listOf("a", STALL)).createConversation("").generateResponseBlocking(user())
        val iterator = between.iterator()
        assertEquals(MessageResponse.Chunk("a"), iterator.next())
        between.close()
        assertFalse(iterator.hasNext())
    }

    @Test
    fun `interrupting a thread that reads ends its wait`() {
        val conversation = scripted(listOf("a", STALL), listOf("b")).createConversation("")
        val begun = CountDownLatch(1)
        var thrown: Throwable? = null
        val reader = thread {
            thrown = runCatching {
                conversation.generateResponseBlocking(user()).use { reply -> reply.forEach { begun.countDown() } }
            }.exceptionOrNull()
        }
        begun.await()
        reader.interrupt()
        reader.join()
        assertTrue(thrown is InterruptedException, "$thrown")
        assertEquals("b", conversation.generateResponseBlocking(user()).use { it.toList() }.text())
    }

    @Test
    fun `a thread that waits for a stalled reply is freed by a cancel`() {
        val conversation = scripted(listOf(STALL)).createConversation("")
        conversation.generateResponseBlocking(user()).use { reply ->
            lateinit var events: List<MessageResponse>
            val reader = thread { events = reply.toList() }
            await("the reply has begun") { conversation.isGenerating }
            reply.cancel()
            reader.join()
            assertEquals(FinishReason.INTERRUPTED, events.complete().finishReason)
        }
    }
}
