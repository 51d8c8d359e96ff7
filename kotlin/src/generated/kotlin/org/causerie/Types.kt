// Written by scripts/bindgen from the façade in bindings/src.
@file:Suppress("warnings")

package org.causerie

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.toKotlinDuration

/** What a prompt leaves out of a history. Messages are given by their index. */
public data class ContextPlan(
    /** Tokens of the whole history. */
    val tokensBefore: Int,
    /** Tokens of the prompt. */
    val tokensAfter: Int,
    /** Messages left out. */
    val droppedMessages: List<Int>,
    /** Function results that are cut short. */
    val shrunkMessages: List<Int>,
)

/** How much of a reply's prompt is prefilled. What comes from the prefix cache counts as prefilled. */
public data class PrefillProgress(
    /** Tokens of the prompt that are prefilled. */
    val doneTokens: Int,
    /** Tokens of the prompt; 0 until the prompt is prepared. */
    val totalTokens: Int,
    /** Images of the prompt that are computed. Each tile of a large picture counts as an image, and its smaller copy as well. */
    val doneImages: Int,
    /** Images of the prompt, counted in the same way. */
    val totalImages: Int,
)

/** The answer to one question. */
public data class DecisionAnswer(
    /** The name of the question. */
    val name: String?,
    /** The answer. */
    val outcome: DecisionOutcome,
    /** The probability with which the model would have written one of the labels. The smaller it is, the less the answer says. */
    val labelProbability: Double,
    /** Whether that reaches the option's limit. If not, the outcome says next to nothing. */
    val isAnswered: Boolean,
)

/** A choice, or a level of a score. */
public data class DecisionLabel @JvmOverloads constructor(
    /** Its name. */
    val label: String,
    /** What it means. */
    val description: String? = null,
)

/** How decisions are read. */
public data class DecisionOptions @JvmOverloads constructor(
    /** Divides the log-probabilities of answers: below 1, the answers are more certain. Default: 1 for each kind. */
    val temperature: DecisionTemperatures? = null,
    /**
     * The orders in which the labels of a choice are shown; their log-probabilities are averaged. Each costs as much as a question.
     * Default: 2 for chat models, 1 for decision models.
     */
    val rotations: Int? = null,
    /**
     * The least probability of all labels together. Below it, the model would have written something else, and the answer says that
     * it is not answered. Default: 0.1 for chat models, 0 for decision models.
     */
    val minLabelProbability: Double? = null,
) {
    init {
        refuseNegative("rotations", rotations)
    }
}

/** A question about a state. */
public data class DecisionQuestion @JvmOverloads constructor(
    /** The question itself: text, and images for a model that takes them. */
    val instructions: List<ChatMessageContent>,
    /** What can be answered. */
    val kind: DecisionKind,
    /** Names the question in its answer. */
    val name: String? = null,
) {
    public companion object : DecisionQuestionKinds
}

/** A temperature for each kind of question. */
public data class DecisionTemperatures @JvmOverloads constructor(
    /** For questions that are answered by yes or no. */
    val predicate: Double = 1.0,
    /** For choices. */
    val choice: Double = 1.0,
    /** For scores. */
    val score: Double = 1.0,
)

/** The tokens of decisions. */
public data class DecisionUsage(
    /**
     * Tokens of all prompts; what they have in common counts once, except for decision models of types lfm2-d1-omni and lfm3-d1,
     * which share nothing.
     */
    val inputTokens: Int,
    /** The part of them that was computed for earlier requests. */
    val cachedTokens: Int,
)

/** The answers to questions about one state. */
public data class Decisions(
    /** One answer for each question, in the order of the questions. */
    val answers: List<DecisionAnswer>,
    /** The tokens that they took. */
    val usage: DecisionUsage,
)

/** A label and its probability. */
public data class LabelProbability(
    /** The label, as the question has it. */
    val label: String,
    /** Its probability among the labels. */
    val probability: Double,
)

/** How texts are embedded. */
public data class EmbedOptions @JvmOverloads constructor(
    /** What the texts are used for, which chooses the prompt in the model's files. Default: unspecified. */
    val textUse: TextUse? = null,
    /**
     * Text that is put before each text, instead of the prompt in the model's files. Models in GGUF files have no prompts: the
     * model's description says which it needs.
     */
    val prompt: String? = null,
    /**
     * Values of a vector to keep, of which at least one. The shorter vector is brought to the length 1 again. Only models that were
     * trained for it keep most of their quality. Default: all.
     */
    val dimensions: Int? = null,
    /** Whether vectors are brought to the length 1. Default: as the model's files say; for a GGUF file, yes. */
    val normalises: Boolean? = null,
    /** Whether a text that is too long is cut at its end. Otherwise it is an error. */
    val truncates: Boolean = true,
) {
    init {
        refuseNegative("dimensions", dimensions)
    }
}

/** What an embedding model is and can do. */
public data class EmbeddingModelInfo(
    /** The model family, as the files name it: `bert`, `qwen3`. */
    val architecture: String,
    /** Values of a vector. */
    val dimensions: Int,
    /** Tokens of a text at most, with the tokens around it. */
    val maxTokens: Int,
    /** Whether texts have one vector. */
    val embeds: Boolean,
    /** Whether each token has a vector. */
    val embedsTokens: Boolean,
    /** Whether the model ranks. */
    val ranks: Boolean,
    /** The names of the prompts in the model's files. */
    val prompts: List<String>,
)

/** Options for loading an embedding model. */
public data class EmbeddingModelOptions @JvmOverloads constructor(
    /** The device that computes. Default: the CPU. */
    val device: Device? = null,
    /** Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores. */
    val threads: Int? = null,
    /**
     * Tokens of a text at most, if the model can read more. A model that reads in both directions holds a whole text in memory.
     * Default: 8,192.
     */
    val contextSize: Int? = null,
) {
    init {
        refuseNegative("threads", threads)
        refuseNegative("contextSize", contextSize)
    }
}

/** One document of a ranking. */
public data class RankedDocument(
    /** Its place among the documents that were given. */
    val index: Int,
    /**
     * How well it fits: a probability for most models; for some cross-encoders a logit, and for models with a vector for each token a
     * sum of cosines.
     */
    val relevance: Float,
)

/** The documents that fit a query best, the best first. */
public data class Ranking(
    /** The documents, the best first; of equal ones, the earlier first. */
    val results: List<RankedDocument>,
    /** Tokens that were read, with prompts and the tokens around texts. */
    val tokenCount: Int,
    /** The documents that were cut, as indices. */
    val truncated: List<Int>,
)

/** How documents are ranked. */
public data class RerankOptions @JvmOverloads constructor(
    /** The number of results. Default: all documents. */
    val topN: Int? = null,
    /** What makes a document relevant, for models that are asked in words. Default: that it answers the query. Other models refuse it. */
    val instruction: String? = null,
) {
    init {
        refuseNegative("topN", topN)
    }
}

/** The vectors of texts, in the order of the texts. */
public data class TextEmbeddings(
    /** A vector for each text. */
    val vectors: List<List<Float>>,
    /** Tokens that were read, with prompts and the tokens around texts. */
    val tokenCount: Int,
    /** The texts that were cut, as indices. */
    val truncated: List<Int>,
)

/** The vectors of all tokens of texts, for models that compare texts token by token. */
public data class TokenEmbeddings(
    /** For each text the vectors of its tokens, which have the length 1. */
    val texts: List<List<List<Float>>>,
    /** Tokens that were read, with prompts and the tokens around texts. */
    val tokenCount: Int,
    /** The texts that were cut, as indices. */
    val truncated: List<Int>,
)

/** A finding about a call or one of its arguments. */
public data class Diagnostic(
    /** The code of the finding: `missing_required`, `wrong_type`, … */
    val code: String,
    /** The severity. */
    val severity: Severity,
    /** The path, such as `config.items[2].id`; empty for the call as a whole. */
    val path: String,
    /** One readable line, which may be sent back to the model. */
    val text: String,
)

/** Call text that could not be delivered as a call. */
public data class RejectedCall(
    /** The code of the reason: `incomplete_block`, `positional_argument`, … */
    val reason: String,
    /** The function's name, if it could be parsed. */
    val name: String?,
    /** The rejected text. */
    val rawText: String,
    /** The offset in its block, in bytes. */
    val byteOffset: Long,
    /** The call as far as it could be parsed. An app may accept it deliberately. */
    val candidate: SdkFunctionCall?,
    /** One readable line. */
    val explanation: String,
)

/** A function that the model may call. */
public data class SdkFunction @JvmOverloads constructor(
    /** Letters, digits, `_` and `-`, at most 200; identifiers are recommended. */
    val name: String,
    /** The purpose of the function, written for the model. */
    val description: String,
    /** The parameters, in the order in which they are in the prompt. */
    val parameters: List<SdkFunctionParameter>,
    /**
     * The JSON text that the function was read from, if the other fields do not show all of it. Prompts show it as it is, with
     * the name above, as long as it has the same description and parameters.
     */
    val definition: String? = null,
)

/** A function call that the model made. Validate the arguments before running the function. */
public data class SdkFunctionCall @JvmOverloads constructor(
    /** The name of the function, which need not be registered. */
    val name: String,
    /** The arguments exactly as the model wrote them. Some may be missing or of the wrong type. */
    val arguments: Map<String, Any?>,
    /** Distinguishes the calls of a message: `call_0`, `call_1`, … in order. */
    val callId: String = "",
    /** The text of this call as the model wrote it. */
    val rawText: String = "",
    /** Codes of the repairs that were needed to parse the call; empty for valid calls. */
    val repairs: List<String> = listOf(),
    /** Differences from the registered functions; empty if the call fits. */
    val diagnostics: List<Diagnostic> = listOf(),
)

