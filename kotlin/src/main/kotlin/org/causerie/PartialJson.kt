package org.causerie

/**
 * JSON text that arrives in pieces, closed at any point.
 *
 * Strings appear while they are written, numbers and words once they are complete, and members once their value has begun.
 * The text must be the beginning of valid JSON text.
 */
internal class PartialJson {
    private enum class State { VALUE, SCALAR, STRING, AFTER_VALUE, KEY, KEY_STRING, COLON }

    private val text = StringBuilder()
    private var state = State.VALUE

    /** The brackets that close what is open, the innermost first. */
    private var closers = ""

    /** The length of the text that was valid with these brackets last. */
    private var safe = 0
    private var safeClosers = ""

    /** The characters of an escape. The first half of a surrogate pair is followed by the second. */
    private val escape = StringBuilder()
    private var isEscaped = false

    /** The text so far, closed; null before the first value has begun. */
    val closed: String? get() = if (safe == 0) null else text.substring(0, safe) + safeClosers

    fun push(piece: String): Unit = piece.forEach(::push)

    private fun push(character: Char) {
        if (state == State.SCALAR && character in " \t\r\n,]}") endValue()
        text.append(character)
        when {
            state == State.STRING -> string(character)
            state == State.KEY_STRING -> key(character)
            state == State.SCALAR || character in " \t\r\n" -> {}
            else -> structure(character)
        }
    }

    private fun structure(character: Char) {
        when (character) {
            '{' -> open('}', State.KEY)
            '[' -> open(']', State.VALUE)
            '}', ']' -> {
                closers = closers.drop(1)
                endValue()
            }
            ':' -> state = State.VALUE
            ',' -> state = if (closers.startsWith('}')) State.KEY else State.VALUE
            '"' -> if (state == State.KEY) {
                state = State.KEY_STRING
            } else {
                state = State.STRING
                mark("\"")
            }
            else -> state = State.SCALAR
        }
    }

    private fun open(closer: Char, inner: State) {
        closers = closer + closers
        state = inner
        mark()
    }

    private fun endValue() {
        state = State.AFTER_VALUE
        mark()
    }

    private fun mark(quote: String = "") {
        safe = text.length
        safeClosers = quote + closers
    }

    private fun key(character: Char) {
        when {
            isEscaped -> isEscaped = false
            character == '\\' -> isEscaped = true
            character == '"' -> state = State.COLON
        }
    }

    private fun string(character: Char) {
        if (escape.isEmpty()) {
            when {
                character == '"' -> endValue()
                character == '\\' -> escape.append(character)
                // Half of a character must not be the end.
                !character.isHighSurrogate() -> mark("\"")
            }
            return
        }
        escape.append(character)
        // `\n`, `\u00e9`, or `\ud83d\ude00`
        val length = when {
            escape[1] != 'u' -> 2
            escape.length >= 4 && escape[2] in "dD" && escape[3] in "89abAB" -> 12
            else -> 6
        }
        if (escape.length == length) {
            escape.clear()
            mark("\"")
        }
    }
}
