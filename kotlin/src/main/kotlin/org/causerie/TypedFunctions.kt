@file:OptIn(ExperimentalSerializationApi::class)

package org.causerie

import kotlin.reflect.typeOf
import kotlinx.serialization.DeserializationStrategy
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.KSerializer
import kotlinx.serialization.SerialInfo
import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.serializer
import kotlinx.serialization.serializerOrNull

/*
 * Functions and replies with Kotlin types: serializable classes. Apps that use them must depend on
 * kotlinx-serialization-json, which is an optional dependency of this library.
 */

/** The description of a class or a property for the model. */
@SerialInfo
@Target(AnnotationTarget.CLASS, AnnotationTarget.PROPERTY)
public annotation class Description(val text: String)

/**
 * Returns a function whose parameters are the properties of a serializable class.
 *
 * ```
 * @Serializable
 * @Description("The weather in a city.")
 * data class GetWeather(@Description("The city.") val city: String, val days: Int? = null)
 *
 * conversation.registerFunction(sdkFunction<GetWeather>()) // get_weather
 * ```
 *
 * Its name is the name of the class in snake case, or its `SerialName`. Properties with defaults and nullable
 * properties are optional.
 *
 * @throws SdkException.InvalidFunction for a type that is not supported
 */
public inline fun <reified T> sdkFunction(): SdkFunction = sdkFunction(serializer<T>().descriptor)

/** Returns a function whose parameters are the properties of a serializable class. */
@Throws(SdkException::class)
public fun sdkFunction(descriptor: SerialDescriptor): SdkFunction {
    if (descriptor.kind != StructureKind.CLASS && descriptor.kind != StructureKind.OBJECT) {
        throw SdkException.InvalidFunction("${descriptor.serialName} must have properties, which become the arguments")
    }
    val simpleName = descriptor.serialName.substringAfterLast('.')
    val name = simpleName.replace(Regex("(?<=[^\\p{Lu}_])(?=\\p{Lu})"), "_").lowercase()
    val schemas = TypeSchemas()
    val members = schemas.members(descriptor)
    return SdkFunction(name, description(descriptor.annotations).orEmpty(), parameters(schemas.whole(members)))
}

/**
 * Decodes the arguments of a call as a value of a serializable class, after validating them against its function.
 *
 * @throws SdkException.InvalidArgument which names the argument
 */
public inline fun <reified T> SdkFunctionCall.decode(): T = decode(serializer<T>())

/** Decodes the arguments of a call as a value of a serializable class. */
@Throws(SdkException::class)
public fun <T> SdkFunctionCall.decode(deserializer: DeserializationStrategy<T>): T {
    val arguments = fitting(this, sdkFunction(deserializer.descriptor))
    return decoded(deserializer, encodeJsonObject(arguments), "")
}

/**
 * Returns the JSON Schema of a serializable type as JSON text, for `jsonSchemaConstraint`.
 *
 * @throws SdkException.InvalidFunction for a type that is not supported
 */
public inline fun <reified T> replySchema(): String = replySchema(serializer<T>().descriptor)

/** Returns the JSON Schema of a serializable type. */
@Throws(SdkException::class)
public fun replySchema(descriptor: SerialDescriptor): String {
    val parameters = decodeJsonObject(functionSchema(replyFunction(descriptor)))["parameters"] as Map<*, *>
    val schema = (parameters["properties"] as Map<*, *>)[REPLY] as Map<*, *>
    val definitions = parameters["\$defs"] ?: return encodeJson(schema)
    return encodeJson(schema + ("\$defs" to definitions))
}

/**
 * Decodes the text of a reply.
 *
 * @throws SdkException.InvalidArgument which names the path
 */
public inline fun <reified T> decodeReply(text: String): T = decodeReply(serializer<T>(), text)

/** Decodes the text of a reply. */
@Throws(SdkException::class)
public fun <T> decodeReply(deserializer: DeserializationStrategy<T>, text: String): T {
    val call = SdkFunctionCall(REPLY, readReply(text))
    val arguments = fitting(call, replyFunction(deserializer.descriptor))
    return decoded(deserializer, encodeJson(arguments[REPLY]), REPLY)
}

/**
 * Sets the handler of a function whose parameters are the properties of a serializable class. The function is added to
 * [FunctionHandlers.functions]. The result is treated like that of any other handler.
 */
