package org.causerie

import java.io.File
import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.runBlocking
import org.causerie.ffi.uniffiContinuationHandleMap

/**
 * Measurements: the overhead of an event, and the resources left after 10,000 replies that are cancelled at random.
 * `MAVEN_OPTS=-Xmx100m mvn -q -f kotlin test-compile exec:java -Dexec.mainClass=org.causerie.MeasureKt`
 */
fun main() {
    val tokens = 5_000
    scripted(*Array(6) { List(tokens) { "x" } }).use { runner ->
        // The first rounds warm up the JVM.
        repeat(3) { events("next()") { read -> runBlocking { runner.pull { while (next() != null) read() } } } }
        events("a flow") { read ->
            runBlocking { runner.createConversation("").generateResponse("Hi").collect { read() } }
        }
        events("nextBlocking()") { read -> runner.pull { while (nextBlocking() != null) read() } }
        events("a blocking reply") { read ->
            runner.createConversation("").generateResponseBlocking(user()).use { reply -> reply.forEach { read() } }
        }
    }
    if (!File("/proc/self/status").exists()) return
    generateAtRandom(500, replies = 50)
    println("before: ${resources()}")
    repeat(4) {
        generateAtRandom(2_500, replies = 50)
        println("after ${2_500 * (it + 1)} replies: ${resources()}")
    }
}

private inline fun ModelRunner.pull(read: ResponseStream.() -> Unit) =
    createConversation("").startResponse(user(), GenerationOptions()).use { it.read() }

/** Measures the times between events. */
private fun events(what: String, readAll: (() -> Unit) -> Unit) {
    val times = ArrayList<Long>()
    var before = System.nanoTime()
    readAll {
        val now = System.nanoTime()
        times += now - before
        before = now
    }
    times.sort()
    val (median, late) = listOf(50, 95).map { times[times.size * it / 100] / 1000.0 }
    println("an event by $what: median $median µs, 95 % within $late µs, of ${times.size}")
}

private fun resources(): String {
    System.gc()
    await("the engines have ended") { engines().isEmpty() }
    val status = File("/proc/self/status").readLines().filter { it.startsWith("Threads") || it.startsWith("VmRSS") }
    val files = File("/proc/self/fd").list().orEmpty().size
    return status.joinToString { it.replace(Regex("\\s+"), " ") } +
        ", open files: $files, pending calls: ${uniffiContinuationHandleMap.size}"
}
