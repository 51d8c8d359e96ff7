package org.causerie

import java.io.File
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.DynamicTest
import org.junit.jupiter.api.TestFactory

/** The scenarios of `tests/fixtures/scenarios`, run through the Kotlin API. Their README describes the format. */
class ScenarioTest {
    @TestFactory
    fun scenarios(): List<DynamicTest> {
        val files = repository.resolve("tests/fixtures/scenarios").listFiles { file -> file.extension == "json" }!!
        assertTrue(20 <= files.size, "${files.size} scenarios")
        return files.sorted().map { file ->
            DynamicTest.dynamicTest(file.nameWithoutExtension) {
                val scenario = decodeJsonObject(file.readText())
                Player(scenario).use { it.play(scenario.items("steps")) }
            }
        }
    }
}

private class Player(scenario: Map<String, Any?>) : AutoCloseable {
    private val hasCounts = scenario["model"] != "models/demo.gguf"
    private val runner = when (val model = scenario["model"]) {
        null -> loadScriptedModel(encodeJsonObject(scenario.entries("script")))
        else -> loadModelBlocking(repository.resolve(model as String).path)
    }
    private var conversation = runner.createConversation((scenario["system"] as String?).orEmpty())
    private val options = scenario.entries("options")

    init {
        (scenario["ranker"] as String?)?.let { ranker ->
            loadEmbeddingModelBlocking(repository.resolve(ranker).path).use(runner::setFunctionRanker)
        }
        conversation.registerFunctions(functionsFromJson(listText(scenario.items("functions"))))
    }

    override fun close() {
        conversation.close()
        runner.close()
    }

    fun play(steps: List<Any?>) = steps.forEachIndexed { index, step ->
        @Suppress("UNCHECKED_CAST")
        step as Map<String, Any?>
        when {
            "trace" in step -> assertEquals(step["trace"], reply(step), "step $index")
            "history" in step -> assertEquals(
                step["history"],
                json(messagesToJson(conversation.history)),
                "step $index"
            )
            else -> assertEquals(step["error"], errorOf { change(step) }, "step $index")
        }
    }

    private fun errorOf(change: () -> Unit): String? = try {
        change()
        null
    } catch (err: SdkException) {
        err.javaClass.simpleName
    }

    /** Runs a step without a reply. */
    private fun change(step: Map<String, Any?>) {
        val (what, value) = step.entries.first()
        when (what) {
            "append" -> conversation.appendToHistory(message(value))
            "register" -> functionsFromJson(listText(listOf(value))).forEach(conversation::registerFunction)
            "unregister" -> conversation.unregisterFunction(value as String)
            "remove_last" -> conversation.removeLastMessage()
            "truncate" -> conversation.truncate((value as Long).toInt())
            "reopen" -> conversation = reopened(value as String)
            else -> error("unknown step $what")
        }
    }

    private fun reopened(how: String): Conversation = when (how) {
        "history" -> runner.createConversationFromHistory(conversation.history)
        "json" -> runner.createConversationFromHistory(messagesFromJson(messagesToJson(conversation.history)))
        "fork" -> conversation.fork()
        "session" -> {
            val file = File.createTempFile("causerie", ".session")
            conversation.saveSession(file.path, true)
            runner.restoreSession(file.path).also { file.delete() }
        }
        else -> error("cannot reopen from $how")
    }

    /** The events of a reply. */
    private fun reply(step: Map<String, Any?>): List<Map<String, Any?>> {
        val options = optionsOf(options + step.entries("options"))
        val trace = Trace(hasCounts)
        if ("cancel_at" in step && "handlers" in step || step.entries("handlers").values.any { "cancels" in "$it" }) {
            pullWithFunctions(step, options, trace)
            return trace.events
        }
        runBlocking {
            when (val leaveAt = step["leave_at"]) {
                null -> if ("cancel_at" in step) pull(step, options, trace) else trace.takeAll(flow(step, options))
                // The reply is not read yet.
                "" -> flow(step, options)
                else -> flow(step, options).first { trace.take(it).let { leaveAt == trace.text() } }
            }
        }
        return trace.events
    }

    private fun flow(step: Map<String, Any?>, options: GenerationOptions): Flow<MessageResponse> =
        if ("handlers" in step) flowWithFunctions(step, options) else plainFlow(step, options)

    private fun flowWithFunctions(step: Map<String, Any?>, options: GenerationOptions): Flow<MessageResponse> {
        val handlers = handlers(step) { error("a flow has no cancel") }
        return step["send"]?.let { conversation.respondWithFunctions(message(it), handlers, options) }
            ?: conversation.continueWithFunctions(handlers, options)
    }

