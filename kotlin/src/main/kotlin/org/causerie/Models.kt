@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import java.util.function.Consumer
import kotlin.coroutines.cancellation.CancellationException
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.runBlocking
import org.causerie.ModelLoadProgress.Phase.DOWNLOADING
import org.causerie.ModelLoadProgress.Phase.LOADING

/** What the companion of [ModelRunner] can do. */
public interface ModelLoading {
    /**
     * Loads a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. Loading runs on a
     * separate thread. Cancelling the coroutine cancels it.
     *
     * ```
     * val runner = ModelRunner.load("models/demo.gguf") { fraction -> println("${(fraction * 100).toInt()} %") }
     * ```
     *
     * @param onPhase called on the loading thread when a phase of loading begins, and when the model is ready
     * @param progress called on the loading thread with the progress from 0 to 1. Exceptions of both functions end
     *   loading and are rethrown.
     * @throws SdkException.ModelNotFound if there is no model at the path
     * @throws SdkException.ModelLoad if its files cannot be used
     */
    public suspend fun load(
        path: String,
        options: LoadOptions = LoadOptions(),
        onPhase: ((LoadPhase) -> Unit)? = null,
        progress: ((Float) -> Unit)? = null
    ): ModelRunner {
        if (onPhase == null && progress == null) return loadWatched(path, options, null)
        var last: LoadPhase? = null
        return loadWatched(path, options) { fraction, phase ->
            if (phase != last) onPhase?.invoke(phase)
            last = phase
            progress?.invoke(fraction)
            true
        }
    }

    /**
     * Loads a model by its name. It is downloaded first, unless the cache of the hub has it; then no request is sent.
     *
     * ```
     * val hub = Hub.open(hubOptions { cache = context.noBackupFilesDir.resolve("models").path })
     * val runner = ModelRunner.load("LiquidAI/LFM2-350M-GGUF:Q4_K_M", hub) { println(it) } // downloading, 34 %
     * ```
     *
     * Cancelling the coroutine ends the download, of which the next one continues what has arrived, or loading.
     *
     * @param progress called on other threads with the progress, which begins at 0 in each phase
     */
    public suspend fun load(
        model: String,
        hub: Hub,
        options: LoadOptions = LoadOptions(),
        progress: ((ModelLoadProgress) -> Unit)? = null
    ): ModelRunner {
        val path = try {
            hub.find(model)
        } catch (_: SdkException.ModelNotFound) {
            download(model, hub, progress)
        }
        return load(path, options) { fraction -> progress?.invoke(ModelLoadProgress(LOADING, fraction.toDouble())) }
    }
}

/** The progress of loading a model by its name. */
public data class ModelLoadProgress @JvmOverloads constructor(
    /** What is done. */
    val phase: Phase,
    /** The progress of the phase, from 0 to 1. */
    val fraction: Double,
    /** The download with its bytes and speed; null while the model is loaded. */
    val download: PullProgress? = null
) {
    /** What is done: a model is downloaded, unless the device has it, and then loaded. */
    public enum class Phase {
        /** The model is downloaded. */
        DOWNLOADING,

        /** The model is loaded. */
        LOADING
    }

    /** The phase with its percentage: `downloading, 34 %`. */
    override fun toString(): String = "${phase.name.lowercase()}, ${(fraction * 100).toInt()} %"
}

/** Downloads a model, and returns its file or folder. */
private suspend fun download(model: String, hub: Hub, progress: ((ModelLoadProgress) -> Unit)?): String {
    var path = ""
    hub.pull(model).collect { event ->
        when (event) {
            is PullEvent.Progress -> {
                val (done, total) = event.progress.done to event.progress.total
                val fraction = if (total == 0L) 0.0 else done.toDouble() / total
                progress?.invoke(ModelLoadProgress(DOWNLOADING, fraction, event.progress))
            }
            is PullEvent.Ready -> path = event.path
        }
    }
    return path
}

