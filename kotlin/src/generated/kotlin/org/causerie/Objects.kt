// Written by scripts/bindgen from the façade in bindings/src.
@file:Suppress("warnings")
@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/** The calls of [Conversation] that the engine answers. */
public interface ConversationInterface {
    /** Adds a message without generating, for example one of several function results. */
    @Throws(SdkException::class)
    public fun appendToHistory(message: ChatMessage): Unit

    /** Creates an independent conversation with the same history. */
    public fun fork(): Conversation

    /** The registered functions. */
    public val functions: List<SdkFunction>

    /**
     * A copy of all messages so far. A reply joins them before its `Complete` is delivered, and as soon as it has called
     * functions.
     */
    public val history: List<ChatMessage>

    /**
     * Interrupts the reply that the listener hears, at the end of what was played: seconds from the beginning of the sound of the
     * replies to the last message of the user. A reply under way is cancelled, and the message of the reply is cut to what was
     * heard: all up to the last frame of which something was played, also the text before it. If nothing was heard, no message
     * remains. Calls stay, and a reply without sound keeps its text. The next reply goes on from the prefix cache.
     */
    public fun interrupt(playedUntil: Double): Unit

    /** Whether a reply is being generated, or waits for its turn. */
    public val isGenerating: Boolean

    /** The runner that created this conversation. */
    public val modelRunner: ModelRunner

    /**
     * Offers a function to the model. It replaces a function of the same name in place. If the function is refused, the next
     * reply reports the error, once.
     */
    public fun offerFunction(function: SdkFunction): Unit

    /** What a reply to the history as it stands would leave out of the prompt with these options. */
    @Throws(SdkException::class)
    public fun planContext(options: GenerationOptions): ContextPlan

    /**
     * How much of the latest reply's prompt is prefilled, to show while its first event is awaited. All zeros before the first
     * reply. With function calls, the prompt is that of the current round.
     */
    public val prefillProgress: PrefillProgress

    /** Number of prompt tokens for the history as it stands, including functions. */
    @Throws(SdkException::class)
    public fun promptTokenCount(): Int

    /** Offers functions to the model, all or none. Each replaces a function of the same name in place. */
    @Throws(SdkException::class)
    public fun registerFunctions(functions: List<SdkFunction>): Unit

    /** Removes and returns the last message; none if there is none. */
    @Throws(SdkException::class)
    public fun removeLastMessage(): ChatMessage?

    /** Saves the conversation to a file, with or without the model's cache of it. */
    @Throws(SdkException::class)
    public fun saveSession(path: String, includeCache: Boolean): Unit

    /** Starts the stream of a reply to the history as it stands. */
    public fun startContinuation(options: GenerationOptions): ResponseStream

    /** Starts the stream of the reply to a message. Each language wraps it in a stream of its own. */
    public fun startResponse(message: ChatMessage, options: GenerationOptions): ResponseStream

    /**
     * Starts the stream of the reply to a message, or to the history as it stands, with function calls. The reader of the
     * stream runs the calls of these functions, which arrive as `RunFunctions`, and answers each of them. Those that are
     * offered are registered when the reply begins.
     */
    public fun startResponseWithFunctions(message: ChatMessage?, functions: List<String>, offered: List<SdkFunction>, rounds: RoundOptions, options: GenerationOptions): ResponseStream

    /** Keeps only the first messages of the history. */
    @Throws(SdkException::class)
    public fun truncate(messageCount: Int): Unit

    /** Stops offering a function. Returns false if none has this name. */
    @Throws(SdkException::class)
    public fun unregisterFunction(name: String): Boolean
}

/** A conversation with a model. */
public class Conversation internal constructor(internal val raw: org.causerie.ffi.Conversation) : TypedConversation(), AutoCloseable {
    private val runner = lazy { ModelRunner(raw.modelRunner()).also { it.model = model } }

    internal var handlers: FunctionHandlers? = null