/** A parameter of a function. */
public data class SdkFunctionParameter @JvmOverloads constructor(
    /** The name of the argument in calls. */
    val name: String,
    /** The type of its values. The parameter's description replaces that of the type. */
    val type: SdkFunctionParameterType,
    /** The meaning of the parameter, written for the model. */
    val description: String,
    /** Whether a call may omit it. */
    val optional: Boolean = false,
    /** The JSON Schema of an imported parameter that no type can express. It replaces the type. */
    val schema: Map<String, Any?>? = null,
)

/** A call compared with its function. */
public data class Validation(
    /** The arguments, converted to the function's types where that is safe. */
    val arguments: Map<String, Any?>,
    /** The findings. */
    val diagnostics: List<Diagnostic>,
    /** Whether the function can run with these arguments. */
    val isOk: Boolean,
    /** The errors, as a function result to be sent back to the model. */
    val errorsAsToolText: String,
)

/** A model in the cache. */
public data class CachedModel(
    /** A name that loads this model. */
    val name: String,
    /** The commit that its files are of. */
    val commit: String,
    /** The size of its files in bytes. */
    val size: Long,
    /** The file or folder to load. */
    val path: String,
)

/** Options of a hub. An absent option takes the value of the environment, from the variables of Hugging Face's tools. */
public data class HubOptions @JvmOverloads constructor(
    /**
     * The folder that models are downloaded into. Default: the cache that Hugging Face's tools share; on iOS, a folder of the
     * app. On Android the app must name one.
     */
    val cache: String? = null,
    /** The address of the hub. Default: `HF_ENDPOINT`, or else `https://huggingface.co`. */
    val endpoint: String? = null,
    /**
     * The token for private and gated repositories. It is sent to the endpoint only. Default: `HF_TOKEN` or the file of other
     * tools.
     */
    val token: String? = null,
    /** Whether requests are switched off. Default: `HF_HUB_OFFLINE`. */
    val isOffline: Boolean? = null,
    /** Whether a download is refused if the disk has too little space. Default: yes. */
    val checksSpace: Boolean? = null,
    /** Milliseconds without a byte after which a transfer is tried again. Default: 30,000. */
    val idleTimeoutMilliseconds: Long? = null,
    /**
     * The pause in milliseconds before a failed request is tried again, which doubles with each failure in a row.
     * Default: 1,000.
     */
    val retryPauseMilliseconds: Long? = null,
    /**
     * Whether the files of a model are links to where their contents are stored, so that versions of a model share files.
     * Default: yes, unless `HF_HUB_DISABLE_SYMLINKS` is set.
     */
    val usesLinks: Boolean? = null,
) {
    init {
        refuseNegative("idleTimeoutMilliseconds", idleTimeoutMilliseconds)
        refuseNegative("retryPauseMilliseconds", retryPauseMilliseconds)
    }
}

/**
 * A builder of [HubOptions]. Options that stay null take their defaults. For a negative count, [build] throws
 * [SdkException.InvalidOption].
 */
public class HubOptionsBuilder {
    /**
     * The folder that models are downloaded into. Default: the cache that Hugging Face's tools share; on iOS, a folder of the
     * app. On Android the app must name one.
     */
    public var cache: String? = null

    /** The address of the hub. Default: `HF_ENDPOINT`, or else `https://huggingface.co`. */
    public var endpoint: String? = null

    /**
     * The token for private and gated repositories. It is sent to the endpoint only. Default: `HF_TOKEN` or the file of other
     * tools.
     */
    public var token: String? = null

    /** Whether requests are switched off. Default: `HF_HUB_OFFLINE`. */
    public var isOffline: Boolean? = null

    /** Whether a download is refused if the disk has too little space. Default: yes. */
    public var checksSpace: Boolean? = null

    /** Milliseconds without a byte after which a transfer is tried again. Default: 30,000. */
    public var idleTimeoutMilliseconds: Long? = null

    /** [idleTimeoutMilliseconds] as a duration. */
    public var idleTimeout: Duration?
        @JvmSynthetic get() = idleTimeoutMilliseconds?.milliseconds

        @JvmSynthetic set(value) {
            idleTimeoutMilliseconds = value?.wholeMilliseconds
        }

    /**
     * The pause in milliseconds before a failed request is tried again, which doubles with each failure in a row.
     * Default: 1,000.
     */
    public var retryPauseMilliseconds: Long? = null

    /** [retryPauseMilliseconds] as a duration. */
    public var retryPause: Duration?
        @JvmSynthetic get() = retryPauseMilliseconds?.milliseconds

        @JvmSynthetic set(value) {
            retryPauseMilliseconds = value?.wholeMilliseconds
        }

    /**
     * Whether the files of a model are links to where their contents are stored, so that versions of a model share files.
     * Default: yes, unless `HF_HUB_DISABLE_SYMLINKS` is set.
     */
    public var usesLinks: Boolean? = null

    /** Sets [cache], for Java. */
    public fun cache(value: String?): HubOptionsBuilder = apply { cache = value }

    /** Sets [endpoint], for Java. */
    public fun endpoint(value: String?): HubOptionsBuilder = apply { endpoint = value }

    /** Sets [token], for Java. */
    public fun token(value: String?): HubOptionsBuilder = apply { token = value }

    /** Sets [isOffline], for Java. */
    public fun offline(value: Boolean?): HubOptionsBuilder = apply { isOffline = value }

    /** Sets [checksSpace], for Java. */
    public fun checksSpace(value: Boolean?): HubOptionsBuilder = apply { checksSpace = value }

    /** Sets [idleTimeoutMilliseconds], for Java. */
    public fun idleTimeoutMilliseconds(value: Long?): HubOptionsBuilder = apply { idleTimeoutMilliseconds = value }

    /** Sets [idleTimeout], for Java. */
    public fun idleTimeout(value: java.time.Duration?): HubOptionsBuilder = apply {
        idleTimeout = value?.toKotlinDuration()
    }

    /** Sets [retryPauseMilliseconds], for Java. */
    public fun retryPauseMilliseconds(value: Long?): HubOptionsBuilder = apply { retryPauseMilliseconds = value }

    /** Sets [retryPause], for Java. */
    public fun retryPause(value: java.time.Duration?): HubOptionsBuilder = apply {
        retryPause = value?.toKotlinDuration()
    }

    /** Sets [usesLinks], for Java. */
    public fun usesLinks(value: Boolean?): HubOptionsBuilder = apply { usesLinks = value }

    /** Returns the current options. */
    public fun build(): HubOptions = HubOptions(
        cache = cache,
        endpoint = endpoint,
        token = token,
        isOffline = isOffline,
        checksSpace = checksSpace,
        idleTimeoutMilliseconds = idleTimeoutMilliseconds,
        retryPauseMilliseconds = retryPauseMilliseconds,
        usesLinks = usesLinks,
    )
}

/** A file of a plan that the app fetches. */
public data class PlannedFile(
    /** The address of the file, whose answer redirects to the place where the file is stored. */
    val url: String,
    /** The path in the repository. */
    val path: String,
    /** The size in bytes. */
    val size: Long,
    /** The digest of the content: 64 hexadecimal digits of SHA-256, or the 40 of git's id. */
    val digest: String,
)

/** The progress of a download. Numbers never go backwards, except for the speed. */
public data class PullProgress(
    /** What the download is doing. */
    val state: PullState,
    /** The file that it is about; empty while the name is resolved. */
    val file: String,
    /** Bytes already downloaded, of all files. */
    val done: Long,
    /** Bytes of all files; 0 until it is known. */
    val total: Long,
    /** The bytes that were there already when the download began. */
    val resumedFrom: Long,
    /** The speed during the last seconds. */
    val bytesPerSecond: Long,
)

/** A message to developers. It has no text of conversations. */
public data class LogRecord(
    /** Its importance. */
    val level: LogLevel,
    /** One line. */
    val message: String,
)

/** One message of a conversation. */
@kotlinx.serialization.Serializable(with = ChatMessageSerializer::class)
public data class ChatMessage @JvmOverloads constructor(
    /** The author. */
    val role: ChatMessageRole,
    /** The parts, in order. Empty for a reply that holds only calls. */
    val content: List<ChatMessageContent>,
    /** The model's reasoning. */
    val reasoningContent: String? = null,
    /** On an assistant message, the calls it made, in order. */
    val functionCalls: List<SdkFunctionCall>? = null,
    /** On an assistant message, call text that could not be delivered. */
    val rejectedCalls: List<RejectedCall> = listOf(),
    /** On the system message, the registered functions, so that a history carries its functions with it. */
    val functions: List<SdkFunction> = listOf(),
    /** Whether a cancel cut the reply short. */
    val incomplete: Boolean = false,
    /** On a tool message, the call that it answers. */
    val toolCallId: String? = null,
    /** The name of the author, or of the function that was called. */
    val name: String? = null,
    /** Unknown fields of an imported message, as the text of a JSON object. They are exported again. */
    val extra: String = "{}",
) {
    public companion object : MessageRoles
}

