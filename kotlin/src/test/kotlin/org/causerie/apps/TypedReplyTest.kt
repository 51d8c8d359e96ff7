package org.causerie.apps

import kotlinx.coroutines.flow.last
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable
import org.causerie.loadScriptedModel
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

/** Typed replies need no imports: they are members. */
class TypedReplyTest {
    @Serializable
    data class City(val name: String)

    @Test
    fun `typed replies and the text of a reply are members`() = runBlocking {
        val script = """{"replies": [["{\"name\": \"Oslo\"}"], ["{\"name\": \"Oslo\"}"], ["Oslo."]]}"""
        val conversation = loadScriptedModel(script).createConversation()
        assertEquals(City("Oslo"), conversation.respond<City>("Where?"))
        assertEquals(City("Oslo"), conversation.generateResponse<City>("Where?").last().value)
        assertEquals("Oslo.", conversation.respond("Where?").text)
    }
}