    private fun handlers(step: Map<String, Any?>, cancel: () -> Unit) = functionHandlers {
        for ((name, value) in step.entries("rounds")) {
            when (name) {
                "max_rounds" -> maxRounds = (value as Long).toInt()
                "time_limit" -> timeLimit = value as Double
                "in_parallel" -> inParallel = value as Boolean
                else -> error("unknown option $name")
            }
        }
        for ((name, script) in step.entries("handlers")) {
            val acts = (script as List<*>).iterator()
            on(name) { call ->
                val (what, value) = (acts.next() as Map<*, *>).entries.single()
                when (what) {
                    "returns" -> value
                    "fails" -> throw IllegalStateException(value as String)
                    "echoes" -> call.arguments
                    "cancels" -> cancel()
                    "hangs" -> awaitCancellation()
                    else -> error("unknown action $what")
                }
            }
        }
    }

    private fun pullWithFunctions(step: Map<String, Any?>, options: GenerationOptions, trace: Trace) {
        lateinit var reply: BlockingReply
        val handlers = handlers(step) { reply.cancel() }
        reply = step["send"]?.let { conversation.respondWithFunctionsBlocking(message(it), handlers, options) }
            ?: conversation.continueWithFunctionsBlocking(handlers, options)
        var isCancelled = false
        reply.use {
            trace.reading {
                for (event in reply) {
                    trace.take(event)
                    if (!isCancelled && step["cancel_at"] == trace.text()) {
                        isCancelled = true
                        play(step.items("meanwhile"))
                        reply.cancel()
                    }
                }
            }
        }
    }

    private fun plainFlow(step: Map<String, Any?>, options: GenerationOptions): Flow<MessageResponse> =
        step["send"]?.let { conversation.generateResponse(message(it), options) }
            ?: conversation.continueResponse(options)

    /** Stops a reply and reads how it ended. */
    private suspend fun pull(step: Map<String, Any?>, options: GenerationOptions, trace: Trace) {
        val stream = step["send"]?.let { conversation.startResponse(message(it), options) }
            ?: conversation.startContinuation(options)
        var isCancelled = false
        stream.use {
            trace.reading {
                do {
                    if (!isCancelled && step["cancel_at"] == trace.text()) {
                        isCancelled = true
                        play(step.items("meanwhile"))
                        stream.cancel()
                    }
                    val event = stream.next()?.also(trace::take)
                } while (event != null)
            }
        }
    }
}

/** The events of a reply. */
private class Trace(private val hasCounts: Boolean) {
    val events = mutableListOf<Map<String, Any?>>()

    fun text(): String = events.mapNotNull { it["text"] }.joinToString("")

    suspend fun takeAll(flow: Flow<MessageResponse>) = reading { flow.collect(::take) }

    inline fun reading(read: () -> Unit) {
        try {
            read()
        } catch (err: SdkException) {
            events += mapOf("error" to err.javaClass.simpleName, "reason" to reason(err))
        }
    }

    /** The reason of an error, which names an option in the fixtures as Rust does. */
    private fun reason(err: SdkException): String? {
        if (err !is SdkException.InvalidOption) return err.message
        return err.reason.replace(err.option, err.option.replace(Regex("[A-Z]")) { "_" + it.value.lowercase() })
    }

    fun take(event: MessageResponse) {
        when (event) {
            is MessageResponse.Chunk -> add("text", event.text)
            is MessageResponse.ReasoningChunk -> add("reasoning", event.reasoning)
            is MessageResponse.FunctionCalls -> events += mapOf("calls" to event.functionCalls.map(::fields))
            is MessageResponse.FunctionCallsRejected -> events += mapOf("rejected" to event.rejectedCalls.map(::fields))
            is MessageResponse.Logprobs -> events += mapOf("logprobs" to event.tokens.map(::fields))
            is MessageResponse.FunctionResult -> events += fields(event)
            is MessageResponse.RoundComplete -> with(event) {
                end("round", finishReason, fullMessage, stopSequence, stats, diagnostics)
            }
            is MessageResponse.Complete -> with(event) {
                end("complete", finishReason, fullMessage, stopSequence, stats, diagnostics)
            }
            else -> error("unexpected event $event")
        }
    }

    /** Joins adjacent events of one kind. */
    private fun add(kind: String, text: String) {
        val before = events.lastOrNull()?.get(kind) ?: return Unit.also { events += mapOf(kind to text) }
        events[events.lastIndex] = mapOf(kind to "$before$text")
    }

