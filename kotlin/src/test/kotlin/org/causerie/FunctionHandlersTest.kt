package org.causerie

import java.util.concurrent.CountDownLatch
import java.util.concurrent.CyclicBarrier
import kotlin.concurrent.thread
import kotlin.coroutines.suspendCoroutine
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Functions that block a thread. */
class FunctionHandlersTest {
    private fun offering(runner: ModelRunner): Conversation =
        runner.createConversation().apply { registerFunction(SdkFunction("f", "", listOf())) }

    private fun results(handlers: FunctionHandlers, vararg calls: String): List<MessageResponse.FunctionResult> {
        val list = calls.joinToString(prefix = "[", postfix = "]")
        val conversation = offering(scripted(call(list), listOf("Done.")))
        return conversation.respondWithFunctionsBlocking(user(), handlers).use { reply ->
            reply.filterIsInstance<MessageResponse.FunctionResult>()
        }
    }

    @Test
    fun `without a limit functions run on the reading thread`() {
        val seen = mutableListOf<Thread>()
        val handlers = functionHandlers {
            onBlocking("f") {
                seen += Thread.currentThread()
                "ok"
            }
        }
        assertEquals(listOf("ok"), results(handlers, "f()").map { it.text })
        assertEquals(listOf(Thread.currentThread()), seen)
    }

    @Test
    fun `interrupting a function on the reading thread ends the reading`() {
        val entered = CountDownLatch(1)
        val handlers = functionHandlers {
            onBlocking("f") {
                entered.countDown()
                CountDownLatch(1).await()
            }
        }
        val reader = Thread.currentThread()
        val other = thread {
            entered.await()
            reader.interrupt()
        }
        assertThrows(InterruptedException::class.java) { results(handlers, "f()") }
        other.join()
    }

    @Test
    fun `after the limit a function is interrupted and not awaited`() {
        val entered = CountDownLatch(1)
        val interrupted = CountDownLatch(1)
        // On a slow machine, a short limit may be over before the function begins.
        val limits = generateSequence(0.05) { 2 * it }.takeWhile { it < 60 }
        val hasEntered = limits.any { limit ->
            val handlers = functionHandlers {
                timeLimit = limit
                onBlocking("f") {
                    entered.countDown()
                    try {
                        CountDownLatch(1).await()
                    } catch (_: InterruptedException) {
                        interrupted.countDown()
                    }
                }
            }
            assertTrue(results(handlers, "f()").single().isError)
            entered.count == 0L
        }
        assertTrue(hasEntered)
        interrupted.await()
    }

    @Test
    fun `after the limit a function that never resumes is not awaited`() {
        val handlers = functionHandlers {
            timeLimit = 0.05
            on("f") { suspendCoroutine<Unit> {} }
        }
        assertTrue(results(handlers, "f()").single().isError)
    }

    @Test
    fun `a cancel does not wait for a function that never resumes`() = runBlocking {
        val entered = CompletableDeferred<Unit>()
        val handlers = functionHandlers {
            on("f") {
                entered.complete(Unit)
                suspendCoroutine<Unit> {}
            }
        }
        val conversation = offering(scripted(call("[f()]"), listOf("Two.")))
        val reading = launch { conversation.respondWithFunctions(user(), handlers).collect {} }
        entered.await()
        reading.cancelAndJoin()
        assertEquals("Two.", conversation.generateResponse("2").toList().complete().fullMessage.text)
    }

    @Test
    fun `in parallel functions run at the same time`() {
        val both = CyclicBarrier(2)
        val handlers = functionHandlers {
            inParallel = true
            onBlocking("f") {
                both.await()
                "ok"
            }
        }
        assertEquals(listOf("ok", "ok"), results(handlers, "f()", "f()").map { it.text })
    }

    @Test
    fun `a cancel does not wait for functions on other threads`() {
        val entered = CountDownLatch(1)
        val left = CountDownLatch(1)
        val handlers = functionHandlers {
            inParallel = true
            onBlocking("f") {
                entered.countDown()
                var isOver = false
                while (!isOver) {
                    try {
                        left.await()
                        isOver = true
                    } catch (_: InterruptedException) {
                        // This function ignores interruption.
                    }
                }
            }
        }
        val conversation = offering(scripted(call("[f()]"), listOf("Done.")))
        conversation.respondWithFunctionsBlocking(user(), handlers).use { reply ->
            val other = thread {
                entered.await()
                reply.cancel()
            }
            assertEquals(FinishReason.INTERRUPTED, reply.toList().complete().finishReason)
            left.countDown()
            other.join()
        }
    }

    private class NoCity(cause: Throwable) : Exception("no such city", cause)

