@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.runBlocking

/**
 * Loads a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. Loading runs on a
 * separate thread. Cancelling the coroutine cancels it.
 *
 * ```
 * val runner = ModelRunner.load("models/demo.gguf") { fraction -> println("${(fraction * 100).toInt()} %") }
 * ```
 *
 * @param progress called on the loading thread with the progress from 0 to 1. Its exceptions end loading and are
 *   rethrown.
 * @throws SdkException.ModelNotFound if there is no model at the path
 * @throws SdkException.ModelLoad if its files cannot be used
 */
@JvmSynthetic
public suspend fun ModelRunner.Companion.load(
    path: String,
    options: LoadOptions = LoadOptions(),
    progress: ((Float) -> Unit)? = null
): ModelRunner {
    val proceed = progress?.let { report ->
        { fraction: Float ->
            report(fraction)
            true
        }
    }
    return loadWatched(path, options, proceed)
}

/** Loads a model and blocks the thread. [progress] returns whether to continue. See [load]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun loadModelBlocking(
    path: String,
    options: LoadOptions = LoadOptions(),
    progress: LoadProgress? = null
): ModelRunner = runBlocking { loadWatched(path, options, progress?.let { it::proceed }) }

/** Unloads the model and blocks the thread. See `unload`. */
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

/** Stores the exception of a listener, of which the engine would only return the message. */
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

/** Creates a conversation with a system prompt; without one if it is null or empty. */
@JvmSynthetic
public fun ModelRunner.createConversation(systemPrompt: String? = null): Conversation =
    createConversation(systemPrompt.orEmpty())

/** Information about the model. */
public val ModelRunner.info: ModelInfo
    @JvmSynthetic get() = info()

/** The context size in tokens, for a prompt and its reply together. */
public val ModelRunner.contextSize: Int
    @JvmSynthetic get() = contextSize()

/** Whether the model's chat template supports functions. */
public val ModelRunner.supportsFunctionCalling: Boolean
    @JvmSynthetic get() = supportsFunctionCalling()

/** Completes a prompt as it is, with default options. */
@JvmSynthetic
public fun ModelRunner.complete(prompt: String): ResponseStream = complete(prompt, GenerationOptions())

/** Completes a prompt of token ids, with default options. */
@JvmSynthetic
public fun ModelRunner.completeTokens(prompt: List<UInt>): ResponseStream = completeTokens(prompt, GenerationOptions())

/** Returns the prompt for these messages, up to the start of the model's reply. */
@JvmSynthetic
public fun ModelRunner.renderPrompt(messages: List<ChatMessage>): String =
    renderPrompt(messages, addGenerationPrompt = true)

/** Returns the token ids of the prompt for these messages, up to the start of the model's reply. */
@JvmSynthetic
public fun ModelRunner.promptTokens(messages: List<ChatMessage>): List<UInt> =
    promptTokens(messages, addGenerationPrompt = true)