public inline fun <reified T, reified R> FunctionHandlers.on(noinline handler: suspend (T) -> R) {
    val (arguments, results) = serializer<T>() to serializerOrNull(typeOf<R>())
    on(sdkFunction(arguments.descriptor)) { call -> converted(results, handler(call.decode(arguments))) }
}

/** Converts a result with the serializer of its declared type. Returns it unchanged if there is none, as for `Any`. */
@PublishedApi
internal fun <R> converted(serializer: KSerializer<R>?, result: R): Any? {
    if (serializer == null || result is String || result is Unit || result is ChatMessage) return result
    return try {
        decodeJsonObject("""{"": ${json.encodeToString(serializer, result)}}""")[""]
    } catch (_: SerializationException) {
        result
    }
}

/** Returns the JSON text of a value whose class is serializable, and null for any other. */
@JvmSynthetic
internal fun encodeSerializable(value: Any, path: String): String? = try {
    val serializer = if (value is JsonElement) null else serializerOrNull(value.javaClass)
    when {
        value is JsonElement -> value.toString()
        serializer != null -> json.encodeToString(serializer, value)
        isGeneric(value.javaClass) -> throw SdkException.Serialization(
            "$path must be a JSON value, found ${value.javaClass.name}, which is generic: its serializer is only " +
                "known where its type is written, so return a JsonElement, or write `on<Arguments, Result> { }`"
        )
        else -> null
    }
} catch (err: SerializationException) {
    throw SdkException.Serialization(firstLine(err))
}

private fun isGeneric(type: Class<*>): Boolean =
    type.typeParameters.isNotEmpty() && type.isAnnotationPresent(Serializable::class.java)

private const val REPLY = "reply"

/** Nullable properties may be omitted in arguments; results include properties with default values. */
private val json = Json {
    ignoreUnknownKeys = true
    explicitNulls = false
    encodeDefaults = true
}

/** Returns a function with the reply as its only parameter, so that replies are checked like arguments. */
private fun replyFunction(descriptor: SerialDescriptor): SdkFunction {
    val schemas = TypeSchemas()
    val properties = mapOf(REPLY to schemas.of(descriptor))
    val required = if (descriptor.isNullable) listOf() else listOf(REPLY)
    val whole = schemas.whole(mapOf("type" to "object", "properties" to properties, "required" to required))
    return SdkFunction(REPLY, "", parameters(whole))
}

/** The parameters that a schema describes. The engine puts its types and definitions in the places of references. */
private fun parameters(schema: TypeSchema): List<SdkFunctionParameter> = try {
    functionsFromJson(encodeJson(listOf(mapOf("name" to REPLY, "parameters" to schema)))).single().parameters
} catch (err: SdkException.Serialization) {
    throw SdkException.InvalidFunction(firstLine(err))
}

private fun fitting(call: SdkFunctionCall, function: SdkFunction): Map<String, Any?> {
    val validation = validate(call.copy(name = function.name), listOf(function))
    validation.diagnostics.firstOrNull { it.severity == Severity.ERROR }?.let {
        throw SdkException.InvalidArgument(it.text, it.path)
    }
    return validation.arguments
}

private fun <T> decoded(deserializer: DeserializationStrategy<T>, text: String, place: String): T = try {
    json.decodeFromString(deserializer, text)
} catch (err: Exception) {
    // Serializers of the app may throw anything, for example a `DateTimeException`.
    val path = err.message.orEmpty().substringAfter("at path: $", "").substringBefore('\n').trim()
    val argument = (place + path).removePrefix(".")
    // Errors of the whole object, such as a check in the class's `init`, have no path.
    val reason = if (argument.isEmpty()) firstLine(err) else "$argument: ${firstLine(err)}"
    throw SdkException.InvalidArgument(reason, argument)
}

/** Decodes the text of a part of a reply, which is not validated; null if it does not fit. */
@PublishedApi
internal fun <T> partOrNull(deserializer: DeserializationStrategy<T>, text: String): T? = try {
    json.decodeFromString(deserializer, text)
} catch (_: Exception) {
    null
}

private fun firstLine(err: Exception): String = err.message.orEmpty().substringBefore('\n')

private fun description(annotations: List<Annotation>): String? =
    annotations.filterIsInstance<Description>().firstOrNull()?.text
