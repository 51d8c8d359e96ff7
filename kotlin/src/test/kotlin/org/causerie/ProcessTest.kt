package org.causerie

import java.io.File
import java.util.concurrent.CountDownLatch
import kotlin.concurrent.thread
import kotlin.system.exitProcess
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.GlobalScope
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.EnumSource

/** A process ends normally at any time: the engine's threads do not call into a JVM that is shutting down. */
class ProcessTest {
    @ParameterizedTest
    @EnumSource(Ending::class)
    internal fun `a process ends during`(ending: Ending) {
        val java = File(System.getProperty("java.home"), "bin/java").path
        val classpath = System.getProperty("surefire.test.class.path") ?: System.getProperty("java.class.path")
        // Failures would depend on the order of threads.
        repeat(3) {
            val command = listOf(java, "-cp", classpath, "org.causerie.ProcessTestKt", ending.name)
            val process = ProcessBuilder(command).redirectErrorStream(true).start()
            val output = process.inputStream.bufferedReader().readText()
            assertEquals(0, process.waitFor(), output)
            assertEquals(emptyList<String>(), output.lines().filter { "Exception" in it })
        }
    }
}

/** The state in which the process ends. */
internal enum class Ending {
    /** A stream that is not read any further. */
    STREAM,

    /** A coroutine that waits for an event that never comes. */
    WAITING,

    /** A coroutine that receives events continuously. */
    READING,

    /** A thread that waits for an event, while another ends the process. */
    EXIT,

    /** A model that is being loaded. */
    LOADING,

    /** The reply was abandoned, and everything is closed. */
    CLOSED
}

@OptIn(DelicateCoroutinesApi::class)
internal fun main(arguments: Array<String>) {
    val ending = Ending.valueOf(arguments.single())
    val begun = CountDownLatch(1)
    val runner = scripted(if (ending == Ending.READING) List(100_000) { "a" } else listOf("a", STALL))
    val conversation = runner.createConversation("")
    val stream = conversation.startResponse(user(), GenerationOptions())
    when (ending) {
        Ending.STREAM -> stream.nextBlocking()
        Ending.WAITING, Ending.READING -> {
            GlobalScope.launch { conversation.generateResponse("Hi").collect { begun.countDown() } }
            begun.await()
        }
        Ending.EXIT -> {
            thread {
                while (stream.nextBlocking() != null) begun.countDown()
            }
            begun.await()
            exitProcess(0)
        }
        Ending.LOADING -> {
            GlobalScope.launch { ModelRunner.load(demo) { begun.countDown() } }
            begun.await()
        }
        Ending.CLOSED -> {
            stream.nextBlocking()
            stream.cancel()
            stream.close()
            conversation.close()
            runner.close()
        }
    }
}
