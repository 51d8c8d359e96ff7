@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/**
 * Options for loading a model.
 *
 * ```
 * val runner = ModelRunner.load(path, loadOptions { contextSize = 4096 })
 * ```
 */
@JvmSynthetic
public fun loadOptions(block: LoadOptionsBuilder.() -> Unit): LoadOptions = LoadOptionsBuilder().apply(block).build()

/** A builder of options for loading a model. Options that stay null take their defaults. */
public class LoadOptionsBuilder {
    /** Context size in tokens, for a prompt and its reply together. Default: that of the model, at most 8,192. */
    public var contextSize: Int? = null

    /** The device that computes. Default: the CPU. */
    public var device: Device? = null

    /** Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores. */
    public var threads: Int? = null

    /** The storage format of keys and values. Default: F16. */
    public var cacheType: CacheType? = null

    /** A chat template that replaces the model's own. */
    public var chatTemplate: String? = null

    /**
     * A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or a
     * file beside the model's, whose name contains `mmproj` or `projector`.
     */
    public var projector: String? = null

    /** The rule for names of functions. Default: letters, digits, `_` and `-`. */
    public var functionNames: FunctionNames? = null

    /** Sampling values that replace those that the model's files recommend. */
    public var generationDefaults: SamplingDefaults? = null

    /** Size of the prefix cache in bytes; 0 switches it off. Default 512 MiB. */
    public var cacheBytes: Long? = null

    /**
     * Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Default: no,
     * they are put on white.
     */
    public var ignoresTransparency: Boolean? = null

    /**
     * A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's
     * own folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
     */
    public var audioDecoder: String? = null

    /**
     * A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
     * `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`.
     */
    public var audioTokenizer: String? = null

    /**
     * A folder of the app for packed weights, such as one in `context.cacheDir`. The first load of a model writes its weights
     * there as they are computed with, and later ones map that file instead of reading the model's. No other program may write
     * to the folder. Default: none.
     */
    public var packedFolder: String? = null

    /** The limit of all packed weights in that folder in bytes; the oldest are removed. Default 16 GiB. */
    public var packedBytes: Long? = null

    /** How packed weights come into memory. Results do not depend on it. Default: mapped on Android, `AUTO` elsewhere. */
    public var weightMemory: WeightMemory? = null

    /** Sets [contextSize], for Java. */
    public fun contextSize(value: Int?): LoadOptionsBuilder = apply { contextSize = value }

    /** Sets [device], for Java. */
    public fun device(value: Device?): LoadOptionsBuilder = apply { device = value }

    /** Sets [threads], for Java. */
    public fun threads(value: Int?): LoadOptionsBuilder = apply { threads = value }

    /** Sets [cacheType], for Java. */
    public fun cacheType(value: CacheType?): LoadOptionsBuilder = apply { cacheType = value }

    /** Sets [chatTemplate], for Java. */
    public fun chatTemplate(value: String?): LoadOptionsBuilder = apply { chatTemplate = value }

    /** Sets [projector], for Java. */
    public fun projector(value: String?): LoadOptionsBuilder = apply { projector = value }

    /** Sets [functionNames], for Java. */
    public fun functionNames(value: FunctionNames?): LoadOptionsBuilder = apply { functionNames = value }

    /** Sets [generationDefaults], for Java. */
    public fun generationDefaults(value: SamplingDefaults?): LoadOptionsBuilder = apply { generationDefaults = value }

    /** Sets [cacheBytes], for Java. */
    public fun cacheBytes(value: Long?): LoadOptionsBuilder = apply { cacheBytes = value }

    /** Sets [ignoresTransparency], for Java. */
    public fun ignoresTransparency(value: Boolean?): LoadOptionsBuilder = apply { ignoresTransparency = value }

    /** Sets [audioDecoder], for Java. */
    public fun audioDecoder(value: String?): LoadOptionsBuilder = apply { audioDecoder = value }

    /** Sets [audioTokenizer], for Java. */
    public fun audioTokenizer(value: String?): LoadOptionsBuilder = apply { audioTokenizer = value }

    /** Sets [packedFolder], for Java. */
    public fun packedFolder(value: String?): LoadOptionsBuilder = apply { packedFolder = value }

    /** Sets [packedBytes], for Java. */
    public fun packedBytes(value: Long?): LoadOptionsBuilder = apply { packedBytes = value }

    /** Sets [weightMemory], for Java. */
    public fun weightMemory(value: WeightMemory?): LoadOptionsBuilder = apply { weightMemory = value }

    /** Returns the current options. */
    public fun build(): LoadOptions = LoadOptions(
        contextSize = contextSize,
        device = device,
        threads = threads,
        cacheType = cacheType,
        chatTemplate = chatTemplate,
        projector = projector,
        functionNames = functionNames,
        generationDefaults = generationDefaults,
        cacheBytes = cacheBytes,
        ignoresTransparency = ignoresTransparency,
        audioDecoder = audioDecoder,
        audioTokenizer = audioTokenizer,
        packedFolder = packedFolder,
        packedBytes = packedBytes,
        weightMemory = weightMemory
    )
}
