package org.causerie

import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonDecoder
import kotlinx.serialization.json.JsonEncoder
import kotlinx.serialization.json.jsonArray

/**
 * The serializer of [ChatMessage]: as JSON an object, as [messagesToJson] writes it; in other formats a string with its
 * text. So `Json.encodeToString(conversation.history)` works, and a history may be a property of serializable classes.
 */
public object ChatMessageSerializer : KSerializer<ChatMessage> {
    override val descriptor: SerialDescriptor =
        PrimitiveSerialDescriptor("org.causerie.ChatMessage", PrimitiveKind.STRING)

    override fun serialize(encoder: Encoder, value: ChatMessage) {
        val messages = messagesToJson(listOf(value))
        if (encoder is JsonEncoder) {
            encoder.encodeJsonElement(Json.parseToJsonElement(messages).jsonArray.single())
        } else {
            encoder.encodeString(messages)
        }
    }

    override fun deserialize(decoder: Decoder): ChatMessage {
        val messages = if (decoder is JsonDecoder) "[${decoder.decodeJsonElement()}]" else decoder.decodeString()
        return try {
            messagesFromJson(messages).singleOrNull() ?: throw SerializationException("the text must have one message")
        } catch (err: SdkException) {
            throw SerializationException(err.message, err)
        }
    }
}
