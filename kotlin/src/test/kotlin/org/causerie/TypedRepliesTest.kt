package org.causerie

import java.time.LocalDate
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.KSerializer
import kotlinx.serialization.Serializable
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.json.Json
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Replies whose text is a value of a class. */
class TypedRepliesTest {
    @Serializable
    data class Recipe(val title: String, val steps: List<String>)

    @Serializable
    data class Draft(val title: String? = null, val steps: List<String>? = null)

    private val pieces = listOf("{", "\"title\": \"So", "up\", \"steps\": [\"Bo", "il.\", \"Eat.\"]}")
    private val soup = Recipe("Soup", listOf("Boil.", "Eat."))

    @Test
    fun `replies are values`() = runBlocking {
        val conversation = scripted(pieces, pieces, pieces).createConversation()
        assertEquals(soup, conversation.respond<Recipe>("Soup?"))
        assertEquals(soup, conversation.respond<Recipe>(user()))
        conversation.removeLastMessage()
        assertEquals(soup, conversation.respond<Recipe>())
        assertEquals(4, conversation.history.size)
    }

    @Test
    fun `values grow while they are written`() = runBlocking {
        val conversation = scripted(pieces).createConversation()
        val snapshots = conversation.generateResponse<Recipe>("Soup?").toList()
        // Pieces may arrive joined, so only their order is certain.
        val possible = listOf(Draft(), Draft("So"), Draft("Soup", listOf("Bo")), Draft("Soup", listOf("Boil.", "Eat.")))
        val places = snapshots.map { possible.indexOf(it.partial<Draft>()) }
        assertEquals(places.sorted(), places)
        assertTrue(0 <= places.first() && places.last() == 3, "$places")
        assertEquals(soup, snapshots.last().value)
        assertEquals(FinishReason.STOP, snapshots.last().complete?.finishReason)
        assertEquals(1, snapshots.count { it.isComplete })
        assertEquals("Soup", snapshots.last().members["title"])
    }

    @Test
    fun `a reply that was cut short says so`() {
        val conversation = scripted(pieces, pieces).createConversation()
        val options = generationOptions { maxTokens = 2 }
        for (read in listOf<suspend () -> Any?>(
            { conversation.respond<Recipe>("Soup?", options) },
            { conversation.generateResponse<Recipe>("Soup?", options).toList() }
        )) {
            val err = assertThrows(SdkException.InvalidArgument::class.java) { runBlocking { read() } }
            assertTrue("cut short" in err.message, err.message)
        }
    }

    @Test
    fun `an interrupted value is not complete`() {
        val conversation = scripted(listOf("12", STALL), listOf("12", STALL)).createConversation()
        val options = generationOptions { timeoutMilliseconds = 300 }
        val last = runBlocking { conversation.generateResponse<Int>("How many?", options).last() }
        assertEquals(FinishReason.INTERRUPTED, last.complete?.finishReason)
        assertFalse(last.isComplete)
        val err = assertThrows(SdkException.InvalidArgument::class.java) {
            runBlocking { conversation.respond<Int>("How many?", options) }
        }
        assertEquals("the reply was interrupted", err.reason)
    }

    @Test
    fun `a serializer may be given`() = runBlocking {
        val conversation = scripted(listOf("{", "\"day\": \"2026-02-03\"}")).createConversation()
        assertEquals(Visit(LocalDate.of(2026, 2, 3)), conversation.respond("When?", serializer = Visit.serializer()))
    }

    @Test
    fun `a reply that calls functions of the app says so`() {
        val weather = SdkFunction("f", "", listOf())
        val runner = scripted(call("[f()]"), call("[f()]"))
        for (read in listOf<suspend (Conversation) -> Any?>(
            { it.respond<Recipe>("Soup?") },
            { it.generateResponse<Recipe>("Soup?").toList() }
        )) {
            val conversation = runner.createConversation(functions = listOf(weather))
            val err = assertThrows(SdkException.InvalidArgument::class.java) { runBlocking { read(conversation) } }
            assertEquals("the reply called functions that the app must run", err.reason)
        }
    }

    @Serializable
    data class Visit(@Serializable(DateSerializer::class) val day: LocalDate)

    /** It throws a `DateTimeException` for text that is not a date. */
    object DateSerializer : KSerializer<LocalDate> {
        override val descriptor = PrimitiveSerialDescriptor("org.causerie.Date", PrimitiveKind.STRING)

        override fun serialize(encoder: Encoder, value: LocalDate) = encoder.encodeString(value.toString())

        override fun deserialize(decoder: Decoder): LocalDate = LocalDate.parse(decoder.decodeString())
    }

    @Test
    fun `serializers of the app may throw anything`() = runBlocking {
        val begun = listOf("{", "\"day\": \"2026-0")
        val conversation = scripted(begun + "2-31\"}", begun + STALL).createConversation()
        val err = runCatching { conversation.respond<Visit>("When?") }.exceptionOrNull()
        assertTrue(err is SdkException.InvalidArgument && "2026-02-31" in err.reason, "$err")
        assertNull(conversation.generateResponse<Visit>("When?").first { it.json.length > 2 }.value)
    }

    @Test
    fun `text is closed at any point`() {
        val expected = listOf(
            "" to null, "  " to null, "{" to "{}", "{\"a" to "{}", "{\"a\": " to "{}", "{\"a\": \"" to "{\"a\": \"\"}",
            "{\"a\": \"x" to "{\"a\": \"x\"}", "{\"a\": \"x\\" to "{\"a\": \"x\"}", "{\"a\": 1" to "{}",
            "{\"a\": 1," to "{\"a\": 1}", "{\"a\": tru" to "{}", "{\"a\": [[1, 2" to "{\"a\": [[1]]}",
            "[{\"b\": \"]\"}, " to "[{\"b\": \"]\"}]", "\"\\ud83d" to "\"\"", "\"\\ud83d\\ude0" to "\"\"",
            "\"\\ud83d\\ude00" to "\"\\ud83d\\ude00\"", "\"\\u00e" to "\"\"", "\"\\u00e9" to "\"\\u00e9\"",
            "\"\ud83d" to "\"\"", "{\"\\\"\": \"v" to "{\"\\\"\": \"v\"}", "12" to null, "[]" to "[]"
        )
        for ((text, closed) in expected) assertEquals(closed, PartialJson().apply { push(text) }.closed, text)
    }

    /** Another parser reads what is closed after each character. */
    @Test
    fun `text is valid after each character`() {
        val text = """ {"a": [1, -2.5e3, {"b\\\"": null}], "é": "\ud83d\ude00 \" \\ 😀", "c": {}, "d": [true]} """
        val partial = PartialJson()
        val values = text.mapNotNull { character ->
            partial.push(character.toString())
            partial.closed?.let(Json::parseToJsonElement)
        }
        assertEquals(text.length - 1, values.size)
        assertEquals(Json.parseToJsonElement(text), values.last())
    }
}
