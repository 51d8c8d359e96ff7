@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.toKotlinDuration

/** Default options. */
@JvmSynthetic
public fun GenerationOptions(): GenerationOptions = GenerationOptionsBuilder().build()

/**
 * Options for generating a reply.
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
 * A builder of options for generating a reply. Options that stay null take the model's default, or else the default
 * given here. For a value out of range, [SdkException.InvalidOption] is thrown when the reply is read; for a negative
 * count, by [build].
 */
public class GenerationOptionsBuilder {
    /**
     * The notation of calls in the reply. Null switches parsing off, and call text arrives as chunks. Default: the notation
     * that the model writes.
     */
    public var functionCallParser: FunctionCallParser? = FunctionCallParser.MODEL

    /** Whether calls that needed repairs are delivered or rejected. Default: delivered. */
    public var parserStrictness: Strictness? = null

    /** Randomness; 0 always takes the most probable token. Default 1.0. */
    public var temperature: Float? = null

    /** Keeps the most probable tokens whose probabilities sum up to this value. Default 1.0. */
    public var topP: Float? = null

    /** Keeps the k most probable tokens; 0 keeps all. Default 50. */
    public var topK: Int? = null

    /** Keeps tokens with at least this fraction of the highest probability. Default 0. */
    public var minP: Float? = null

    /** Values above 1.0 make tokens of the prompt and the reply less probable. Default 1.0. */
    public var repetitionPenalty: Float? = null

    /** Subtracted from the logit of each token that the reply contains, from -2 to 2. Default 0. */
    public var presencePenalty: Float? = null

    /** Subtracted from the logit of a token for each occurrence in the reply, from -2 to 2. Default 0. */
    public var frequencyPenalty: Float? = null

    /** Added to the logits of tokens, by token id, from -100 to 100. Default: none. */
    public var logitBias: Map<Int, Float>? = null

    /**
     * Reports each token's log-probability, with this many of the most probable alternatives, 0 to 20. Default: off.
     */
    public var logprobs: Int? = null

    /** The seed of sampling, which may be negative. Default: a random one, which is reported with the reply. */
    public var rngSeed: Long? = null

    /** Maximum number of tokens in the reply. Default: until the model ends or the context is full. */
    public var maxTokens: Int? = null

    /** Strings that end the reply. They are not part of it. */
    public var stopSequences: List<String> = listOf()

    /** Whether functions are called. Default: the model decides. */
    public var toolChoice: ToolChoice? = null

    /**
     * Whether a reply may make several calls. If not, constrained replies make only one; otherwise further calls get a
     * diagnostic.
     */
    public var parallelToolCalls: Boolean = true

    /** Names of the offered functions that may be called. Default: all. */
    public var allowedTools: List<String>? = null

    /** Whether calls are constrained to the declared functions. Default: off. */
    public var toolCallConstraint: ToolCallConstraint? = null

    /** A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called. */
    public var jsonSchemaConstraint: String? = null

    /** Adds that schema to the prompt. It does not join the history. */
    public var injectSchemaIntoPrompt: Boolean = true

    /**
     * Continues the last message of the history, which must be a reply without calls. The events report the new text
     * only.
     */
    public var continueFinalMessage: Boolean = false

    /** Delivers reasoning as reasoning chunks. If false, it is only kept in the message. */
    public var enableThinking: Boolean = false

    /** Delivers reasoning within the text, between `<think>` and `</think>`. */
    public var inlineThinkingTags: Boolean = false

    /** Additional variables for the chat template. */
    public var templateVariables: Map<String, Any?>? = null

    /** Ends the reply after its first block of calls. */
    public var stopAfterToolCalls: Boolean = false

    /**
     * Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`. Default: on for the demo model, and off
     * for others.
     */
    public var stopOnRepetition: Boolean? = null

    /** Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks. */
    public var speechMode: SpeechMode? = null

    /**
     * Randomness of the choice of sounds; 0 always takes the most probable. Default 1.0 in interleaved replies, 0.8 in
     * others.
     */
    public var speechTemperature: Float? = null