    /** The identity of the model. */
    internal var model: Any = Any()

    @Throws(SdkException::class)
    override fun appendToHistory(message: ChatMessage): Unit = raw.appendToHistory(message)

    override fun fork(): Conversation = Conversation(raw.fork()).also { it.handlers = handlers; it.model = model }

    override val functions: List<SdkFunction> get() = raw.functions()

    override val history: List<ChatMessage> get() = raw.history()

    override fun interrupt(playedUntil: Double): Unit = raw.interrupt(playedUntil)

    override val isGenerating: Boolean get() = raw.isGenerating()

    override val modelRunner: ModelRunner get() = runner.value

    override fun offerFunction(function: SdkFunction): Unit = raw.offerFunction(function)

    @Throws(SdkException::class)
    override fun planContext(options: GenerationOptions): ContextPlan = raw.planContext(options)

    override val prefillProgress: PrefillProgress get() = raw.prefillProgress()

    @Throws(SdkException::class)
    override fun promptTokenCount(): Int = raw.promptTokenCount()

    @Throws(SdkException::class)
    override fun registerFunctions(functions: List<SdkFunction>): Unit = raw.registerFunctions(functions)

    @Throws(SdkException::class)
    override fun removeLastMessage(): ChatMessage? = raw.removeLastMessage()

    @Throws(SdkException::class)
    override fun saveSession(path: String, includeCache: Boolean): Unit = raw.saveSession(path, includeCache)

    override fun startContinuation(options: GenerationOptions): ResponseStream = ResponseStream(raw.startContinuation(options))

    override fun startResponse(message: ChatMessage, options: GenerationOptions): ResponseStream = ResponseStream(raw.startResponse(message, options))

    override fun startResponseWithFunctions(message: ChatMessage?, functions: List<String>, offered: List<SdkFunction>, rounds: RoundOptions, options: GenerationOptions): ResponseStream = ResponseStream(raw.startResponseWithFunctions(message, functions, offered, rounds, options))

    @Throws(SdkException::class)
    override fun truncate(messageCount: Int): Unit = raw.truncate(messageCount)

    @Throws(SdkException::class)
    override fun unregisterFunction(name: String): Boolean = raw.unregisterFunction(name)

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        if (runner.isInitialized()) runner.value.close()
        raw.close()
    }
}

/** The calls of [EmbeddingModel] that the engine answers. */
public interface EmbeddingModelInterface {
    /** The vectors of texts. Texts are computed together; no text's vector depends on the others, not in a bit. */
    @Throws(SdkException::class)
    public suspend fun embed(texts: List<String>, options: EmbedOptions): TextEmbeddings

    /** The vectors of the tokens of texts, for models that compare texts token by token. */
    @Throws(SdkException::class)
    public suspend fun embedTokens(texts: List<String>, options: EmbedOptions): TokenEmbeddings

    /** The description of the model. */
    public val info: EmbeddingModelInfo

    /** Ranks documents by how well they fit a query. A document that is too long is cut at its end. */
    @Throws(SdkException::class)
    public suspend fun rerank(query: String, documents: List<String>, options: RerankOptions): Ranking
}

/** A model in memory that embeds texts, or ranks documents. */
public class EmbeddingModel internal constructor(internal val raw: org.causerie.ffi.EmbeddingModel) : EmbeddingModelMembers, AutoCloseable {
    @Throws(SdkException::class)
    override suspend fun embed(texts: List<String>, options: EmbedOptions): TextEmbeddings = raw.embed(texts, options)

    @Throws(SdkException::class)
    override suspend fun embedTokens(texts: List<String>, options: EmbedOptions): TokenEmbeddings = raw.embedTokens(texts, options)

    override val info: EmbeddingModelInfo get() = raw.info()

    @Throws(SdkException::class)
    override suspend fun rerank(query: String, documents: List<String>, options: RerankOptions): Ranking = raw.rerank(query, documents, options)

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }

    public companion object : EmbeddingModelLoading
}

