@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/** What the companion of [ChatMessage] has. */
public interface MessageRoles {
    /** The roles of messages: `ChatMessage.Role.USER`. Their type is [ChatMessageRole]. */
    @Suppress("PropertyName")
    public val Role: ChatMessageRoles get() = ChatMessageRoles
}

/** The values of `ChatMessage.Role`. */
public object ChatMessageRoles {
    /** Instructions for the conversation; the first message or absent. */
    public val SYSTEM: ChatMessageRole = ChatMessageRole.SYSTEM

    /** The user. */
    public val USER: ChatMessageRole = ChatMessageRole.USER

    /** The model. */
    public val ASSISTANT: ChatMessageRole = ChatMessageRole.ASSISTANT

    /** The result of a function call. */
    public val TOOL: ChatMessageRole = ChatMessageRole.TOOL
}

/** Creates a message of one text part. */
@JvmName("chatMessage")
public fun ChatMessage(role: ChatMessageRole, textContent: String): ChatMessage =
    ChatMessage(role, listOf(ChatMessageContent.Text(textContent)))

/** Creates a message of parts, such as a picture and a text. */
@JvmName("chatMessage")
public fun ChatMessage(role: ChatMessageRole, content: List<ChatMessageContent>): ChatMessage =
    ChatMessage(role, content, reasoningContent = null)

/** The text of all parts, joined. */
public val ChatMessage.text: String
    get() = content.filterIsInstance<ChatMessageContent.Text>().joinToString("") { it.text }