/** Options for generating a reply. An absent option takes the model's default, or else the default given here. */
public data class GenerationOptions(
    /**
     * The notation of calls in the reply. Without one, parsing is off, and calls arrive as chunks of text. Default: the notation
     * that the model writes.
     */
    val functionCallParser: FunctionCallParser? = FunctionCallParser.MODEL,
    /** How calls are handled that can be read only after a repair. Default: they are delivered. */
    val parserStrictness: Strictness? = null,
    /** Randomness of the choice of tokens; 0 always picks the most probable token. Default 1.0. */
    val temperature: Float? = null,
    /**
     * Nucleus sampling: keeps the most probable tokens up to this cumulative probability, between 0 and 1; 0 keeps the most
     * probable token only. Default 1.0.
     */
    val topP: Float? = null,
    /** Keeps the k most probable tokens; 0 keeps all. Default 50. */
    val topK: Int? = null,
    /** Keeps tokens with at least this fraction of the most probable token's probability, between 0 and 1. Default 0. */
    val minP: Float? = null,
    /** Values above 1.0 make tokens that occur in the prompt or the reply less probable. Default 1.0. */
    val repetitionPenalty: Float? = null,
    /**
     * Subtracted once from the logit of each token that occurs in the reply, between -2 and 2. Values above 0 favour new
     * topics. Default 0.
     */
    val presencePenalty: Float? = null,
    /** Subtracted from the logit of a token for each of its occurrences in the reply, between -2 and 2. Default 0. */
    val frequencyPenalty: Float? = null,
    /** Values added to the logits of tokens, by id, between -100 and 100; -100 practically excludes a token. Default: none. */
    val logitBias: Map<Int, Float>? = null,
    /**
     * Reports each token's log-probability in `Logprobs` events, with this many of the likeliest alternatives, 0 to 20.
     * Default: no such events.
     */
    val logprobs: Int? = null,
    /**
     * Seed of the random choices. On the CPU, the same seed, model, build and prompt give the same reply, whatever else is
     * generated at the same time or is cached (docs/adr/0015). On Metal, the last bits of logits may differ if part of the
     * prompt comes from the cache. Default: a random seed, which is reported with the reply.
     */
    val rngSeed: Long? = null,
    /** The largest number of tokens of the reply. Default: no limit but the context. */
    val maxTokens: Int? = null,
    /**
     * Continues after tokens that end a reply, until `maxTokens` or the end of the context. For benchmarks, which need
     * replies of equal length. Default: no.
     */
    val ignoreEnd: Boolean = false,
    /** Strings that end the reply. They are not part of it. */
    val stopSequences: List<String> = listOf(),
    /** Whether the model may or must call functions. Default: the model decides. */
    val toolChoice: ToolChoice? = null,
    /**
     * Whether a reply may contain several calls. If not, a constraint prevents further calls; without a constraint they are
     * delivered with the diagnostic `parallel_limit`. Default: yes.
     */
    val parallelToolCalls: Boolean = true,
    /**
     * Names of the functions of the conversation that the prompt lists, in the order in which they were registered. The others
     * stay in the history and may not be called; `allowedTools` may not name them. With many functions, a small model makes
     * more right calls if the few that fit the message are offered alone; an embedding model chooses them. A prompt that lists
     * the same functions as the one before goes on from the prefix cache. Default: all.
     */
    val offeredFunctions: List<String>? = null,
    /**
     * The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more,
     * those that fit the user's messages best are chosen, by the embedding model that the runner's `set_function_ranker` sets,
     * without which this option is an error. The better half for the last message is always listed. Functions that were listed
     * before keep their places, so that messages about the same things have the same list, and their prompts go on from the
     * prefix cache (docs/functions.md). With `offeredFunctions` or `allowedTools` the choice is among these. Default: no limit.
     */
    val maxOfferedFunctions: Int? = null,
    /**
     * Names of the functions that may be called, out of the ones that the prompt offers. A constraint prevents calls of other
     * functions; without a constraint they are delivered with the diagnostic `tool_not_allowed`. Default: all.
     */
    val allowedTools: List<String>? = null,
    /** Whether calls are constrained to the declared functions during generation. Default: they are not. */
    val toolCallConstraint: ToolCallConstraint? = null,
    /**
     * A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called: a reply is either an
     * answer that fits the schema or a block of calls. Reasoning is not constrained. Default: none.
     */
    val jsonSchemaConstraint: String? = null,
    /** Whether the prompt states that schema, at the end of the system message. The history does not change. Default: yes. */
    val injectSchemaIntoPrompt: Boolean = true,
    /**
     * Continues the last message of the history, which must be a reply without calls: the prompt ends with its text, and the
     * new text is added to it. The events report the new text only. Default: no.
     */
    val continueFinalMessage: Boolean = false,
    /**
     * Requests reasoning from templates that have the variable `enableThinking`, and delivers reasoning in `ReasoningChunk`
     * events. Otherwise, reasoning that a model writes all the same is only kept in the message. Default: no.
     */
    val enableThinking: Boolean = false,
    /** Delivers reasoning as part of the text, between `<think>` and `</think>`. Default: no. */
    val inlineThinkingTags: Boolean = false,
    /**
     * Further variables for the chat template, such as `{"style": "brief"}`. Variables that causerie sets itself are an error.
     * Default: none.
     */
    val templateVariables: Map<String, Any?>? = null,
    /** Ends the reply after its first block of calls. Some models regularly write text after calls. Default: no. */
    val stopAfterToolCalls: Boolean = false,
    /**
     * Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`: the same words over three kilobytes and
     * 128 times, or the same paragraph over eight kilobytes. Data, code and drawings may repeat a part 1,024 times. Text that
     * is held to a schema and calls never end so. Default: on for the demo model, and off for others.
     */
    val stopOnRepetition: Boolean? = null,
    /** Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks. */
    val speechMode: SpeechMode? = null,
    /** Randomness of the choice of sounds; 0 always picks the most probable. Default 1.0 in interleaved replies, 0.8 in others. */
    val speechTemperature: Float? = null,
    /** Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others. */
    val speechTopK: Int? = null,
    /** What remains of a cancelled reply in the history. Default: the text so far. */
    val onCancel: OnCancel? = null,
    /** How a request is handled while the conversation is generating another reply. Default: an error. */
    val onBusy: OnBusy? = null,
    /** How a history that does not fit the context is handled. Default: an error. */
    val contextPolicy: ContextPolicy? = null,
    /** Cancels the reply after this time, which includes the time in the request queue. Default: no limit. */
    val timeoutMilliseconds: Long? = null,
) {
    init {
        refuseNegative("topK", topK)
        refuseNegative("logprobs", logprobs)
        refuseNegative("maxTokens", maxTokens)
        refuseNegative("maxOfferedFunctions", maxOfferedFunctions)
        refuseNegative("speechTopK", speechTopK)
        refuseNegative("timeoutMilliseconds", timeoutMilliseconds)
    }

    public companion object : GenerationOptionsBuilding
}

/**
 * A builder of [GenerationOptions]. Options that stay null take their defaults. For a negative count, [build] throws
 * [SdkException.InvalidOption].
 */
public class GenerationOptionsBuilder {
    /**
     * The notation of calls in the reply. Without one, parsing is off, and calls arrive as chunks of text. Default: the notation
     * that the model writes.
     */
    public var functionCallParser: FunctionCallParser? = FunctionCallParser.MODEL

    /** How calls are handled that can be read only after a repair. Default: they are delivered. */
    public var parserStrictness: Strictness? = null

    /** Randomness of the choice of tokens; 0 always picks the most probable token. Default 1.0. */
    public var temperature: Float? = null

    /**
     * Nucleus sampling: keeps the most probable tokens up to this cumulative probability, between 0 and 1; 0 keeps the most
     * probable token only. Default 1.0.
     */
    public var topP: Float? = null

    /** Keeps the k most probable tokens; 0 keeps all. Default 50. */
    public var topK: Int? = null

    /** Keeps tokens with at least this fraction of the most probable token's probability, between 0 and 1. Default 0. */
    public var minP: Float? = null

    /** Values above 1.0 make tokens that occur in the prompt or the reply less probable. Default 1.0. */
    public var repetitionPenalty: Float? = null

    /**
     * Subtracted once from the logit of each token that occurs in the reply, between -2 and 2. Values above 0 favour new
     * topics. Default 0.
     */
    public var presencePenalty: Float? = null

    /** Subtracted from the logit of a token for each of its occurrences in the reply, between -2 and 2. Default 0. */
    public var frequencyPenalty: Float? = null

    /** Values added to the logits of tokens, by id, between -100 and 100; -100 practically excludes a token. Default: none. */
    public var logitBias: Map<Int, Float>? = null

    /**
     * Reports each token's log-probability in `Logprobs` events, with this many of the likeliest alternatives, 0 to 20.
     * Default: no such events.
     */
    public var logprobs: Int? = null

    /**
     * Seed of the random choices. On the CPU, the same seed, model, build and prompt give the same reply, whatever else is
     * generated at the same time or is cached (docs/adr/0015). On Metal, the last bits of logits may differ if part of the
     * prompt comes from the cache. Default: a random seed, which is reported with the reply.
     */
    public var rngSeed: Long? = null

    /** The largest number of tokens of the reply. Default: no limit but the context. */
    public var maxTokens: Int? = null

    /**
     * Continues after tokens that end a reply, until `maxTokens` or the end of the context. For benchmarks, which need
     * replies of equal length. Default: no.
     */
    public var ignoreEnd: Boolean = false

    /** Strings that end the reply. They are not part of it. */
    public var stopSequences: List<String> = listOf()

    /** Whether the model may or must call functions. Default: the model decides. */
    public var toolChoice: ToolChoice? = null

