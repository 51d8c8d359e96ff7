package org.causerie

import java.io.File
import java.net.URLClassLoader
import java.nio.file.Files
import javax.tools.ToolProvider
import kotlinx.serialization.json.Json
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Java's records, which are compiled here because the package's Java is older than records. */
class RecordsTest {
    private val folder: File = Files.createTempDirectory("causerie").toFile().also { folder ->
        val source = folder.resolve("Records.java").apply { writeText(SOURCE) }
        val written = ToolProvider.getSystemJavaCompiler().run(null, null, null, source.path)
        assertEquals(0, written)
    }
    private val loader = URLClassLoader(arrayOf(folder.toURI().toURL()), javaClass.classLoader)

    @Suppress("UNCHECKED_CAST")
    private fun type(name: String) = loader.loadClass("Records\$$name") as Class<Any>

    private val text = """{"name":"Oslo","people":700000,"sky":"CLEAR","parts":[{"name":"Sinsen"}],"tags":{"a":1}}"""

    @Test
    fun `a reply is a record`() {
        val conversation = scripted(
            listOf("{", text.drop(1)),
            listOf("{", text.drop(1).replace("700000", "-1"))
        ).createConversation()
        val oslo = conversation.respondBlocking("Where?", type("City"))
        assertEquals("City[name=Oslo, people=700000, sky=CLEAR, parts=[Part[name=Sinsen]], tags={a=1}]", "$oslo")
        assertEquals(text, Json.encodeToString(serializerOf(type("City")), oslo))
        val err = assertThrows(SdkException.InvalidArgument::class.java) {
            conversation.respondBlocking("Where?", type("City"))
        }
        assertTrue("people must be positive" in err.message, err.message)
        assertThrows(SdkException.InvalidArgument::class.java) { decodeReply("""{"name": "Oslo"}""", type("City")) }
        assertTrue("CLEAR" in replySchema(type("City")))
    }

    @Test
    fun `a record that contains itself is refused`() {
        assertThrows(SdkException.InvalidFunction::class.java) { replySchema(type("Tree")) }
    }

    @Test
    fun `a result is a record`() {
        assertEquals(text, encodeJson(decodeReply(text, type("City"))))
        val locked = decodeReply("""{"code": 1}""", type("Locked"))
        val err = assertThrows(SdkException.Serialization::class.java) { encodeJson(locked) }
        assertTrue("the result must be a JSON value" in err.message && "no key" in err.message, err.message)
    }

    private companion object {
        const val SOURCE = """
            import java.util.*;

            class Records {
                enum Sky { CLEAR, CLOUDY }

                private record Part(String name) {}

                private record City(String name, int people, Sky sky, List<Part> parts, Map<String, Long> tags) {
                    City {
                        if (people < 0) throw new IllegalArgumentException("people must be positive");
                    }
                }

                record Locked(int code) {
                    public int code() {
                        throw new IllegalStateException("no key");
                    }
                }

                record Tree(List<Tree> branches) {}
            }
        """
    }
}
