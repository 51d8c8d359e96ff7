package org.causerie.examples

import kotlinx.coroutines.runBlocking
import org.causerie.*

/** Asks the demo model for the weather: it calls a function, gets the result, and answers. */
fun main(arguments: Array<String>) = runBlocking {
    ModelRunner.load(arguments.firstOrNull() ?: "models/demo.gguf").use { modelRunner ->
        // The model stays in memory until its conversations are closed as well.
        modelRunner.createConversation("You are causerie, a small assistant on this device.").use { ask(it) }
    }
}

private suspend fun ask(conversation: Conversation) {
    conversation.registerFunction(
        SdkFunction(
            name = "check_weather",
            description = "Check the weather in a city.",
            parameters = listOf(
                SdkFunctionParameter(name = "city", type = SdkStr(), description = "City."),
            ),
        ),
    )
    val options = generationOptions { temperature = 0f }
    val question = ChatMessage(
        role = ChatMessage.Role.USER,
        content = listOf(ChatMessageContent.Text("Check the weather in Oslo")),
    )
    val results = mutableListOf<ChatMessage>()
    conversation.generateResponse(question, options).collect { response ->
        when (response) {
            is MessageResponse.Chunk -> print(response.text)
            is MessageResponse.FunctionCalls -> results += response.functionCalls.map(::run)
            else -> {}
        }
    }

    val history = conversation.history + results
    conversation.modelRunner.createConversationFromHistory(history).use { answering ->
        answering.generateResponse(options).collect { response ->
            if (response is MessageResponse.Chunk) print(response.text)
        }
    }
    println()
}

/** Runs a call. The model wrote the arguments, so they may be wrong. */
private fun run(call: SdkFunctionCall): ChatMessage {
    val city = call.arguments["city"] as? String
    val result = if (city == null) """{"error": "the city is missing"}""" else """{"sky": "sunny", "temperature": 21}"""
    println("${call.name}(${call.arguments}) -> $result")
    return ChatMessage(role = ChatMessage.Role.TOOL, content = listOf(ChatMessageContent.Text(result)))
}
