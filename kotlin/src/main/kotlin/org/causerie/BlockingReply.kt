@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
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
 * It is cold, like the flow, and can be read once. Closing it stops the reply.
 */
public class BlockingReply internal constructor(private val source: Source) :
    Iterable<MessageResponse>,
    AutoCloseable {

    /**
     * The events; `next` throws the [SdkException] of a reply that failed.
     *
     * @throws SdkException.StreamAlreadyConsumed the second time
     */
    @Throws(SdkException::class)
    override fun iterator(): Iterator<MessageResponse> {
        source.claim()
        return generateSequence { source.next() }.iterator()
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
    override fun close(): Unit = source.use { cancel() }

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
    override fun next() = stream.nextBlocking()
    override fun cancel() = stream.cancel()
    override fun close() = stream.close()
}

private class RoundSource(private val rounds: FunctionRounds, private val handlers: FunctionHandlers) :
    BlockingReply.Source {
    private val cancelled = CompletableDeferred<Unit>()

    override fun claim() = rounds.claim()

    override fun next(): MessageResponse? {
        var outcomes = listOf<FunctionOutcome>()
        while (true) {
            when (val event = rounds.nextBlocking(outcomes)) {
                null -> return null
                is RoundEvent.Response -> return event.response
                is RoundEvent.Run -> outcomes = outcomesOf(event.calls)
            }
        }
    }

    /** What came of the calls; nothing when the reply is cancelled before. */
    private fun outcomesOf(calls: List<SdkFunctionCall>): List<FunctionOutcome> = runBlocking {
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

    override fun close() = rounds.close()
}