    /**
     * Whether a reply may contain several calls. If not, a constraint prevents further calls; without a constraint they are
     * delivered with the diagnostic `parallel_limit`. Default: yes.
     */
    public var parallelToolCalls: Boolean = true

    /**
     * Names of the functions of the conversation that the prompt lists, in the order in which they were registered. The others
     * stay in the history and may not be called; `allowedTools` may not name them. With many functions, a small model makes
     * more right calls if the few that fit the message are offered alone; an embedding model chooses them. A prompt that lists
     * the same functions as the one before goes on from the prefix cache. Default: all.
     */
    public var offeredFunctions: List<String>? = null

    /**
     * The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more,
     * those that fit the user's messages best are chosen, by the embedding model that the runner's `set_function_ranker` sets,
     * without which this option is an error. The better half for the last message is always listed. Functions that were listed
     * before keep their places, so that messages about the same things have the same list, and their prompts go on from the
     * prefix cache (docs/functions.md). With `offeredFunctions` or `allowedTools` the choice is among these. Default: no limit.
     */
    public var maxOfferedFunctions: Int? = null

    /**
     * Names of the functions that may be called, out of the ones that the prompt offers. A constraint prevents calls of other
     * functions; without a constraint they are delivered with the diagnostic `tool_not_allowed`. Default: all.
     */
    public var allowedTools: List<String>? = null

    /** Whether calls are constrained to the declared functions during generation. Default: they are not. */
    public var toolCallConstraint: ToolCallConstraint? = null

    /**
     * A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called: a reply is either an
     * answer that fits the schema or a block of calls. Reasoning is not constrained. Default: none.
     */
    public var jsonSchemaConstraint: String? = null

    /** Whether the prompt states that schema, at the end of the system message. The history does not change. Default: yes. */
    public var injectSchemaIntoPrompt: Boolean = true

    /**
     * Continues the last message of the history, which must be a reply without calls: the prompt ends with its text, and the
     * new text is added to it. The events report the new text only. Default: no.
     */
    public var continueFinalMessage: Boolean = false

    /**
     * Requests reasoning from templates that have the variable `enableThinking`, and delivers reasoning in `ReasoningChunk`
     * events. Otherwise, reasoning that a model writes all the same is only kept in the message. Default: no.
     */
    public var enableThinking: Boolean = false

    /** Delivers reasoning as part of the text, between `<think>` and `</think>`. Default: no. */
    public var inlineThinkingTags: Boolean = false

    /**
     * Further variables for the chat template, such as `{"style": "brief"}`. Variables that causerie sets itself are an error.
     * Default: none.
     */
    public var templateVariables: Map<String, Any?>? = null

    /** Ends the reply after its first block of calls. Some models regularly write text after calls. Default: no. */
    public var stopAfterToolCalls: Boolean = false

    /**
     * Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`: the same words over three kilobytes and
     * 128 times, or the same paragraph over eight kilobytes. Data, code and drawings may repeat a part 1,024 times. Text that
     * is held to a schema and calls never end so. Default: on for the demo model, and off for others.
     */
    public var stopOnRepetition: Boolean? = null

    /** Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks. */
    public var speechMode: SpeechMode? = null

    /** Randomness of the choice of sounds; 0 always picks the most probable. Default 1.0 in interleaved replies, 0.8 in others. */
    public var speechTemperature: Float? = null

    /** Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others. */
    public var speechTopK: Int? = null

    /** What remains of a cancelled reply in the history. Default: the text so far. */
    public var onCancel: OnCancel? = null

    /** How a request is handled while the conversation is generating another reply. Default: an error. */
    public var onBusy: OnBusy? = null

    /** How a history that does not fit the context is handled. Default: an error. */
    public var contextPolicy: ContextPolicy? = null

    /** Cancels the reply after this time, which includes the time in the request queue. Default: no limit. */
    public var timeoutMilliseconds: Long? = null

    /** [timeoutMilliseconds] as a duration. */
    public var timeout: Duration?
        @JvmSynthetic get() = timeoutMilliseconds?.milliseconds

        @JvmSynthetic set(value) {
            timeoutMilliseconds = value?.wholeMilliseconds
        }

    /** Sets [functionCallParser], for Java. */
    public fun functionCallParser(value: FunctionCallParser?): GenerationOptionsBuilder = apply { functionCallParser = value }

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

    /** Sets [ignoreEnd], for Java. */
    public fun ignoreEnd(value: Boolean): GenerationOptionsBuilder = apply { ignoreEnd = value }

    /** Sets [stopSequences], for Java. */
    public fun stopSequences(value: List<String>): GenerationOptionsBuilder = apply { stopSequences = value }

    /** Sets [toolChoice], for Java. */
    public fun toolChoice(value: ToolChoice?): GenerationOptionsBuilder = apply { toolChoice = value }

    /** Sets [parallelToolCalls], for Java. */
    public fun parallelToolCalls(value: Boolean): GenerationOptionsBuilder = apply { parallelToolCalls = value }

    /** Sets [offeredFunctions], for Java. */
    public fun offeredFunctions(value: List<String>?): GenerationOptionsBuilder = apply { offeredFunctions = value }

    /** Sets [maxOfferedFunctions], for Java. */
    public fun maxOfferedFunctions(value: Int?): GenerationOptionsBuilder = apply { maxOfferedFunctions = value }

    /** Sets [allowedTools], for Java. */
    public fun allowedTools(value: List<String>?): GenerationOptionsBuilder = apply { allowedTools = value }

    /** Sets [toolCallConstraint], for Java. */
    public fun toolCallConstraint(value: ToolCallConstraint?): GenerationOptionsBuilder = apply { toolCallConstraint = value }

    /** Sets [jsonSchemaConstraint], for Java. */
    public fun jsonSchemaConstraint(value: String?): GenerationOptionsBuilder = apply { jsonSchemaConstraint = value }

    /** Sets [injectSchemaIntoPrompt], for Java. */
    public fun injectSchemaIntoPrompt(value: Boolean): GenerationOptionsBuilder = apply { injectSchemaIntoPrompt = value }

    /** Sets [continueFinalMessage], for Java. */
    public fun continueFinalMessage(value: Boolean): GenerationOptionsBuilder = apply { continueFinalMessage = value }

    /** Sets [enableThinking], for Java. */
    public fun enableThinking(value: Boolean): GenerationOptionsBuilder = apply { enableThinking = value }

    /** Sets [inlineThinkingTags], for Java. */
    public fun inlineThinkingTags(value: Boolean): GenerationOptionsBuilder = apply { inlineThinkingTags = value }

    /** Sets [templateVariables], for Java. */
    public fun templateVariables(value: Map<String, Any?>?): GenerationOptionsBuilder = apply { templateVariables = value }

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

    /** Sets [timeout], for Java. */
    public fun timeout(value: java.time.Duration?): GenerationOptionsBuilder = apply {
        timeout = value?.toKotlinDuration()
    }

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
        ignoreEnd = ignoreEnd,
        stopSequences = stopSequences,
        toolChoice = toolChoice,
        parallelToolCalls = parallelToolCalls,
        offeredFunctions = offeredFunctions,
        maxOfferedFunctions = maxOfferedFunctions,
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
        timeoutMilliseconds = timeoutMilliseconds,
    )
}

/** Options for loading a model. */
public data class LoadOptions(
    /**
     * The largest number of tokens of a prompt and its reply together, limited to the model's own context size. Default: the
     * model's context size, at most 8,192.
     */
    val contextSize: Int? = null,
    /** The device that computes. Default: the CPU. */
    val device: Device? = null,
    /**
     * Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast
     * and slow ones, the number of fast ones.
     */
    val threads: Int? = null,
    /** The storage format of keys and values; with the feature `metal` it is always F32 on Metal. Default: F16. */
    val cacheType: CacheType? = null,
    /** A chat template that replaces the model's own. */
    val chatTemplate: String? = null,
    /**
     * A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or a file
     * beside the model's, whose name contains `mmproj` or `projector`.
     */
    val projector: String? = null,
    /** Which names functions may have. Default: letters, digits, `_` and `-`. */
    val functionNames: FunctionNames? = null,
    /** Sampling values that replace the ones that the model's files recommend. The options of a reply take precedence. */
    val generationDefaults: SamplingDefaults? = null,
    /**
     * Size limit of the prefix cache in bytes; 0 disables the cache. The entry used last is kept even if it alone is larger.
     * An eighth as much is kept of images that were computed, for pictures that are shown again. Default 512 MiB.
     */
    val cacheBytes: Long? = null,
    /**
     * Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Such colours were
     * never meant to be seen: black ink on a transparent ground is often black on black. Default: no, they are put on white.
     */
    val ignoresTransparency: Boolean = false,
    /**
     * A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own
     * folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
     */
    val audioDecoder: String? = null,
    /**
     * A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
     * `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`.
     */
    val audioTokenizer: String? = null,
    /**
     * A folder of the app for packed weights. The first load of a model writes its weights there as the kernels read them, and
     * later ones map that file instead of reading the model's: they take a fraction of the time and, with mapped weights, of
     * the memory. No other program may write to the folder. Packed weights are as large as the weights of the model. When new
     * ones are written, older ones are removed: of other releases, of models that are gone, and the oldest above the limit.
     * On a GPU, and for a model in memory, nothing is written. Default: none.
     */
    val packedFolder: String? = null,
    /** The limit of all packed weights in that folder in bytes. A larger model is not packed. Default 16 GiB. */
    val packedBytes: Long? = null,
    /** How packed weights come into memory. No result depends on it. Default: mapped on iOS and Android, `Auto` elsewhere. */
    val weightMemory: WeightMemory? = null,
    /**
     * The GPU's name, or a part of it in upper or lower case, as `causerie inspect devices` shows it. A software device is
     * taken only by its name. Default: a card with memory of its own, or else the processor's.
     */
    val gpuName: String? = null,
    /**
     * The memory of the GPU that the model and its sequences may take, in bytes. A model that needs more is refused, or goes
     * to the CPU if the device is chosen by `Auto`; where sequences need more, replies go on on the CPU. Default: what the
     * system leaves to the process.
     */
    val gpuBytes: Long? = null,
) {
    init {
        refuseNegative("contextSize", contextSize)
        refuseNegative("threads", threads)
        refuseNegative("cacheBytes", cacheBytes)
        refuseNegative("packedBytes", packedBytes)
        refuseNegative("gpuBytes", gpuBytes)
    }
}

