package org.causerie.apps

import kotlinx.serialization.json.*
import org.causerie.*
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Test

/** Imports of an app that uses other libraries as well. */
class ImportsTest {
    @Test
    fun `wildcard imports of causerie and kotlinx serialization do not conflict`() {
        val arguments = JsonObject(mapOf("city" to JsonPrimitive("Oslo")))
        assertEquals(Json.parseToJsonElement("""{"city": "Oslo"}"""), arguments)
        assertEquals("Oslo", SdkFunctionCall("f", mapOf("city" to "Oslo")).arguments["city"])
    }
}
