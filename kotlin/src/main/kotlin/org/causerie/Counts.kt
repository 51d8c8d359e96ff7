package org.causerie

/*
 * The engine takes unsigned counts: a negative one would become a very large one, and so no limit at all. Therefore
 * options refuse negative counts when they are created. Seeds may be negative.
 */

internal fun checkCounts(options: DecisionOptions): Unit = refuseNegative("rotations" to options.rotations)

internal fun checkCounts(options: EmbedOptions): Unit = refuseNegative("dimensions" to options.dimensions)

internal fun checkCounts(options: EmbeddingModelOptions): Unit = refuseNegative(
    "threads" to options.threads,
    "context_size" to options.contextSize
)

internal fun checkCounts(options: RerankOptions): Unit = refuseNegative("top_n" to options.topN)

internal fun checkCounts(options: GenerationOptions): Unit = refuseNegative(
    "top_k" to options.topK,
    "logprobs" to options.logprobs,
    "max_tokens" to options.maxTokens,
    "timeout_milliseconds" to options.timeoutMilliseconds
)

internal fun checkCounts(options: HubOptions): Unit = refuseNegative(
    "idle_timeout_milliseconds" to options.idleTimeoutMilliseconds,
    "retry_pause_milliseconds" to options.retryPauseMilliseconds
)

internal fun checkCounts(options: LoadOptions): Unit = refuseNegative(
    "context_size" to options.contextSize,
    "threads" to options.threads,
    "cache_bytes" to options.cacheBytes,
    "packed_bytes" to options.packedBytes
)

internal fun checkCounts(options: TranscriberOptions): Unit = refuseNegative("threads" to options.threads)

internal fun checkCounts(options: SamplingDefaults): Unit = refuseNegative("top_k" to options.topK)

internal fun checkCounts(options: RoundOptions): Unit = refuseNegative("max_rounds" to options.maxRounds)

private fun refuseNegative(vararg counts: Pair<String, Number?>) {
    for ((name, count) in counts) {
        if (count != null && count.toLong() < 0) {
            throw SdkException.InvalidOption("$name must be 0 or more, found $count", name)
        }
    }
}