/** Loads a model and blocks the thread. [progress] returns whether to continue. See [ModelLoading.load]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun loadModelBlocking(
    path: String,
    options: LoadOptions = LoadOptions(),
    progress: LoadProgress? = null
): ModelRunner = runBlocking { loadWatched(path, options, progress?.let { it::proceed }) }

/** Loads a model with default options and blocks the thread. [progress] returns whether to continue. */
@Throws(SdkException::class, InterruptedException::class)
public fun loadModelBlocking(path: String, progress: LoadProgress): ModelRunner =
    loadModelBlocking(path, LoadOptions(), progress)

/**
 * Loads a model by its name, downloads it before if it is missing, and blocks the thread. See [ModelLoading.load].
 *
 * @param progress called on other threads with the progress, which begins at 0 in each phase
 */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun loadModelBlocking(
    model: String,
    hub: Hub,
    options: LoadOptions = LoadOptions(),
    progress: Consumer<ModelLoadProgress>? = null
): ModelRunner = runBlocking { ModelRunner.load(model, hub, options, progress?.let { it::accept }) }

/** Loads a model by its name with default options and blocks the thread. */
@Throws(SdkException::class, InterruptedException::class)
public fun loadModelBlocking(model: String, hub: Hub, progress: Consumer<ModelLoadProgress>): ModelRunner =
    loadModelBlocking(model, hub, LoadOptions(), progress)

/** Unloads the model and blocks the thread. See `unload`. */
@Throws(SdkException::class, InterruptedException::class)
public fun ModelRunner.unloadBlocking(): Unit = runBlocking { unload() }

private suspend fun loadWatched(
    path: String,
    options: LoadOptions,
    proceed: ((Float, LoadPhase) -> Boolean)?
): ModelRunner {
    Log.start()
    val watcher = proceed?.let(::Watcher)
    return try {
        loadModel(path, options, watcher)
    } catch (stopped: SdkException) {
        throw watcher?.thrown ?: stopped
    }
}

/** Stores the exception of a listener, of which the engine would only return the message. */
private class Watcher(private val listener: (Float, LoadPhase) -> Boolean) : LoadProgress {
    @Volatile
    var thrown: Throwable? = null
        private set

    override fun proceed(fraction: Float, phase: LoadPhase): Boolean = try {
        listener(fraction, phase)
    } catch (err: Throwable) {
        thrown = err
        false
    }
}

/** What a [ModelRunner] can do beside the calls of the engine. */
public interface ModelRunnerMembers : ModelRunnerInterface {
    /** Creates a conversation without a system prompt. */
    public fun createConversation(): Conversation = createConversation("")

    /**
     * Creates a conversation with functions that the model may call.
     *
     * ```
     * val conversation = runner.createConversation("Be brief.", functions = listOf(checkWeather))
     * val helped = runner.createConversation("Be brief.", handlers = functionHandlers { on(checkWeather) { "It is sunny." } })
     * ```
     *
     * @param handlers they run the calls of every reply, which then has the events of
     *   [ConversationMembers.respondWithFunctions]. Their functions are offered as well. If null, calls are left to the app.
     * @throws SdkException.InvalidFunction for a function that is refused, for example for its name
     */
    @Throws(SdkException::class)
    public fun createConversation(
        systemPrompt: String = "",
        functions: List<SdkFunction> = listOf(),
        handlers: FunctionHandlers? = null
    ): Conversation {
        val conversation = createConversation(systemPrompt)
        try {
            val offered = functions + handlers?.functions.orEmpty()
            if (offered.isNotEmpty()) conversation.registerFunctions(offered)
        } catch (err: SdkException) {
            conversation.close()
            throw err
        }
        return conversation.also { it.handlers = handlers }
    }

    /** Creates a conversation with functions whose calls are left to the app. */
    @Throws(SdkException::class)
    public fun createConversation(systemPrompt: String, functions: List<SdkFunction>): Conversation =
        createConversation(systemPrompt, functions, handlers = null)

    /** Creates a conversation whose calls the handlers run. */
    @Throws(SdkException::class)
    public fun createConversation(systemPrompt: String, handlers: FunctionHandlers): Conversation =
        createConversation(systemPrompt, listOf(), handlers)

    /** Creates a conversation that continues a history, and whose calls the handlers run. See [createConversation]. */
    public fun createConversationFromHistory(history: List<ChatMessage>, handlers: FunctionHandlers): Conversation =
        createConversationFromHistory(history).also { it.handlers = handlers }