    @Test
    fun `an exception is on the result with its cause, and in the log`() {
        val logged = mutableListOf<Triple<LogLevel, String, Throwable?>>()
        for (parallel in listOf(false, true)) {
            val handlers = functionHandlers {
                inParallel = parallel
                on("f") { call ->
                    if (call.callId == "call_0") "ok" else throw NoCity(NoSuchElementException("Oslo"))
                }
            }
            val conversation = offering(scripted(call("[f(), f()]"), listOf("Done.")))
            setLogHandler { level, message, error -> if (error != null) logged += Triple(level, message, error) }
            val events = conversation.respondWithFunctions("Hi", handlers).read()
            val blocking = results(handlers, "f()", "f()")
            setLogHandler(null)
            for (found in listOf(events.filterIsInstance<MessageResponse.FunctionResult>(), blocking)) {
                assertEquals(null, found[0].error)
                assertTrue(found[1].error is NoCity && found[1].error?.cause is NoSuchElementException)
                assertEquals("""{"error": "no such city"}""", found[1].text)
            }
        }
        assertEquals(4, logged.size)
        assertTrue(logged.all { it.first == LogLevel.ERROR && it.second == "function f failed" && it.third is NoCity })
    }

    @Test
    fun `a log handler that throws does no harm`() {
        setLogHandler { _, _, _ -> throw IllegalStateException("the log is broken") }
        try {
            val handlers = functionHandlers { on("f") { error("no") } }
            assertEquals(listOf("""{"error": "no"}"""), results(handlers, "f()").map { it.text })
            flushLog()
        } finally {
            setLogHandler(null)
        }
    }

    @Test
    fun `the engine logs that a model was loaded`() {
        val logged = mutableListOf<String>()
        setLogHandler { _, message, _ -> synchronized(logged) { logged += message } }
        loadModelBlocking(demo).close()
        flushLog()
        setLogHandler(null)
        assertTrue(synchronized(logged) { logged.any { it.startsWith("loaded ") } }, "$logged")
    }

    private class Opaque

    @Test
    fun `a result that JSON cannot represent ends the reply with an error`() {
        for (value in listOf(Opaque(), mapOf("price" to Opaque()), listOf(Double.NaN))) {
            for (parallel in listOf(false, true)) {
                val handlers = functionHandlers {
                    inParallel = parallel
                    on("f") { value }
                }
                val conversation = offering(scripted(call("[f(), f()]"), listOf("Done.")))
                val err = assertThrows(SdkException.Serialization::class.java) {
                    conversation.respondWithFunctions("Hi", handlers).read()
                }
                assertTrue(err.message.startsWith("the result of f"), err.message)
                val said = conversation.history.takeLast(2).map { it.text }
                assertEquals(List(2) { """{"error": "cancelled"}""" }, said)
                assertEquals("Done.", conversation.generateResponse("2").read().complete().fullMessage.text)
                assertThrows(SdkException.Serialization::class.java) { results(handlers, "f()") }
            }
        }
    }

    @Test
    fun `a result may be a picture`() {
        val picture = ChatMessageContent.Image(byteArrayOf(1))
        val both = listOf(ChatMessageContent.Text("The view:"), picture)
        for ((value, content) in listOf(picture to listOf(picture), both to both)) {
            val typed = functionHandlers { on { _: LookOut -> value } }
            for (handlers in listOf(functionHandlers { onBlocking("look_out") { value } }, typed)) {
                val conversation = scripted(call("[look_out()]"), listOf("Done.")).createConversation()
                conversation.registerFunction(SdkFunction("look_out", "", listOf()))
                // The scripted model takes text only, so the next reply fails.
                assertThrows(SdkException.UnsupportedContent::class.java) {
                    conversation.respondWithFunctions("Hi", handlers).read()
                }
                assertEquals(content, conversation.history.last().content)
            }
        }
    }

    @Test
    fun `a message is not a result`() {
        val message = ChatMessage(ChatMessageRole.TOOL, "ok")
        val handlers = functionHandlers { on("f") { message } }
        val err = assertThrows(SdkException.Serialization::class.java) { results(handlers, "f()") }
        assertEquals("the result of f must not be a message: return the content of the message", err.reason)
        val typed = functionHandlers { on { _: LookOut -> message } }
        val conversation = scripted(call("[look_out()]"), listOf("Done.")).createConversation()
        assertThrows(SdkException.Serialization::class.java) { conversation.respondWithFunctions("Hi", typed).read() }
    }

    @Test
    fun `a time limit that is not a number is refused`() {
        val handlers = functionHandlers {
            timeLimit = Double.NaN
            on("f") { "never" }
        }
        val err = assertThrows(SdkException.InvalidOption::class.java) { results(handlers, "f()") }
        assertEquals("timeLimit", err.option)
    }

    @Test
    fun `a handler of a function that is not registered is refused`() {
        val handlers = functionHandlers { on("g") { "never" } }
        val conversation = offering(scripted(listOf("a")))
        val err = assertThrows(SdkException.InvalidOption::class.java) {
            conversation.respondWithFunctions("Hi", handlers).read()
        }
        assertTrue(err.option == "handlers" && "\"g\"" in err.message, err.message)
    }
}
