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
 * A reply, pulled by a thread that waits: for Java, and for Kotlin without coroutines.
 *
 * ```java
 * try (BlockingReply reply = Causerie.generateResponseBlocking(conversation, message)) {
 *     for (MessageResponse event : reply) {
 *         if (event instanceof MessageResponse.Chunk) System.out.print(((MessageResponse.Chunk) event).getText());
 *     }
 * }
 * ```
 *
 * It is cold, like the flow, and can be read once. Closing it stops the reply, and so ends the reading of another thread.
 * A thread that waits for an event heeds its interruption, and holds no carrier if it is a virtual one.
 */
public class BlockingReply internal constructor(private val source: Source) :
    Iterable<MessageResponse>,
    AutoCloseable {

    @Volatile
    private var isClosed = false

    /**
     * The events; `next` throws the [SdkException] of a reply that failed, and [InterruptedException].
     *
     * @throws SdkException.StreamAlreadyConsumed the second time
     */
    @Throws(SdkException::class, InterruptedException::class)
    override fun iterator(): Iterator<MessageResponse> {
        source.claim()
        return generateSequence(::next) { last -> if (last is MessageResponse.Complete) null else next() }.iterator()
    }

    private fun next(): MessageResponse? = try {
        source.next()
    } catch (err: IllegalStateException) {
        // Another thread closed it between two events.
        if (isClosed) null else throw err
    }

    /** Stops the reply within one token, from any thread: it ends with a `Complete` that is interrupted. */
    public fun cancel() {
        try {
            source.cancel()
        } catch (_: IllegalStateException) {
            // Closed, and stopped by that.
        }
    }

    /** Stops the reply, if it has not ended. */
    override fun close() {
        isClosed = true
        source.close()
    }

    internal interface Source : AutoCloseable {
        fun claim()
        fun next(): MessageResponse?
        fun cancel()
    }
}

/** The reply to a message; see [BlockingReply]. */
@JvmOverloads
public fun Conversation.generateResponseBlocking(
    message: ChatMessage,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = BlockingReply(PlainSource(startResponse(message, options)))

/** A reply to the history as it stands; see [BlockingReply]. */
@JvmOverloads
public fun Conversation.continueResponseBlocking(options: GenerationOptions = GenerationOptions()): BlockingReply =
    BlockingReply(PlainSource(startContinuation(options)))

/** The reply to a message with the functions called on the way; see `respondWithFunctions` of Kotlin. */
@JvmOverloads
public fun Conversation.respondWithFunctionsBlocking(
    message: ChatMessage,
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = BlockingReply(RoundSource(handlers.start(this, message, options), handlers))

/** The same for a reply to the history as it stands. */
@JvmOverloads
public fun Conversation.continueWithFunctionsBlocking(
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = BlockingReply(RoundSource(handlers.start(this, null, options), handlers))

private class PlainSource(private val stream: ResponseStream) : BlockingReply.Source {
    override fun claim() = stream.claim()
    override fun next() = runBlocking { stream.next() }
    override fun cancel() = stream.cancel()
    override fun close() = stream.close()
}

private class RoundSource(private val rounds: FunctionRounds, private val handlers: FunctionHandlers) :
    BlockingReply.Source {
    private val cancelled = CompletableDeferred<Unit>()

    override fun claim() = rounds.claim()

    override fun next() = runBlocking { response() }

    private suspend fun response(): MessageResponse? {
        var outcomes = listOf<FunctionOutcome>()
        while (true) {
            when (val event = rounds.next(outcomes)) {
                null -> return null
                is RoundEvent.Response -> return event.response
                is RoundEvent.Run -> outcomes = outcomesOf(event.calls)
            }
        }
    }

    /** What came of the calls; nothing when the reply is cancelled before. */
    private suspend fun outcomesOf(calls: List<SdkFunctionCall>): List<FunctionOutcome> = coroutineScope {
        val running = async { handlers.run(calls) }
        select {
            running.onAwait { it }
            cancelled.onAwait {
                running.cancelAndJoin()
                listOf()
            }
        }
    }

    override fun cancel() {
        cancelled.complete(Unit)
        rounds.cancel()
    }

    override fun close() {
        cancelled.complete(Unit)
        rounds.close()
    }
}
