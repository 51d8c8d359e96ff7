@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.runBlocking

/**
 * Loads a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. It is done on a
 * thread of its own, and cancelling the coroutine ends it soon.
 *
 * ```
 * val runner = ModelRunner.load("models/demo.gguf") { fraction -> println("${(fraction * 100).toInt()} %") }
 * ```
 *
 * @param progress told how far loading is, from 0 to 1, on the thread that loads. What it throws ends loading, and is
 *   thrown here.
 * @throws SdkException.ModelNotFound when there is none at the path
 * @throws SdkException.ModelLoad when its files cannot be used
 */
@JvmSynthetic
public suspend fun ModelRunner.Companion.load(
    path: String,
    options: LoadOptions = LoadOptions(),
    progress: ((Float) -> Unit)? = null
): ModelRunner {
    val proceed = progress?.let { tell ->
        { fraction: Float ->
            tell(fraction)
            true
        }
    }
    return loadWatched(path, options, proceed)
}

/** The same for callers that wait on a thread of their own; [progress] answers whether to go on. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun loadModelBlocking(
    path: String,
    options: LoadOptions = LoadOptions(),
    progress: LoadProgress? = null
): ModelRunner = runBlocking { loadWatched(path, options, progress?.let { it::proceed }) }

/** The same as `unload` for callers that wait on a thread of their own. */
@Throws(SdkException::class, InterruptedException::class)
public fun ModelRunner.unloadBlocking(): Unit = runBlocking { unload() }

private suspend fun loadWatched(path: String, options: LoadOptions, proceed: ((Float) -> Boolean)?): ModelRunner {
    val watcher = proceed?.let(::Watcher)
    return try {
        loadModel(path, options, watcher)
    } catch (stopped: SdkException) {
        throw watcher?.thrown ?: stopped
    }
}

/** Keeps what a listener throws, which would cross the border as text. */
private class Watcher(private val listener: (Float) -> Boolean) : LoadProgress {
    @Volatile
    var thrown: Throwable? = null
        private set

    override fun proceed(fraction: Float): Boolean = try {
        listener(fraction)
    } catch (err: Throwable) {
        thrown = err
        false
    }
}

/** A conversation that begins with a system prompt; with none, or an empty one, without. */
@JvmSynthetic
public fun ModelRunner.createConversation(systemPrompt: String? = null): Conversation =
    createConversation(systemPrompt.orEmpty())

/** What the model is. */
public val ModelRunner.info: ModelInfo
    @JvmSynthetic get() = info()

/** Tokens that a prompt and its reply can have together. */
public val ModelRunner.contextSize: Int
    @JvmSynthetic get() = contextSize()

/** Whether the model's chat template can offer functions. */
public val ModelRunner.supportsFunctionCalling: Boolean
    @JvmSynthetic get() = supportsFunctionCalling()

/** Completes a prompt as it stands, with options as by default. */
@JvmSynthetic
public fun ModelRunner.complete(prompt: String): ResponseStream = complete(prompt, GenerationOptions())

/** Completes a prompt given as token ids, with options as by default. */
@JvmSynthetic
public fun ModelRunner.completeTokens(prompt: List<UInt>): ResponseStream = completeTokens(prompt, GenerationOptions())

/** The prompt that the model would read for these messages, up to where its own begins. */
@JvmSynthetic
public fun ModelRunner.renderPrompt(messages: List<ChatMessage>): String =
    renderPrompt(messages, addGenerationPrompt = true)

/** The token ids of the prompt that the model would read for these messages, up to where its own begins. */
@JvmSynthetic
public fun ModelRunner.promptTokens(messages: List<ChatMessage>): List<UInt> =
    promptTokens(messages, addGenerationPrompt = true)
