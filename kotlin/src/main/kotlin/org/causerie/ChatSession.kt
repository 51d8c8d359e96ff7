package org.causerie

import java.util.concurrent.Executor
import java.util.function.Consumer
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.launch

/** What a screen shows of a conversation. */
public data class ChatState @JvmOverloads constructor(
    /**
     * The messages of the history but its system message. While a reply is under way, the last one is what has been written of
     * it, with its reasoning and its calls; it is `incomplete`.
     */
    val messages: List<ChatMessage> = listOf(),
    /** Whether a reply is under way. */
    val isResponding: Boolean = false,
    /** The error of the last reply, if it failed. */
    val error: Throwable? = null,
    /** The end of the last reply, with its counts and times. */
    val complete: MessageResponse.Complete? = null,
    /**
     * The message of the last reply, if that failed before the message joined the history, for example because it is too long.
     * [ChatSession.regenerate] sends it again.
     */
    val failed: ChatMessage? = null
)

/**
 * A conversation for a screen: a [state] with its messages, and the reply as it grows.
 *
 * ```
 * class ChatViewModel(conversation: Conversation) : ViewModel() {
 *     val chat = ChatSession(conversation, viewModelScope)
 * }
 *
 * val state by viewModel.chat.state.collectAsState()
 * ```
 *
 * It may be used from any thread. The end of the scope stops the reply. Close the conversation after that.
 *
 * @param conversation the conversation, with its handlers; nothing else may be sent to it meanwhile
 * @param scope the scope in which replies are read, such as that of a view model
 * @property generationOptions the options of replies
 */