/**
 * A builder of [LoadOptions]. Options that stay null take their defaults. For a negative count, [build] throws
 * [SdkException.InvalidOption].
 */
public class LoadOptionsBuilder {
    /**
     * The largest number of tokens of a prompt and its reply together, limited to the model's own context size. Default: the
     * model's context size, at most 8,192.
     */
    public var contextSize: Int? = null

    /** The device that computes. Default: the CPU. */
    public var device: Device? = null

    /**
     * Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast
     * and slow ones, the number of fast ones.
     */
    public var threads: Int? = null

    /** The storage format of keys and values; with the feature `metal` it is always F32 on Metal. Default: F16. */
    public var cacheType: CacheType? = null

    /** A chat template that replaces the model's own. */
    public var chatTemplate: String? = null

    /**
     * A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or a file
     * beside the model's, whose name contains `mmproj` or `projector`.
     */
    public var projector: String? = null

    /** Which names functions may have. Default: letters, digits, `_` and `-`. */
    public var functionNames: FunctionNames? = null

    /** Sampling values that replace the ones that the model's files recommend. The options of a reply take precedence. */
    public var generationDefaults: SamplingDefaults? = null

    /**
     * Size limit of the prefix cache in bytes; 0 disables the cache. The entry used last is kept even if it alone is larger.
     * An eighth as much is kept of images that were computed, for pictures that are shown again. Default 512 MiB.
     */
    public var cacheBytes: Long? = null

    /**
     * Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Such colours were
     * never meant to be seen: black ink on a transparent ground is often black on black. Default: no, they are put on white.
     */
    public var ignoresTransparency: Boolean = false

    /**
     * A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own
     * folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
     */
    public var audioDecoder: String? = null

    /**
     * A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
     * `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`.
     */
    public var audioTokenizer: String? = null

    /**
     * A folder of the app for packed weights. The first load of a model writes its weights there as the kernels read them, and
     * later ones map that file instead of reading the model's: they take a fraction of the time and, with mapped weights, of
     * the memory. No other program may write to the folder. Packed weights are as large as the weights of the model. When new
     * ones are written, older ones are removed: of other releases, of models that are gone, and the oldest above the limit.
     * On a GPU, and for a model in memory, nothing is written. Default: none.
     */
    public var packedFolder: String? = null

    /** The limit of all packed weights in that folder in bytes. A larger model is not packed. Default 16 GiB. */
    public var packedBytes: Long? = null

    /** How packed weights come into memory. No result depends on it. Default: mapped on iOS and Android, `Auto` elsewhere. */
    public var weightMemory: WeightMemory? = null

    /**
     * The GPU's name, or a part of it in upper or lower case, as `causerie inspect devices` shows it. A software device is
     * taken only by its name. Default: a card with memory of its own, or else the processor's.
     */
    public var gpuName: String? = null

    /**
     * The memory of the GPU that the model and its sequences may take, in bytes. A model that needs more is refused, or goes
     * to the CPU if the device is chosen by `Auto`; where sequences need more, replies go on on the CPU. Default: what the
     * system leaves to the process.
     */
    public var gpuBytes: Long? = null

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
    public fun ignoresTransparency(value: Boolean): LoadOptionsBuilder = apply { ignoresTransparency = value }

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

    /** Sets [gpuName], for Java. */
    public fun gpuName(value: String?): LoadOptionsBuilder = apply { gpuName = value }

    /** Sets [gpuBytes], for Java. */
    public fun gpuBytes(value: Long?): LoadOptionsBuilder = apply { gpuBytes = value }

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
        weightMemory = weightMemory,
        gpuName = gpuName,
        gpuBytes = gpuBytes,
    )
}

/** Sampling values that replace those that a model's files recommend. */
public data class SamplingDefaults @JvmOverloads constructor(
    /** As in `GenerationOptions`. */
    val temperature: Float? = null,
    /** As in `GenerationOptions`. */
    val topP: Float? = null,
    /** As in `GenerationOptions`. */
    val topK: Int? = null,
    /** As in `GenerationOptions`. */
    val minP: Float? = null,
    /** As in `GenerationOptions`. */
    val repetitionPenalty: Float? = null,
) {
    init {
        refuseNegative("topK", topK)
    }
}

/** Counts and times of one generation. Times are in seconds. */
public data class GenerationStats(
    /** Tokens of the prompt. */
    val promptTokens: Int,
    /** Prompt tokens taken from the prefix cache instead of being prefilled. */
    val cachedPromptTokens: Int,
    /** Tokens of the prompt that are sound: rows of 80 ms, for example. */
    val audioTokens: Int,
    /** Tokens that the model wrote, including calls and reasoning. */
    val completionTokens: Int,
    /** Completion tokens that are sound: frames of 80 ms, for example. */
    val spokenTokens: Int,
    /** Completion tokens in reasoning. */
    val reasoningTokens: Int,
    /** Completion tokens in blocks of calls. */
    val callTokens: Int,
    /** Completion tokens that the constraint forced, so that no sampling was needed. */
    val forcedTokens: Int,
    /** Draft tokens that the model verified (speculative decoding). */
    val draftedTokens: Int,
    /** Draft tokens that were accepted. */
    val acceptedDraftTokens: Int,
    /** Time spent computing which tokens the constraint allows; a part of the other times. */
    val constraintTime: Double,
    /** Tokens of prompt and reply together. */
    val totalTokens: Int,
    /** Time in the request queue. */
    val queueTime: Double,
    /** Time from the request to the first token written. */
    val timeToFirstToken: Double,
    /** Time spent prefilling the prompt. */
    val prefillTime: Double,
    /** Time spent decoding. */
    val decodeTime: Double,
    /** Tokens written per second of decoding. */
    val tokensPerSecond: Double,
    /** The seed that was used. */
    val seed: Long,
    /** The sampling values that were used. */
    val sampling: Sampling,
    /** Tokens that the context can hold. */
    val contextSize: Int,
    /** Peak memory of the whole process so far, in bytes; absent where the system does not report it. */
    val peakMemory: Long?,
)

/** What a prompt left out of the history. Messages are given by their index. */
public data class PromptReport(
    /** Messages left out so that the prompt fits the context. */
    val droppedMessages: List<Int>,
    /** Function results that were cut short so that the prompt fits the context. */
    val shrunkMessages: List<Int>,
    /** Assistant messages whose number of following results differs from their number of calls. */
    val miscountedResults: List<Int>,
)

/** The sampling values that were used. */
public data class Sampling(
    val temperature: Float,
    val topP: Float,
    val topK: Int,
    val minP: Float,
    val repetitionPenalty: Float,
    val presencePenalty: Float,
    val frequencyPenalty: Float,
)

/** A token with the natural logarithm of its probability, before temperature, penalties, biases and constraints. */
public data class ScoredToken(
    /** Its id. */
    val id: Int,
    /** Its bytes as text; for a control token, its spelling. */
    val text: String,
    /** The bytes that it adds to the reply; empty for a control token. */
    val bytes: ByteArray,
    /** The natural logarithm of its probability. */
    val logprob: Double,
) {
    private val parts get() = listOf(id, text, bytes.asList(), logprob)

    override fun equals(other: Any?): Boolean = other is ScoredToken && parts == other.parts

    override fun hashCode(): Int = parts.hashCode()

    override fun toString(): String = "ScoredToken(id=$id, text=$text, bytes=${bytes.size} bytes, logprob=$logprob)"
}

/** A token of a reply with its log-probability. */
public data class TokenLogprob(
    /** The token that was written. */
    val token: ScoredToken,
    /** The section that it belongs to. Markers of reasoning and of calls belong to those sections. */
    val place: ReplySection,
    /** The most probable tokens at its position, the best first, as many as were requested. */
    val alternatives: List<ScoredToken>,
)

/** Limits on the function calls of one message. */
public data class RoundOptions @JvmOverloads constructor(
    /** Maximum number of replies whose calls are run. The calls of the next reply are left to the app. Default 8. */
    val maxRounds: Int? = null,
    /** Seconds that a function may take. Default: no limit. */
    val timeLimit: Double? = null,
    /** Whether all calls of a reply are run at once. Default: one after the other. */
    val inParallel: Boolean = false,
) {
    init {
        refuseNegative("maxRounds", maxRounds)
    }
}

