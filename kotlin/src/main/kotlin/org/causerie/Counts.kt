package org.causerie

/*
 * Counts cross the border without their sign: a negative one would become a very large one, which is no limit. So options
 * refuse them when they are made; seeds may be negative.
 */

internal fun checkCounts(options: GenerationOptions): Unit = refuseNegative(
    "top_k" to options.topK,
    "logprobs" to options.logprobs,
    "max_tokens" to options.maxTokens,
    "timeout_milliseconds" to options.timeoutMilliseconds
)

internal fun checkCounts(options: LoadOptions): Unit = refuseNegative(
    "context_size" to options.contextSize,
    "threads" to options.threads,
    "cache_bytes" to options.cacheBytes,
    "cache_entries" to options.cacheEntries
)

internal fun checkCounts(options: SamplingDefaults): Unit = refuseNegative("top_k" to options.topK)

internal fun checkCounts(options: RoundOptions): Unit = refuseNegative("max_rounds" to options.maxRounds)

private fun refuseNegative(vararg counts: Pair<String, Number?>) {
    for ((name, count) in counts) {
        if (count != null && count.toLong() < 0) {
            throw SdkException.InvalidOption("$name is $count, expected 0 or more", name)
        }
    }
}