public class ChatSession @JvmOverloads constructor(
    private val conversation: Conversation,
    private val scope: CoroutineScope,
    @Volatile public var generationOptions: GenerationOptions = GenerationOptions()
) {
    /** A session for apps without coroutines: an executor reads the replies, and calls the listeners. See [observe]. */
    @JvmOverloads
    public constructor(
        conversation: Conversation,
        executor: Executor,
        generationOptions: GenerationOptions = GenerationOptions()
    ) : this(conversation, CoroutineScope(executor.asCoroutineDispatcher() + SupervisorJob()), generationOptions)

    private val current = MutableStateFlow(ChatState(visible()))
    private var reply: BlockingReply? = null
    private var reading: Job? = null

    /** What a screen shows. */
    public val state: StateFlow<ChatState> = current.asStateFlow()

    /** Sends a text of the user. Blanks are not sent. */
    public fun send(text: String) {
        if (text.isNotBlank()) send(ChatMessage(ChatMessageRole.USER, text))
    }

    /** Sends a message. A reply that is under way is stopped first. */
    public fun send(message: ChatMessage): Unit = answer(message)

    /**
     * Generates the last reply anew: what came after the last message of the user is removed. If nothing is written in its place,
     * it comes back. A message that [failed][ChatState.failed] is sent again instead.
     */
    @Synchronized
    public fun regenerate(): Unit = answer(current.value.failed)

    /**
     * Stops the reply. What has been written of it stays, unless `onCancel` says otherwise. The message stays as well, even if
     * its reply has not begun.
     */
    @Synchronized
    public fun stop() {
        reply?.cancel()
    }

    /**
     * Calls a listener with the state, at once and after changes, in the scope of the session: for Java. A listener that is
     * slow misses states, but never the last one.
     *
     * @return ends the listening when it is closed
     */
    public fun observe(listener: Consumer<ChatState>): AutoCloseable {
        val listening = scope.launch { state.collect { listener.accept(it) } }
        return AutoCloseable { listening.cancel() }
    }

    /** Waits for the end of the reply, and of what was sent meanwhile. */
    public suspend fun join() {
        while (true) {
            val job = synchronized(this) { reading }?.takeIf { it.isActive } ?: return
            job.join()
        }
    }

    /** Replies to a message, or again to the last message of the user. */
    @Synchronized
    private fun answer(message: ChatMessage?) {
        stop()
        val earlier = reading
        val options = generationOptions
        // Nothing is sent before it is read.
        val next = conversation.blocking(message, options)
        reply = next
        current.update { it.copy(isResponding = true, failed = null) }
        reading = scope.launch {
            try {
                earlier?.join()
                read(next, message, options)
            } catch (err: IllegalStateException) {
                // The conversation may be closed as soon as the scope has ended.
                ensureActive()
                throw err
            }
        }.also {
            // Also if the scope ends before the coroutine begins.
            it.invokeOnCompletion { release(next) }
        }
    }

    private fun release(ended: BlockingReply) {
        ended.close()
        synchronized(this) {
            if (reply === ended) current.update { it.copy(isResponding = false) }
        }
    }

    private suspend fun read(next: BlockingReply, message: ChatMessage?, options: GenerationOptions) {
        var result = ChatState()
        // What the history must have in the end, unless the reply has left something there.
        var expected = listOfNotNull(message)
        var size = 0
        try {
            if (message == null) expected = removeReply()
            size = visible().size
            val complete = follow(next, message)
            result = ChatState(complete = complete)
            val isStopped = complete?.finishReason == FinishReason.INTERRUPTED
            // A reply that was stopped before it began has not added its message.
            if (isStopped && (message == null || options.onCancel != OnCancel.DROP_TURN)) add(expected, size)
        } catch (err: CancellationException) {
            throw err
        } catch (err: Exception) {
            if (message == null) add(expected, size)
            result = ChatState(error = err, failed = message.takeIf { visible().size == size })
        }
        end(next, result.copy(messages = visible()))
    }

    /**
     * Adds messages to the history if it still has the size that it had before the reply, without the system message, which a
     * reply may add for its functions.
     */
    private fun add(messages: List<ChatMessage>, size: Int) {
        if (visible().size == size) messages.forEach(conversation::appendToHistory)
    }

    @Synchronized
    private fun end(ended: BlockingReply, state: ChatState) {
        // Another message may wait already.
        current.value = state.copy(isResponding = reply !== ended)
    }

    /** Shows a reply as it grows, and returns its end. */
    private suspend fun follow(reply: BlockingReply, message: ChatMessage?): MessageResponse.Complete? {
        var before = visible() + listOfNotNull(message)
        var growing = EMPTY
        while (true) {
            current.value = ChatState(before + growing, isResponding = true)
            when (val event = reply.nextEvent() ?: return null) {
                is MessageResponse.Chunk -> growing = growing.copy(content = text(growing.text + event.text))
                is MessageResponse.ReasoningChunk ->
                    growing = growing.copy(reasoningContent = growing.reasoningContent.orEmpty() + event.reasoning)
                is MessageResponse.FunctionCalls ->
                    growing = growing.copy(functionCalls = growing.functionCalls.orEmpty() + event.functionCalls)
                is MessageResponse.RoundComplete -> {
                    before = visible()
                    growing = EMPTY
                }
                is MessageResponse.Complete -> return event
                else -> {}
            }
        }
    }

    /** Removes what came after the last message of the user, and returns it. */
    private fun removeReply(): List<ChatMessage> {
        val history = conversation.history
        val last = history.indexOfLast { it.role == ChatMessageRole.USER }
        if (last < 0) throw SdkException.InvalidMessage("the history must have a message of the user to reply to")
        conversation.truncate(last + 1)
        return history.drop(last + 1)
    }

    private fun visible(): List<ChatMessage> = conversation.history.filter { it.role != ChatMessageRole.SYSTEM }

    private companion object {
        fun text(text: String): List<ChatMessageContent> = listOf(ChatMessageContent.Text(text))

        /** A reply of which nothing is written yet. */
        val EMPTY = ChatMessage(ChatMessageRole.ASSISTANT, text(""), incomplete = true)
    }
}
