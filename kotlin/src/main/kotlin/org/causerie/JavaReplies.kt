@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.runBlocking

/*
 * Replies as values of classes, for Java: records, and serializable classes of Kotlin. Apps that use them must depend on
 * kotlinx-serialization-json.
 */

/**
 * Sends a text of the user, waits for the whole reply, and returns it as a value of a class.
 *
 * ```java
 * record Recipe(String title, List<String> steps) {}
 *
 * Recipe recipe = Causerie.respondBlocking(conversation, "A soup, please.", Recipe.class);
 * ```
 *
 * @param type a record, or a serializable class of Kotlin; its schema constrains the reply
 * @throws SdkException.InvalidArgument for a reply that is not such a value, for example because it was cut short
 * @throws SdkException.InvalidFunction for a type that is not supported
 */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun <T : Any> Conversation.respondBlocking(
    text: String,
    type: Class<T>,
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): T = respondBlocking(ChatMessage(ChatMessageRole.USER, text), type, options, handlers)

/** Sends a message, waits for the whole reply, and returns it as a value of a class. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun <T : Any> Conversation.respondBlocking(
    message: ChatMessage,
    type: Class<T>,
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): T = runBlocking { typed(message, serializerOf(type), options, handlers) }

/** Waits for a whole reply to the history as it stands, and returns it as a value of a class. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun <T : Any> Conversation.respondBlocking(
    type: Class<T>,
    options: GenerationOptions = GenerationOptions(),
    handlers: FunctionHandlers? = null
): T = runBlocking { typed(null, serializerOf(type), options, handlers) }

/** Returns the JSON Schema of a record or of a serializable class as JSON text, for `jsonSchemaConstraint`. */
@Throws(SdkException::class)
public fun replySchema(type: Class<*>): String = replySchema(serializerOf(type).descriptor)

/** Decodes the text of a reply as a value of a record or of a serializable class. */
@Throws(SdkException::class)
public fun <T : Any> decodeReply(text: String, type: Class<T>): T = decodeReply(serializerOf(type), text)
