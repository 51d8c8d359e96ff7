package org.causerie

import java.math.BigDecimal
import java.math.BigInteger
import java.time.Duration
import java.time.LocalDate
import java.util.Optional
import java.util.OptionalDouble
import java.util.OptionalInt
import java.util.OptionalLong
import java.util.UUID
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.atomic.DoubleAdder
import java.util.concurrent.atomic.LongAdder
import kotlin.time.Duration.Companion.seconds
import kotlinx.serialization.Serializable
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Test

class JsonTest {
    private fun check(text: String, value: Any?) {
        assertEquals(value, decodeJsonObject("""{"a":$text}""")["a"])
        assertEquals("""{"a":$text}""", encodeJsonObject(mapOf("a" to value)))
    }

    @Test
    fun `numbers keep their value and their kind`() {
        check("1", 1L)
        check("-9223372036854775808", Long.MIN_VALUE)
        check("9223372036854775808", BigInteger("9223372036854775808"))
        check("123456789012345678901234567890", BigInteger("123456789012345678901234567890"))
        check("1.0", 1.0)
        check("-0.0", -0.0)
        check("0.1", 0.1)
        assertEquals(1e300, decodeJsonObject("""{"a":1e300}""")["a"])
        assertEquals("""{"a":1.0E300,"b":0.1}""", encodeJsonObject(mapOf("a" to 1e300, "b" to 0.1f)))
    }

    @Test
    fun `strings survive a round trip`() {
        check("\"\"", "")
        check("\"日本 🦀 \\\"\\\\ \u007f\"", "日本 🦀 \"\\ \u007f")
        check("\"\\u0000\\u001f\"", "\u0000\u001f")
        assertEquals("\b\u000c\n\r\t/é\uD83E\uDD80", json(""""\b\f\n\r\t\/\u00e9\ud83e\udd80""""))
    }

    @Test
    fun `objects and arrays nest and keep their order`() {
        check(
            """{"z":[],"a":{},"m":[1,[null,true,false],{"k":"v"}]}""",
            mapOf(
                "z" to listOf<Any>(),
                "a" to mapOf<String, Any>(),
                "m" to listOf(1L, listOf(null, true, false), mapOf("k" to "v"))
            )
        )
        assertEquals(listOf("z", "a"), decodeJsonObject(""" { "z" : 1 , "a" : [ 1 , 2 ] } """).keys.toList())
        assertEquals("""{"a":[1,2],"b":["x"]}""", encodeJsonObject(mapOf("a" to setOf(1, 2), "b" to arrayOf('x'))))
    }

    @Serializable
    private data class Box<T>(val item: T)

    private enum class Sky { CLEAR }

    @Test
    fun `values of the platform's libraries are JSON`() {
        val id = UUID.randomUUID()
        for ((value, text) in listOf(
            BigDecimal("1.50") to "1.50",
            BigDecimal("0.12345678901234567890123") to "0.12345678901234567890123",
            AtomicInteger(3) to "3",
            AtomicLong(4) to "4",
            LongAdder().apply { add(5) } to "5",
            DoubleAdder().apply { add(0.5) } to "0.5",
            5u to "5",
            ULong.MAX_VALUE to "18446744073709551615",
            Pair(1, "a") to """{"first":1,"second":"a"}""",
            Triple(1, Sky.CLEAR, null) to """{"first":1,"second":"CLEAR","third":null}""",
            id to "\"$id\"",
            Duration.ofSeconds(90) to "\"PT1M30S\"",
            90.seconds to "\"PT1M30S\"",
            LocalDate.of(2026, 2, 3) to "\"2026-02-03\"",
            Optional.of("x") to "\"x\"",
            Optional.empty<Any>() to "null",
            OptionalInt.of(1) to "1",
            OptionalLong.empty() to "null",
            OptionalDouble.of(0.5) to "0.5",
            intArrayOf(1, 2) to "[1,2]",
            doubleArrayOf(0.5) to "[0.5]",
            booleanArrayOf(true) to "[true]",
            arrayOf(Optional.of(1)) to "[1]"
        )) {
            assertEquals(text, encodeJson(value))
        }
    }

    @Test
    fun `options are spelled as in Kotlin`() {
        for ((text, expected) in listOf(
            "max_tokens must be 1 or more, found 0" to "maxTokens must be 1 or more, found 0",
            "top_p" to "topP",
            "temperature must be a snake_case" to "temperature must be a snake_case",
            "maxTokens must be 1" to "maxTokens must be 1",
            "the transport is missing" to "the transport is missing",
            "" to ""
        )) {
            assertEquals(expected, spelled(text))
        }
    }

    @Test
    fun `values that JSON cannot represent are refused with their path`() {
        fun reason(value: Any?) = assertThrows(SdkException.Serialization::class.java) {
            encodeJsonObject(mapOf("a" to listOf(0, value)))
        }.reason
        assertEquals("arguments.a[1] must be a finite number, found NaN", reason(Double.NaN))
        assertEquals("arguments.a[1] must be a JSON value, found java.lang.Object", reason(Object()))
        val notANumber = DoubleAdder().apply { add(Double.NaN) }
        assertEquals("arguments.a[1] must be a finite number, found NaN", reason(notANumber).substringBefore(" ("))
        val generic = "arguments.a[1] must be a JSON value, found org.causerie.JsonTest\$Box, which is generic"
        assertEquals(generic, reason(Box(1)).substringBefore(':'))
        val endless = ArrayList<Any?>().apply { add(this) }
        assert(reason(endless).endsWith("must not be nested deeper than 128 levels"))
    }

    @Test
    fun `arguments survive a round trip through the engine`() {
        val arguments = mapOf(
            "long" to Long.MAX_VALUE,
            "big" to BigInteger.TEN.pow(40),
            "float" to 1.0,
            "text" to "日本 🦀\u0000",
            "nothing" to null,
            "list" to listOf(true, mapOf("x" to -1L))
        )
        val call = SdkFunctionCall("f", arguments, "call_0", "", listOf(), listOf())
        val message = ChatMessage(ChatMessage.Role.ASSISTANT, listOf(), functionCalls = listOf(call))
        val runner = scripted()
        val history = runner.createConversationFromHistory(listOf(user(), message)).history
        assertEquals(arguments, history[1].functionCalls!![0].arguments)
        assertEquals(history, messagesFromJson(messagesToJson(history)))
    }
}
