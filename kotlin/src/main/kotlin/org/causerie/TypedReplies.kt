package org.causerie

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.last
import kotlinx.serialization.DeserializationStrategy
import kotlinx.serialization.KSerializer
import kotlinx.serialization.serializer

/** A reply as it is written, with the value that its text is so far. */
public class ReplySnapshot<T> @PublishedApi internal constructor(
    /** The JSON text so far, with closed strings, arrays and objects. */
    public val json: String,
    /** The value, as soon as everything is there that its class requires. Its strings and lists may still grow. */
    public val value: T?,
    /** The end of the reply; null before the last snapshot. */
    public val complete: MessageResponse.Complete?
) {
    /** Whether the value is complete. That of a reply that was interrupted is not. */
    public val isComplete: Boolean get() = complete != null && complete.finishReason != FinishReason.INTERRUPTED

    /** The members so far, if the value is an object; otherwise none. */
    public val members: Map<String, Any?>
        get() = if (json.trimStart().startsWith('{')) decodeJsonObject(json) else mapOf()

    /** Decodes the members so far as another class, with defaults for all properties; null if they do not fit. */
    public inline fun <reified P> partial(): P? = partOrNull(serializer<P>(), json)

    override fun equals(other: Any?): Boolean =
        other is ReplySnapshot<*> && json == other.json && value == other.value && complete == other.complete

    override fun hashCode(): Int = json.hashCode()

    override fun toString(): String = "ReplySnapshot(json=$json, isComplete=$isComplete)"
}

/**
 * What a [Conversation] can do beside [ConversationMembers]: replies whose text is a value of a serializable class. The JSON
 * Schema of the class constrains the text; see [replySchema]. The members without a type have the same names, so
 * `respond<Recipe>("A soup, please.")` means these.
 */
public abstract class TypedConversation internal constructor() : ConversationMembers {
    // The parameter `serializer` tells these members from those without a type, which have the same names and parameters.

    /**
     * Sends a text of the user, and returns the reply as a value of a serializable class.
     *
     * ```
     * @Serializable
     * data class Recipe(val title: String, val steps: List<String>)
     *
     * val recipe = conversation.respond<Recipe>("A soup, please.")
     * ```
     *
     * @param generationOptions the options, of which the class replaces the schema
     * @param handlers they run the calls of functions; the conversation's own if null
     * @param serializer the serializer of the class
     * @throws SdkException.InvalidArgument for a reply that is not such a value, for example because it was cut short
     */
    @JvmName("respondTyped")
    public suspend inline fun <reified T> respond(
        text: String,
        generationOptions: GenerationOptions = GenerationOptions(),
        handlers: FunctionHandlers? = null,
        serializer: KSerializer<T> = serializer<T>()
    ): T = typed(ChatMessage(ChatMessageRole.USER, text), serializer, generationOptions, handlers)

    /** Sends a message, and returns the reply as a value of a serializable class. */
    @JvmName("respondTyped")
    public suspend inline fun <reified T> respond(
        message: ChatMessage,
        generationOptions: GenerationOptions = GenerationOptions(),
        handlers: FunctionHandlers? = null,
        serializer: KSerializer<T> = serializer<T>()
    ): T = typed(message, serializer, generationOptions, handlers)

    /** Returns a reply to the history as it stands as a value of a serializable class. */
    @JvmName("respondTyped")
    public suspend inline fun <reified T> respond(
        generationOptions: GenerationOptions = GenerationOptions(),
        handlers: FunctionHandlers? = null,
        serializer: KSerializer<T> = serializer<T>()
    ): T = typed(null, serializer, generationOptions, handlers)

    /**
     * The reply to a text of the user as a value of a serializable class, while it grows.
     *
     * ```
     * @Serializable
     * data class Draft(val title: String = "", val steps: List<String> = listOf())
     *
     * conversation.generateResponse<Recipe>("A soup, please.").collect { show(it.partial<Draft>()) }
     * ```
     *
     * The last snapshot has the whole value, which is validated. The flow fails with [SdkException.InvalidArgument] for a
     * reply that is not such a value. It is like that of [ConversationMembers.generateResponse]; of a reply that was
     * interrupted, the last snapshot has the value so far.
     */
    @JvmName("generateTyped")
    public inline fun <reified T> generateResponse(
        text: String,
        generationOptions: GenerationOptions = GenerationOptions(),
        serializer: KSerializer<T> = serializer<T>()
    ): Flow<ReplySnapshot<T>> = snapshots(ChatMessage(ChatMessageRole.USER, text), serializer, generationOptions)

    /** The reply to a message as a value of a serializable class, while it grows. */
    @JvmName("generateTyped")
    public inline fun <reified T> generateResponse(
        message: ChatMessage,
        generationOptions: GenerationOptions = GenerationOptions(),
        serializer: KSerializer<T> = serializer<T>()
    ): Flow<ReplySnapshot<T>> = snapshots(message, serializer, generationOptions)

    /** A reply to the history as it stands as a value of a serializable class, while it grows. */
    @JvmName("generateTyped")
    public inline fun <reified T> generateResponse(
        generationOptions: GenerationOptions = GenerationOptions(),
        serializer: KSerializer<T> = serializer<T>()
    ): Flow<ReplySnapshot<T>> = snapshots(null, serializer, generationOptions)
}

@PublishedApi
internal suspend fun <T> ConversationMembers.typed(
    message: ChatMessage?,
    serializer: DeserializationStrategy<T>,
    options: GenerationOptions,
    handlers: FunctionHandlers?
): T {
    val typed = options.copy(jsonSchemaConstraint = replySchema(serializer.descriptor))
    return value(reply(message, typed, handlers).last() as MessageResponse.Complete, serializer)
}

@PublishedApi
internal fun <T> ConversationMembers.snapshots(
    message: ChatMessage?,
    serializer: KSerializer<T>,
    options: GenerationOptions
): Flow<ReplySnapshot<T>> = flow {
    val typed = options.copy(jsonSchemaConstraint = replySchema(serializer.descriptor))
    var text = PartialJson()
    var last: String? = null
    reply(message, typed).collect { event ->
        when (event) {
            is MessageResponse.Chunk -> {
                text.push(event.text)
                val json = text.closed
                if (json != null && json != last) emit(ReplySnapshot(json, partOrNull(serializer, json), null))
                last = json
            }
            // The text beside calls is not the value.
            is MessageResponse.RoundComplete -> {
                text = PartialJson()
                last = null
            }
            is MessageResponse.Complete -> emit(lastSnapshot(event, serializer, last))
            else -> {}
        }
    }
}

private fun <T> lastSnapshot(
    event: MessageResponse.Complete,
    serializer: KSerializer<T>,
    last: String?
): ReplySnapshot<T> {
    if (event.finishReason == FinishReason.INTERRUPTED) {
        return ReplySnapshot(last ?: "null", last?.let { partOrNull(serializer, it) }, event)
    }
    return ReplySnapshot(event.fullMessage.text, value(event, serializer), event)
}

/** The value of a whole reply. */
private fun <T> value(event: MessageResponse.Complete, serializer: DeserializationStrategy<T>): T {
    // The beginning of a number is a number, too.
    if (event.finishReason == FinishReason.INTERRUPTED) {
        throw SdkException.InvalidArgument("the reply was interrupted", "reply")
    }
    if (!event.fullMessage.functionCalls.isNullOrEmpty()) {
        throw SdkException.InvalidArgument("the reply called functions that the app must run", "reply")
    }
    return decodeReply(serializer, event.fullMessage.text)
}
