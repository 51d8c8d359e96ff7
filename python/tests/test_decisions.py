"""Decisions, on models with random weights and on the demo model, which does not decide."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support import FIXTURES

from causerie import (
    ChatMessage,
    ChoiceOutcome,
    DecisionAnswer,
    DecisionLabel,
    DecisionOptions,
    DecisionQuestion,
    Decisions,
    DecisionTemperatures,
    ModelRunner,
    PredicateKind,
    PredicateOutcome,
    ScoreOutcome,
    SdkError,
)

STATE = "The kettle boils, and steam fills the kitchen. Anna is in the garden."
QUESTIONS = [
    DecisionQuestion.predicate("Is the water hot?", yes="steam rises", name="hot"),
    DecisionQuestion.choice("Where is Anna?", {"kitchen": "where one cooks", "garden": None, "hall": None}, name="place"),
    DecisionQuestion.score("How warm is it?", ["cold", DecisionLabel("mild", "as in spring"), "hot"]),
]


@pytest.fixture(scope="module")
def demo() -> ModelRunner:
    return ModelRunner.load("causerie/demo")


def test_answers_come_in_order_with_probabilities_that_add_up_to_1(demo: ModelRunner) -> None:
    decisions = demo.decide(STATE, QUESTIONS)
    predicate, choice, score = (answer.outcome for answer in decisions.answers)
    assert [answer.name for answer in decisions.answers] == ["hot", "place", None]
    assert isinstance(predicate, PredicateOutcome) and 0 <= predicate.probability <= 1
    assert isinstance(choice, ChoiceOutcome) and isinstance(score, ScoreOutcome)
    assert [label.label for label in choice.probabilities] == ["kitchen", "garden", "hall"]
    assert [label.label for label in score.probabilities] == ["cold", "mild", "hot"]
    for outcome in choice, score:
        assert sum(label.probability for label in outcome.probabilities) == pytest.approx(1, abs=1e-12)
    best = max(choice.probabilities, key=lambda label: label.probability)
    assert choice.choice == best.label == choice.probabilities[choice.index].label
    assert choice.confidence == pytest.approx(max(0, (best.probability - 1 / 3) / (1 - 1 / 3)))
    mean = sum(level * label.probability for level, label in enumerate(score.probabilities))
    assert score.score == pytest.approx(mean)
    assert 0 < decisions.usage.input_tokens


def test_the_demo_model_does_not_answer_unless_anything_counts(demo: ModelRunner) -> None:
    assert not any(answer.is_answered for answer in demo.decide(STATE, QUESTIONS).answers)
    answers = demo.decide(STATE, QUESTIONS, min_label_probability=0).answers
    assert all(answer.is_answered and 0 < answer.label_probability < 0.1 for answer in answers)


def test_an_answer_is_the_same_alone_later_and_in_asyncio(demo: ModelRunner) -> None:
    together = demo.decide(STATE, QUESTIONS).answers
    again = demo.decide(STATE, QUESTIONS)
    assert again.answers == together and 0 < again.usage.cached_tokens
    assert [demo.decide(STATE, [question]).answers[0] for question in QUESTIONS] == together
    assert asyncio.run(demo.decide_async(STATE, QUESTIONS)).answers == together


def test_questions_may_be_dicts(demo: ModelRunner) -> None:
    choices = [{"label": "kitchen", "description": "where one cooks"}, "garden", {"label": "hall"}]
    dicts: list[dict[str, Any]] = [
        {"type": "predicate", "instructions": "Is the water hot?", "yes": "steam rises", "name": "hot"},
        {"type": "choice", "instructions": "Where is Anna?", "choices": choices, "name": "place"},
        {"type": "score", "instructions": "How warm is it?", "levels": ["cold", DecisionLabel("mild", "as in spring"), "hot"]},
    ]
    assert demo.decide(STATE, dicts).answers == demo.decide(STATE, QUESTIONS).answers
    assert demo.decide(STATE, [dicts[0], QUESTIONS[1]]).answers == demo.decide(STATE, QUESTIONS[:2]).answers
    wrong: list[tuple[Any, str]] = [
        ([{"type": "noul", "instructions": "Hot?"}], r"questions\[0\].type must be 'predicate', 'choice' or 'score', found 'noul'"),
        ([QUESTIONS[0], {"instructions": "Hot?"}], r"questions\[1\].type must be .*, found None"),
        ([{"type": "predicate", "instruction": "Hot?"}], r"questions\[0\]: .*'instruction'"),
        ([{"type": "choice", "instructions": "Where?", "choices": [{"name": "in"}]}], r"questions\[0\]: .*'name'"),
        ([{"type": "choice", "instructions": "Where?", "choices": [5]}], r"questions\[0\].kind.choices\[0\].label must be a string, found int"),
        (dicts[0], "questions must be a list of questions, found one dict"),
    ]
    for questions, reason in wrong:
        with pytest.raises(TypeError, match=reason):
            demo.decide(STATE, questions)


def test_a_state_may_be_text_json_or_messages(demo: ModelRunner) -> None:
    def decided(state: Any) -> list[DecisionAnswer]:
        return demo.decide(state, QUESTIONS[:1]).answers

    text = decided('{\n  "kettle": [\n    1,\n    null\n  ]\n}')
    assert decided({"kettle": [1, None]}) == text
    assert decided(ChatMessage("user", STATE)) == decided([ChatMessage("user", STATE)]) == decided(STATE)
    assert decided([ChatMessage("user", "Tea?"), ChatMessage("assistant", "Gladly!")]) == decided("User: Tea?\n\nAssistant: Gladly!")
    assert decided(None) == decided("") != decided([])
    with pytest.raises(SdkError.Serialization):
        decided({"kettle": object()})


def test_criteria_descriptions_and_options_count(demo: ModelRunner) -> None:
    def probability(decisions: Decisions) -> Any:
        outcome = decisions.answers[0].outcome
        return outcome.probability if isinstance(outcome, PredicateOutcome) else outcome.probabilities

    without = DecisionQuestion.predicate("Is the water hot?")
    assert isinstance(without.kind, PredicateKind)
    assert probability(demo.decide(STATE, [without])) != probability(demo.decide(STATE, QUESTIONS[:1]))
    plain = DecisionQuestion.choice("Where is Anna?", ["kitchen", "garden", "hall"])
    assert probability(demo.decide(STATE, [plain])) != probability(demo.decide(STATE, QUESTIONS[1:2]))
    # The odds of yes are the square of the odds at twice the temperature.
    warm, cold = (
        probability(demo.decide(STATE, [without], DecisionOptions(temperature=DecisionTemperatures(predicate=temperature))))
        for temperature in (1, 0.5)
    )
    assert cold / (1 - cold) == pytest.approx((warm / (1 - warm)) ** 2, rel=1e-9)
    assert probability(demo.decide(STATE, [plain], rotations=1)) != probability(demo.decide(STATE, [plain], rotations=3))


def test_wrong_questions_and_options_are_named(demo: ModelRunner) -> None:
    with pytest.raises(SdkError.InvalidArgument, match=r"questions\[1\].levels must have 2 to 100 entries, found 1"):
        demo.decide(STATE, [QUESTIONS[0], DecisionQuestion.score("How warm?", ["cold"])])
    with pytest.raises(SdkError.InvalidArgument, match="questions must have 1 to 400 entries, found 0"):
        demo.decide(STATE, [])
    with pytest.raises(SdkError.InvalidOption, match="rotations must be between 1 and 255, found 0"):
        demo.decide(STATE, QUESTIONS, rotations=0)
    with pytest.raises(SdkError.InvalidOption, match="temperature must be DecisionTemperatures, found 2"):
        demo.decide(STATE, QUESTIONS, temperature=2)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"questions\[0\] must be a DecisionQuestion or a dict, found str"):
        demo.decide(STATE, ["Is the water hot?"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="choices must be a list of labels, found one str"):
        DecisionQuestion.choice("Where?", "kitchen")


def test_an_unloaded_model_decides_nothing() -> None:
    runner = ModelRunner.load(FIXTURES / "models/qwen2-f32.gguf")
    runner.unload()
    with pytest.raises(SdkError.ModelUnloaded):
        runner.decide(STATE, QUESTIONS)
