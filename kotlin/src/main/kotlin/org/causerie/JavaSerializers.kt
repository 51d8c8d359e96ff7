package org.causerie

import java.lang.reflect.ParameterizedType
import java.lang.reflect.Type
import java.lang.reflect.WildcardType
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerializationException
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.builtins.MapSerializer
import kotlinx.serialization.builtins.SetSerializer
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.buildClassSerialDescriptor
import kotlinx.serialization.encoding.CompositeDecoder
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.encoding.decodeStructure
import kotlinx.serialization.encoding.encodeStructure
import kotlinx.serialization.serializerOrNull

/**
 * The serializer of a class that Java names: a serializable class of Kotlin, an enum, or a record whose components have such
 * types, or are lists, sets or maps of them.
 *
 * @throws SdkException.InvalidFunction for any other class
 */
internal fun <T : Any> serializerOf(type: Class<T>): KSerializer<T> {
    @Suppress("UNCHECKED_CAST")
    return serializerOf(type, listOf()) as KSerializer<T>
}

private fun serializerOf(type: Type, within: List<Type>): KSerializer<Any> {
    if (type is WildcardType) return serializerOf(type.upperBounds.first(), within)
    if (type in within) throw SdkException.InvalidFunction("${type.typeName} must not contain itself")
    val items = (type as? ParameterizedType)?.actualTypeArguments.orEmpty()
    val serializer: KSerializer<*>? = when ((type as? ParameterizedType)?.rawType) {
        List::class.java, Collection::class.java -> ListSerializer(serializerOf(items[0], within))
        Set::class.java -> SetSerializer(serializerOf(items[0], within))
        Map::class.java -> MapSerializer(serializerOf(items[0], within), serializerOf(items[1], within))
        else -> recordOrNull(type)?.let { RecordSerializer(type.typeName, it, within + type) } ?: serializerOrNull(type)
    }
    @Suppress("UNCHECKED_CAST")
    return serializer as KSerializer<Any>?
        ?: throw SdkException.InvalidFunction("${type.typeName} must be a record or a serializable class")
}

private fun recordOrNull(type: Type): RecordClass? = (type as? Class<*>)?.let(RecordClass::of)

/** The serializer of a Java record. All components are required, because Java has no default values. */
private class RecordSerializer(name: String, private val record: RecordClass, within: List<Type>) : KSerializer<Any> {
    private val serializers = record.components.map { serializerOf(it.genericType, within) }

    override val descriptor: SerialDescriptor = buildClassSerialDescriptor(name) {
        record.components.zip(serializers) { component, serializer -> element(component.name, serializer.descriptor) }
    }

    override fun serialize(encoder: Encoder, value: Any): Unit = encoder.encodeStructure(descriptor) {
        record.components.forEachIndexed { index, component ->
            val item = component.value(value) ?: throw SerializationException("${component.name} must not be null")
            encodeSerializableElement(descriptor, index, serializers[index], item)
        }
    }

    override fun deserialize(decoder: Decoder): Any = decoder.decodeStructure(descriptor) {
        val values = arrayOfNulls<Any?>(serializers.size)
        while (true) {
            val index = decodeElementIndex(descriptor)
            if (index == CompositeDecoder.DECODE_DONE) break
            values[index] = decodeSerializableElement(descriptor, index, serializers[index])
        }
        val missing = values.indexOf(null)
        if (0 <= missing) throw SerializationException("${descriptor.getElementName(missing)} is missing")
        record.create(values)
    }
}