/** The files of one model at one commit, with their digests. As JSON it survives a restart of the app. */
public class DownloadPlan internal constructor(internal val raw: org.causerie.ffi.DownloadPlan) : AutoCloseable {
    /** The commit, by which all files are fetched. */
    public fun commit(): String = raw.commit()

    /** Whether an account must accept the repository's conditions first. */
    public fun isGated(): Boolean = raw.isGated()

    /** The licence that the repository states. */
    public fun license(): String? = raw.license()

    /** The name of the model. */
    public fun name(): String = raw.name()

    /** The size of all files in bytes. */
    public fun size(): Long = raw.size()

    /** The plan as JSON. */
    public fun toJson(): String = raw.toJson()

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }

    public companion object {
        /** Reads a plan from JSON. */
        @Throws(SdkException::class)
        public fun fromJson(json: String): DownloadPlan = DownloadPlan(org.causerie.ffi.DownloadPlan.fromJson(json))
    }
}

/** The events of a download. Nothing follows the last one, or an error. Dropping the stream ends the download. */
public class DownloadStream internal constructor(internal val raw: org.causerie.ffi.DownloadStream) : AutoCloseable {
    /**
     * Ends the download soon, with the error `Download` whose fault is `cancelled`. What has arrived is kept. Calling it again,
     * or after the end, does nothing.
     */
    public fun cancel(): Unit = raw.cancel()

    /** The next event; none after the last one. */
    @Throws(SdkException::class)
    public suspend fun next(): PullEvent? = raw.next()

    /** The next event, for callers that wait on a thread of their own. */
    @Throws(SdkException::class)
    public fun nextBlocking(): PullEvent? = raw.nextBlocking()

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }
}

/** Downloads models by name. See the crate `causerie-hub`. */
public class Hub internal constructor(internal val raw: org.causerie.ffi.Hub) : AutoCloseable {
    /**
     * A hub that is reached by a transport of the platform, or without one by the library's own client. Libraries for phones
     * have no client.
     */
    @Throws(SdkException::class)
    public constructor(options: HubOptions, transport: HttpTransport?) : this(org.causerie.ffi.Hub(options, transport?.let(::HttpTransportAdapter)))

    /** The folder that models are downloaded into. */
    public fun cache(): String = raw.cache()

    /** The file or folder of a downloaded model. Sends no request. */
    @Throws(SdkException::class)
    public fun find(name: String): String = raw.find(name)

    /** Makes a model visible whose files are all installed. Returns the file or folder to load. */
    @Throws(SdkException::class)
    public fun finish(plan: DownloadPlan): String = raw.finish(plan.raw)

    /** Checks a file that the app has fetched, and moves it to its place. Returns its path in the repository. */
    @Throws(SdkException::class)
    public suspend fun install(plan: DownloadPlan, file: String): String = raw.install(plan.raw, file)

    /** The bytes of a plan that are not there. */
    public fun missingBytes(plan: DownloadPlan): Long = raw.missingBytes(plan.raw)

    /** The files of a plan that are not there, for an app that fetches them itself. */
    public fun missingFiles(plan: DownloadPlan): List<PlannedFile> = raw.missingFiles(plan.raw)

    /** All downloaded models. */
    public fun models(): List<CachedModel> = raw.models()

    /** Asks the hub which files a name means now, and what they are. Downloads no model. */
    @Throws(SdkException::class)
    public suspend fun plan(name: String): DownloadPlan = DownloadPlan(raw.plan(name))

    /** Removes a model; without tag and revision, everything of its repository. Returns the bytes that this frees. */
    @Throws(SdkException::class)
    public fun remove(name: String): Long = raw.remove(name)

    /** Downloads the files of a plan. Nothing happens before the first event is pulled. */
    public fun startFetch(plan: DownloadPlan): DownloadStream = DownloadStream(raw.startFetch(plan.raw))