/** Facts about a model. */
public data class ModelInfo @JvmOverloads constructor(
    /** The name that its files give it. */
    val name: String?,
    /** The family, by the name in its files. */
    val architecture: String,
    /** Number of weights, each counted once. */
    val parameters: Long,
    /** Number of layers of any kind. */
    val layers: Int,
    /** Context size that the model was trained for, in tokens. */
    val contextSize: Int,
    /** Number of tokens in its vocabulary. */
    val vocabularySize: Int,
    /** Storage formats of the weights, the one with the most bytes first. */
    val quantisation: List<String>,
    /** Whether the chat template supports functions. */
    val supportsFunctionCalling: Boolean,
    /**
     * The notation in which the model writes calls, found from its chat template. It is the default of the options of a
     * reply.
     */
    val functionCallParser: FunctionCallParser = FunctionCallParser.MODEL,
    /** Whether the chat template supports reasoning. */
    val supportsReasoning: Boolean,
    /** Whether messages can contain images. */
    val supportsImages: Boolean,
    /** Whether messages can contain sound. */
    val supportsAudio: Boolean,
    /** Whether the model speaks: its replies may have sound. */
    val supportsSpeech: Boolean,
    /** Estimated memory in bytes, with the context size that it was or would be loaded with. */
    val memoryEstimate: Long,
    /** The part of it that the vision tower and its projector take; 0 if the model takes no images. */
    val visionMemory: Long,
    /** The part of it that the encoder of sound and its adapter take; 0 if the model has no audio input. */
    val hearingMemory: Long,
    /** The part of it that the parts which speak take; 0 if the model does not speak. */
    val speechMemory: Long,
    /** Names in the files of tensors that nothing reads, in order. */
    val unusedTensors: List<String>,
    /** Problems with the tokenizer or chat template that prevent loading, one per entry; empty once loaded. */
    val problems: List<String>,
    /** The name of the GPU that computes the loaded model; none on the CPU, and before it is loaded. */
    val gpu: String?,
    /** How the GPU's results may differ from the CPU's, one per entry; empty if they have the same bits. */
    val gpuDifferences: List<String>,
)

/** How a sound is transcribed. The defaults are the same as in the original Whisper. */
public data class TranscribeOptions @JvmOverloads constructor(
    /** The code of the language that is spoken, such as `en`. Default: the model detects it. */
    val language: String? = null,
    /** Whether the words are translated. Default: they are not. */
    val task: SpeechTask? = null,
    /** Text that may come before the sound: names and terms that occur, and the style of the transcript. */
    val prompt: String? = null,
    /** Whether the text of a window is given to the next one, which keeps names and style, and sometimes repeats itself. */
    val usesPreviousText: Boolean = true,
    /** Whether the model writes times. Without them, a segment is a window of the sound. */
    val hasTimes: Boolean = true,
    /** Whether each word gets its times. */
    val hasWordTimes: Boolean = false,
    /**
     * Temperatures, of which the next is tried while the text is not good enough by the thresholds. 0 picks the most probable
     * token. Default: 0, 0.2, 0.4, 0.6, 0.8 and 1.
     */
    val temperatures: List<Float>? = null,
    /** A text whose size divided by its compressed size is larger repeats itself; infinity for no limit. Default 2.4. */
    val compressionRatioThreshold: Float? = null,
    /** A text with a lower mean of its tokens' log-probabilities is not good enough; minus infinity for no limit. Default -1. */
    val logprobThreshold: Float? = null,
    /**
     * A window whose probability of no speech is larger, and whose text is not probable enough, is silent; infinity for no limit.
     * Default 0.6.
     */
    val noSpeechThreshold: Float? = null,
    /** The seed of temperatures above 0. Default 0. */
    val seed: Long? = null,
)

/** Options for loading a transcriber. */
public data class TranscriberOptions @JvmOverloads constructor(
    /** The device that computes. Default: the CPU. */
    val device: Device? = null,
    /** Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores. */
    val threads: Int? = null,
    /** The storage format of the decoder's keys and values. Default: F16. */
    val cacheType: CacheType? = null,
    /**
     * Stores the matrices of a model that is not quantised in this type, which makes it smaller and faster. Default: as in the
     * files.
     */
    val quantize: GgufType? = null,
) {
    init {
        refuseNegative("threads", threads)
    }
}

/** The text of a sound. */
public data class Transcript(
    /** The texts of all segments, one after the other, without white space around. */
    val text: String,
    /** The code of the language that is spoken. */
    val language: String,
    /** How long the sound plays, in seconds. */
    val duration: Double,
    /** The parts of the text, in order. */
    val segments: List<TranscriptSegment>,
    /** Whether the transcription was cancelled; the segments are those before. */
    val wasCancelled: Boolean,
)

/** A part of a transcript: a sentence, or a part of one. */
public data class TranscriptSegment(
    /** When it begins, in seconds. */
    val start: Double,
    /** When it ends, in seconds. */
    val end: Double,
    /** The text, mostly with a space before it. */
    val text: String,
    /** The tokens of the text, with the tokens of its times. */
    val tokens: List<Int>,
    /** The mean of the log-probabilities of the window's tokens. */
    val avgLogprob: Float,
    /** The probability that nobody speaks in the window. */
    val noSpeechProb: Float,
    /** The size of the window's text divided by its compressed size. */
    val compressionRatio: Float,
    /** The temperature that the text was written with. */
    val temperature: Float,
    /** The words with their times, if they were requested. */
    val words: List<TranscriptWord>,
)

/** A word with its times. */
public data class TranscriptWord(
    /** The word, mostly with a space before it. */
    val word: String,
    /** When it begins, in seconds. */
    val start: Double,
    /** When it ends, in seconds. */
    val end: Double,
    /** The mean probability of its tokens. */
    val probability: Float,
)

/** A header of a request or of an answer. */
public data class HttpHeader(
    /** The name, in any case. */
    val name: String,
    /** The value. */
    val value: String,
)

/** A GET request. Its headers may contain a token. */
public data class HttpRequest(
    /** The whole address. */
    val url: String,
    /** The headers to send. */
    val headers: List<HttpHeader>,
)

/** The answers that a question allows. */
public sealed class DecisionKind {
    /** Yes or no. */
    public data class Predicate @JvmOverloads constructor(
        /** When yes is right. */
        val yes: String? = null,
        /** When no is right. */
        val no: String? = null,
    ) : DecisionKind()

    /** One of 1 to 255 labels. */
    public data class Choice(
        /** The labels. */
        val choices: List<DecisionLabel>,
    ) : DecisionKind()

    /** A number from 0 on: one of 2 to 100 levels, the lowest first. */
    public data class Score(
        /** The levels. */
        val levels: List<DecisionLabel>,
    ) : DecisionKind()
}

/**
 * What was decided. Probabilities are those among the labels: their sum is 1. `confidence` is 0 if all labels are equally probable,
 * and 1 if one is certain.
 */
public sealed class DecisionOutcome {
    /** The answer to a question that is answered by yes or no. */
    public data class Predicate(
        /** The probability of yes. */
        val probability: Double,
    ) : DecisionOutcome()

    /** The answer to a choice. */
    public data class Choice(
        /** The most probable label; of equal ones, the first. */
        val choice: String,
        /** Its place among the labels. */
        val index: Int,
        /** How certain the choice is, from 0 to 1. */
        val confidence: Double,
        /** The labels in the order of the question. */
        val probabilities: List<LabelProbability>,
    ) : DecisionOutcome()

    /** The answer to a score. */
    public data class Score(
        /** The mean of the levels, each weighed by its probability: 0 is the first. */
        val score: Double,
        /** How certain the score is, from 0 to 1. */
        val confidence: Double,
        /** The levels in the order of the question. */
        val probabilities: List<LabelProbability>,
    ) : DecisionOutcome()
}

/** What questions are about. */
public sealed class DecisionState {
    /** Text; nothing if it is empty. */
    public data class Text(
        /** The text. */
        val text: String,
    ) : DecisionState()

    /** A JSON value, which the model is shown over several lines. */
    public data class Json(
        /** The value, as JSON text. */
        val json: String,
    ) : DecisionState()

    /** Messages, which may have images. Of messages of users alone, the contents count; of others, each begins with its author. */
    public data class Messages(
        /** The messages, in order. */
        val messages: List<ChatMessage>,
    ) : DecisionState()
}

/** What a text is used for. Many models put a prompt before queries, before documents, or before both. */
public enum class TextUse {
    /** The prompt that the model's files name as the default, if they name one. */
    UNSPECIFIED,
    /** A question, or another text that something is searched with. */
    QUERY,
    /** A text that is searched. */
    DOCUMENT,
}

