@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/**
 * How a model is loaded.
 *
 * ```
 * val runner = ModelRunner.load(path, loadOptions { contextSize = 4096 })
 * ```
 */
@JvmSynthetic
public fun loadOptions(block: LoadOptionsBuilder.() -> Unit): LoadOptions = LoadOptionsBuilder().apply(block).build()

/** How a model is loaded, to be set. What stays null takes its default. */
public class LoadOptionsBuilder {
    /** Tokens that a prompt and its reply can have together. Default: what the model was made for, at most 8,192. */
    public var contextSize: Int? = null

    /** What computes. Default: the CPU. */
    public var device: Device? = null

    /**
     * Threads that compute, 1 to 1024, where the CPU is one that our kernels know. No result depends on it. Default: as
     * many as there are fast cores.
     */
    public var threads: Int? = null

    /** What keys and values are kept as, where the CPU is one that our kernels know; F32 elsewhere. Default: F16. */
    public var cacheType: CacheType? = null

    /** A chat template in place of the model's own. */
    public var chatTemplate: String? = null

    /** The form in which the chat template is handed functions. Default: what its family is used to. */
    public var toolListForm: ToolListForm? = null

    /** Which names the functions that the model is offered may have. Default: letters, `_` and digits. */
    public var functionNames: FunctionNames? = null

    /** Sampling values in place of those that the model's files recommend. */
    public var generationDefaults: SamplingDefaults? = null

    /** From which the seeds of replies follow that have none of their own. */
    public var randomSeed: Long? = null

    /** Bytes that the beginnings of prompts which were read before may take. Default 512 MiB. */
    public var cacheBytes: Long? = null

    /** How many of them are kept; 0 keeps none. Default 256. */
    public var cacheEntries: Int? = null

    /** The options as they are set now. */
    public fun build(): LoadOptions = LoadOptions(
        contextSize = contextSize,
        device = device,
        threads = threads,
        cacheType = cacheType,
        chatTemplate = chatTemplate,
        toolListForm = toolListForm,
        functionNames = functionNames,
        generationDefaults = generationDefaults,
        randomSeed = randomSeed,
        cacheBytes = cacheBytes,
        cacheEntries = cacheEntries
    )
}
