package org.causerie.apps

import kotlinx.serialization.json.*
import org.causerie.*
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

/** What an app imports beside causerie. */
class ImportsTest {
    @Test
    fun `all of causerie stands beside all of kotlinx serialization`() {
        val arguments = JsonObject(mapOf("city" to JsonPrimitive("Oslo")))
        assertEquals(Json.parseToJsonElement("""{"city": "Oslo"}"""), arguments)
        assertEquals("Oslo", SdkFunctionCall("f", mapOf("city" to "Oslo")).arguments["city"])
    }
}
