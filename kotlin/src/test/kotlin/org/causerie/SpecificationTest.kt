package org.causerie

import kotlinx.coroutines.flow.collect
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertSame
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

/** The names of the specification, as apps use them. */
class SpecificationTest {
    private val weather = SdkFunction(
        name = "get_weather",
        description = "The weather in a city.",
        parameters = listOf(
            SdkFunctionParameter(name = "city", type = SdkStr(), description = "The city."),
            SdkFunctionParameter(
                name = "unit",
                type = SdkStr(enumValues = listOf("celsius", "fahrenheit")),
                description = "The unit to report.",
                optional = true
            )
        )
    )

    @Test
    fun `the flow of a function call`() = runBlocking {
        val modelRunner = scripted(call("""[get_weather(city="Oslo")]"""), listOf("It is sunny."), listOf("So it is."))
        val conversation = modelRunner.createConversation("You are helpful.")
        conversation.registerFunction(weather)
        val userMessage =
            ChatMessage(role = ChatMessage.Role.USER, content = listOf(ChatMessageContent.Text("Weather?")))
        val calls = mutableListOf<SdkFunctionCall>()
        conversation.generateResponse(userMessage).onEach { response ->
            when (response) {
                is MessageResponse.Chunk -> print(response.text)
                is MessageResponse.ReasoningChunk -> print(response.reasoning)
                is MessageResponse.AudioSample -> print(response.samples.size)
                is MessageResponse.FunctionCalls -> calls += response.functionCalls
                is MessageResponse.FunctionCallsRejected -> print(response.rejectedCalls)
                is MessageResponse.Logprobs -> print(response.tokens.size)
                is MessageResponse.FunctionResult -> print(response.text)
                is MessageResponse.Complete -> assertEquals(calls, response.fullMessage.functionCalls)
                else -> print(response)
            }
        }.collect()
        assertEquals(mapOf("city" to "Oslo"), calls.single().arguments)

        val result = ChatMessage(
            role = ChatMessage.Role.TOOL,
            content = listOf(ChatMessageContent.Text("""{"weather": "sunny"}"""))
        )
        val next = conversation.modelRunner.createConversationFromHistory(conversation.history + result)
        assertEquals(listOf(weather), next.functions)
        assertEquals("It is sunny.", next.continueResponse().toList().text())
        // For apps that always send a message: an empty one after a result continues the reply.
        val again = conversation.modelRunner.createConversationFromHistory(conversation.history + result)
        assertEquals("So it is.", again.generateResponse(ChatMessage(ChatMessage.Role.USER, "")).toList().text())
    }

    @Test
    fun `types have the names of the specification`() {
        val types = listOf(
            SdkStr(enumValues = listOf("a"), description = "d"), SdkNum(enumValues = listOf(1, 2.5), description = "d"),
            SdkNum(),
            SdkNum(
                listOf(1.5)
            ),
            SdkNum(null), SdkNum(description = "d"), SdkInt(enumValues = listOf(1, 2)), SdkInt(),
            SdkBool(description = "d"), SdkArr(itemType = SdkStr(), description = "d"),
            SdkObj(properties = mapOf("a" to SdkArr(SdkNull)), required = listOf("a"), description = "d"),
            SdkNull, SdkNull()
        )
        assertEquals(SdkNum(enumValues = listOf(1.0, 2.5), description = "d"), types[1])
        assertSame(SdkNull, SdkNull())
        val function =
            SdkFunction("f", "", types.mapIndexed { index, type -> SdkFunctionParameter("p$index", type, "") })
        assertEquals(
            listOf(function),
            functionsFromJson(functionsToJson(listOf(function))).map { read ->
                // The description of the parameter overrides that of its type, which is therefore absent.
                read.copy(parameters = read.parameters.zip(types) { parameter, type -> parameter.copy(type = type) })
            }
        )
        assertTrue(functionSchema(function).contains("\"enum\": [1.0, 2.5]"), functionSchema(function))
    }

    @Test
    fun `options are set in a block`() {
        val options = generationOptions {
            functionCallParser = null
            temperature = 0f
            maxTokens = 100
        }
        assertNull(options.functionCallParser)
        assertEquals(100, options.maxTokens)
        assertEquals(
            options,
            GenerationOptions.build {
                functionCallParser = null
                temperature = 0f
                maxTokens = 100
            }
        )
        assertEquals(FunctionCallParser.MODEL, GenerationOptions().functionCallParser)
        assertEquals(ModelFunctionCallParser(), GenerationOptions().functionCallParser)
        assertEquals(
            FunctionCallParser.JSON_STYLE,
            GenerationOptions.build {
                functionCallParser =
                    JsonStyleFunctionCallParser()
            }.functionCallParser
        )
    }

    @Test
    fun `builders have all options`() {
        fun names(type: Class<*>) = type.declaredFields.map { it.name }.toSet() - "Companion"
        assertEquals(names(GenerationOptions::class.java), names(GenerationOptionsBuilder::class.java))
        assertEquals(names(LoadOptions::class.java), names(LoadOptionsBuilder::class.java))
        assertEquals(
            LoadOptions(contextSize = 64, threads = 3, cacheType = CacheType.F32),
            loadOptions {
                contextSize = 64
                threads = 3
                cacheType = CacheType.F32
            }
        )
        assertEquals(LoadOptions(), loadOptions {})
    }

    @Test
    fun `a seed keeps all its bits`() {
        val options = generationOptions {
            rngSeed = -1
            maxTokens = 1
        }
        val end = scripted(listOf("a")).createConversation("").generateResponse(user(), options).read().complete()
        assertEquals(-1L, end.stats.seed)
    }

    @Test
    fun `arguments are compared with the function`() {
        val conversation = scripted(call("[get_weather(unit='kelvin')]")).createConversation()
        conversation.registerFunction(weather)
        val call = conversation.generateResponse("Hi").read().complete().fullMessage.functionCalls!!.single()
        val validation = validate(call, conversation.functions)
        assertEquals(listOf("missing_required", "not_in_enum"), validation.diagnostics.map { it.code }.sorted())
        assertTrue(!validation.isOk && "city" in validation.errorsAsToolText)
    }
}