/** What can go wrong. `reason` is one readable line. */
public sealed class SdkException : Exception() {
    /** There is no model at the given path. */
    public class ModelNotFound(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The model's files are unreadable, damaged, incomplete or of an unknown kind. */
    public class ModelLoad(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The model needs more memory than the system gives to this process: `needed` and `available` are bytes. */
    public class OutOfMemory(
        val reason: String,
        val needed: Long,
        val available: Long,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The app cancelled loading. */
    public class LoadCancelled(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The model was unloaded. Its conversations can be read, but not continued. */
    public class ModelUnloaded(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The conversation is generating a reply: wait for its end or cancel it. */
    public class Busy(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The stream was already read. */
    public class StreamAlreadyConsumed(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The prompt does not fit the context with at least one token of reply. */
    public class PromptExceedsContext(
        val reason: String,
        val needed: Int,
        val available: Int,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** An option is out of its range. `option` is its name. */
    public class InvalidOption(
        val reason: String,
        val option: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** A message is not valid at its position. */
    public class InvalidMessage(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The definition of a function breaks a rule. */
    public class InvalidFunction(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** An argument or a reply does not fit its type. `argument` is its path. */
    public class InvalidArgument(
        val reason: String,
        val argument: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** Functions are registered, but the model's chat template does not support them. */
    public class FunctionCallingUnsupported(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The model does not support content parts of this kind. */
    public class UnsupportedContent(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** The computation failed. */
    public class Generation(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** Text does not have the expected data format. */
    public class Serialization(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** A saved session cannot be restored. `fault` is `file`, `version`, `model` or `corrupt`. */
    public class Session(
        val reason: String,
        val fault: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** A model cannot be downloaded. `fault` is one of the codes of the core's `DownloadFault`, such as `network`. */
    public class Download(
        val reason: String,
        val fault: String,
        val isRetryable: Boolean,
    ) : SdkException() {
        override val message: String get() = reason
    }

    /** A fault in causerie itself, which was caught. */
    public class Internal(
        val reason: String,
    ) : SdkException() {
        override val message: String get() = reason
    }

    internal companion object ErrorHandler : org.causerie.ffi.UniffiRustCallStatusErrorHandler<SdkException> {
        override fun lift(error_buf: org.causerie.ffi.RustBuffer.ByValue): SdkException =
            org.causerie.ffi.FfiConverterTypeSdkError.lift(error_buf)
    }
}

/** The type of a parameter, translated to JSON Schema for the model. Its description is used only where the type is nested. */
public sealed class SdkFunctionParameterType {
    /** A string. */
    public data class SdkStr @JvmOverloads constructor(
        /** The allowed values; any string when absent. */
        val enumValues: List<String>? = null,
        /** The meaning of a nested value. */
        val description: String? = null,
    ) : SdkFunctionParameterType()

    /** A number. */
    public data class SdkNum @JvmOverloads constructor(
        /** The allowed values; any finite number when absent. */
        val enumValues: List<Double>? = null,
        /** The meaning of a nested value. */
        val description: String? = null,
    ) : SdkFunctionParameterType()

    /** An integer. */
    public data class SdkInt @JvmOverloads constructor(
        /** The allowed values; any integer when absent. */
        val enumValues: List<Long>? = null,
        /** The meaning of a nested value. */
        val description: String? = null,
    ) : SdkFunctionParameterType()

    /** A boolean. */
    public data class SdkBool @JvmOverloads constructor(
        /** The meaning of a nested value. */
        val description: String? = null,
    ) : SdkFunctionParameterType()

    /** An array. */
    public data class SdkArr @JvmOverloads constructor(
        /** The type of the items. */
        val itemType: SdkFunctionParameterType,
        /** The meaning of a nested value. */
        val description: String? = null,
    ) : SdkFunctionParameterType()

    /** An object. */
    public data class SdkObj @JvmOverloads constructor(
        /**
         * The properties by name. The model reads and writes the required ones first, in their order, then the others
         * sorted by name.
         */
        val properties: Map<String, SdkFunctionParameterType>,
        /** Names of the properties that must be present. */
        val required: List<String> = listOf(),
        /** The meaning of a nested value. */
        val description: String? = null,
    ) : SdkFunctionParameterType()

    /** Null. */
    public object SdkNull : SdkFunctionParameterType()
}

/** The severity of a diagnostic. */
public enum class Severity {
    /** The value was converted and now fits. */
    COERCED,
    /** There is nothing to compare with; the app decides. */
    WARNING,
    /** The value does not fit. */
    ERROR,
}

/** An event of a download. */
public sealed class PullEvent {
    /** Progress, at most ten times a second. */
    public data class Progress(
        /** The progress. */
        val progress: PullProgress,
    ) : PullEvent()

    /** The last event: the model is downloaded. */
    public data class Ready(
        /** The file or folder to load. */
        val path: String,
    ) : PullEvent()
}

/** What a download is doing. */
public enum class PullState {
    /** The hub is asked which files the name means. */
    RESOLVING,
    /** Another process downloads the same file, or the server has to be asked again later. */
    WAITING,
    /** Bytes arrive. */
    DOWNLOADING,
    /** The content of a file is checked. */
    VERIFYING,
    /** The model can be loaded. */
    READY,
}

/** The importance of a log record. */
public enum class LogLevel {
    /** Something failed. */
    ERROR,
    /** Something is not as the app requested it. */
    WARNING,
    /** Something that a developer may want to know. */
    INFO,
    /** Details. */
    DEBUG,
}

/** One part of a message. */
public sealed class ChatMessageContent {
    /** Text. */
    public data class Text(
        /** The text. */
        val text: String,
    ) : ChatMessageContent()

    /** A JPEG, PNG, WebP or GIF file. */
    public data class Image(
        /** The bytes of the file. None are a placeholder, which only shows in prompts. */
        val data: ByteArray,
    ) : ChatMessageContent() {
        private val parts get() = listOf(data.asList())

        override fun equals(other: Any?): Boolean = other is Image && parts == other.parts

        override fun hashCode(): Int = parts.hashCode()

        override fun toString(): String = "Image(${data.size} bytes)"
    }

    /** A WAV file. */
    public data class Audio(
        /** The bytes of the file. */
        val data: ByteArray,
    ) : ChatMessageContent() {
        private val parts get() = listOf(data.asList())

        override fun equals(other: Any?): Boolean = other is Audio && parts == other.parts

        override fun hashCode(): Int = parts.hashCode()

        override fun toString(): String = "Audio(${data.size} bytes)"
    }
}

/** The author of a message. */
public enum class ChatMessageRole {
    /** Instructions for the conversation; the first message, or absent. */
    SYSTEM,
    /** The user. */
    USER,
    /** The model. */
    ASSISTANT,
    /** The result of a function call. */
    TOOL,
}

/** The storage format of keys and values. */
public enum class CacheType {
    /** Half the memory and traffic of F32; other engines use it too. */
    F16,
    /** For comparisons with references to the last digit. */
    F32,
    /**
     * Bytes with a scale for each 32 values of a head: little more than half of F16, for long contexts. It is coarser;
     * how much a model loses by it has to be measured.
     */
    Q8_0,
}

/** Treatment of a history that does not fit the context. */
public sealed class ContextPolicy {
    /** The reply fails. */
    public object Error : ContextPolicy()

    /** The prompt omits whole turns, the oldest first. */
    public data class Slide(
        /** Whether function results in older turns are cut short first. */
        val shrinkToolResults: Boolean,
    ) : ContextPolicy()
}

/** The device that a model is computed on. */
public enum class Device {
    /** The CPU. */
    CPU,
    /**
     * A GPU, by Vulkan, Metal or DX12; pictures and sound are still computed on the CPU. Requires a build with the
     * feature `gpu`; in other builds, loading fails with the error `InvalidOption`, and so it does without a GPU.
     * docs/gpu.md says what was tried on what.
     */
    GPU,
    /**
     * A GPU if there is one that computes the model and has memory for it, otherwise the CPU; the choice is logged. On
     * phones and in builds without the feature `gpu`, the CPU.
     */
    AUTO,
    /**
     * As `Gpu`, by an earlier name. In builds with the feature `metal` and without `gpu`, the GPU of an Apple device by
     * candle's tensors.
     */
    METAL,
}

/** The notation of function calls. */
public enum class FunctionCallParser {
    /** The notation that the loaded model writes. */
    MODEL,
    /** Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`, as LFM2 writes them. */
    DEFAULT,
    /** JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4 write them. */
    JSON_STYLE,
    /**
     * `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3, Qwen3.5 and Qwen3-Coder
     * write them. Values are raw text, which is read as the type that the function declares.
     */
    XML,
    /** `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it. */
    GEMMA,
    /**
     * Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of JSON objects, or a name and
     * `[ARGS]` before an object.
     */
    MISTRAL,
    /** JSON objects with `parameters` as the whole reply, as Llama 3 writes them. */
    LLAMA,
    /** A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as Phi-4-mini writes it. */
    PHI,
    /** Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes them for `python_tools`. */
    CODE,
    /** A list of JSON objects after the word `functools`, as Phi-4-mini writes it if its system message asks for it. */
    FUNCTOOLS,
}

/**
 * Which names functions may have. Identifiers are recommended, which are letters, digits and `_` without a digit in front:
 * models write them best.
 */
public enum class FunctionNames {
    /** Letters, digits, `_` and `-`, at most 200: `create_event`, `get-weather`, `21st_magic_builder`. */
    PLAIN,
    /** Also several such names joined by dots: `calendar.create_event`. */
    DOTTED,
}

/** How a conversation handles a request while it is generating another reply. */
public enum class OnBusy {
    /** Fails with the error `Busy`. */
    ERROR,
    /**
     * Puts the request in a queue, in the order of the first pulls of the streams, and answers it when the earlier
     * replies have ended.
     */
    QUEUE,
    /** Cancels all earlier requests, and answers this one when they have ended. */
    REPLACE,
}

/** What remains of a cancelled reply in the history. A reply cancelled in the request queue leaves nothing. */
public enum class OnCancel {
    /** Keeps the text so far, if any, marked as incomplete. */
    KEEP_PARTIAL,
    /** Keeps the user's message, drops the reply. */
    DROP_PARTIAL,
    /** Drops the reply and the message that it answers. */
    DROP_TURN,
}

/** Whether, and in which order, a model that speaks gives text and sound. */
public enum class SpeechMode {
    /** As the system prompt asks: interleaved after `Respond with interleaved text and audio.`, sequential otherwise. */
    AUTO,
    /** Text alone. */
    OFF,
    /** Text, until the model begins to speak: to read a text aloud, or to answer in text. */
    SEQUENTIAL,
    /** A few words and their sound in turn: to talk. */
    INTERLEAVED,
}

/** A voice in which published models read a text aloud: the prompt asks for it. */
public enum class SpeechVoice {
    /** American English. */
    US_MALE,
    /** American English. */
    US_FEMALE,
    /** British English. */
    UK_MALE,
    /** British English. */
    UK_FEMALE,
}

/** How calls are handled that can be read only after a repair. */
public enum class Strictness {
    /** They are delivered, with a list of the repairs. */
    RECOVER,
    /** They are rejected, with the repaired call as candidate. */
    STRICT,
}

/** Whether calls are constrained to the declared functions during generation. */
public enum class ToolCallConstraint {
    /** Calls are not constrained, but validated afterwards. A required call is constrained all the same. */
    OFF,
    /**
     * Once the model begins a block of calls, it can only write calls of declared functions, with arguments of the
     * declared names and types. Each argument is written once, the required ones always. The content of strings is free.
     * If no allowed token can be generated, the reply ends with the reason `Constraint`.
     */
    TYPED,
}

/** Whether functions are called. */
public sealed class ToolChoice {
    /** The model decides. */
    public object Auto : ToolChoice()

    /** No function is called; the prompt still offers them. */
    public object None : ToolChoice()

    /** The reply begins with a call. */
    public object Required : ToolChoice()

    /** The reply begins with a call of this function and calls no other. */
    public data class Function(
        /** Its name. */
        val name: String,
    ) : ToolChoice()
}

/**
 * How packed weights come into memory: the ones in the folder of the load options, or in a bundle that was made with
 * them. Weights that are not packed are always converted into memory. Default: mapped on iOS and Android, `Auto`
 * elsewhere.
 */
public enum class WeightMemory {
    /**
     * They stay in the file, which is mapped: loading copies nothing, the memory counts as the system's, and processes
     * share it. If another program truncates the file, the process ends on Unix; docs/packed-weights.md says more.
     */
    MAPPED,
    /** They are read into memory of the process, and the file is not used any more. */
    COPIED,
    /**
     * They are mapped, and copied to large pages while no reply runs, if there is enough free memory: replies are written
     * faster from these.
     */
    AUTO,
}

/** Why a reply ended. */
public enum class FinishReason {
    /** The model ended its turn, or a stop sequence was met. */
    STOP,
    /** The model ended its turn, and at least one call was delivered. */
    TOOL_CALLS,
    /** The maximum number of tokens was written. */
    MAX_TOKENS,
    /** The context is full. */
    EXCEED_CONTEXT,
    /** Cancelled, or out of time. */
    INTERRUPTED,
    /** The reply could not continue under its constraint. */
    CONSTRAINT,
}

/** One event of a reply. Nothing follows `Complete` or an error. Later versions may add events: ignore unknown ones. */
public sealed class MessageResponse {
    /** Text, in whole characters. */
    public data class Chunk(
        /** The text. */
        val text: String,
    ) : MessageResponse()

    /** Text of the model's reasoning, in whole characters. */
    public data class ReasoningChunk(
        /** The text. */
        val reasoning: String,
    ) : MessageResponse()

    /** Audio. */
    public data class AudioSample(
        /** Mono samples in -1.0..=1.0. */
        val samples: List<Float>,
        /** Samples per second. */
        val sampleRate: Int,
    ) : MessageResponse() {
        override fun toString(): String = "AudioSample(${samples.size} samples, sampleRate=$sampleRate)"
    }

    /** Calls that the model made: one event for each block of calls that it wrote. */
    public data class FunctionCalls(
        /** The calls, in order. */
        val functionCalls: List<SdkFunctionCall>,
    ) : MessageResponse()

    /** Call text that could not be delivered as calls. */
    public data class FunctionCallsRejected(
        /** The rejected calls, in order. */
        val rejectedCalls: List<RejectedCall>,
    ) : MessageResponse()

    /**
     * Log-probabilities of tokens, if requested. Each token comes once, in order, no later than the event with its text. The
     * token that ends the reply and tokens that a stop sequence cuts off are left out.
     */
    public data class Logprobs(
        /** The tokens. */
        val tokens: List<TokenLogprob>,
    ) : MessageResponse()

    /**
     * Calls that the reader of the stream is to run, at once if there are several, and to answer. Their arguments fit the
     * functions' parameters. Only in a stream that was started with functions.
     */
    public data class RunFunctions(
        /** The calls, in order. */
        val functionCalls: List<SdkFunctionCall>,
    ) : MessageResponse()

    /** The result of a call, where functions run along with the reply. */
    public data class FunctionResult(
        /** The call's id; none for a rejected call. */
        val callId: String?,
        /** The function's name; none for a rejected call whose name could not be read. */
        val name: String?,
        /** The text of the message with the tool role that was added to the history. */
        val text: String,
        /** Whether the text describes an error of the function or of the call. */
        val isError: Boolean,
    ) : MessageResponse() {
        /** The exception of the function; null if it threw none, did not run, or took too long. Not compared. */
        var error: Throwable? = null
            internal set
    }

    /** The end of a reply whose calls were run; another reply follows. The results of its calls come before this event. */
    public data class RoundComplete(
        /** The assembled reply, as it stands in the history. */
        val fullMessage: ChatMessage,
        /** Why it ended. */
        val finishReason: FinishReason,
        /** The stop sequence that was met, if one was. */
        val stopSequence: String?,
        /** Counts and times. */
        val stats: GenerationStats,
        /** What the prompt left out of the history, and whether the results in it match the calls. */
        val prompt: PromptReport,
        /** Why calls were not constrained, or only up to some token, although that was requested. */
        val unconstrained: String?,
        /** Remarks about the reply as a whole: that its text looks like a call, although no function was called. */
        val diagnostics: List<Diagnostic>,
    ) : MessageResponse()

    /** The end of the stream. */
    public data class Complete(
        /** The assembled reply, as it stands in the history. */
        val fullMessage: ChatMessage,
        /** Why it ended. */
        val finishReason: FinishReason,
        /** The stop sequence that was met, if one was. */
        val stopSequence: String?,
        /** Counts and times. */
        val stats: GenerationStats,
        /** Counts and times of the earlier replies of the same stream, in order; empty unless functions ran along with it. */
        val earlierRounds: List<GenerationStats>,
        /** What the prompt left out of the history, and whether the results in it match the calls. */
        val prompt: PromptReport,
        /** Why calls were not constrained, or only up to some token, although that was requested. */
        val unconstrained: String?,
        /** Remarks about the reply as a whole: that its text looks like a call, although no function was called. */
        val diagnostics: List<Diagnostic>,
    ) : MessageResponse() {
        /** The text of the reply. */
        val text: String get() = fullMessage.text
    }
}

/** A section of a reply. */
public enum class ReplySection {
    /** Text. */
    TEXT,
    /** Reasoning. */
    REASONING,
    /** A block of calls. */
    CALLS,
}

/** The outcome of running a function. */
public sealed class FunctionOutcome {
    /** It returned a string, which the model reads as it is. */
    public data class Text(
        /** The string. */
        val text: String,
    ) : FunctionOutcome()

    /** It returned a value, given as JSON text. */
    public data class Json(
        /** The JSON text. */
        val text: String,
    ) : FunctionOutcome()

    /** It returned parts of a message, such as a picture. */
    public data class Content(
        /** The parts. */
        val content: List<ChatMessageContent>,
    ) : FunctionOutcome()

    /** It failed. */
    public data class Failed(
        /** The reason, for the model to read. */
        val reason: String,
    ) : FunctionOutcome()

    /** It took longer than the time limit. */
    public object TimedOut : FunctionOutcome()
}

/** What loading a model does. */
public enum class LoadPhase {
    /** Packed weights are written into the folder of the app. */
    PACKING,
    /** The weights are read into memory. */
    READING,
    /** Packed weights are mapped. */
    MAPPING,
    /** The model is loaded. */
    READY,
}

/** A format of sound, with 16 bits for each sample of one channel. */
public enum class SoundFormat {
    /** A WAV file. */
    WAV,
    /** A FLAC file: about half as large, without loss. */
    FLAC,
    /** The samples alone, with the lower byte first. */
    PCM,
}

/** A type of weights. */
public enum class GgufType {
    /** 8.5 bits per weight: hardly distinguishable from the original. */
    Q8_0,
    /** 6.6 bits per weight. */
    Q6K,
    /** 5.7 bits per weight. */
    Q5KM,
    /** 4.8 bits per weight. */
    Q4KM,
    /** 4.5 bits per weight. */
    Q4_0,
}

/** What is written of what is heard. */
public enum class SpeechTask {
    /** The words in their own language. */
    TRANSCRIBE,
    /** The words in English. */
    TRANSLATE,
}

/** An event of a transcription. The last one is `Complete`, or an error. */
public sealed class TranscriptEvent {
    /** The language that is spoken. */
    public data class Language(
        /** The code of the language. */
        val code: String,
        /** Its probability among all languages; 1 if it was given. */
        val probability: Float,
    ) : TranscriptEvent()

    /** The text after the last segment so far. It replaces the one before, and may still change. */
    public data class Partial(
        /** The text. */
        val text: String,
    ) : TranscriptEvent()

    /** A segment, which does not change any more. */
    public data class Segment(
        /** The segment. */
        val segment: TranscriptSegment,
    ) : TranscriptEvent()

    /** The whole transcript, which comes last. */
    public data class Complete(
        /** The transcript. */
        val transcript: Transcript,
    ) : TranscriptEvent()
}
