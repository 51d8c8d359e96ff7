@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlinx.coroutines.runBlocking

/** What the companion of [DecisionQuestion] can do. */
public interface DecisionQuestionKinds {
    /**
     * Creates a question that is answered by yes or no.
     *
     * @param yes when yes is right
     * @param no when no is right
     * @param name names the question in its answer
     */
    public fun predicate(
        instructions: String,
        yes: String? = null,
        no: String? = null,
        name: String? = null
    ): DecisionQuestion = question(instructions, DecisionKind.Predicate(yes, no), name)

    /** Creates a question that is answered by yes or no. */
    public fun predicate(instructions: String): DecisionQuestion = predicate(instructions, yes = null)

    /** Creates a question that is answered by one of the labels. */
    public fun choice(instructions: String, vararg choices: String): DecisionQuestion =
        choice(instructions, *choices, name = null)

    /** Creates a question that is answered by one of the labels. */
    public fun choice(instructions: String, vararg choices: String, name: String? = null): DecisionQuestion =
        choice(instructions, choices.map { DecisionLabel(it) }, name)

    /** Creates a question that is answered by one of the labels, which have descriptions. */
    public fun choice(instructions: String, choices: List<DecisionLabel>, name: String? = null): DecisionQuestion =
        question(instructions, DecisionKind.Choice(choices), name)

    /** Creates a question that is answered by one of the labels, which have descriptions. */
    public fun choice(instructions: String, choices: List<DecisionLabel>): DecisionQuestion =
        choice(instructions, choices, name = null)

    /** Creates a question that is answered by a number: of the levels, the first is 0. */
    public fun score(instructions: String, vararg levels: String): DecisionQuestion =
        score(instructions, *levels, name = null)

    /** Creates a question that is answered by a number: of the levels, which have descriptions, the first is 0. */
    public fun score(instructions: String, levels: List<DecisionLabel>): DecisionQuestion =
        score(instructions, levels, name = null)

    /** Creates a question that is answered by a number: of the levels, the first is 0. */
    public fun score(instructions: String, vararg levels: String, name: String? = null): DecisionQuestion =
        score(instructions, levels.map { DecisionLabel(it) }, name)

    /** Creates a question that is answered by a number: of the levels, which have descriptions, the first is 0. */
    public fun score(instructions: String, levels: List<DecisionLabel>, name: String? = null): DecisionQuestion =
        question(instructions, DecisionKind.Score(levels), name)
}

private fun question(instructions: String, kind: DecisionKind, name: String?): DecisionQuestion =
    DecisionQuestion(listOf(ChatMessageContent.Text(instructions)), kind, name)

/**
 * A JSON value as the state of decisions: null, Boolean, numbers, strings, values of serializable classes, and maps and
 * lists of these.
 *
 * @throws SdkException.Serialization with the path of any other value
 */
@Throws(SdkException::class)
public fun jsonState(value: Any?): DecisionState.Json = DecisionState.Json(encodeJson(value, "the state"))

/** Answers questions about a state and blocks the thread. See [ModelRunnerMembers.decide]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun ModelRunner.decideBlocking(
    state: DecisionState,
    questions: List<DecisionQuestion>,
    options: DecisionOptions = DecisionOptions()
): Decisions = runBlocking { decide(state, questions, options) }

/** Answers questions about a text and blocks the thread. See [ModelRunnerMembers.decide]. */
@JvmOverloads
@Throws(SdkException::class, InterruptedException::class)
public fun ModelRunner.decideBlocking(
    state: String,
    questions: List<DecisionQuestion>,
    options: DecisionOptions = DecisionOptions()
): Decisions = runBlocking { decide(state, questions, options) }
