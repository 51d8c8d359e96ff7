@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow

/** All messages so far, as a copy. A reply joins them before its `Complete` is delivered. */
public val Conversation.history: List<ChatMessage>
    @JvmSynthetic get() = history()

/** The functions registered. */
public val Conversation.functions: List<SdkFunction>
    @JvmSynthetic get() = functions()

/**
 * The runner that made this conversation, closed with it. [Conversation.modelRunner] as a function makes one at each call,
 * which is its caller's to close and holds the model till then.
 */
public val Conversation.modelRunner: ModelRunner
    @JvmSynthetic get() = runner.value

/** Whether a reply is being generated, or waits for its turn. */
public val Conversation.isGenerating: Boolean
    @JvmSynthetic get() = isGenerating()

/** Saves the conversation to a file, with what the model has read of it. */
@JvmSynthetic
public fun Conversation.saveSession(path: String): Unit = saveSession(path, includeCache = true)

/** What a reply to the history as it stands would leave out of the prompt, with options as by default. */
@JvmSynthetic
public fun Conversation.planContext(): ContextPlan = planContext(GenerationOptions())

/**
 * The reply to a message, as a flow of events that ends after [MessageResponse.Complete], or with one [SdkException].
 *
 * It is cold: nothing happens, and the message is not in the history, before it is collected. The engine writes at most
 * eighteen events ahead of the collector, and then waits. It stops within one token when the collector leaves, as with
 * `first` or `take`, and when its coroutine is cancelled; what was written till then, which may be some more than was
 * collected, stays in the history, unless `onCancel` says otherwise. The flow can be collected once; then it throws
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
 * To stop a reply and still be told how it ended, pull [Conversation.startResponse] and call its `cancel`.
 */
@JvmOverloads
public fun Conversation.generateResponse(
    message: ChatMessage,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = events { startResponse(message, options) }

/** The reply to a text of the person. */
@JvmSynthetic
public fun Conversation.generateResponse(
    text: String,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = generateResponse(ChatMessage(ChatMessageRole.USER, text), options)

/** A reply to the history as it stands, for example after the results of several calls were appended to it. */
@JvmOverloads
public fun Conversation.continueResponse(options: GenerationOptions = GenerationOptions()): Flow<MessageResponse> =
    events { startContinuation(options) }

/** The model's continuation of a prompt as it stands, with no template around it. */
@JvmOverloads
public fun ModelRunner.generate(
    prompt: String,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = events { complete(prompt, options) }

private fun events(start: () -> ResponseStream): Flow<MessageResponse> {
    val isConsumed = AtomicBoolean()
    return flow {
        if (isConsumed.getAndSet(true)) throw SdkException.StreamAlreadyConsumed("the stream was read before")
        // Leaving closes the stream, which stops the reply.
        start().use { stream -> while (true) emit(stream.next() ?: break) }
    }
}