    /** Restores a conversation from a file, and has its calls run by handlers. See [createConversation]. */
    @Throws(SdkException::class)
    public fun restoreSession(path: String, handlers: FunctionHandlers): Conversation =
        restoreSession(path).also { it.handlers = handlers }

    /** Continues a prompt as it is, without a chat template. */
    public fun generate(
        prompt: String,
        generationOptions: GenerationOptions = GenerationOptions()
    ): Flow<MessageResponse> = events { complete(prompt, generationOptions) }

    /**
     * Reads a text aloud. The sound is in the [MessageResponse.AudioSample] events; text that the model writes beside it
     * is not part of what is read. The most probable tokens of text are taken, unless the options have a temperature.
     *
     * ```
     * val writer = SoundFileWriter(SoundFormat.WAV, 24_000)
     * runner.speak("Dinner is ready.", SpeechVoice.UK_MALE).collect { event ->
     *     if (event is MessageResponse.AudioSample) file.write(writer.push(event.samples))
     * }
     * file.write(writer.finish())
     * ```
     *
     * The flow fails with [SdkException.UnsupportedContent] if the model does not speak.
     */
    public fun speak(
        text: String,
        voice: SpeechVoice = SpeechVoice.US_FEMALE,
        generationOptions: GenerationOptions = GenerationOptions()
    ): Flow<MessageResponse> = events { startSpeech(text, voice, generationOptions) }

    /** Answers questions about a state with default options. See [decide]. */
    @Throws(SdkException::class, CancellationException::class)
    public suspend fun decide(state: DecisionState, questions: List<DecisionQuestion>): Decisions =
        decide(state, questions, DecisionOptions())

    /**
     * Answers questions about a text, with probabilities. No text is generated: the answers are read from the logits
     * after each question. The text is prefilled once, and stays in the prefix cache for later questions about it.
     * Cancelling the coroutine cancels the questions.
     *
     * ```
     * val question = DecisionQuestion.predicate("Does the writer want an answer today?")
     * val answer = runner.decide("Where is my parcel?", listOf(question)).answers.single()
     * val outcome = answer.outcome
     * if (answer.isAnswered && outcome is DecisionOutcome.Predicate) println(outcome.probability)
     * ```
     *
     * @throws SdkException.InvalidArgument for questions with too few or too many labels, and for more than 400 questions
     * @throws SdkException.PromptExceedsContext if the text and a question do not fit
     */
    @Throws(SdkException::class, CancellationException::class)
    public suspend fun decide(
        state: String,
        questions: List<DecisionQuestion>,
        options: DecisionOptions = DecisionOptions()
    ): Decisions = decide(DecisionState.Text(state), questions, options)

    /**
     * Answers questions about messages, which may have images. Of messages of users alone the contents count; of others,
     * each begins with its author.
     */
    @Throws(SdkException::class, CancellationException::class)
    public suspend fun decide(
        messages: List<ChatMessage>,
        questions: List<DecisionQuestion>,
        options: DecisionOptions = DecisionOptions()
    ): Decisions = decide(DecisionState.Messages(messages), questions, options)

    /** Completes a prompt as it is, with default options. */
    public fun complete(prompt: String): ResponseStream = complete(prompt, GenerationOptions())

    /** Completes a prompt with images for its markers of images, with default options. */
    public fun completeWithImages(prompt: String, images: List<ByteArray>): ResponseStream =
        completeWithImages(prompt, images, GenerationOptions())

    /** Completes a prompt of token ids, with default options. */
    public fun completeTokens(prompt: List<UInt>): ResponseStream = completeTokens(prompt, GenerationOptions())

    /** Returns the prompt for these messages, up to the start of the model's reply. */
    @Throws(SdkException::class)
    public fun renderPrompt(messages: List<ChatMessage>): String = renderPrompt(messages, addGenerationPrompt = true)

    /** Returns the token ids of the prompt for these messages, up to the start of the model's reply. */
    @Throws(SdkException::class)
    public fun promptTokens(messages: List<ChatMessage>): List<UInt> =
        promptTokens(messages, addGenerationPrompt = true)
}
