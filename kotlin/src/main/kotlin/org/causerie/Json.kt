package org.causerie

import java.math.BigInteger

/*
 * JSON objects as maps. They are passed to and from the engine as JSON text, which is written and parsed here. Integers
 * are Long, or BigInteger if they are larger; numbers with a decimal point or an exponent are Double.
 */

/** The nesting limit for writing. The limit of the engine is lower. */
private const val MAX_DEPTH = 128

/** Parses the text of an object from the engine. */
internal fun decodeJsonObject(text: String): Map<String, Any?> = JsonReader(text).readObject()

/**
 * Writes an object of null, Boolean, numbers, strings, values of serializable classes, and maps and lists of these.
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
        else -> text.append(
            serialized(value, path)
                ?: throw SdkException.Serialization("$path must be a JSON value, found ${value.javaClass.name}")
        )
    }
}

private fun serialized(value: Any, path: String): String? = try {
    encodeSerializable(value)
} catch (_: NoClassDefFoundError) {
    // The app has no dependency on kotlinx-serialization-json.
    null
} catch (err: SdkException) {
    throw err
} catch (err: Exception) {
    // Of a serializer that the app has written.
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
