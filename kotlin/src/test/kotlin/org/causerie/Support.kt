package org.causerie

import java.io.File
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.fail

/** The root of the repository. */
internal val repository: File = File(System.getProperty("causerie.repository") ?: "..").canonicalFile

internal val demo: String = repository.resolve("models/demo.gguf").path

/** Returns a model that gives these replies; a step is a string, or JSON such as `{"stall": true}`. */
internal fun scripted(vararg replies: List<String>): ModelRunner {
    val steps = { reply: List<String> ->
        reply.joinToString { if (it.startsWith("{\"")) it else encodeJsonObject(mapOf("" to it)).drop(4).dropLast(1) }
    }
    return loadScriptedModel("""{"replies": [${replies.joinToString { "[${steps(it)}]" }}]}""")
}

internal fun call(text: String): List<String> =
    listOf("""{"control": "<|tool_call_start|>"}""", text, """{"control": "<|tool_call_end|>"}""")

internal const val STALL = """{"stall": true}"""

internal fun user(text: String = "Hi"): ChatMessage = ChatMessage(ChatMessage.Role.USER, text)

internal fun Flow<MessageResponse>.read(): List<MessageResponse> = runBlocking { toList() }

internal fun List<MessageResponse>.text(): String = filterIsInstance<MessageResponse.Chunk>().joinToString("") {
    it.text
}

internal fun List<MessageResponse>.complete(): MessageResponse.Complete =
    last() as? MessageResponse.Complete ?: fail("the last event is ${last()}")

/** Yields to other threads until a condition holds. A test that waits too long fails and names the condition. */
internal fun await(what: String, holds: () -> Boolean) {
    repeat(50_000_000) {
        if (holds()) return
        Thread.yield()
    }
    fail<Unit>("still not: $what")
}

/** Parses the JSON text of any value. */
internal fun json(text: String): Any? = decodeJsonObject("""{"value": $text}""")["value"]