    /** Downloads a model, as far as it is missing or has changed. Nothing happens before the first event is pulled. */
    public fun startPull(name: String): DownloadStream = DownloadStream(raw.startPull(name))

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }

    public companion object
}

/** Watches a model while it is loaded. It is called on the thread that loads. */
public fun interface LoadProgress {
    /** Reports the progress of loading, from 0 to 1, and what loading does. Returning false cancels it, and so does an error. */
    @Throws(SdkException::class)
    public fun proceed(fraction: Float, phase: LoadPhase): Boolean
}

internal class LoadProgressAdapter(private val own: LoadProgress) : org.causerie.ffi.LoadProgress {
    override fun proceed(fraction: Float, phase: LoadPhase): Boolean = own.proceed(fraction, phase)
}

/** The calls of [ModelRunner] that the engine answers. */
public interface ModelRunnerInterface {
    /** Completes a prompt as it stands. */
    public fun complete(prompt: String, options: GenerationOptions): ResponseStream

    /** Completes a prompt given as token ids. */
    public fun completeTokens(prompt: List<UInt>, options: GenerationOptions): ResponseStream

    /** Completes a prompt that shows images: they replace, in order, the markers that the chat template prints for images. */
    public fun completeWithImages(prompt: String, images: List<ByteArray>, options: GenerationOptions): ResponseStream

    /** Context size in tokens, for a prompt and its reply together. */
    public val contextSize: Int

    /** Creates a conversation that begins with a system prompt, or without one if it is empty. */
    public fun createConversation(systemPrompt: String): Conversation

    /** Creates a conversation that continues a history. The system message carries the functions, so they come with it. */
    public fun createConversationFromHistory(history: List<ChatMessage>): Conversation

    /**
     * Answers questions about a state, with probabilities and without generating text. The state is prefilled once, and stays in the
     * prefix cache. A caller that stops waiting cancels the questions.
     */
    @Throws(SdkException::class)
    public suspend fun decide(state: DecisionState, questions: List<DecisionQuestion>, options: DecisionOptions): Decisions

    /**
     * Why the model is not computed on the GPU that its options ask for: there is none, its memory is too small, or it failed
     * meanwhile. None if it is computed as asked for.
     */
    public val deviceNote: String?

    /** Facts about the model. */
    public val info: ModelInfo

    /** The token ids of the prompt for these messages. */
    @Throws(SdkException::class)
    public fun promptTokens(messages: List<ChatMessage>, addGenerationPrompt: Boolean): List<UInt>

    /** Renders the prompt for these messages. */
    @Throws(SdkException::class)
    public fun renderPrompt(messages: List<ChatMessage>, addGenerationPrompt: Boolean): String

    /** Restores a conversation from a file. */
    @Throws(SdkException::class)
    public fun restoreSession(path: String): Conversation

    /**
     * Sets the model that chooses among the functions of this runner's conversations, for replies with `maxOfferedFunctions`: by the
     * vectors of messages, and of the names and descriptions of functions. `UnsupportedContent` for a model that gives no vectors of
     * texts.
     */
    @Throws(SdkException::class)
    public fun setFunctionRanker(model: EmbeddingModel): Unit

    /**
     * Reads a text aloud. The sound is in the reply's `AudioSample` events; text that the model writes beside it is not part of what
     * is read. `UnsupportedContent` if the model does not speak.
     */
    @Throws(SdkException::class)
    public fun startSpeech(text: String, voice: SpeechVoice, options: GenerationOptions): ResponseStream

    /** Whether the model's chat template supports functions. */
    public val supportsFunctionCalling: Boolean

    /** The token ids of a prompt given as text. */
    @Throws(SdkException::class)
    public fun tokenize(prompt: String): List<UInt>

    /** Cancels all replies of this model and frees its memory. Conversations stay readable. Calling it again does nothing. */
    @Throws(SdkException::class)
    public suspend fun unload(): Unit
}

