@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/**
 * Options for generating a reply. For a value out of range, [SdkException.InvalidOption] is thrown when the reply is read.
 *
 * ```
 * val options = generationOptions {
 *     temperature = 0f
 *     functionCallParser = null
 * }
 * ```
 */
@JvmSynthetic
public fun generationOptions(block: GenerationOptionsBuilder.() -> Unit): GenerationOptions =
    GenerationOptionsBuilder().apply(block).build()

/** What the companion of [GenerationOptions] can do. */
public interface GenerationOptionsBuilding {
    /** The same as [generationOptions]. */
    public fun build(block: GenerationOptionsBuilder.() -> Unit): GenerationOptions = generationOptions(block)
}

/**
 * Options for loading a model.
 *
 * ```
 * val runner = ModelRunner.load(path, loadOptions { contextSize = 4096 })
 * ```
 */
@JvmSynthetic
public fun loadOptions(block: LoadOptionsBuilder.() -> Unit): LoadOptions = LoadOptionsBuilder().apply(block).build()

/**
 * Options of a hub.
 *
 * ```
 * val folder = context.noBackupFilesDir.resolve("models").path
 * val hub = Hub.open(hubOptions { cache = folder; idleTimeout = 20.seconds })
 * ```
 */
@JvmSynthetic
public fun hubOptions(block: HubOptionsBuilder.() -> Unit): HubOptions = HubOptionsBuilder().apply(block).build()
