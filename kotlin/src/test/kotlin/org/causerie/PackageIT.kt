package org.causerie

import com.sun.jna.Platform
import java.io.ByteArrayInputStream
import java.io.DataInputStream
import java.io.File
import java.nio.file.Files
import java.security.MessageDigest
import java.util.zip.ZipFile
import java.util.zip.ZipInputStream
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** The packaged jar and AAR. */
class PackageIT {
    private val jar = File(System.getProperty("causerie.jar"))
    private val classpath = File(System.getProperty("causerie.classpath")).readText().trim()

    private val licences = listOf("META-INF/causerie/LICENSE-APACHE", "META-INF/causerie/LICENSE-MIT")

    private fun run(folder: File, vararg command: String): String {
        val builder = ProcessBuilder(*command).directory(folder).redirectErrorStream(true)
        // Without variables that would help to find the library.
        builder.environment().keys.removeAll { it.startsWith("CAUSERIE") || it == "LD_LIBRARY_PATH" }
        val process = builder.start()
        val output = process.inputStream.bufferedReader().readText()
        assertEquals(0, process.waitFor(), output)
        return output
    }

    @Test
    fun `the jar runs with its dependencies and nothing else`() {
        val java = File(System.getProperty("java.home"), "bin/java").path
        val elsewhere = Files.createTempDirectory("causerie").toFile()
        val source = repository.resolve("kotlin/examples/WeatherInJava.java").path
        val output = run(elsewhere, java, "-cp", "$jar${File.pathSeparator}$classpath", source, demo)
        assertTrue("check_weather{city=Oslo}" in output, output)
        elsewhere.delete()
    }

    @Test
    fun `a result of an unknown class is an error of the app where kotlinx-serialization is missing`() {
        val elsewhere = Files.createTempDirectory("causerie").toFile()
        val source = File(elsewhere, "Odd.java").apply { writeText(ODD_RESULT) }
        val java = File(System.getProperty("java.home"), "bin/java").path
        val output = run(elsewhere, java, "-cp", "$jar${File.pathSeparator}$classpath", source.path)
        assertTrue("the result of f must be a JSON value, found java.lang.Object" in output, output)
        elsewhere.deleteRecursively()
    }

    @Test
    fun `the jar depends on three libraries and contains the native one`() {
        val names = classpath.split(File.pathSeparator).map { File(it).name.substringBeforeLast('-') }.toSet()
        assertEquals(
            setOf("annotations", "jna", "kotlin-stdlib", "kotlinx-coroutines-core", "kotlinx-coroutines-core-jvm"),
            names
        )
        ZipFile(jar).use { zip ->
            val libraries = zip.entries().toList().filter { "causerie_ffi" in it.name }
            assertEquals(
                listOf("${Platform.RESOURCE_PREFIX}/${System.mapLibraryName("causerie_ffi")}"),
                libraries.map {
                    it.name
                }
            )
            assertTrue(zip.entries().toList().none { "Test" in it.name || "examples" in it.name })
        }
    }

    @Test
    fun `the jar has licences, and nothing of Android`() {
        val parts = unzip(jar.readBytes())
        assertEquals(licences, parts.keys.filter { "LICENSE" in it }.sorted())
        for ((name, data) in parts) {
            if (name.endsWith(".class")) assertFalse("android/graphics" in String(data, Charsets.ISO_8859_1), name)
        }
        assertTrue("org/causerie/Images.class" in parts)
    }

    @Test
    fun `the sources are a jar of their own`() {
        val names = unzip(File(jar.path.removeSuffix(".jar") + "-sources.jar").readBytes()).keys
        val expected = listOf("org/causerie/Conversations.kt", "org/causerie/ffi/Generated.kt")
        assertTrue(names.containsAll(expected), "$names")
    }

    @Test
    fun `the metadata for Gradle names the jar, and the AAR for Android`() {
        val text = run(repository, "python3", repository.resolve("scripts/gradle-module").path, jar.path)
        val metadata = Json.parseToJsonElement(text).jsonObject
        assertEquals("1.1", metadata.getValue("formatVersion").jsonPrimitive.content)
        val variants = metadata.getValue("variants").jsonArray.map { it.jsonObject }
        val environments = variants.map {
            it.getValue("attributes").jsonObject.getValue("org.gradle.jvm.environment").jsonPrimitive.content
        }
        assertEquals(listOf("standard-jvm", "standard-jvm", "android", "android"), environments)
        val file = variants[1].getValue("files").jsonArray.single().jsonObject
        val digest = MessageDigest.getInstance("SHA-256").digest(jar.readBytes()).joinToString("") { "%02x".format(it) }
        assertEquals(digest, file.getValue("sha256").jsonPrimitive.content)
        val dependencies = variants[1].getValue("dependencies").jsonArray.map { it.jsonObject.getValue("module") }
        assertEquals(
            listOf("kotlin-stdlib", "kotlinx-coroutines-core", "jna"),
            dependencies.map {
                it.jsonPrimitive.content
            }
        )
        val place = variants[3].getValue("available-at").jsonObject.getValue("url").jsonPrimitive.content
        val version = version("kotlin/pom.xml")
        assertEquals("../../causerie-android/$version/causerie-android-$version.module", place)
        for (pom in listOf("kotlin/pom.xml", "kotlin/android/pom.xml")) {
            assertTrue("do_not_remove: published-with-gradle-metadata" in repository.resolve(pom).readText(), pom)
        }
    }