/** A loaded model, which creates conversations. */
public class ModelRunner internal constructor(internal val raw: org.causerie.ffi.ModelRunner) : ModelRunnerMembers, AutoCloseable {
    /** The identity of the model: runners of one model are equal. */
    internal var model: Any = Any()

    override fun equals(other: Any?): Boolean = other is ModelRunner && model === other.model

    override fun hashCode(): Int = model.hashCode()

    override fun complete(prompt: String, options: GenerationOptions): ResponseStream = ResponseStream(raw.complete(prompt, options))

    override fun completeTokens(prompt: List<UInt>, options: GenerationOptions): ResponseStream = ResponseStream(raw.completeTokens(prompt, options))

    override fun completeWithImages(prompt: String, images: List<ByteArray>, options: GenerationOptions): ResponseStream = ResponseStream(raw.completeWithImages(prompt, images, options))

    override val contextSize: Int get() = raw.contextSize()

    override fun createConversation(systemPrompt: String): Conversation = Conversation(raw.createConversation(systemPrompt)).also { it.model = model }

    override fun createConversationFromHistory(history: List<ChatMessage>): Conversation = Conversation(raw.createConversationFromHistory(history)).also { it.model = model }

    @Throws(SdkException::class)
    override suspend fun decide(state: DecisionState, questions: List<DecisionQuestion>, options: DecisionOptions): Decisions = raw.decide(state, questions, options)

    override val deviceNote: String? get() = raw.deviceNote()

    override val info: ModelInfo get() = raw.info()

    @Throws(SdkException::class)
    override fun promptTokens(messages: List<ChatMessage>, addGenerationPrompt: Boolean): List<UInt> = raw.promptTokens(messages, addGenerationPrompt)

    @Throws(SdkException::class)
    override fun renderPrompt(messages: List<ChatMessage>, addGenerationPrompt: Boolean): String = raw.renderPrompt(messages, addGenerationPrompt)

    @Throws(SdkException::class)
    override fun restoreSession(path: String): Conversation = Conversation(raw.restoreSession(path)).also { it.model = model }

    @Throws(SdkException::class)
    override fun setFunctionRanker(model: EmbeddingModel): Unit = raw.setFunctionRanker(model.raw)

    @Throws(SdkException::class)
    override fun startSpeech(text: String, voice: SpeechVoice, options: GenerationOptions): ResponseStream = ResponseStream(raw.speak(text, voice, options))

    override val supportsFunctionCalling: Boolean get() = raw.supportsFunctionCalling()

    @Throws(SdkException::class)
    override fun tokenize(prompt: String): List<UInt> = raw.tokenize(prompt)

    @Throws(SdkException::class)
    override suspend fun unload(): Unit = raw.unload()

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }

    public companion object : ModelLoading
}

/** Writes a file of sound while its samples come. */
public class SoundFileWriter internal constructor(internal val raw: org.causerie.ffi.SoundFileWriter) : AutoCloseable {
    /** Begins a file with so many samples per second. `UnsupportedContent` if no sound has the rate. */
    @Throws(SdkException::class)
    public constructor(format: SoundFormat, sampleRate: Int) : this(org.causerie.ffi.SoundFileWriter(format, sampleRate))

    /** Ends the file, and returns its last bytes. */
    public fun finish(): ByteArray = raw.finish()

    /** Adds samples, and returns the bytes of the file that are complete. After the end of the file, there are none. */
    public fun push(samples: ByteArray): ByteArray = raw.push(samples)

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }
}

/**
 * The events of a reply. Nothing happens before the first pull. Nothing follows the last event or an error. Dropping the
 * stream stops the reply.
 */
public class ResponseStream internal constructor(internal val raw: org.causerie.ffi.ResponseStream) : AutoCloseable {
    /**
     * Answers the calls of the last `RunFunctions`, in their order. The next pull continues from there, and ends the reply
     * with an error if a result is not JSON.
     */
    public fun answer(outcomes: List<FunctionOutcome>): Unit = raw.answer(outcomes)

