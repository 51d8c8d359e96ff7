package org.causerie

import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.serializer
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test

@Serializable
@Description("The weather in a city.")
data class GetWeather(
    @Description("The city.") val city: String,
    @Description("How many days.") val days: UByte? = null,
    @Description("The unit to report.") val unit: TemperatureUnit? = null
)

@Serializable
enum class TemperatureUnit {
    @SerialName("celsius")
    CELSIUS,

    @SerialName("fahrenheit")
    FAHRENHEIT
}

@Serializable
@Description("Book a table in a restaurant.")
data class BookTable(
    @Description("Name of the restaurant.") val restaurant: String,
    @Description("The guests.") val guests: List<Guest>,
    @Description("From now.") val hours: Double,
    @Description("Where to sit.") val place: Seat? = null,
    @Description("Whether a child comes.") @SerialName("with_child") val hasChild: Boolean? = null
)

@Serializable
@Description("A guest.")
data class Guest(@Description("As it is called.") val name: String, @Description("In years.") val age: UByte? = null)

@Serializable
enum class Seat {
    @SerialName("inside")
    INSIDE,

    @SerialName("outside")
    OUTSIDE,

    @SerialName("at_the_bar")
    AT_THE_BAR
}

@Serializable
@Description("How to cook.")
data class Recipe(
    val title: String,
    @Description("How long it takes.") val minutes: UInt? = null,
    val steps: List<String>
)

@Serializable
data class Offer(val item: String, val price: Double?, val inStock: Boolean = true)

@Serializable
class LookOut

@Serializable
data class Positive(val n: Int) {
    init {
        require(0 < n) { "n must be positive" }
    }
}

/** The cases of `tests/fixtures/typed`, with Kotlin types. */
class TypedFunctionsTest {
    private val shared = decodeJsonObject(repository.resolve("tests/fixtures/typed/functions.json").readText())

    @Test
    fun `types give the same functions as in all languages`() {
        val functions = functionsToJson(listOf(sdkFunction<GetWeather>(), sdkFunction<BookTable>()))
        assertEquals(shared["functions"], json(functions))
        assertEquals(shared["reply_schema"], json(replySchema<Recipe>()))
    }

    @Test
    fun `calls and replies are decoded or are errors with a path`() {
        for (case in cases("calls")) {
            @Suppress("UNCHECKED_CAST")
            val call = SdkFunctionCall("book_table", case["arguments"] as Map<String, Any?>)
            check<BookTable>(case) { call.decode() }
        }
        for (case in cases("replies")) check<Recipe>(case) { decodeReply(case["text"] as String) }
    }

    @Test
    fun `numbers beyond the range of a double are refused`() {
        for (text in listOf("1e400", "-1e999", "1".repeat(400))) {
            assertThrows(SdkException.InvalidArgument::class.java) { decodeReply<Double>(text) }
        }
    }

    @Test
    fun `a handler takes and returns types`() {
        val conversation = scripted(
            call("""[book_table(restaurant="Da Ugo", guests=[{"name": "Ada"}], hours=1)]"""),
            call("""[book_table(restaurant="Da Ugo", guests=[{"name": "Ada", "age": 900}], hours=1)]"""),
            listOf("Done.")
        ).createConversation("")
        val handlers = functionHandlers { on { table: BookTable -> table.guests } }
        val results = conversation.respondWithFunctions("Hi", handlers).read()
            .filterIsInstance<MessageResponse.FunctionResult>()
        assertEquals(handlers.functions, conversation.functions)
        assertEquals("""[{"name": "Ada"}]""", results[0].text)
        assertEquals(true, results[1].isError && "guests[0].age" in results[1].text, results[1].text)
    }

    @Test
    fun `nullable properties may be omitted`() {
        assertEquals(Offer("tea", null), decodeReply<Offer>("""{"item": "tea"}"""))
        assertEquals(Offer("tea", null), decodeReply<Offer>("""{"item": "tea", "price": null}"""))
    }

    @Test
    fun `a result includes properties with default values`() {
        val expected = mapOf("item" to "tea", "price" to 2.5, "inStock" to true)
        assertEquals(expected, converted(serializer(), Offer("tea", 2.5)))
    }

    @Test
    fun `a result of a vague type is converted by its values`() {
        val seen = mapOf("sky" to "sunny", "people" to listOf(Guest("Ada"), 3))
        assertEquals(
            """{"sky": "sunny", "people": [{"name": "Ada"}, 3]}""",
            result(functionHandlers { on { _: LookOut -> seen } })
        )
        fun judge(price: Double): Any = if (price < 3) "cheap" else price
        assertEquals("cheap", result(functionHandlers { on { _: LookOut -> judge(2.0) } }))
        assertEquals("4.0", result(functionHandlers { on { _: LookOut -> judge(4.0) } }))
    }

    @Test
    fun `a handler by name returns what is serializable`() {
        fun textOf(value: Any?) = result(functionHandlers { on("look_out") { value } })
        assertEquals("""{"item": "tea", "price": 2.5, "inStock": true}""", textOf(Offer("tea", 2.5)))
        assertEquals("""{"seat": "at_the_bar"}""", textOf(mapOf("seat" to Seat.AT_THE_BAR)))
        assertEquals("""{"a": [null, 1, "x"]}""", textOf(Json.parseToJsonElement("""{"a": [null, 1, "x"]}""")))
        assertEquals("x", textOf(JsonPrimitive("x")))
        assertEquals("[1, 2]", textOf(intArrayOf(1, 2)))
        // A result that is not JSON is an error of the app, which the model does not read.
        assertThrows(SdkException.Serialization::class.java) { textOf(Object()) }
        assertThrows(SdkException.Serialization::class.java) { textOf(Offer("tea", Double.NaN)) }
    }

    private fun result(handlers: FunctionHandlers): String {
        val conversation = scripted(call("[look_out()]"), listOf("Done.")).createConversation("")
        conversation.registerFunction(SdkFunction("look_out", "", listOf()))
        return conversation.respondWithFunctions("Hi", handlers).read()
            .firstNotNullOf { it as? MessageResponse.FunctionResult }.text
    }

    @Test
    fun `errors of a class have a path if there is one`() {
        fun reason(decode: () -> Any) =
            assertThrows(SdkException.InvalidArgument::class.java) { decode() }.let { it.argument to it.message }
        assertEquals("" to "n must be positive", reason { SdkFunctionCall("f", mapOf("n" to 0)).decode<Positive>() })
        assertEquals("reply" to "reply: n must be positive", reason { decodeReply<Positive>("""{"n": 0}""") })
    }

    @Test
    fun `unsupported types are refused`() {
        assertThrows(SdkException.InvalidFunction::class.java) { sdkFunction<String>() }
    }

    @Suppress("UNCHECKED_CAST")
    private fun cases(name: String) = shared[name] as List<Map<String, Any?>>

    private inline fun <reified T> check(case: Map<String, Any?>, decode: () -> T) {
        try {
            val value = Json.encodeToString(serializer<T>(), decode())
            assertEquals(case["value"], json(value))
        } catch (err: SdkException.InvalidArgument) {
            assertEquals(case["argument"] to case["reason"], err.argument to err.message)
        }
    }
}
