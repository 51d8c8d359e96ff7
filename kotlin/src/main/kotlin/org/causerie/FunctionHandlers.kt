@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.cancellation.CancellationException
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.DurationUnit
import kotlin.time.toKotlinDuration
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
 * The model reads a returned string as it is. Numbers, maps, lists, arrays, pairs, `Optional`s, enums, Java's records and
 * values of serializable classes become JSON; UUIDs and the values of `java.time` become strings. Decimals are read as
 * doubles. A [ChatMessageContent], such as a picture, or a list of them is the content of the result's message, for models
 * that take it. An exception becomes an error that the model reads; it is the `error` of the
 * [MessageResponse.FunctionResult], and is logged (see [setLogHandler]). A result that JSON cannot represent ends the reply
 * with an [SdkException.Serialization].
 */
public class FunctionHandlers {
    /** Maximum number of replies whose calls are run. The calls of the next reply are left to the app. */
    public var maxRounds: Int = 8

    /** Seconds that a function may take. Then it is cancelled and no longer awaited, and the model reads an error. */
    public var timeLimit: Double? = null

    /** The time that a function may take: [timeLimit] as a duration. */
    public var timeout: Duration?
        @JvmSynthetic get() = timeLimit?.seconds

        @JvmSynthetic set(value) {
            timeLimit = value?.toDouble(DurationUnit.SECONDS)
        }

    /** Sets [timeout], for Java. */
    public fun setTimeout(value: java.time.Duration?) {
        timeout = value?.toKotlinDuration()
    }

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

    /** Like [onBlocking], and adds the function to [functions]. */
    public fun onBlocking(function: SdkFunction, handler: FunctionHandler) {
        declared[function.name] = function
        onBlocking(function.name, handler)
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
    ): ResponseStream {
        if (timeLimit?.isNaN() == true) {
            throw SdkException.InvalidOption("timeLimit must be a number of seconds, found NaN", "timeLimit")
        }
        val rounds = RoundOptions(maxRounds, timeLimit, inParallel)
        return conversation.startResponseWithFunctions(message, handlers.keys.toList(), functions, rounds, options)
    }

    internal suspend fun run(calls: List<SdkFunctionCall>): List<RanFunction> = coroutineScope {
        calls.map { call -> async { outcome(call) } }.awaitAll()
    }

    private suspend fun outcome(call: SdkFunctionCall): RanFunction {
        val handler = handlers.getValue(call.name)
        val limit = timeLimit
        val run = suspend { Returned(detached(currentCoroutineContext()) { handler(call) }) }
        val returned = try {
            if (limit == null) run() else withTimeoutOrNull(limit.seconds) { run() }
        } catch (err: CancellationException) {
            // A cancellation of the reader is passed on. A function may also have cancelled something of its own.
            currentCoroutineContext().ensureActive()
            return failed(call, err, err.toString())
        } catch (err: Exception) {
            return failed(call, err, err.message ?: err.toString())
        }
        return RanFunction(if (returned == null) FunctionOutcome.TimedOut else written(call, returned.value))
    }

    private fun failed(call: SdkFunctionCall, err: Exception, reason: String): RanFunction {
        // Arguments that do not fit are an error of the model, which can repair them.
        val level = if (err is SdkException.InvalidArgument) LogLevel.INFO else LogLevel.ERROR
        Log.write(level, "function ${call.name} failed", err)
        return RanFunction(FunctionOutcome.Failed(reason), err)
    }

    private fun written(call: SdkFunctionCall, value: Any?): FunctionOutcome {
        val place = "the result of ${call.name}"
        val parts = parts(value)
        return when {
            value is CharSequence -> FunctionOutcome.Text(value.toString())
            value is Unit -> FunctionOutcome.Json("null")
            value is ChatMessage ->
                throw SdkException.Serialization("$place must not be a message: return the content of the message")
            parts != null -> FunctionOutcome.Content(parts)
            else -> FunctionOutcome.Json(encodeJson(value, place))
        }
    }

    /** The parts of a message, if a result is one or a list of them. */
    private fun parts(value: Any?): List<ChatMessageContent>? {
        val items = value as? List<*> ?: listOf(value)
        return items.filterIsInstance<ChatMessageContent>().takeIf { it.isNotEmpty() && it.size == items.size }
    }

    private class Returned(val value: Any?)
}

/** The outcome of running a function, and its exception if it threw one. */
internal class RanFunction(val outcome: FunctionOutcome, val error: Exception? = null)

/** Runs a function and blocks its thread meanwhile; see [FunctionHandlers.onBlocking]. */
public fun interface FunctionHandler {
    /** The function's result for a call: see [FunctionHandlers] for what it may be. */
    @Throws(Exception::class)
    public fun run(call: SdkFunctionCall): Any?
}

/** Handlers, set in a block; see [FunctionHandlers]. */
@JvmSynthetic
public fun functionHandlers(block: FunctionHandlers.() -> Unit): FunctionHandlers = FunctionHandlers().apply(block)