    /** Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others. */
    public var speechTopK: Int? = null

    /** What remains of a cancelled reply in the history. Default: the text so far. */
    public var onCancel: OnCancel? = null

    /** What a request does while another reply of the conversation is being generated. Default: it fails. */
    public var onBusy: OnBusy? = null

    /** How a history that does not fit the context is treated. Default: an error. */
    public var contextPolicy: ContextPolicy? = null

    /** Milliseconds after which the reply is cancelled. Default: never. */
    public var timeoutMilliseconds: Long? = null

    /** The time after which the reply is cancelled: [timeoutMilliseconds] as a duration. */
    public var timeout: Duration?
        @JvmSynthetic get() = timeoutMilliseconds?.milliseconds

        @JvmSynthetic set(value) {
            timeoutMilliseconds = value?.wholeMilliseconds
        }

    /** Sets the time after which the reply is cancelled, for Java. */
    public fun timeout(value: java.time.Duration?): GenerationOptionsBuilder = apply {
        timeout = value?.toKotlinDuration()
    }

    /** Sets [functionCallParser], for Java. */
    public fun functionCallParser(value: FunctionCallParser?): GenerationOptionsBuilder =
        apply { functionCallParser = value }

    /** Sets [parserStrictness], for Java. */
    public fun parserStrictness(value: Strictness?): GenerationOptionsBuilder = apply { parserStrictness = value }

    /** Sets [temperature], for Java. */
    public fun temperature(value: Float?): GenerationOptionsBuilder = apply { temperature = value }

    /** Sets [topP], for Java. */
    public fun topP(value: Float?): GenerationOptionsBuilder = apply { topP = value }

    /** Sets [topK], for Java. */
    public fun topK(value: Int?): GenerationOptionsBuilder = apply { topK = value }

    /** Sets [minP], for Java. */
    public fun minP(value: Float?): GenerationOptionsBuilder = apply { minP = value }

    /** Sets [repetitionPenalty], for Java. */
    public fun repetitionPenalty(value: Float?): GenerationOptionsBuilder = apply { repetitionPenalty = value }

    /** Sets [presencePenalty], for Java. */
    public fun presencePenalty(value: Float?): GenerationOptionsBuilder = apply { presencePenalty = value }

    /** Sets [frequencyPenalty], for Java. */
    public fun frequencyPenalty(value: Float?): GenerationOptionsBuilder = apply { frequencyPenalty = value }

    /** Sets [logitBias], for Java. */
    public fun logitBias(value: Map<Int, Float>?): GenerationOptionsBuilder = apply { logitBias = value }

    /** Sets [logprobs], for Java. */
    public fun logprobs(value: Int?): GenerationOptionsBuilder = apply { logprobs = value }

    /** Sets [rngSeed], for Java. */
    public fun rngSeed(value: Long?): GenerationOptionsBuilder = apply { rngSeed = value }

    /** Sets [maxTokens], for Java. */
    public fun maxTokens(value: Int?): GenerationOptionsBuilder = apply { maxTokens = value }

    /** Sets [stopSequences], for Java. */
    public fun stopSequences(value: List<String>): GenerationOptionsBuilder = apply { stopSequences = value }

    /** Sets [toolChoice], for Java. */
    public fun toolChoice(value: ToolChoice?): GenerationOptionsBuilder = apply { toolChoice = value }

    /** Sets [parallelToolCalls], for Java. */
    public fun parallelToolCalls(value: Boolean): GenerationOptionsBuilder = apply { parallelToolCalls = value }

    /** Sets [allowedTools], for Java. */
    public fun allowedTools(value: List<String>?): GenerationOptionsBuilder = apply { allowedTools = value }

    /** Sets [toolCallConstraint], for Java. */
    public fun toolCallConstraint(value: ToolCallConstraint?): GenerationOptionsBuilder =
        apply { toolCallConstraint = value }

