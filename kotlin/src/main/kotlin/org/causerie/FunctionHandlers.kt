@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import java.util.concurrent.atomic.AtomicBoolean
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.cancellation.CancellationException
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withTimeoutOrNull

/**
 * What runs the functions that a model calls.
 *
 * ```
 * val handlers = functionHandlers {
 *     on("check_weather") { call -> mapOf("sky" to "sunny", "city" to call.arguments["city"]) }
 * }
 * ```
 *
 * A text that is returned reaches the model as it is; maps, lists, numbers and values of serializable classes do as JSON.
 * An exception becomes an error that the model reads.
 */
public class FunctionHandlers {
    /** Replies whose calls are run, one after the other. The calls of the next one are left to the app. */
    public var maxRounds: Int = 8

    /** Seconds that a function may take. Then it is cancelled, no longer waited for, and the model is told. */
    public var timeLimit: Double? = null

    /** Whether all calls of a reply are run at once. Their results come in order. */
    public var inParallel: Boolean = false

    /** The functions that were given with their types, to be registered. */
    public val functions: List<SdkFunction> get() = declared.values.toList()

    private val declared = LinkedHashMap<String, SdkFunction>()
    private val handlers = LinkedHashMap<String, suspend (SdkFunctionCall) -> Any?>()

    /** Runs the calls of a function. Their arguments fit its parameters, where it is registered. */
    @JvmSynthetic
    public fun on(name: String, handler: suspend (SdkFunctionCall) -> Any?) {
        handlers[name] = handler
    }

    /**
     * The same for Java, and for code that blocks its thread. It runs on the thread that reads; with a [timeLimit], or
     * [inParallel], on others, which are interrupted and no longer waited for when it is over or the reply is cancelled.
     */
    public fun onBlocking(name: String, handler: FunctionHandler) {
        handlers[name] = { call ->
            val run = { handler.run(call) }
            if (timeLimit == null && !inParallel) onThisThread(run) else onOtherThread(run)
        }
    }

    /** The interruption that ends a function is that of the thread which reads, and ends the reading too. */
    private fun onThisThread(run: () -> Any?): Any? = try {
        run()
    } catch (err: InterruptedException) {
        Thread.currentThread().interrupt()
        throw err
    }

    private suspend fun onOtherThread(run: () -> Any?): Any? = detached(Dispatchers.IO) { runInterruptible { run() } }

    /** Runs in a coroutine of its own, which is cancelled with this one, and not waited for then. */
    private suspend fun detached(context: CoroutineContext, run: suspend () -> Any?): Any? {
        val running = CoroutineScope(context.minusKey(Job)).async { runCatching { run() } }
        try {
            return running.await().getOrThrow()
        } finally {
            running.cancel()
        }
    }

    /** Runs the calls of a function and has it among [functions]. */
    @JvmSynthetic
    public fun on(function: SdkFunction, handler: suspend (SdkFunctionCall) -> Any?) {
        declared[function.name] = function
        handlers[function.name] = handler
    }

    internal fun start(conversation: Conversation, message: ChatMessage?, options: GenerationOptions): FunctionRounds =
        conversation.startRounds(
            message,
            handlers.keys.toList(),
            RoundOptions(maxRounds, timeLimit, inParallel),
            options
        )

    internal suspend fun run(calls: List<SdkFunctionCall>): List<FunctionOutcome> = coroutineScope {
        calls.map { call -> async { outcome(call) } }.awaitAll()
    }

    private suspend fun outcome(call: SdkFunctionCall): FunctionOutcome = try {
        val handler = handlers.getValue(call.name)
        val limit = timeLimit
        val run = suspend { told(detached(currentCoroutineContext()) { handler(call) }) }
        if (limit == null) run() else withTimeoutOrNull(limit.seconds) { run() } ?: FunctionOutcome.TimedOut
    } catch (err: CancellationException) {
        // The reader's is passed on; a function may also have cancelled something of its own.
        currentCoroutineContext().ensureActive()
        FunctionOutcome.Failed(err.toString())
    } catch (err: Exception) {
        FunctionOutcome.Failed(err.message ?: err.toString())
    }

    private fun told(returned: Any?): FunctionOutcome = when (returned) {
        is CharSequence -> FunctionOutcome.Text(returned.toString())
        is Unit -> FunctionOutcome.Json("null")
        else -> FunctionOutcome.Json(encodeJson(returned))
    }
}

/** What runs a function, and blocks its thread meanwhile; see [FunctionHandlers.onBlocking]. */
public fun interface FunctionHandler {
    /** What the function returns for a call: a text, what JSON can hold, or a value of a serializable class. */
    @Throws(Exception::class)
    public fun run(call: SdkFunctionCall): Any?
}

/** Handlers, set in a block; see [FunctionHandlers]. */
@JvmSynthetic
public fun functionHandlers(block: FunctionHandlers.() -> Unit): FunctionHandlers = FunctionHandlers().apply(block)

/**
 * The reply to a message with all that the model does for it: its calls are run by the handlers, the results go back to
 * it, and so on until it answers. All messages join the history as if they were sent by hand.
 *
 * Every event is that of a plain reply; [MessageResponse.FunctionResult] tells what came of each call, and the one
 * [MessageResponse.Complete] comes last. A call that does not fit its function, that was rejected, or that names a
 * function which is neither declared nor handled is answered with an error, so that the model can mend it. A call of a
 * function that is declared but not handled ends the reply: all calls of that round are the app's. The conversation is
 * busy up to the end. The options hold for each reply on the way.
 *
 * The flow is like that of [generateResponse]; cancelling its coroutine cancels the functions too, and waits for none but one
 * that blocks the thread that reads.
 */
@JvmSynthetic
public fun Conversation.respondWithFunctions(
    message: ChatMessage,
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = rounds(this, message, handlers, options)

/** The reply to a text of the person, with the functions called on the way. */
@JvmSynthetic
public fun Conversation.respondWithFunctions(
    text: String,
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = rounds(this, ChatMessage(ChatMessageRole.USER, text), handlers, options)

/** The same for a reply to the history as it stands. */
@JvmSynthetic
public fun Conversation.continueWithFunctions(
    handlers: FunctionHandlers,
    options: GenerationOptions = GenerationOptions()
): Flow<MessageResponse> = rounds(this, null, handlers, options)

private fun rounds(
    conversation: Conversation,
    message: ChatMessage?,
    handlers: FunctionHandlers,
    options: GenerationOptions
): Flow<MessageResponse> {
    val isConsumed = AtomicBoolean()
    return flow {
        if (isConsumed.getAndSet(true)) throw SdkException.StreamAlreadyConsumed("the stream was read before")
        handlers.start(conversation, message, options).use { rounds ->
            var outcomes = listOf<FunctionOutcome>()
            while (true) {
                val event = rounds.next(outcomes) ?: break
                outcomes = listOf()
                when (event) {
                    is RoundEvent.Response -> emit(event.response)
                    is RoundEvent.Run -> outcomes = handlers.run(event.calls)
                }
            }
        }
    }
}
