package org.causerie

import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNotEquals
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance

/** Decisions, on the demo model, which does not decide. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DecisionTest {
    private val runner = loadModelBlocking(repository.resolve("models/demo.gguf").path)
    private val state = "The kettle boils, and steam fills the kitchen. Anna is in the garden."
    private val labels = listOf(DecisionLabel("kitchen", "where one cooks"), DecisionLabel("garden"))
    private val questions = listOf(
        DecisionQuestion.predicate("Is the water hot?", yes = "steam rises", name = "hot"),
        DecisionQuestion.choice("Where is Anna?", labels, name = "place"),
        DecisionQuestion.score("How warm is it?", "cold", "mild", "hot")
    )

    @AfterAll
    fun close() = runner.close()

    @Test
    fun `answers come in order with probabilities that add up to 1`() = runBlocking {
        val answers = runner.decide(state, questions).answers
        assertEquals(listOf("hot", "place", null), answers.map { it.name })
        assertTrue((answers[0].outcome as DecisionOutcome.Predicate).probability in 0.0..1.0)
        val choice = answers[1].outcome as DecisionOutcome.Choice
        assertEquals(listOf("kitchen", "garden"), choice.probabilities.map { it.label })
        assertEquals(1.0, choice.probabilities.sumOf { it.probability }, 1e-12)
        assertEquals(choice.probabilities.maxBy { it.probability }.label, choice.choice)
        assertEquals(choice.choice, choice.probabilities[choice.index].label)
        val score = answers[2].outcome as DecisionOutcome.Score
        assertEquals(1.0, score.probabilities.sumOf { it.probability }, 1e-12)
        assertEquals(score.probabilities[1].probability + 2 * score.probabilities[2].probability, score.score, 1e-12)
    }

    @Test
    fun `the demo model does not answer unless anything counts`() {
        assertFalse(runner.decideBlocking(state, questions).answers.any { it.isAnswered })
        val answers = runner.decideBlocking(state, questions, DecisionOptions(minLabelProbability = 0.0)).answers
        assertTrue(answers.all { it.isAnswered && it.labelProbability < 0.1 })
    }

    @Test
    fun `an answer is the same alone and later`() = runBlocking {
        val together = runner.decide(state, questions).answers
        val again = runner.decide(DecisionState.Text(state), questions)
        assertEquals(together, again.answers)
        assertTrue(0 < again.usage.cachedTokens)
        assertEquals(together, questions.map { runner.decideBlocking(state, listOf(it)).answers.single() })
    }

    @Test
    fun `a state may be json or messages`() = runBlocking {
        val question = questions.take(1)
        val json = runner.decide(jsonState(mapOf("kettle" to listOf(1, null))), question).answers
        assertEquals(runner.decide("{\n  \"kettle\": [\n    1,\n    null\n  ]\n}", question).answers, json)
        val thread = listOf(ChatMessage(ChatMessageRole.USER, "Tea?"), ChatMessage(ChatMessageRole.ASSISTANT, "Yes!"))
        assertEquals(
            runner.decide("User: Tea?\n\nAssistant: Yes!", question).answers,
            runner.decide(thread, question).answers
        )
        assertThrows(SdkException.Serialization::class.java) { jsonState(Any()) }
        assertThrows(SdkException.Serialization::class.java) {
            runner.decideBlocking(DecisionState.Json("{"), question)
        }
        Unit
    }

    @Test
    fun `criteria and options count, and faults have their kind`() {
        val plain = listOf(DecisionQuestion.predicate("Is the water hot?"))
        val probability = { options: DecisionOptions ->
            (runner.decideBlocking(state, plain, options).answers.single().outcome as DecisionOutcome.Predicate)
                .probability
        }
        val warm = probability(DecisionOptions())
        assertNotEquals(
            warm,
            (runner.decideBlocking(state, questions).answers[0].outcome as DecisionOutcome.Predicate).probability
        )
        val cold = probability(DecisionOptions(DecisionTemperatures(predicate = 0.5)))
        val odds = warm / (1 - warm)
        assertEquals(1.0, cold / (1 - cold) / (odds * odds), 1e-9)
        val few = listOf(DecisionQuestion.score("How warm is it?", "cold"))
        val err = assertThrows(SdkException.InvalidArgument::class.java) { runner.decideBlocking(state, few) }
        assertEquals("questions[0].levels must have 2 to 100 entries, found 1", err.message)
        assertThrows(SdkException.InvalidOption::class.java) { DecisionOptions(rotations = -1) }
        assertThrows(SdkException.InvalidOption::class.java) { probability(DecisionOptions(rotations = 0)) }
    }
}
