@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

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
import kotlinx.coroutines.runInterruptible
import kotlinx.coroutines.withTimeoutOrNull

/**
 * Handlers of the functions that a model calls.
 *
 * ```
 * val handlers = functionHandlers {
 *     on("check_weather") { call -> mapOf("sky" to "sunny", "city" to call.arguments["city"]) }
 * }
 * ```
 *
 * The model reads a returned string as it is, and maps, lists, numbers and values of serializable classes as JSON. An
 * exception becomes an error that the model reads.
 */
public class FunctionHandlers {
    /** Maximum number of replies whose calls are run. The calls of the next reply are left to the app. */
    public var maxRounds: Int = 8

    /** Seconds that a function may take. Then it is cancelled and no longer awaited, and the model reads an error. */
    public var timeLimit: Double? = null

    /** Whether all calls of a reply run at once. Their results come in order. */
    public var inParallel: Boolean = false

    /** The functions that were added with their types. Replies with these handlers offer them to the model. */
    public val functions: List<SdkFunction> get() = declared.values.toList()

    private val declared = LinkedHashMap<String, SdkFunction>()
    private val handlers = LinkedHashMap<String, suspend (SdkFunctionCall) -> Any?>()

    /** Runs the calls of a function. If the function is registered, the arguments fit its parameters. */
    @JvmSynthetic
    public fun on(name: String, handler: suspend (SdkFunctionCall) -> Any?) {
        handlers[name] = handler
    }

    /**
     * Like [on], for Java and for code that blocks its thread. The handler runs on the thread that reads. With a
     * [timeLimit] or [inParallel] it runs on another thread, which is interrupted and no longer awaited when the time
     * is over or the reply is cancelled.
     */
    public fun onBlocking(name: String, handler: FunctionHandler) {
        handlers[name] = { call ->
            val run = { handler.run(call) }
            if (timeLimit == null && !inParallel) onThisThread(run) else onOtherThread(run)
        }
    }

    /** The function runs on the reading thread, so an interruption of it also ends the reading. */
    private fun onThisThread(run: () -> Any?): Any? = try {
        run()
    } catch (err: InterruptedException) {
        Thread.currentThread().interrupt()
        throw err
    }

    private suspend fun onOtherThread(run: () -> Any?): Any? = detached(Dispatchers.IO) { runInterruptible { run() } }

    /** Runs in a separate coroutine, which is cancelled with this one and then not awaited. */
    private suspend fun detached(context: CoroutineContext, run: suspend () -> Any?): Any? {
        val running = CoroutineScope(context.minusKey(Job)).async { runCatching { run() } }
        try {
            return running.await().getOrThrow()
        } finally {
            running.cancel()
        }
    }

    /** Runs the calls of a function, and adds it to [functions]. */
    @JvmSynthetic
    public fun on(function: SdkFunction, handler: suspend (SdkFunctionCall) -> Any?) {
        declared[function.name] = function
        handlers[function.name] = handler
    }

    internal fun start(
        conversation: ConversationMembers,
        message: ChatMessage?,
        options: GenerationOptions
    ): ResponseStream = conversation.startResponseWithFunctions(
        message,
        handlers.keys.toList(),
        functions,
        RoundOptions(maxRounds, timeLimit, inParallel),
        options
    )

    internal suspend fun run(calls: List<SdkFunctionCall>): List<FunctionOutcome> = coroutineScope {
        calls.map { call -> async { outcome(call) } }.awaitAll()
    }

    private suspend fun outcome(call: SdkFunctionCall): FunctionOutcome = try {
        val handler = handlers.getValue(call.name)
        val limit = timeLimit
        val run = suspend { returned(detached(currentCoroutineContext()) { handler(call) }) }
        if (limit == null) run() else withTimeoutOrNull(limit.seconds) { run() } ?: FunctionOutcome.TimedOut
    } catch (err: CancellationException) {
        // A cancellation of the reader is passed on. A function may also have cancelled something of its own.
        currentCoroutineContext().ensureActive()
        FunctionOutcome.Failed(err.toString())
    } catch (err: Exception) {
        FunctionOutcome.Failed(err.message ?: err.toString())
    }

    private fun returned(value: Any?): FunctionOutcome = when (value) {
        is CharSequence -> FunctionOutcome.Text(value.toString())
        is Unit -> FunctionOutcome.Json("null")
        else -> FunctionOutcome.Json(encodeJson(value))
    }
}

/** Runs a function and blocks its thread meanwhile; see [FunctionHandlers.onBlocking]. */
public fun interface FunctionHandler {
    /** The function's result for a call: a string, a value that JSON can represent, or a value of a serializable class. */
    @Throws(Exception::class)
    public fun run(call: SdkFunctionCall): Any?
}

/** Handlers, set in a block; see [FunctionHandlers]. */
@JvmSynthetic
public fun functionHandlers(block: FunctionHandlers.() -> Unit): FunctionHandlers = FunctionHandlers().apply(block)
