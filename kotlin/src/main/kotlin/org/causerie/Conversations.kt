@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/** A copy of all messages so far. A reply joins them before its `Complete` is delivered. */
public val Conversation.history: List<ChatMessage>
    @JvmSynthetic get() = history()

/** The registered functions. */
public val Conversation.functions: List<SdkFunction>
    @JvmSynthetic get() = functions()

/**
 * The runner that created this conversation. It is closed with the conversation. [Conversation.modelRunner] as a
 * function creates a runner at each call, which the caller must close and which keeps the model in memory until then.
 */
public val Conversation.modelRunner: ModelRunner
    @JvmSynthetic get() = runner.value

/** Whether a reply is being generated, or waits in the request queue. */
public val Conversation.isGenerating: Boolean
    @JvmSynthetic get() = isGenerating()

/** Saves the conversation to a file, with the model's cache of it. */
@JvmSynthetic
public fun Conversation.saveSession(path: String): Unit = saveSession(path, includeCache = true)

/** What a reply to the history as it stands would leave out of the prompt, with default options. */
@JvmSynthetic
public fun Conversation.planContext(): ContextPlan = planContext(GenerationOptions())

/**
 * The reply to a message, as a flow of events that ends after [MessageResponse.Complete], or with one [SdkException].
 *
 * It is cold: nothing happens, and the message is not in the history, before it is collected. The engine generates at
 * most eighteen events ahead of the collector, and then waits. It stops within one token when the collector leaves, as
 * with `first` or `take`, and when its coroutine is cancelled. The reply so far stays in the history, unless `onCancel` says
 * otherwise; it may be longer than what was collected. The flow can be collected once; the second time it throws
 * [SdkException.StreamAlreadyConsumed].
 *
 * ```
 * conversation.generateResponse(ChatMessage(ChatMessage.Role.USER, "Hello!")).collect { event ->
 *     when (event) {
 *         is MessageResponse.Chunk -> print(event.text)
 *         is MessageResponse.FunctionCalls -> run(event.functionCalls)
 *         else -> {}
 *     }
 * }
 * ```
 *
 * To stop a reply and still get its `Complete`, pull [Conversation.startResponse] and call its `cancel`.
 */
@JvmOverloads
public fun Conversation.generateResponse(
    message: ChatMessage,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = events { startResponse(message, options) }

/** The reply to a text of the user. */
@JvmSynthetic
public fun Conversation.generateResponse(
    text: String,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = generateResponse(ChatMessage(ChatMessageRole.USER, text), options)

/** A reply to the history as it stands, for example after the results of several calls were appended to it. */
@JvmOverloads
public fun Conversation.continueResponse(options: GenerationOptions = GenerationOptions()): Flow<MessageResponse> =
    events { startContinuation(options) }

/** Continues a prompt as it is, without a chat template. */
@JvmOverloads
public fun ModelRunner.generate(
    prompt: String,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = events { complete(prompt, options) }

/** The flow of a stream, whose functions the handlers run. */
internal fun events(handlers: FunctionHandlers? = null, start: () -> ResponseStream): Flow<MessageResponse> {
    val isConsumed = AtomicBoolean()
    return flow {
        if (isConsumed.getAndSet(true)) throw SdkException.StreamAlreadyConsumed("the stream was already read")
        // Leaving closes the stream, which stops the reply.
        start().use { stream ->
            while (true) emit(stream.nextResponse { calls -> handlers?.run(calls).orEmpty() } ?: break)
        }
    }
}

/** The next event for the app; calls to run are answered with the outcomes that [run] returns. */
internal suspend fun ResponseStream.nextResponse(
    run: suspend (List<SdkFunctionCall>) -> List<FunctionOutcome>
): MessageResponse? {
    while (true) {
        when (val event = next()) {
            is MessageResponse.RunFunctions -> answer(run(event.functionCalls))
            else -> return event
        }
    }
}
