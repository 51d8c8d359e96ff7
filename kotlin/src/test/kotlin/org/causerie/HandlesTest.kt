package org.causerie

import java.io.ByteArrayOutputStream
import java.io.File
import java.io.NotSerializableException
import java.io.ObjectOutputStream
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** Objects that hold a handle of the engine are neither copied nor used after they were closed. */
class HandlesTest {
    private val runner = scripted(listOf("a"), listOf("b"), listOf("c"))
    private val conversation = runner.createConversation()
    private val stream = conversation.startResponse(user(), GenerationOptions())
    private val reply = conversation.generateResponseBlocking(user())

    @Test
    fun `they cannot be serialized or copied`() {
        for (handle in listOf(runner, conversation, stream, reply)) {
            assertThrows(NotSerializableException::class.java) {
                ObjectOutputStream(ByteArrayOutputStream()).writeObject(handle)
            }
            val methods = handle.javaClass.methods.map { it.name }
            assertTrue("copy" !in methods && "clone" !in methods && "component1" !in methods, "$methods")
        }
    }

    @Test
    fun `closing one twice, or using it afterwards, harms nothing`() {
        val uses = mapOf<AutoCloseable, () -> Any?>(
            stream to { stream.nextBlocking() },
            conversation to { conversation.history },
            runner to { runner.info }
        )
        for ((handle, use) in uses) {
            handle.close()
            handle.close()
            assertThrows(IllegalStateException::class.java) { use() }
        }
        assertThrows(IllegalStateException::class.java) { conversation.modelRunner }
        assertThrows(IllegalStateException::class.java) { conversation.generateResponse("Hi").read() }
        reply.close()
        reply.close()
    }

    @Test
    fun `the runner of a conversation is equal to the one that created it`() {
        val session = File.createTempFile("causerie", ".session")
        conversation.saveSession(session.path, includeCache = false)
        val conversations = listOf(
            conversation,
            conversation.fork(),
            runner.createConversationFromHistory(listOf()),
            runner.restoreSession(session.path),
            conversation.modelRunner.createConversation()
        )
        session.delete()
        for (one in conversations) {
            assertEquals(runner, one.modelRunner)
            assertEquals(runner.hashCode(), one.modelRunner.hashCode())
        }
        assertNotEquals(runner, scripted(listOf("a")))
    }

    @Test
    fun `what was made by a closed object goes on`() {
        val made = runner.createConversation()
        runner.close()
        val borrowed = made.modelRunner
        assertEquals("a", made.generateResponse("Hi").read().text())
        assertEquals("b", borrowed.createConversation().generateResponse("Hi").read().text())
        val started = made.startResponse(user(), GenerationOptions())
        made.close()
        assertThrows(IllegalStateException::class.java) { borrowed.info }
        assertEquals(MessageResponse.Chunk("c"), started.nextBlocking())
    }
}