    /**
     * Stops the reply within one token, and between two replies before the next one. It then ends with a `Complete` whose
     * finish reason is `Interrupted`. Calling it again, or after the end, does nothing.
     */
    public fun cancel(): Unit = raw.cancel()

    /** Claims the stream for one reader. */
    @Throws(SdkException::class)
    public fun claim(): Unit = raw.claim()

    /** The next event; none after the last one. */
    @Throws(SdkException::class)
    public suspend fun next(): MessageResponse? = raw.next()

    /** The next event, for callers that wait on a thread of their own. */
    @Throws(SdkException::class)
    public fun nextBlocking(): MessageResponse? = raw.nextBlocking()

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        stop()
        raw.close()
    }
}

/** The calls of [LiveTranscription] that the engine answers. */
public interface LiveTranscriptionInterface {
    /**
     * Stops the transcription within a piece of the computation. It then ends with a `Complete` of the segments before. Calling it
     * again, or after the end, does nothing.
     */
    public fun cancel(): Unit

    /** Says that no more samples come. */
    public fun end(): Unit

    /** The next event, which waits for samples; none after the last one. */
    @Throws(SdkException::class)
    public suspend fun next(): TranscriptEvent?

    /** The next event, for callers that wait on a thread of their own. */
    @Throws(SdkException::class)
    public fun nextBlocking(): TranscriptEvent?

    /** The next event that the samples so far give; none if more are needed, and after the last event. */
    @Throws(SdkException::class)
    public suspend fun nextReady(): TranscriptEvent?

    /** The next event that the samples so far give, for callers that wait on a thread of their own. */
    @Throws(SdkException::class)
    public fun nextReadyBlocking(): TranscriptEvent?

    /**
     * Adds samples of one channel: 32-bit floats in little-endian order. After the end, they are ignored. It never waits.
     * `UnsupportedContent` if a sample is NaN or infinite.
     */
    @Throws(SdkException::class)
    public fun push(samples: ByteArray): Unit
}

/**
 * A transcription of samples that are pushed as they come. Pushing only keeps them. The events are computed while they are pulled:
 * segments that do not change any more, and the text after them so far. Dropping it stops the computation.
 */
public class LiveTranscription internal constructor(internal val raw: org.causerie.ffi.LiveTranscription) : LiveTranscriptionMembers, AutoCloseable {
    override fun cancel(): Unit = raw.cancel()

    override fun end(): Unit = raw.end()

    @Throws(SdkException::class)
    override suspend fun next(): TranscriptEvent? = raw.next()

    @Throws(SdkException::class)
    override fun nextBlocking(): TranscriptEvent? = raw.nextBlocking()

    @Throws(SdkException::class)
    override suspend fun nextReady(): TranscriptEvent? = raw.nextReady()

    @Throws(SdkException::class)
    override fun nextReadyBlocking(): TranscriptEvent? = raw.nextReadyBlocking()

    @Throws(SdkException::class)
    override fun push(samples: ByteArray): Unit = raw.push(samples)

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }
}

/** The calls of [Transcriber] that the engine answers. */
public interface TranscriberInterface {
    /** The codes of the languages that the model knows. */
    public val languages: List<String>

    /** Starts the transcription of samples that are pushed as they come. */
    @Throws(SdkException::class)
    public fun startLiveTranscription(sampleRate: Long, options: TranscribeOptions): LiveTranscription

    /** Starts the transcription of a WAV, FLAC, MP3 or Ogg Opus file. Each language wraps it in a stream of its own. */
    public fun startTranscription(file: ByteArray, options: TranscribeOptions): TranscriptStream

    /** Starts the transcription of samples of one channel: 32-bit floats in little-endian order. */
    public fun startTranscriptionOfSamples(samples: ByteArray, sampleRate: Long, options: TranscribeOptions): TranscriptStream
}

