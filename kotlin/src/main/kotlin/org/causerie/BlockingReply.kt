@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.selects.select

/**
 * A reply that is read by a blocking thread: for Java, and for Kotlin without coroutines.
 *
 * ```java
 * try (BlockingReply reply = Causerie.generateResponseBlocking(conversation, message)) {
 *     for (MessageResponse event : reply) {
 *         if (event instanceof MessageResponse.Chunk) System.out.print(((MessageResponse.Chunk) event).getText());
 *     }
 * }
 * ```
 *
 * It is cold, like the flow, and can be read once. Closing it stops the reply, which also ends the reading of another
 * thread.
 * A thread that waits for an event can be interrupted; a virtual thread does not block its carrier.
 */
public class BlockingReply internal constructor(
    private val stream: ResponseStream,
    private val handlers: FunctionHandlers? = null
) : Iterable<MessageResponse>,
    AutoCloseable {

    private val cancelled = CompletableDeferred<Unit>()
    private val errors = FunctionErrors()

    @Volatile
    private var isClosed = false

    /**
     * The events; `next` throws the [SdkException] of a reply that failed, and [InterruptedException].
     *
     * @throws SdkException.StreamAlreadyConsumed the second time
     */
    @Throws(SdkException::class, InterruptedException::class)
    override fun iterator(): Iterator<MessageResponse> {
        stream.claim()
        return generateSequence(::next) { last -> if (last is MessageResponse.Complete) null else next() }.iterator()
    }

    private fun next(): MessageResponse? = try {
        runBlocking { nextEvent() }
    } catch (err: SdkException) {
        close() // an error ends the reply
        throw err
    } catch (err: IllegalStateException) {
        // Another thread closed it between two events.
        if (isClosed) null else throw err
    }

    /** The next event, without blocking; null after the last one. */
    internal suspend fun nextEvent(): MessageResponse? = stream.nextResponse(errors) { calls -> outcomes(calls) }

    /** The outcomes of the calls; none if the reply is cancelled before. */
    private suspend fun outcomes(calls: List<SdkFunctionCall>): List<RanFunction> = coroutineScope {
        val running = async { handlers?.run(calls).orEmpty() }
        select {
            running.onAwait { it }
            cancelled.onAwait {
                running.cancelAndJoin()
                listOf()
            }
        }
    }

    /** Stops the reply within one token, from any thread: it ends with a `Complete` that is interrupted. */
    public fun cancel() {
        cancelled.complete(Unit)
        stream.stop()
    }

    /** Stops the reply, if it has not ended. */
    override fun close() {
        isClosed = true
        cancelled.complete(Unit)
        stream.close()
    }
}

/** The reply to a message; see [BlockingReply]. Handlers of the conversation run its calls. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.generateResponseBlocking(
    message: ChatMessage,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = blocking(message, options)

/** The reply to a text of the user; see [BlockingReply]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.generateResponseBlocking(
    text: String,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = blocking(ChatMessage(ChatMessageRole.USER, text), options)

/** A reply to the history as it stands; see [BlockingReply]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.continueResponseBlocking(options: GenerationOptions = GenerationOptions()): BlockingReply =
    blocking(null, options)

/** The reply to a message with all its function calls; see `respondWithFunctions` of Kotlin. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.respondWithFunctionsBlocking(
    message: ChatMessage,
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = blocking(message, options, handlers)

/** The reply to a text of the user with all its function calls. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.respondWithFunctionsBlocking(
    text: String,
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = blocking(ChatMessage(ChatMessageRole.USER, text), options, handlers)

/** Like [respondWithFunctionsBlocking], as a reply to the history as it stands. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.continueWithFunctionsBlocking(
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = blocking(null, options, handlers)

internal fun Conversation.blocking(
    message: ChatMessage?,
    options: GenerationOptions,
    handlers: FunctionHandlers? = this.handlers
): BlockingReply = BlockingReply(start(message, options, handlers), handlers)
