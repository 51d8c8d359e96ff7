@file:OptIn(ExperimentalSerializationApi::class)

package org.causerie

import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.descriptors.PolymorphicKind
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.SerialKind
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.descriptors.elementDescriptors
import kotlinx.serialization.descriptors.elementNames
import kotlinx.serialization.descriptors.nonNullOriginal
import kotlinx.serialization.json.JsonClassDiscriminator

/** A JSON Schema. */
internal typealias TypeSchema = Map<String, Any?>

/** Types of the engine's table, by the names of serializers. The engine replaces a reference to one by its schema. */
private val tableNames = mapOf(
    "kotlin.UByte" to "u8",
    "kotlin.UShort" to "u16",
    "kotlin.UInt" to "u32",
    "kotlin.ULong" to "u64",
    "kotlin.uuid.Uuid" to "uuid",
    "kotlin.time.Duration" to "duration",
    "kotlin.time.Instant" to "date-time",
    "kotlinx.datetime.Instant" to "date-time",
    "kotlinx.datetime.LocalDate" to "date",
    "kotlinx.datetime.LocalDateTime" to "local-date-time",
    "kotlinx.serialization.json.JsonElement" to "any",
    "kotlinx.serialization.json.JsonNull" to "null"
)

/** The same for the kinds of other serializers. */
private val kindNames = mapOf(
    PrimitiveKind.STRING to "string",
    PrimitiveKind.CHAR to "char16",
    PrimitiveKind.BOOLEAN to "bool",
    PrimitiveKind.BYTE to "i8",
    PrimitiveKind.SHORT to "i16",
    PrimitiveKind.INT to "i32",
    PrimitiveKind.LONG to "i64",
    PrimitiveKind.FLOAT to "f32",
    PrimitiveKind.DOUBLE to "f64"
)

/** The patterns of keys that are not strings, by kind. */
private const val INTEGER_KEY = "^-?(0|[1-9][0-9]{0,1})$"
private val keyPatterns = mapOf(
    PrimitiveKind.BYTE to INTEGER_KEY,
    PrimitiveKind.SHORT to INTEGER_KEY.replace("1}", "3}"),
    PrimitiveKind.INT to INTEGER_KEY.replace("1}", "8}"),
    PrimitiveKind.LONG to INTEGER_KEY.replace("1}", "17}"),
    PrimitiveKind.BOOLEAN to "^(true|false)$"
)

/** Writes the schemas of serializable types. Classes become definitions, which may refer to themselves. */
internal class TypeSchemas {
    private val definitions = linkedMapOf<String, TypeSchema>()
    private val names = mutableMapOf<SerialDescriptor, String>()

    /** The schema of a type. A nullable type allows null. */
    fun of(descriptor: SerialDescriptor): TypeSchema {
        val schema = withoutNull(descriptor)
        return if (descriptor.isNullable) anyOf(listOf(schema, named("null"))) else schema
    }

    /** The schema of an object with these members, and with all definitions beside. */
    fun whole(members: TypeSchema): TypeSchema = members + mapOf("\$defs" to definitions)

    /** The members of a class, as keywords of its schema. A member that may be omitted must not be null. */
    fun members(descriptor: SerialDescriptor): TypeSchema {
        val indices = 0 until descriptor.elementsCount
        val properties = indices.associate { index ->
            val schema = withoutNull(descriptor.getElementDescriptor(index))
            descriptor.getElementName(index) to described(schema, descriptor.getElementAnnotations(index))
        }
        val required = indices.filterNot { isOptional(descriptor, it) }.map(descriptor::getElementName)
        return mapOf("type" to "object", "properties" to properties, "required" to required)
    }