/** A Whisper model in memory, which writes what it hears. */
public class Transcriber internal constructor(internal val raw: org.causerie.ffi.Transcriber) : TranscriberMembers, AutoCloseable {
    override val languages: List<String> get() = raw.languages()

    @Throws(SdkException::class)
    override fun startLiveTranscription(sampleRate: Long, options: TranscribeOptions): LiveTranscription = LiveTranscription(raw.startLiveTranscription(sampleRate, options))

    override fun startTranscription(file: ByteArray, options: TranscribeOptions): TranscriptStream = TranscriptStream(raw.startTranscription(file, options))

    override fun startTranscriptionOfSamples(samples: ByteArray, sampleRate: Long, options: TranscribeOptions): TranscriptStream = TranscriptStream(raw.startTranscriptionOfSamples(samples, sampleRate, options))

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }

    public companion object : TranscriberLoading
}

/**
 * The events of a transcription. Nothing is computed before the first pull, and nothing follows the last event or an error. Dropping
 * the stream stops the computation.
 */
public class TranscriptStream internal constructor(internal val raw: org.causerie.ffi.TranscriptStream) : AutoCloseable {
    /**
     * Stops the transcription within a piece of the computation. It then ends with a `Complete` of the segments before. Calling it
     * again, or after the end, does nothing.
     */
    public fun cancel(): Unit = raw.cancel()

    /** The next event; none after the last one. */
    @Throws(SdkException::class)
    public suspend fun next(): TranscriptEvent? = raw.next()

    /** The next event, for callers that wait on a thread of their own. */
    @Throws(SdkException::class)
    public fun nextBlocking(): TranscriptEvent? = raw.nextBlocking()

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }
}

/** Receives the answer to one request: its head, the pieces of its body, and its end. */
public class HttpSink internal constructor(internal val raw: org.causerie.ffi.HttpSink) : AutoCloseable {
    /**
     * Takes the status and the headers, before the body. Returns whether the request is to continue; if not, it must be
     * cancelled.
     */
    public fun begin(status: Int, headers: List<HttpHeader>): Boolean = raw.begin(status, headers)

    /**
     * Takes the failure of the request. It is tried again if that can help, which it cannot if, for example, the server's
     * certificate is not trusted.
     */
    public fun fail(reason: String, isRetryable: Boolean): Unit = raw.fail(reason, isRetryable)

    /** Takes the end of the body. */
    public fun finish(): Unit = raw.finish()

    /** Whether the hub still waits for the answer. If not, the request must be cancelled. */
    public fun isOpen(): Boolean = raw.isOpen()

    /**
     * Takes the next piece of the body, and waits while too many are unwritten. Returns whether the request is to continue;
     * if not, it must be cancelled.
     */
    public fun receive(piece: ByteArray): Boolean = raw.receive(piece)

    /** Frees what the engine holds for this object. Calls that are under way end first. */
    override fun close() {
        raw.close()
    }
}

/**
 * Sends GET requests for a hub.
 *
 * Redirects must not be followed, because a token must not reach another server, and content must not be decompressed. All
 * the rest (retries, ranges, digests) is done by the hub.
 */
public fun interface HttpTransport {
    /** Begins a request and returns. The answer goes to the sink, from any thread. */
    @Throws(SdkException::class)
    public fun send(request: HttpRequest, sink: HttpSink): Unit
}

internal class HttpTransportAdapter(private val own: HttpTransport) : org.causerie.ffi.HttpTransport {
    override fun send(request: HttpRequest, sink: org.causerie.ffi.HttpSink): Unit = own.send(request, HttpSink(sink))
}

/** The cosine of the angle between two vectors, from -1 to 1. `InvalidArgument` for vectors of different sizes. */
@Throws(SdkException::class)
public fun cosineSimilarity(of: List<Float>, to: List<Float>): Float = org.causerie.ffi.cosineSimilarity(of, to)

