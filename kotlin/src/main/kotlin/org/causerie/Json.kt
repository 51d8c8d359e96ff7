package org.causerie

import java.lang.reflect.Array as ReflectedArray
import java.math.BigDecimal
import java.math.BigInteger
import java.util.Optional
import java.util.OptionalDouble
import java.util.OptionalInt
import java.util.OptionalLong
import java.util.UUID

/*
 * JSON objects as maps. They are passed to and from the engine as JSON text, which is written and parsed here. Integers
 * are Long, or BigInteger if they are larger; numbers with a decimal point or an exponent are Double.
 */

/** The nesting limit for writing. The limit of the engine is lower. */
private const val MAX_DEPTH = 128

/** Parses the text of an object from the engine. */
internal fun decodeJsonObject(text: String): Map<String, Any?> = JsonReader(text).readObject()

/**
 * Writes an object of null, Boolean, numbers, strings, enums, values of serializable classes and Java's records, and maps,
 * lists and arrays of these.
 *
 * @throws SdkException.Serialization with the path of any other value
 */
internal fun encodeJsonObject(entries: Map<String, Any?>): String =
    StringBuilder().also { writeValue(it, entries, "arguments", 0) }.toString()

/** Writes any value that JSON can represent; see [encodeJsonObject]. */
internal fun encodeJson(value: Any?, path: String = "the result"): String =
    StringBuilder().also { writeValue(it, value, path, 0) }.toString()

private fun writeValue(text: StringBuilder, value: Any?, path: String, depth: Int) {
    if (MAX_DEPTH < depth) throw SdkException.Serialization("$path must not be nested deeper than $MAX_DEPTH levels")
    when (value) {
        null, is Boolean, is Byte, is Short, is Int, is Long, is BigInteger -> text.append(value)
        is Float -> writeFloat(text, value.toString().toDouble(), path)
        is Double -> writeFloat(text, value, path)
        is Number -> text.append(decimal(value, path))
        is UByte, is UShort, is UInt, is ULong -> text.append(value)
        is CharSequence -> writeString(text, value)
        is Char -> writeString(text, value.toString())
        is Map<*, *> -> {
            text.append('{')
            value.entries.forEachIndexed { index, (name, item) ->
                if (0 < index) text.append(',')
                writeString(text, name.toString())
                text.append(':')
                writeValue(text, item, "$path.$name", depth + 1)
            }
            text.append('}')
        }
        is Iterable<*> -> {
            text.append('[')
            value.forEachIndexed { index, item ->
                if (0 < index) text.append(',')
                writeValue(text, item, "$path[$index]", depth + 1)
            }
            text.append(']')
        }
        is Array<*> -> writeValue(text, value.asList(), path, depth)
        else -> {
            val serialized = serialized(value, path)
            if (serialized != null) text.append(serialized) else writeValue(text, plain(value, path), path, depth)
        }
    }
}

/** The digits of any other number, such as a `BigDecimal` or an `AtomicInteger`. */
private fun decimal(number: Number, path: String): BigDecimal = number.toString().toBigDecimalOrNull()
    ?: throw SdkException.Serialization("$path must be a finite number, found $number (${number.javaClass.name})")

/** A value of the platform's libraries, or of an app's enum or record, as one that [writeValue] takes. */
private fun plain(value: Any, path: String): Any? = when {
    value.javaClass.isArray -> List(ReflectedArray.getLength(value)) { ReflectedArray.get(value, it) }
    // As kotlinx.serialization does.
    value is Pair<*, *> -> mapOf("first" to value.first, "second" to value.second)
    value is Triple<*, *, *> -> mapOf("first" to value.first, "second" to value.second, "third" to value.third)
    value is Enum<*> -> value.name
    value is UUID -> value.toString()
    value is kotlin.time.Duration -> value.toIsoString()
    // By name, because old versions of Android lack these classes.
    value.javaClass.name.startsWith("java.time.") -> value.toString()
    value is Optional<*> -> value.orElse(null)
    value is OptionalInt -> if (value.isPresent) value.asInt else null
    value is OptionalLong -> if (value.isPresent) value.asLong else null
    value is OptionalDouble -> if (value.isPresent) value.asDouble else null
    else -> reading(path) { RecordClass.of(value.javaClass)?.values(value) }
        ?: throw SdkException.Serialization("$path must be a JSON value, found ${value.javaClass.name}")
}

private fun serialized(value: Any, path: String): String? = try {
    reading(path) { encodeSerializable(value, path) }
} catch (_: NoClassDefFoundError) {
    // The app has no dependency on kotlinx-serialization-json.
    null
}

/** Runs code of the app, a serializer or a record, which may throw anything. */
private fun <T> reading(path: String, read: () -> T): T = try {
    read()
} catch (err: SdkException) {
    throw err
} catch (err: Exception) {
    throw SdkException.Serialization("$path must be a JSON value: $err").apply { initCause(err) }
}

private fun writeFloat(text: StringBuilder, number: Double, path: String) {
    if (!number.isFinite()) throw SdkException.Serialization("$path must be a finite number, found $number")
    text.append(number)
}

private fun writeString(text: StringBuilder, value: CharSequence) {
    text.append('"')
    for (character in value) {
        when {
            character == '"' || character == '\\' -> text.append('\\').append(character)
            character < ' ' -> text.append("\\u").append(character.code.toString(16).padStart(4, '0'))
            else -> text.append(character)
        }
    }
    text.append('"')
}

/** Parses JSON that is known to be valid. */
private class JsonReader(private val text: String) {
    private var at = 0

    fun readObject(): Map<String, Any?> {
        val entries = LinkedHashMap<String, Any?>()
        readItems('}') {
            val name = readString()
            next() // the colon
            entries[name] = readValue()
        }
        return entries
    }

    private fun readList(): List<Any?> {
        val items = ArrayList<Any?>()
        readItems(']') { items.add(readValue()) }
        return items
    }

    /** Parses elements between brackets, separated by commas. */
    private inline fun readItems(end: Char, readItem: () -> Unit) {
        next()
        while (peek() != end) {
            readItem()
            if (peek() == ',') next()
        }
        next()
    }

    private fun readValue(): Any? = when (peek()) {
        '{' -> readObject()
        '[' -> readList()
        '"' -> readString()
        else -> readWord()
    }

    private fun readWord(): Any? {
        val start = at
        while (at < text.length && text[at] !in ",]} \t\r\n") at++
        return when (val word = text.substring(start, at)) {
            "null" -> null
            "true" -> true
            "false" -> false
            else -> if (word.any { it in ".eE" }) word.toDouble() else word.toLongOrNull() ?: BigInteger(word)
        }
    }

    private fun readString(): String {
        next() // the quotation mark
        val read = StringBuilder()
        while (true) {
            when (val character = text[at++]) {
                '"' -> return read.toString()
                '\\' -> read.append(readEscape())
                else -> read.append(character)
            }
        }
    }

    private fun readEscape(): Char = when (val character = text[at++]) {
        'b' -> '\b'
        'f' -> '\u000c'
        'n' -> '\n'
        'r' -> '\r'
        't' -> '\t'
        'u' -> text.substring(at, at + 4).toInt(16).toChar().also { at += 4 }
        else -> character
    }

    /** The next character that is not whitespace. */
    private fun peek(): Char {
        while (text[at] in " \t\r\n") at++
        return text[at]
    }

    private fun next() {
        peek()
        at++
    }
}
