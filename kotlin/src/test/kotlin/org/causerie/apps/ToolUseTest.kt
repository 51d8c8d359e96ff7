package org.causerie.apps

import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.runBlocking
import org.causerie.ChatMessage
import org.causerie.ChatMessageContent
import org.causerie.Conversation
import org.causerie.DefaultFunctionCallParser
import org.causerie.GenerationOptions
import org.causerie.JsonStyleFunctionCallParser
import org.causerie.MessageResponse
import org.causerie.ModelRunner
import org.causerie.SdkArr
import org.causerie.SdkBool
import org.causerie.SdkFunction
import org.causerie.SdkFunctionCall
import org.causerie.SdkFunctionParameter
import org.causerie.SdkInt
import org.causerie.SdkNull
import org.causerie.SdkNum
import org.causerie.SdkObj
import org.causerie.SdkStr
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/**
 * The words of the specification, in an app that imports each name. Everything else must be a member: an extension would
 * need an import of its own.
 */
class ToolUseTest {
    private val checkWeather = SdkFunction(
        name = "check_weather",
        description = "Check the weather in a city.",
        parameters = listOf(
            SdkFunctionParameter(name = "city", type = SdkStr(), description = "City.", optional = false)
        )
    )

    @Test
    fun `the flow for tool use`() = runBlocking {
        val modelRunner = ModelRunner.load(System.getProperty("causerie.repository") + "/models/demo.gguf")
        // 1. Create a conversation and register functions.
        val conversation = modelRunner.createConversation("You are a small assistant on this device.")
        conversation.registerFunction(checkWeather)
        // 2. Call generateResponse with the user message and read the responses.
        val options = GenerationOptions.build {
            functionCallParser = DefaultFunctionCallParser()
            temperature = 0f
            maxTokens = 100
        }
        val userMessage = ChatMessage(
            role = ChatMessage.Role.USER,
            content = listOf(ChatMessageContent.Text("Check the weather in Oslo"))
        )
        val functionCalls = mutableListOf<SdkFunctionCall>()
        var fullMessage: ChatMessage? = null
        conversation.generateResponse(userMessage, generationOptions = options).onEach { response ->
            when (response) {
                is MessageResponse.Chunk -> print(response.text)
                is MessageResponse.ReasoningChunk -> print(response.reasoning)
                is MessageResponse.AudioSample -> print(response.samples)
                is MessageResponse.FunctionCalls -> functionCalls += response.functionCalls
                is MessageResponse.Complete -> fullMessage = response.fullMessage
                else -> {}
            }
        }.collect()
        assertEquals(functionCalls, fullMessage?.functionCalls)
        // 3. Validate each call's arguments against the tool's expected shape, then run the tool.
        val call = functionCalls.single()
        assertEquals("check_weather", call.name)
        val city = call.arguments["city"] as? String
        assertEquals("Oslo", city)
        // 4. Build a ChatMessage with the tool role whose text content is the tool output.
        val toolMessage = ChatMessage(
            role = ChatMessage.Role.TOOL,
            content = listOf(ChatMessageContent.Text("""{"sky": "sunny"}"""))
        )
        // 5. A new conversation from the history plus that message; call generateResponse on the new conversation.
        val history = conversation.history + toolMessage
        val next: Conversation = conversation.modelRunner.createConversationFromHistory(history)
        val answer = StringBuilder()
        next.generateResponse(generationOptions = options).collect { response ->
            if (response is MessageResponse.Chunk) answer.append(response.text)
        }
        assertTrue("sunny" in answer, "$answer")
        assertEquals(history.size + 1, next.history.size)
    }

    @Test
    fun `types of parameters`() {
        val types = listOf(
            SdkStr(enumValues = listOf("celsius"), description = "A unit."),
            SdkNum(enumValues = listOf(1.5), description = "A number."),
            SdkInt(enumValues = listOf(1), description = "An integer."),
            SdkBool(description = "A boolean."),
            SdkArr(itemType = SdkStr(), description = "An array."),
            SdkObj(properties = mapOf("city" to SdkStr()), required = listOf("city"), description = "An object."),
            SdkNull()
        )
        assertEquals(types.size, types.toSet().size)
        assertEquals(SdkObj(properties = mapOf()).required, listOf<String>())
        assertEquals(false, SdkFunctionParameter(name = "a", type = SdkNull(), description = "").optional)
    }

    @Test
    fun `parsers of function calls`() {
        assertNull(GenerationOptions.build { functionCallParser = null }.functionCallParser)
        val options = GenerationOptions.build { functionCallParser = JsonStyleFunctionCallParser() }
        assertEquals(JsonStyleFunctionCallParser(), options.functionCallParser)
    }
}
