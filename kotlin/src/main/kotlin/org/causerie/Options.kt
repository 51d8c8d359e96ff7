@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/** Options with everything at its default. */
@JvmSynthetic
public fun GenerationOptions(): GenerationOptions = GenerationOptionsBuilder().build()

/**
 * Options of one reply.
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

/** The same as [generationOptions]. */
@JvmSynthetic
public fun GenerationOptions.Companion.build(block: GenerationOptionsBuilder.() -> Unit): GenerationOptions =
    generationOptions(block)

/** Finds Python-style calls between `<|tool_call_start|>` and `<|tool_call_end|>`. */
@JvmSynthetic
public fun DefaultFunctionCallParser(): FunctionCallParser = FunctionCallParser.DEFAULT

/** Finds calls that are JSON objects between `<tool_call>` and `</tool_call>`. */
@JvmSynthetic
public fun JsonStyleFunctionCallParser(): FunctionCallParser = FunctionCallParser.JSON_STYLE

/**
 * Options of one reply, to be set. What stays null takes the model's own default, else that of the specification. A
 * value out of its range is told by [SdkException.InvalidOption] when the reply is read, a negative count by [build].
 */
public class GenerationOptionsBuilder {
    /** How calls are found in the reply; null switches parsing off, and call text arrives as chunks. */
    public var functionCallParser: FunctionCallParser? = FunctionCallParser.DEFAULT

    /** What becomes of calls that had to be mended to be read. Default: they are delivered. */
    public var parserStrictness: Strictness? = null

    /** What becomes of arguments that the model wrote without their names. Default: their call is rejected. */
    public var positionalArguments: PositionalArguments? = null

    /** Takes a reply that begins with a list of calls without markers as calls, where all its functions are registered. */
    public var bareCalls: Boolean = false

    /** What becomes of the text of rejected calls. Default: it is text where no call was delivered. */
    public var rejectedCallText: RejectedCallText? = null

    /** Randomness: 0 always picks the most probable token. Default 1.0. */
    public var temperature: Float? = null

    /** Keeps the most probable tokens up to this probability in sum. Default 1.0. */
    public var topP: Float? = null

    /** Keeps the k most probable tokens; 0 keeps all. Default 50. */
    public var topK: Int? = null

    /** Keeps tokens of at least this share of the best one's probability. Default 0. */
    public var minP: Float? = null

    /** Above 1.0, makes tokens of the prompt and of the reply less probable. Default 1.0. */
    public var repetitionPenalty: Float? = null

    /** Taken off the logit of a token once the reply has it, from -2 to 2. Default 0. */
    public var presencePenalty: Float? = null

    /** Taken off the logit of a token for each time that the reply has it, from -2 to 2. Default 0. */
    public var frequencyPenalty: Float? = null

    /** Added to the logits of tokens, by id, from -100 to 100. Default: nothing. */
    public var logitBias: Map<Int, Float>? = null

    /** Tells how likely each token was, beside so many of the most probable ones, 0 to 20. Default: nothing is told. */
    public var logprobs: Int? = null

    /** Fixes the draws; a negative seed is one like any other. Default: drawn anew, and reported with the reply. */
    public var rngSeed: Long? = null

    /** Tokens of reply at most. Default: until the model ends or the context is full. */
    public var maxTokens: Int? = null

    /** Texts that end the reply; they are not part of it. */
    public var stopSequences: List<String> = listOf()

    /** Whether functions are called. Default: as the model likes. */
    public var toolChoice: ToolChoice? = null

    /** Whether a reply may make several calls. Further ones are not written where calls are constrained, else flagged. */
    public var parallelToolCalls: Boolean = true

    /** Names of the functions that may be called, of those that the prompt offers. Default: all. */
    public var allowedTools: List<String>? = null

    /** Whether calls are held to the declared functions while they are written. Default: off. */
    public var toolCallConstraint: ToolCallConstraint? = null

    /** A JSON Schema, as JSON text, that the text of the reply must fit; functions can be called all the same. */
    public var jsonSchemaConstraint: String? = null

    /** Tells the model of that schema, in the prompt alone. */
    public var injectSchemaIntoPrompt: Boolean = true

    /** Delivers reasoning as reasoning chunks; else it is only kept with the message. */
    public var enableThinking: Boolean = false

    /** Delivers reasoning within the text, between `<think>` and `</think>`. */
    public var inlineThinkingTags: Boolean = false

    /** Variables for the chat template besides those that all of them know, for what a newer one takes. */
    public var templateVariables: Map<String, Any?>? = null

    /** Ends the reply behind its first block of calls. */
    public var stopAfterToolCalls: Boolean = false

    /** What stays of a cancelled reply. Default: what was written. */
    public var onCancel: OnCancel? = null

    /** What happens while another reply of the conversation is being written. Default: an error. */
    public var onBusy: OnBusy? = null

    /** What happens to a history that does not fit the context. Default: an error. */
    public var contextPolicy: ContextPolicy? = null

    /** Milliseconds after which the reply is cancelled. Default: never. */
    public var timeoutMilliseconds: Long? = null

    /** The options as they are set now. */
    public fun build(): GenerationOptions = GenerationOptions(
        functionCallParser = functionCallParser,
        parserStrictness = parserStrictness,
        positionalArguments = positionalArguments,
        bareCalls = bareCalls,
        rejectedCallText = rejectedCallText,
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
        enableThinking = enableThinking,
        inlineThinkingTags = inlineThinkingTags,
        templateVariables = templateVariables,
        stopAfterToolCalls = stopAfterToolCalls,
        onCancel = onCancel,
        onBusy = onBusy,
        contextPolicy = contextPolicy,
        timeoutMilliseconds = timeoutMilliseconds
    )
}