    /** Sets [jsonSchemaConstraint], for Java. */
    public fun jsonSchemaConstraint(value: String?): GenerationOptionsBuilder = apply { jsonSchemaConstraint = value }

    /** Sets [injectSchemaIntoPrompt], for Java. */
    public fun injectSchemaIntoPrompt(value: Boolean): GenerationOptionsBuilder =
        apply { injectSchemaIntoPrompt = value }

    /** Sets [continueFinalMessage], for Java. */
    public fun continueFinalMessage(value: Boolean): GenerationOptionsBuilder = apply { continueFinalMessage = value }

    /** Sets [enableThinking], for Java. */
    public fun enableThinking(value: Boolean): GenerationOptionsBuilder = apply { enableThinking = value }

    /** Sets [inlineThinkingTags], for Java. */
    public fun inlineThinkingTags(value: Boolean): GenerationOptionsBuilder = apply { inlineThinkingTags = value }

    /** Sets [templateVariables], for Java. */
    public fun templateVariables(value: Map<String, Any?>?): GenerationOptionsBuilder =
        apply { templateVariables = value }

    /** Sets [stopAfterToolCalls], for Java. */
    public fun stopAfterToolCalls(value: Boolean): GenerationOptionsBuilder = apply { stopAfterToolCalls = value }

    /** Sets [stopOnRepetition], for Java. */
    public fun stopOnRepetition(value: Boolean?): GenerationOptionsBuilder = apply { stopOnRepetition = value }

    /** Sets [speechMode], for Java. */
    public fun speechMode(value: SpeechMode?): GenerationOptionsBuilder = apply { speechMode = value }

    /** Sets [speechTemperature], for Java. */
    public fun speechTemperature(value: Float?): GenerationOptionsBuilder = apply { speechTemperature = value }

    /** Sets [speechTopK], for Java. */
    public fun speechTopK(value: Int?): GenerationOptionsBuilder = apply { speechTopK = value }

    /** Sets [onCancel], for Java. */
    public fun onCancel(value: OnCancel?): GenerationOptionsBuilder = apply { onCancel = value }

    /** Sets [onBusy], for Java. */
    public fun onBusy(value: OnBusy?): GenerationOptionsBuilder = apply { onBusy = value }

    /** Sets [contextPolicy], for Java. */
    public fun contextPolicy(value: ContextPolicy?): GenerationOptionsBuilder = apply { contextPolicy = value }

    /** Sets [timeoutMilliseconds], for Java. */
    public fun timeoutMilliseconds(value: Long?): GenerationOptionsBuilder = apply { timeoutMilliseconds = value }

    /** Returns the current options. */
    public fun build(): GenerationOptions = GenerationOptions(
        functionCallParser = functionCallParser,
        parserStrictness = parserStrictness,
        temperature = temperature,
        topP = topP,
        topK = topK,
        minP = minP,
        repetitionPenalty = repetitionPenalty,
        presencePenalty = presencePenalty,
        frequencyPenalty = frequencyPenalty,
        logitBias = logitBias,
        logprobs = logprobs,
        rngSeed = rngSeed,
        maxTokens = maxTokens,
        stopSequences = stopSequences,
        toolChoice = toolChoice,
        parallelToolCalls = parallelToolCalls,
        allowedTools = allowedTools,
        toolCallConstraint = toolCallConstraint,
        jsonSchemaConstraint = jsonSchemaConstraint,
        injectSchemaIntoPrompt = injectSchemaIntoPrompt,
        continueFinalMessage = continueFinalMessage,
        enableThinking = enableThinking,
        inlineThinkingTags = inlineThinkingTags,
        templateVariables = templateVariables,
        stopAfterToolCalls = stopAfterToolCalls,
        stopOnRepetition = stopOnRepetition,
        speechMode = speechMode,
        speechTemperature = speechTemperature,
        speechTopK = speechTopK,
        onCancel = onCancel,
        onBusy = onBusy,
        contextPolicy = contextPolicy,
        timeoutMilliseconds = timeoutMilliseconds
    )
}
