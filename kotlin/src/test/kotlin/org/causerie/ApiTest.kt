package org.causerie

import java.io.File
import java.lang.reflect.Constructor
import java.lang.reflect.Modifier
import kotlin.metadata.Visibility
import kotlin.metadata.jvm.KotlinClassMetadata
import kotlin.metadata.visibility
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

/**
 * The public API must be that of `api.txt`, so that reviews see every change. `UPDATE_API=1` in the environment updates
 * the file.
 */
class ApiTest {
    @Test
    fun `the public API is that of the golden file`() {
        val golden = repository.resolve("kotlin/api.txt")
        val api = classes().sortedBy { it.name }.joinToString("\n") { describe(it) }
        if (System.getenv("UPDATE_API") == "1") golden.writeText(api)
        assertEquals(golden.readText(), api)
    }

    private fun classes(): List<Class<*>> {
        val folder = File(Conversation::class.java.protectionDomain.codeSource.location.toURI()).resolve("org/causerie")
        return folder.walk().filter { it.extension == "class" }
            .map { it.relativeTo(folder).path.removeSuffix(".class").replace(File.separatorChar, '.') }
            .filterNot { it.substringBefore('$') in INTERNAL }
            .map { Class.forName("org.causerie.$it", false, javaClass.classLoader) }
            .filter { isPublic(it.modifiers) && !it.isAnonymousClass && !it.isLocalClass && !isInternal(it) }
            .toList()
    }

    /** Whether a class is internal in Kotlin, or within one that is. */
    private fun isInternal(type: Class<*>): Boolean {
        val metadata = type.getAnnotation(Metadata::class.java)?.let { KotlinClassMetadata.readLenient(it) }
        val visibility = (metadata as? KotlinClassMetadata.Class)?.kmClass?.visibility
        return visibility == Visibility.INTERNAL || type.declaringClass?.let(::isInternal) == true
    }

    private fun describe(type: Class<*>): String {
        val parents =
            (listOfNotNull(type.genericSuperclass) + type.genericInterfaces).map { it.typeName } - "java.lang.Object"
        val members =
            type.declaredFields.filter { isPublic(it.modifiers) && isPartOfApi(it.name) }.map { it.toGenericString() } +
                type.declaredConstructors
                    .filter { isPublic(it.modifiers) && !it.isSynthetic && !takesHidden(it) }
                    .map { it.toGenericString() } +
                type.declaredMethods
                    .filter { isPublic(it.modifiers) && isPartOfApi(it.name) && !it.isBridge }
                    .map { it.toGenericString() }
        val lines = members.map {
            it.replace("${type.name}.", "").replace("org.causerie.", "").replace("java.lang.", "")
        }
        return "${type.toGenericString()}${parents.joinToString("") { " : $it" }}\n" +
            lines.sorted().joinToString("") { "    $it\n" }
    }

    /** Whether a constructor takes what the package hides: it is internal in Kotlin. */
    private fun takesHidden(constructor: Constructor<*>): Boolean =
        constructor.parameterTypes.any { it.packageName == "org.causerie.ffi" }

    private fun isPublic(modifiers: Int): Boolean = Modifier.isPublic(modifiers)

    /** Excludes generated members of data classes, and members made by the compiler. */
    private fun isPartOfApi(name: String): Boolean =
        '$' !in name && !name.matches(Regex("component\\d+|copy|equals|hashCode|toString"))

    private companion object {
        /** Classes that are public in the class files, but not meant for apps; and one that only Android can load. */
        val INTERNAL = setOf(
            "AndroidImages",
            "JavaSerializersKt",
            "JsonKt",
            "OptionNamesKt",
            "RecordsKt",
            "ffi.GeneratedKt"
        )
    }
}