    private fun withoutNull(descriptor: SerialDescriptor): TypeSchema {
        val serialName = descriptor.serialName.removeSuffix("?").substringBefore('/')
        val name = tableNames[serialName] ?: kindNames[descriptor.kind]
        if (name != null && !(descriptor.isInline && serialName !in tableNames)) return named(name)
        return when (val kind = descriptor.kind) {
            SerialKind.ENUM -> described(enumOf(descriptor), descriptor.annotations)
            StructureKind.LIST -> mapOf("type" to "array", "items" to of(descriptor.elementDescriptors.first()))
            StructureKind.MAP -> mapSchema(descriptor)
            StructureKind.CLASS, StructureKind.OBJECT ->
                if (descriptor.isInline) {
                    described(of(descriptor.getElementDescriptor(0)), descriptor.annotations)
                } else {
                    defined(descriptor) { described(members(descriptor), descriptor.annotations) }
                }
            PolymorphicKind.SEALED ->
                defined(descriptor) { described(anyOf(subclasses(descriptor)), descriptor.annotations) }
            else ->
                if (descriptor.isInline) {
                    described(of(descriptor.getElementDescriptor(0)), descriptor.annotations)
                } else {
                    throw SdkException.InvalidFunction("$serialName is not supported: its kind is $kind")
                }
        }
    }

    private fun enumOf(descriptor: SerialDescriptor): TypeSchema =
        mapOf("type" to "string", "enum" to descriptor.elementNames.toList())

    /** A map, whose keys are strings in JSON. */
    private fun mapSchema(descriptor: SerialDescriptor): TypeSchema {
        val (key, value) = descriptor.elementDescriptors.toList()
        val values = of(value)
        val pattern = keyPatterns[key.kind]
        return when {
            key.kind == SerialKind.ENUM -> mapOf(
                "type" to "object",
                "properties" to key.elementNames.associateWith { values },
                "additionalProperties" to false
            )
            pattern != null -> mapOf(
                "type" to "object",
                "patternProperties" to mapOf(pattern to values),
                "additionalProperties" to false
            )
            else -> mapOf("type" to "object", "additionalProperties" to values)
        }
    }

    /** The subclasses of a sealed class, with the member that names each. */
    private fun subclasses(descriptor: SerialDescriptor): List<TypeSchema> {
        val given = descriptor.annotations.filterIsInstance<JsonClassDiscriminator>().firstOrNull()
        val discriminator = given?.discriminator ?: "type"
        // The second element of a sealed class has the subclasses.
        return descriptor.getElementDescriptor(1).elementDescriptors.map { subclass ->
            val own = members(subclass)
            val name = mapOf("type" to "string", "const" to subclass.serialName)
            val properties = mapOf<String, Any?>(discriminator to name) + own.getValue("properties") as Map<*, *>
            val required = listOf(discriminator) + own["required"] as List<*>
            described(own + mapOf("properties" to properties, "required" to required), subclass.annotations)
        }
    }

    /** A reference to the schema of a type, which is written once. */
    private fun defined(descriptor: SerialDescriptor, write: () -> TypeSchema): TypeSchema {
        val name = names.getOrPut(descriptor.nonNullOriginal) {
            val simple = descriptor.serialName.removeSuffix("?").substringAfterLast('.')
            generateSequence(simple) { "${it}_" }.first { it !in definitions }
        }
        if (name !in definitions) {
            definitions[name] = mapOf()
            definitions[name] = write()
        }
        return mapOf("\$ref" to "#/\$defs/$name")
    }

    private fun anyOf(choices: List<TypeSchema>): TypeSchema = mapOf("anyOf" to choices)

    private fun named(name: String): TypeSchema = mapOf("\$ref" to "causerie:$name")
}

/** A schema with the description that annotates its type or property. */
internal fun described(schema: TypeSchema, annotations: List<Annotation>): TypeSchema =
    annotations.filterIsInstance<Description>().firstOrNull()?.let { schema + ("description" to it.text) } ?: schema

internal fun isOptional(descriptor: SerialDescriptor, index: Int): Boolean =
    descriptor.isElementOptional(index) || descriptor.getElementDescriptor(index).isNullable
