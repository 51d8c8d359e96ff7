@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import java.util.concurrent.CompletableFuture
import java.util.function.Consumer
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/*
 * Whole replies for Java, and for Kotlin without coroutines.
 */

/** Sends a message, waits for the whole reply, and returns its end. Handlers of the conversation run its calls. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.respondBlocking(
    message: ChatMessage,
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): MessageResponse.Complete = runBlocking { respond(message, options, handlers) }

/** Sends a text of the user, waits for the whole reply, and returns its end. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.respondBlocking(
    text: String,
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): MessageResponse.Complete = runBlocking { respond(text, options, handlers) }

/** Waits for a whole reply to the history as it stands, and returns its end. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun Conversation.respondBlocking(
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): MessageResponse.Complete = runBlocking { respond(options, handlers) }

/**
 * Sends a message, and returns at once. Other threads read the reply.
 *
 * ```java
 * CompletableFuture<MessageResponse.Complete> reply = Causerie.respondAsync(conversation, message, event -> {
 *     if (event instanceof MessageResponse.Chunk) show(((MessageResponse.Chunk) event).getText());
 * });
 * ```
 *
 * @param listener takes the events in their order, one at a time; its exceptions end the reply
 * @return the end of the reply; cancelling it stops the reply, as does completing it, for example by `orTimeout`
 */
@JvmOverloads
public fun Conversation.respondAsync(
    message: ChatMessage,
    listener: Consumer<MessageResponse> = Consumer {},
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): CompletableFuture<MessageResponse.Complete> = replyAsync(message, listener, options, handlers)

/** Sends a text of the user, and returns at once. See [respondAsync] for a message. */
@JvmOverloads
public fun Conversation.respondAsync(
    text: String,
    listener: Consumer<MessageResponse> = Consumer {},
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): CompletableFuture<MessageResponse.Complete> =
    replyAsync(ChatMessage(ChatMessageRole.USER, text), listener, options, handlers)

/** Replies to the history as it stands, and returns at once. See [respondAsync] for a message. */
@JvmOverloads
public fun Conversation.respondAsync(
    listener: Consumer<MessageResponse> = Consumer {},
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): CompletableFuture<MessageResponse.Complete> = replyAsync(null, listener, options, handlers)

private fun Conversation.replyAsync(
    message: ChatMessage?,
    listener: Consumer<MessageResponse>,
    options: GenerationOptions,
    handlers: FunctionHandlers?
): CompletableFuture<MessageResponse.Complete> {
    val future = CompletableFuture<MessageResponse.Complete>()
    val reading = CoroutineScope(Dispatchers.Default).launch {
        try {
            reply(message, options, handlers).collect { event ->
                listener.accept(event)
                if (event is MessageResponse.Complete) future.complete(event)
            }
        } catch (err: CancellationException) {
            future.cancel(false)
            throw err
        } catch (err: Throwable) {
            // An error of the listener, too, which would otherwise leave the caller waiting.
            future.completeExceptionally(err)
        }
    }
    future.whenComplete { _, _ -> reading.cancel() }
    return future
}

/** Reads the reply, and gives each piece of its text to a consumer: `Causerie.forEachText(reply, System.out::print)`. */
@Throws(SdkException::class, InterruptedException::class)
public fun BlockingReply.forEachText(consumer: Consumer<String>) {
    for (event in this) if (event is MessageResponse.Chunk) consumer.accept(event.text)
}
