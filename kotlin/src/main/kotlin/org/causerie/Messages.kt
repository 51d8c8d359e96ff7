@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/** The roles of messages: `ChatMessage.Role.USER`. Their type is [ChatMessageRole]. */
public val ChatMessage.Companion.Role: ChatMessageRoles
    @JvmSynthetic get() = ChatMessageRoles

/** What [ChatMessage.Companion.Role] holds. */
public object ChatMessageRoles {
    /** Sets the frame of the conversation; first or absent. */
    public val SYSTEM: ChatMessageRole = ChatMessageRole.SYSTEM

    /** The person. */
    public val USER: ChatMessageRole = ChatMessageRole.USER

    /** The model. */
    public val ASSISTANT: ChatMessageRole = ChatMessageRole.ASSISTANT

    /** The result of a function call. */
    public val TOOL: ChatMessageRole = ChatMessageRole.TOOL
}

/** A message of one text. */
@JvmName("chatMessage")
public fun ChatMessage(role: ChatMessageRole, textContent: String): ChatMessage =
    ChatMessage(role, listOf(ChatMessageContent.Text(textContent)))

/** The message's texts, one after the other. */
public val ChatMessage.text: String
    get() = content.filterIsInstance<ChatMessageContent.Text>().joinToString("") { it.text }
