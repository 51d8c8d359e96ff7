@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers.Unconfined
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.filterIsInstance
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.last
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.launch

/** What a [Conversation] can do beside the calls of the engine. */
public interface ConversationMembers : ConversationInterface {
    /** Offers a function to the model. It replaces a function of the same name in place. */
    @Throws(SdkException::class)
    public fun registerFunction(function: SdkFunction): Unit = registerFunctions(listOf(function))

    /** Saves the conversation to a file, with the model's cache of it. */
    @Throws(SdkException::class)
    public fun saveSession(path: String): Unit = saveSession(path, includeCache = true)

    /** What a reply to the history as it stands would leave out of the prompt, with default options. */
    @Throws(SdkException::class)
    public fun planContext(): ContextPlan = planContext(GenerationOptions())

    /**
     * The reply to a message, as a flow of events that ends after [MessageResponse.Complete], or with one
     * [SdkException].
     *
     * It is cold: nothing happens, and the message is not in the history, before it is collected, and each collection
     * sends the message again. The engine generates at most eighteen events ahead of the collector, and then waits. It
     * stops within one token when the collector leaves, as with `first` or `take`, and when its coroutine is cancelled:
     * the next message may be sent at once. The reply so far stays in the history, unless `onCancel` says otherwise; it
     * may be longer than what was collected.
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
     * If the conversation was created with handlers, they run the calls, as in [respondWithFunctions].
     *
     * To stop a reply and still get its `Complete`, pull [startResponse] and call its `cancel`.
     */
    public fun generateResponse(
        message: ChatMessage,
        generationOptions: GenerationOptions = GenerationOptions()
    ): Flow<MessageResponse> = reply(message, generationOptions)

    /** The reply to a text of the user. */
    public fun generateResponse(
        text: String,
        generationOptions: GenerationOptions = GenerationOptions()
    ): Flow<MessageResponse> = generateResponse(ChatMessage(ChatMessageRole.USER, text), generationOptions)

    /** A reply to the history as it stands, for example on a conversation that was created from a history. */
    public fun generateResponse(generationOptions: GenerationOptions = GenerationOptions()): Flow<MessageResponse> =
        continueResponse(generationOptions)

    /** A reply to the history as it stands, for example after the results of several calls were appended to it. */
    public fun continueResponse(generationOptions: GenerationOptions = GenerationOptions()): Flow<MessageResponse> =
        reply(null, generationOptions)

    /**
     * Sends a text of the user, and returns the end of the reply, with the whole message.
     *
     * @param handlers they run the calls of functions; the conversation's own if null
     */
    public suspend fun respond(
        text: String,
        generationOptions: GenerationOptions = GenerationOptions(),
        handlers: FunctionHandlers? = null
    ): MessageResponse.Complete = respond(ChatMessage(ChatMessageRole.USER, text), generationOptions, handlers)

    /**
     * Sends a message, for example one with images or the result of a function, and returns the end of the reply.
     *
     * ```
     * val question = ChatMessage(ChatMessage.Role.USER, listOf(imageContent(photo), ChatMessageContent.Text("What is this?")))
     * println(conversation.respond(question).fullMessage.text)
     * ```
     *
     * @param handlers they run the calls of functions; the conversation's own if null
     */
    public suspend fun respond(
        message: ChatMessage,
        generationOptions: GenerationOptions = GenerationOptions(),
        handlers: FunctionHandlers? = null
    ): MessageResponse.Complete = reply(message, generationOptions, handlers).last() as MessageResponse.Complete

    /**
     * Returns the end of a reply to the history as it stands, for example after results of functions.
     *
     * @param handlers they run the calls of functions; the conversation's own if null
     */
    public suspend fun respond(
        generationOptions: GenerationOptions = GenerationOptions(),
        handlers: FunctionHandlers? = null
    ): MessageResponse.Complete = reply(null, generationOptions, handlers).last() as MessageResponse.Complete

