@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

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
public class BlockingReply internal constructor(private val stream: ResponseStream) :
    Iterable<MessageResponse>,
    AutoCloseable {

    /**
     * The events; `next` throws the [SdkException] of a reply that failed.
     *
     * @throws SdkException.StreamAlreadyConsumed the second time
     */
    @Throws(SdkException::class)
    override fun iterator(): Iterator<MessageResponse> {
        stream.claim()
        return generateSequence { stream.nextBlocking() }.iterator()
    }

    /** Stops the reply within one token, from any thread: it ends with a `Complete` that is interrupted. */
    public fun cancel() {
        try {
            stream.cancel()
        } catch (_: IllegalStateException) {
            // Closed, and stopped by that.
        }
    }

    /** Stops the reply, if it has not ended. */
    override fun close(): Unit = stream.use { cancel() }
}

/** The reply to a message; see [BlockingReply]. */
@JvmOverloads
public fun Conversation.generateResponseBlocking(
    message: ChatMessage,
    options: GenerationOptions = GenerationOptions()
): BlockingReply = BlockingReply(startResponse(message, options))

/** A reply to the history as it stands; see [BlockingReply]. */
@JvmOverloads
public fun Conversation.continueResponseBlocking(options: GenerationOptions = GenerationOptions()): BlockingReply =
    BlockingReply(startContinuation(options))
