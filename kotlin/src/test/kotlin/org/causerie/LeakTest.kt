package org.causerie

import java.io.File
import java.util.Random
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield
import org.causerie.ffi.uniffiContinuationHandleMap
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertSame
import org.junit.jupiter.api.Test

/** Replies that are abandoned or cancelled at random do not leak. */
class LeakTest {
    @Test
    fun `threads and calls return to the start`() {
        val before = engines()
        generateAtRandom(300, replies = 50)
        await("the engines have ended") { before.containsAll(engines()) }
        assertEquals(0, uniffiContinuationHandleMap.size)
    }

    @Test
    fun `closing all objects frees the model without the garbage collector`() {
        val before = engines()
        scripted(listOf("a")).use { runner ->
            runner.createConversation("").use { conversation ->
                assertSame(conversation.modelRunner, conversation.modelRunner)
                conversation.modelRunner.createConversation("").close()
            }
        }
        await("the engine has ended") { before.containsAll(engines()) }
    }

    @Test
    fun `flows that are never read keep no model loaded`() {
        val before = engines()
        scripted(listOf("a")).use { runner ->
            repeat(100) { runner.createConversation("").use { it.generateResponse("Hi") } }
        }
        await("the engines have ended") { before.containsAll(engines()) }
    }
}

/** The ids of the engines' threads; empty without /proc. */
internal fun engines(): Set<String> = File("/proc/self/task").listFiles().orEmpty().filter { task ->
    runCatching { File(task, "comm").readText().startsWith("causerie") }.getOrDefault(false)
}.map { it.name }.toSet()

/** Generates replies that never end, and abandons each: after some words, or by cancelling the coroutine. */
internal fun generateAtRandom(generations: Int, replies: Int) {
    val random = Random(11)
    repeat(generations / replies) {
        scripted(*Array(replies) { List(MAX_WORDS) { WORD } + STALL }).use { runner ->
            repeat(replies) { runner.createConversation("").use { leave(it, random) } }
        }
    }
}

private fun leave(conversation: Conversation, random: Random) = runBlocking {
    val reply = conversation.generateResponse("Hi")
    val words = 1 + random.nextInt(MAX_WORDS)
    if (random.nextBoolean()) {
        var read = ""
        reply.first { event ->
            read += (event as MessageResponse.Chunk).text
            words * WORD.length <= read.length
        }
    } else {
        val job = launch(Dispatchers.Default) { reply.collect() }
        repeat(words) { yield() }
        job.cancelAndJoin()
    }
}

private const val MAX_WORDS = 20
private const val WORD = "word "
