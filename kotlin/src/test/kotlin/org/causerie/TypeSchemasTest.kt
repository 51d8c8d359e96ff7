package org.causerie

import kotlin.random.Random
import kotlin.random.nextUInt
import kotlin.random.nextULong
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.uuid.ExperimentalUuidApi
import kotlin.uuid.Uuid
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonClassDiscriminator
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

@Serializable
data class Numbers(
    val byte: Byte,
    val short: Short,
    val int: Int,
    val long: Long,
    val uByte: UByte,
    val uShort: UShort,
    val uInt: UInt,
    val uLong: ULong,
    val char: Char,
    val double: Double
)

@Serializable
sealed class Form {
    @Serializable
    @SerialName("circle")
    @Description("A circle.")
    data class Circle(val radius: UByte, val note: String? = null) : Form()

    @Serializable
    @SerialName("point")
    data object Point : Form()
}

@OptIn(kotlinx.serialization.ExperimentalSerializationApi::class)
@Serializable
@JsonClassDiscriminator("kind")
sealed interface Expression {
    @Serializable
    @SerialName("sum")
    data class Sum(val parts: List<Expression>) : Expression

    @Serializable
    @SerialName("constant")
    data class Constant(val value: Byte) : Expression
}

@Serializable
data class Branch(val size: Byte, val left: Branch? = null, val more: List<Branch> = listOf())

@Serializable
data class Boxed<T>(val item: T)

@JvmInline
@Serializable
value class Degrees(val value: Short)

@OptIn(ExperimentalUuidApi::class)
@Serializable
data class Everything(
    val forms: List<Form>,
    val expression: Expression,
    val branch: Branch,
    val numbers: Map<String, UShort>,
    val seats: Map<Seat, Byte>,
    val counts: Map<Int, Boolean?>,
    val set: Set<Byte>,
    val nullable: List<Byte?>,
    val degrees: Degrees,
    val uuid: Uuid,
    val duration: Duration,
    val first: Boxed<Byte>,
    val second: Boxed<List<Boolean>>
)

/** Schemas are as tight as types: values fit them, and what they allow is decoded. */
@OptIn(ExperimentalUuidApi::class)
class TypeSchemasTest {
    private fun schema(text: String) = decodeJsonObject(text)

    private fun range(least: String, most: String) = """{"type": "integer", "minimum": $least, "maximum": $most}"""

    @Test
    fun `integers have the ranges of their types`() {
        fun check(schema: String, expected: String) = assertEquals(schema(expected), schema(schema))
        check(replySchema<Byte>(), range("-128", "127"))
        check(replySchema<Short>(), range("-32768", "32767"))
        check(replySchema<Int>(), range("-2147483648", "2147483647"))
        check(replySchema<Long>(), range("-9223372036854775808", "9223372036854775807"))
        check(replySchema<UByte>(), range("0", "255"))
        check(replySchema<ULong>(), range("0", "18446744073709551615"))
        check(replySchema<Map<String, UByte>>(), """{"type": "object", "additionalProperties": ${range("0", "255")}}""")
        check(replySchema<Degrees>(), range("-32768", "32767"))
        check(
            replySchema<List<Byte?>>(),
            """{"type": "array", "items": {"anyOf": [${range("-128", "127")}, {"type": "null"}]}}"""
        )
    }

    @Test
    fun `sealed classes are choices with a discriminator`() {
        val circle = """{"type": "object", "description": "A circle.", "properties": {
            "type": {"type": "string", "const": "circle"},
            "radius": ${range("0", "255")}, "note": {"type": "string"}}, "required": ["type", "radius"]}"""
        val point = """{"type": "object", "properties": {
            "type": {"type": "string", "const": "point"}}, "required": ["type"]}"""
        assertEquals(schema("""{"anyOf": [$circle, $point]}"""), schema(replySchema<Form>()))
    }

