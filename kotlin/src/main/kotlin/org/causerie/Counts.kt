package org.causerie

/*
 * The engine takes unsigned counts: a negative one would become a very large one, and so no limit at all. Therefore
 * options refuse counts out of their range when they are created, in the engine's words. Seeds may be negative.
 */

internal fun checkCounts(options: GenerationOptions) {
    checkCount("topK", options.topK)
    checkCount("logprobs", options.logprobs, 0L..20)
    checkCount("maxTokens", options.maxTokens, 1L..Long.MAX_VALUE)
    checkCount("timeoutMilliseconds", options.timeoutMilliseconds)
}

internal fun checkCounts(options: HubOptions) {
    checkCount("idleTimeoutMilliseconds", options.idleTimeoutMilliseconds)
    checkCount("retryPauseMilliseconds", options.retryPauseMilliseconds)
}

internal fun checkCounts(options: LoadOptions) {
    checkCount("contextSize", options.contextSize, 1L..Long.MAX_VALUE)
    checkCount("threads", options.threads, 1L..1024)
    checkCount("cacheBytes", options.cacheBytes)
}

internal fun checkCounts(options: SamplingDefaults): Unit = checkCount("topK", options.topK)

internal fun checkCounts(options: RoundOptions): Unit = checkCount("maxRounds", options.maxRounds)

private fun checkCount(name: String, count: Number?, range: LongRange = 0..Long.MAX_VALUE) {
    if (count != null && count.toLong() !in range) {
        val expected = if (range.last == Long.MAX_VALUE) "${range.first} or more" else "between ${range.first} and ${range.last}"
        throw SdkException.InvalidOption("$name must be $expected, found $count", name)
    }
}