    /**
     * The reply to a message with all its function calls: the handlers run the calls, the model reads the results, and
     * so on until it answers. All messages join the history as if they were sent by hand. The functions of the handlers
     * are registered when the reply begins; one of the same name is replaced.
     *
     * The events are the same as of a plain reply. [MessageResponse.FunctionResult] reports the result of each call,
     * [MessageResponse.RoundComplete] the end of a reply with calls, and one [MessageResponse.Complete] the end of the
     * last reply. If a call does not fit its function, was rejected, or names a function that is not declared, the
     * model reads an error that lets it repair the call. A call of a function that is declared but not handled ends the
     * flow: all calls of that reply are left to the app. The conversation is busy until the end. The options apply to
     * each reply.
     *
     * The flow is like that of [generateResponse]. Cancelling its coroutine also cancels the functions, and does not
     * wait for them, except for one that blocks the reading thread.
     *
     * @throws SdkException.InvalidOption for a handler of a function that is not registered
     */
    public fun respondWithFunctions(
        message: ChatMessage,
        handlers: FunctionHandlers,
        generationOptions: GenerationOptions = GenerationOptions()
    ): Flow<MessageResponse> = reply(message, generationOptions, handlers)

    /** The reply to a text of the user with all its function calls. */
    public fun respondWithFunctions(
        text: String,
        handlers: FunctionHandlers,
        generationOptions: GenerationOptions = GenerationOptions()
    ): Flow<MessageResponse> =
        respondWithFunctions(ChatMessage(ChatMessageRole.USER, text), handlers, generationOptions)

    /** Like [respondWithFunctions], as a reply to the history as it stands. */
    public fun continueWithFunctions(
        handlers: FunctionHandlers,
        generationOptions: GenerationOptions = GenerationOptions()
    ): Flow<MessageResponse> = reply(null, generationOptions, handlers)
}

/** The reply to a message, or to the history as it stands if null. */
internal fun ConversationMembers.reply(
    message: ChatMessage?,
    options: GenerationOptions,
    handlers: FunctionHandlers? = null
): Flow<MessageResponse> {
    val chosen = handlers ?: (this as? Conversation)?.handlers
    return events(chosen) { start(message, options, chosen) }
}

/** Starts a reply, whose calls are run if there are handlers. */
internal fun ConversationMembers.start(
    message: ChatMessage?,
    options: GenerationOptions,
    handlers: FunctionHandlers?
): ResponseStream = when {
    handlers != null -> handlers.start(this, message, options)
    message != null -> startResponse(message, options)
    else -> startContinuation(options)
}

/** The text of a reply, in pieces: `conversation.generateResponse("Hello!").text().collect(::print)`. */
@JvmSynthetic
public fun Flow<MessageResponse>.text(): Flow<String> = filterIsInstance<MessageResponse.Chunk>().map { it.text }

/** The flow of a stream, whose functions the handlers run. */
internal fun events(handlers: FunctionHandlers? = null, start: () -> ResponseStream): Flow<MessageResponse> = flow {
    // Leaving closes the stream, which stops the reply.
    start().use { stream ->
        // A cancelled coroutine goes on only when its dispatcher has a thread for it. The next message must not find the
        // conversation busy until then, so a coroutine without a dispatcher cancels the reply, within `Job.cancel`.
        val canceller = CoroutineScope(currentCoroutineContext()).launch(Unconfined, CoroutineStart.UNDISPATCHED) {
            try {
                awaitCancellation()
            } finally {
                stream.stop()
            }
        }
        try {
            val errors = FunctionErrors()
            while (true) emit(stream.nextResponse(errors) { calls -> handlers?.run(calls).orEmpty() } ?: break)
        } finally {
            canceller.cancel()
        }
    }
}

/** Cancels the reply, unless closing has already stopped it. */
internal fun ResponseStream.stop() {
    try {
        cancel()
    } catch (_: IllegalStateException) {
    }
}

/** Exceptions of functions whose results have not arrived, by the ids of their calls. */
internal typealias FunctionErrors = HashMap<String, Exception>

/** The next event for the app; calls to run are answered with the outcomes that [run] returns. */
internal suspend fun ResponseStream.nextResponse(
    errors: FunctionErrors,
    run: suspend (List<SdkFunctionCall>) -> List<RanFunction>
): MessageResponse? {
    while (true) {
        when (val event = next()) {
            is MessageResponse.RunFunctions -> {
                val ran = run(event.functionCalls)
                for ((call, function) in event.functionCalls.zip(ran)) function.error?.let { errors[call.callId] = it }
                answer(ran.map { it.outcome })
            }
            is MessageResponse.FunctionResult -> return event.also { it.error = it.callId?.let(errors::remove) }
            else -> return event
        }
    }
}