    @Test
    fun `classes may contain themselves`() {
        val reference = """{"${'$'}ref": "#/${'$'}defs/Branch"}"""
        val branch = """{"type": "object", "properties": {"size": ${range("-128", "127")}, "left": $reference,
            "more": {"type": "array", "items": $reference}}, "required": ["size"]}"""
        val expected = """{"${'$'}ref": "#/${'$'}defs/Branch", "${'$'}defs": {"Branch": $branch}}"""
        assertEquals(schema(expected), schema(replySchema<Branch>()))
        val names = sdkFunction<Branch>().parameters.map { it.name }
        assertEquals(listOf("size", "left", "more"), names)
        val err = assertThrows(SdkException.InvalidArgument::class.java) {
            decodeReply<Branch>("""{"size": 1, "more": [{"size": 2, "more": [{"size": 128}]}]}""")
        }
        assertEquals("reply.more[0].more[0].size must be an integer from -128 to 127, found 128", err.message)
    }

    @Test
    fun `random values fit their schemas`() {
        val random = Random(1)
        repeat(200) {
            val numbers = Numbers(
                random.nextInt().toByte(), random.nextInt().toShort(), random.nextInt(), random.nextLong(),
                random.nextUInt().toUByte(), random.nextUInt().toUShort(), random.nextUInt(), random.nextULong(),
                random.nextInt(0x20, 0xD800).toChar(), random.nextDouble()
            )
            assertEquals(numbers, decodeReply<Numbers>(Json.encodeToString(numbers)))
            val everything = everything(random)
            assertEquals(everything, decodeReply<Everything>(Json.encodeToString(everything)))
        }
    }

    private fun everything(random: Random) = Everything(
        forms = List(random.nextInt(3)) {
            if (random.nextBoolean()) Form.Point else Form.Circle(random.nextUInt().toUByte())
        },
        expression = expression(random, 3),
        branch = branch(random, 3),
        numbers = mapOf("a" to random.nextUInt().toUShort(), "é \"" to 0u),
        seats = mapOf(Seat.INSIDE to random.nextInt().toByte()),
        counts = mapOf(random.nextInt(-99_999_999, 99_999_999) to null, 0 to true),
        set = setOf(random.nextInt().toByte()),
        nullable = listOf(null, random.nextInt().toByte()),
        degrees = Degrees(random.nextInt().toShort()),
        uuid = Uuid.random(),
        duration = random.nextInt(1_000_000).seconds,
        first = Boxed(random.nextInt().toByte()),
        second = Boxed(listOf(random.nextBoolean()))
    )

    private fun expression(random: Random, depth: Int): Expression = if (depth == 0 || random.nextBoolean()) {
        Expression.Constant(random.nextInt().toByte())
    } else {
        Expression.Sum(List(random.nextInt(3)) { expression(random, depth - 1) })
    }

    private fun branch(random: Random, depth: Int): Branch = Branch(
        random.nextInt().toByte(),
        if (depth == 0 || random.nextBoolean()) null else branch(random, depth - 1),
        if (depth == 0) listOf() else List(random.nextInt(2)) { branch(random, depth - 1) }
    )

    @Test
    fun `what a schema lets a model write is decoded`() {
        loadModelBlocking(demo).use { model ->
            val nComplete = listOf(
                sampled<Numbers>(model),
                sampled<Expression>(model),
                sampled<Branch>(model),
                sampled<Form>(model),
                sampled<Duration>(model),
                sampled<Uuid>(model),
                sampled<Map<Int, UByte>>(model)
            )
            assertTrue(nComplete.sum() > 2, nComplete.toString())
        }
    }

    /** Decodes replies of a model that guesses, and returns the number of complete ones. */
    private inline fun <reified T> sampled(model: ModelRunner): Int = (0L until 2L).count { seed ->
        val options = generationOptions {
            jsonSchemaConstraint = replySchema<T>()
            temperature = 2f
            rngSeed = seed
            maxTokens = 100
        }
        val events = model.createConversation("").generateResponse("Hello!", options).read()
        val isComplete = events.complete().finishReason == FinishReason.STOP
        if (isComplete) decodeReply<T>(events.text())
        isComplete
    }
}