    @Test
    fun `the AAR has its parts and is reproducible`() {
        val script = repository.resolve("scripts/aar").path
        val aar = repository.resolve("kotlin/target/causerie-android-${version("kotlin/pom.xml")}.aar")
        val (first, second) = List(2) {
            run(repository, script, "--without-libraries")
            aar.readBytes()
        }
        assertTrue(first.contentEquals(second))
        val parts = unzip(first)
        assertEquals(
            listOf(
                "AndroidManifest.xml",
                "META-INF/com/android/build/gradle/aar-metadata.properties",
                "R.txt",
                "classes.jar",
                "proguard.txt"
            ),
            parts.keys.toList()
        )
        assertTrue("package=\"org.causerie\"" in String(parts.getValue("AndroidManifest.xml")))
        assertTrue("-keep class com.sun.jna.** { *; }" in String(parts.getValue("proguard.txt")))
        val classes = unzip(parts.getValue("classes.jar"))
        assertTrue(
            classes.keys.all {
                it.startsWith("org/causerie/") || it == "META-INF/causerie.kotlin_module" || it in licences
            },
            "${classes.keys}"
        )
        assertTrue(classes.keys.containsAll(licences))
        for ((name, data) in classes) {
            if (name.endsWith(".class")) assertFalse("java/awt" in String(data, Charsets.ISO_8859_1), name)
        }
        assertTrue("org/causerie/AndroidImages.class" in classes)
        for (name in listOf("Conversation", "Causerie", "BlockingReply", "ffi/UniffiLib")) {
            val version = DataInputStream(classes.getValue("org/causerie/$name.class").inputStream()).apply {
                skipBytes(6)
            }
            assertEquals(55, version.readUnsignedShort(), "Java 11")
        }
    }

    @Test
    fun `the AAR has the dependencies of the jar, with JNA as an AAR`() {
        fun dependencies(pom: String) =
            Regex("<artifactId>([^<]*)</artifactId>\\s*<version>([^<]*)</version>(?:\\s*<type>([^<]*)</type>)?")
                .findAll(
                    repository.resolve(
                        pom
                    ).readText().substringAfter("<dependencies>").substringBefore("</dependencies>")
                )
                .map { it.groupValues.drop(1) }.toList()
        val properties = Regex("<(\\S+\\.version)>([^<]*)</").findAll(repository.resolve("kotlin/pom.xml").readText())
            .associate { (_, name, value) -> "\${$name}" to value }
        val jar = dependencies("kotlin/pom.xml").map { (name, version) -> name to (properties[version] ?: version) }
        val aar = dependencies("kotlin/android/pom.xml")
        assertEquals(
            jar.filter { it.first !in listOf("android", "kotlin-metadata-jvm", "junit-jupiter") },
            aar.map {
                it[0] to
                    it[1]
            }
        )
        assertEquals(listOf("jna"), aar.filter { it[2] == "aar" }.map { it[0] })
        assertTrue("<packaging>aar</packaging>" in repository.resolve("kotlin/android/pom.xml").readText())
        assertEquals(version("kotlin/pom.xml"), version("kotlin/android/pom.xml"))
    }

    @Test
    fun `Android libraries are linked for pages of 16 KB and checked for it`() {
        val script = repository.resolve("scripts/aar").readText()
        assertTrue("-z,max-page-size=16384" in script && "0x4000" in script)
        assertTrue("arm64-v8a" in script && "x86_64" in script)
    }

    private operator fun MatchResult.component1() = groupValues[0]
    private operator fun MatchResult.component2() = groupValues[1]
    private operator fun MatchResult.component3() = groupValues[2]

    private fun version(pom: String): String =
        Regex("<version>([^<]*)</version>").find(repository.resolve(pom).readText())!!.groupValues[1]

    private fun unzip(bytes: ByteArray): Map<String, ByteArray> =
        ZipInputStream(ByteArrayInputStream(bytes)).use { zip ->
            generateSequence { zip.nextEntry }.associate { it.name to zip.readBytes() }
        }
}

private const val ODD_RESULT = """
    import org.causerie.*;

    class Odd {
        public static void main(String[] arguments) throws Exception {
            FunctionHandlers handlers = new FunctionHandlers();
            handlers.onBlocking("f", call -> new Object());
            Conversation conversation = Causerie.loadScriptedModel(
                    "{'replies': [[{'control': '<|tool_call_start|>'}, '[f()]', {'control': '<|tool_call_end|>'}], ['a']]}"
                            .replace((char) 39, '"')).createConversation("");
            conversation.registerFunction(new SdkFunction("f", "", java.util.List.of()));
            ChatMessage question = Causerie.chatMessage(ChatMessageRole.USER, "Hi");
            try (BlockingReply reply = Causerie.respondWithFunctionsBlocking(conversation, question, handlers)) {
                reply.forEach(System.out::println);
            } catch (Exception err) {
                System.out.println(err.getMessage());
            }
        }
    }
"""
