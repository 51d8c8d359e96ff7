package org.causerie

/** A text that begins with the name of an option, with the name as it is spelled in Kotlin: `max_tokens` becomes `maxTokens`. */
internal fun spelled(text: String): String {
    val name = text.takeWhile { it.isLetterOrDigit() || it == '_' }
    val words = name.split('_')
    val spelled = words.first() + words.drop(1).joinToString("") { it.replaceFirstChar(Char::uppercaseChar) }
    return spelled + text.drop(name.length)
}

/** The engine takes unsigned counts: a negative one would become a very large one, and so no limit at all. */
internal fun refuseNegative(name: String, count: Number?) {
    if (count != null && count.toLong() < 0) {
        throw SdkException.InvalidOption("$name must be 0 or more, found $count", name)
    }
}
