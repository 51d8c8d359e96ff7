package org.causerie

import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** The example of the repository's README, which is compiled here. */
@Suppress("unused")
private suspend fun example() {
    ModelRunner.load("models/demo.gguf").use { model ->
        val conversation = model.createConversation("You are a small assistant on this device.")
        conversation.generateResponse("Hello!").text().collect { print(it) }
    }
}

class ReadmeTest {
    @Test
    fun `the README has the example that is compiled`() {
        val example = repository.resolve("README.md").readText().substringAfter("```kotlin\n").substringBefore("```")
        val here = repository.resolve("kotlin/src/test/kotlin/org/causerie/ReadmeTest.kt").readText()
        assertTrue(example.trimEnd().prependIndent("    ") in here, example)
    }
}