    private fun fields(call: SdkFunctionCall): Map<String, Any?> = buildMap {
        put("name", call.name)
        put("arguments", call.arguments)
        put("call_id", call.callId)
        put("raw_text", call.rawText)
        if (call.repairs.isNotEmpty()) put("repairs", call.repairs)
        if (call.diagnostics.isNotEmpty()) put("diagnostics", call.diagnostics.map { it.code })
    }

    private fun fields(call: RejectedCall): Map<String, Any?> = buildMap {
        put("reason", call.reason)
        put("raw_text", call.rawText)
        call.name?.let { put("name", it) }
    }

    private fun fields(scored: TokenLogprob): Map<String, Any?> = mapOf(
        "token" to scored.token.text,
        "n_bytes" to scored.token.bytes.size.toLong(),
        "logprob" to scored.token.logprob,
        "place" to scored.place.name.lowercase(),
        "alternatives" to scored.alternatives.map { it.text }
    )

    private fun fields(event: MessageResponse.FunctionResult): Map<String, Any?> = buildMap {
        put("result", event.text)
        event.name?.let { put("name", it) }
        event.callId?.let { put("call_id", it) }
        if (event.isError) put("is_error", true)
    }

    private fun end(
        key: String,
        reason: FinishReason,
        message: ChatMessage,
        stopSequence: String?,
        stats: GenerationStats,
        diagnostics: List<Diagnostic>
    ) {
        events += buildMap {
            put(key, reason.name.lowercase())
            put("message", (json(messagesToJson(listOf(message))) as List<*>).single())
            stopSequence?.let { put("stop_sequence", it) }
            if (diagnostics.isNotEmpty()) put("diagnostics", diagnostics.map { it.code })
            if (hasCounts) {
                put("prompt_tokens", stats.promptTokens.toLong())
                put("cached_prompt_tokens", stats.cachedPromptTokens.toLong())
                put("completion_tokens", stats.completionTokens.toLong())
            }
        }
    }
}

private fun optionsOf(entries: Map<String, Any?>): GenerationOptions = generationOptions {
    for ((name, value) in entries) {
        val count = { (value as Long).toInt() }
        val float = { (value as Double).toFloat() }
        val word = (value as? String)?.uppercase().orEmpty()
        when (name) {
            "temperature" -> temperature = float()
            "top_p" -> topP = float()
            "top_k" -> topK = count()
            "min_p" -> minP = float()
            "repetition_penalty" -> repetitionPenalty = float()
            "presence_penalty" -> presencePenalty = float()
            "frequency_penalty" -> frequencyPenalty = float()
            "logprobs" -> logprobs = count()
            "rng_seed" -> rngSeed = value as Long
            "max_tokens" -> maxTokens = count()
            "offered_functions" -> offeredFunctions = (value as List<*>).map { it as String }
            "max_offered_functions" -> maxOfferedFunctions = count()
            "allowed_tools" -> allowedTools = (value as List<*>).map { it as String }
            "stop_sequences" -> stopSequences = (value as List<*>).map { it as String }
            "function_call_parser" -> functionCallParser = when (value) {
                null -> null
                "default" -> DefaultFunctionCallParser()
                "json" -> JsonStyleFunctionCallParser()
                "xml" -> XmlFunctionCallParser()
                "llama" -> LlamaFunctionCallParser()
                else -> error("unknown parser $value")
            }
            "stop_on_repetition" -> stopOnRepetition = value as Boolean
            "continue_final_message" -> continueFinalMessage = value as Boolean
            "enable_thinking" -> enableThinking = value as Boolean
            "inline_thinking_tags" -> inlineThinkingTags = value as Boolean
            "parser_strictness" -> parserStrictness = Strictness.valueOf(word)
            "on_cancel" -> onCancel = OnCancel.valueOf(word)
            "on_busy" -> onBusy = OnBusy.valueOf(word)
            "context_policy" -> contextPolicy = when (value) {
                "error" -> ContextPolicy.Error
                "slide" -> ContextPolicy.Slide(shrinkToolResults = false)
                "shrink" -> ContextPolicy.Slide(shrinkToolResults = true)
                else -> error("unknown policy $value")
            }
            else -> error("unknown option $name")
        }
    }
}

private fun message(value: Any?): ChatMessage = messagesFromJson(listText(listOf(value))).single()

private fun listText(items: List<Any?>): String = encodeJsonObject(mapOf("" to items)).drop(4).dropLast(1)

private fun Map<String, Any?>.items(key: String): List<Any?> = this[key] as List<Any?>? ?: listOf()

@Suppress("UNCHECKED_CAST")
private fun Map<String, Any?>.entries(key: String): Map<String, Any?> = this[key] as Map<String, Any?>? ?: mapOf()