/** Loads an embedding model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. */
@Throws(SdkException::class)
public suspend fun loadEmbeddingModel(path: String, options: EmbeddingModelOptions): EmbeddingModel = EmbeddingModel(org.causerie.ffi.loadEmbeddingModel(path, options))

/** The entry of a function in the tool list that the model reads, as JSON text. */
public fun functionSchema(function: SdkFunction): String = org.causerie.ffi.functionSchema(function)

/** Reads chat-completions `tools` from JSON text. */
@Throws(SdkException::class)
public fun functionsFromJson(text: String): List<SdkFunction> = org.causerie.ffi.functionsFromJson(text)

/** Writes functions as JSON text: chat-completions `tools`. */
public fun functionsToJson(functions: List<SdkFunction>): String = org.causerie.ffi.functionsToJson(functions)

/** Reads the JSON of a reply as the only argument, `reply`, of a function. */
@Throws(SdkException::class)
public fun readReply(text: String): Map<String, Any?> = org.causerie.ffi.readReply(text)

/** Compares a call with the function of its name; see the core's `validate_among`. */
public fun validate(call: SdkFunctionCall, functions: List<SdkFunction>): Validation = org.causerie.ffi.validate(call, functions)

/** Reads the plans of a lock file, as `causerie pull --lock` writes it. */
@Throws(SdkException::class)
public fun plansFromLock(json: String): List<DownloadPlan> = org.causerie.ffi.plansFromLock(json).map(::DownloadPlan)

/** Waits until the sink has taken all records before this call, but no longer than two seconds. */
public fun flushLog(): Unit = org.causerie.ffi.flushLog()

/** Reads a history from JSON text: an array of chat-completions messages. */
@Throws(SdkException::class)
public fun messagesFromJson(text: String): List<ChatMessage> = org.causerie.ffi.messagesFromJson(text)

/** Writes a history as JSON text: an array of chat-completions messages. */
public fun messagesToJson(messages: List<ChatMessage>): String = org.causerie.ffi.messagesToJson(messages)

/**
 * Loads a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. Loading runs on a thread of
 * its own, and stops soon after the caller has stopped waiting.
 */
@Throws(SdkException::class)
public suspend fun loadModel(path: String, options: LoadOptions, progress: LoadProgress? = null): ModelRunner = ModelRunner(org.causerie.ffi.loadModel(path, options, progress?.let(::LoadProgressAdapter)))

/** Loads a model that follows a script, given as JSON text, for tests of apps. See the core's `testing::ScriptedModel`. */
@Throws(SdkException::class)
public fun loadScriptedModel(script: String): ModelRunner = ModelRunner(org.causerie.ffi.loadScriptedModel(script))

/**
 * Reads facts about a model from the headers of its files: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in
 * the local cache. Nothing is loaded. The memory estimate uses the context size that loading would: the model's own, at
 * most 8,192 tokens, or at most `contextSize`.
 */
@Throws(SdkException::class)
public fun readModelInfo(path: String, contextSize: Int? = null): ModelInfo = org.causerie.ffi.readModelInfo(path, contextSize)

/**
 * Returns samples of one channel, usually between -1 and 1, as a WAV file with 16 bits for each sample: the data of an audio part of
 * a message. `sample_rate` is their number per second. `UnsupportedContent` if a sample is NaN or infinite, or if no sound has the
 * rate.
 */
@Throws(SdkException::class)
public fun wavOfSamples(samples: ByteArray, sampleRate: Long): ByteArray = org.causerie.ffi.wavOfSamples(samples, sampleRate)

/**
 * Loads a model of speech to text: a Hugging Face folder, or a file of ggml, which whisper.cpp reads. Loading runs on a thread of its
 * own.
 */
@Throws(SdkException::class)
public suspend fun loadTranscriber(path: String, options: TranscriberOptions): Transcriber = Transcriber(org.causerie.ffi.loadTranscriber(path, options))
