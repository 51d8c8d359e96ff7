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
        val interrupted = CountDownLatch(1)
        val handlers = functionHandlers {
            timeLimit = 0.05
            onBlocking("f") {
                try {
                    CountDownLatch(1).await()
                } catch (_: InterruptedException) {
                    interrupted.countDown()
                }
            }
        }
        assertTrue(results(handlers, "f()").single().isError)
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
