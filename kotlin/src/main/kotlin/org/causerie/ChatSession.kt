package org.causerie

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.launch

/** What a screen shows of a conversation. */
public data class ChatState(
    /**
     * The messages of the history but its system message. While a reply is under way, the last one is what has been written of
     * it; it is `incomplete`.
     */
    val messages: List<ChatMessage> = listOf(),
    /** Whether a reply is under way. */
    val isResponding: Boolean = false,
    /** The error of the last reply, if it failed. */
    val error: Throwable? = null,
    /** The end of the last reply, with its counts and times. */
    val complete: MessageResponse.Complete? = null
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
public class ChatSession(
    private val conversation: Conversation,
    private val scope: CoroutineScope,
    @Volatile public var generationOptions: GenerationOptions = GenerationOptions()
) {
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

    /** Generates the last reply anew: what came after the last message of the user is removed. */
    public fun regenerate(): Unit = answer(null)

    /** Stops the reply. What has been written of it stays, unless `onCancel` says otherwise. */
    @Synchronized
    public fun stop() {
        reply?.cancel()
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
        // Nothing is sent before it is read.
        val next = conversation.blocking(message, generationOptions)
        reply = next
        current.update { it.copy(isResponding = true) }
        reading = scope.launch {
            try {
                earlier?.join()
                read(next, message)
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

    private suspend fun read(next: BlockingReply, message: ChatMessage?) {
        var error: Exception? = null
        val complete = try {
            if (message == null) removeReply()
            follow(next, message)
        } catch (err: CancellationException) {
            throw err
        } catch (err: Exception) {
            error = err
            null
        }
        end(next, visible(), error, complete)
    }

    @Synchronized
    private fun end(
        ended: BlockingReply,
        messages: List<ChatMessage>,
        error: Exception?,
        complete: MessageResponse.Complete?
    ) {
        // Another message may wait already.
        current.value = ChatState(messages, isResponding = reply !== ended, error, complete)
    }

    /** Shows a reply as it grows, and returns its end. */
    private suspend fun follow(reply: BlockingReply, message: ChatMessage?): MessageResponse.Complete? {
        var before = visible() + listOfNotNull(message)
        var text = ""
        while (true) {
            show(before, text)
            when (val event = reply.nextEvent() ?: return null) {
                is MessageResponse.Chunk -> text += event.text
                is MessageResponse.RoundComplete -> {
                    before = visible()
                    text = ""
                }
                is MessageResponse.Complete -> return event
                else -> {}
            }
        }
    }

    private fun show(before: List<ChatMessage>, text: String) {
        val growing = ChatMessage(ChatMessageRole.ASSISTANT, text).copy(incomplete = true)
        current.value = ChatState(before + growing, isResponding = true)
    }

    private fun removeReply() {
        val last = conversation.history.indexOfLast { it.role == ChatMessageRole.USER }
        if (last < 0) throw SdkException.InvalidMessage("the history must have a message of the user to reply to")
        conversation.truncate(last + 1)
    }

    private fun visible(): List<ChatMessage> = conversation.history.filter { it.role != ChatMessageRole.SYSTEM }
}
