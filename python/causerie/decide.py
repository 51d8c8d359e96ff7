"""Decisions: yes or no, a choice, or a score about a text, with probabilities. `ModelRunner.decide` makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict, Union

from causerie import causerie_ffi as ffi
from causerie._border import adopted, variant
from causerie._numbers import integer, number
from causerie._option_checks import CheckedOptions
from causerie.function import json_text
from causerie.message import ChatMessage, ChatMessageContent, as_parts


@adopted
@dataclass(frozen=True)
class DecisionLabel:
    """A choice, or a level of a score. A plain string is accepted in its place."""

    label: str
    """Its name."""
    description: str | None = None
    """What it means."""


Labels: TypeAlias = Union[Iterable[Union[DecisionLabel, Mapping[str, str], str]], Mapping[str, Union[str, None]]]
"""Labels in order (also in the form `{"label": …, "description": …}`), or a dict of labels with their descriptions."""


@variant(ffi.DecisionKind, "PREDICATE")
@dataclass(frozen=True)
class PredicateKind(ffi.DecisionKind):
    """Yes or no."""

    yes: str | None = None
    """When yes is right."""
    no: str | None = None
    """When no is right."""


@variant(ffi.DecisionKind, "CHOICE")
@dataclass(frozen=True)
class ChoiceKind(ffi.DecisionKind):
    """One of 1 to 255 labels."""

    choices: list[DecisionLabel]


@variant(ffi.DecisionKind, "SCORE")
@dataclass(frozen=True)
class ScoreKind(ffi.DecisionKind):
    """A number from 0 on: one of 2 to 100 levels, the lowest first."""

    levels: list[DecisionLabel]


DecisionKind: TypeAlias = Union[PredicateKind, ChoiceKind, ScoreKind]
"""The answers that a question allows."""


@adopted
@dataclass(frozen=True)
class DecisionQuestion:
    """A question about a state: `DecisionQuestion.predicate("Is the kettle on?")`."""

    instructions: list[ChatMessageContent]
    """The question itself: text, and images for a model that takes them. A string is accepted as a text part."""
    kind: DecisionKind
    """What can be answered."""
    name: str | None = None
    """Names the question in its answer."""

    def __init__(
        self,
        instructions: str | ChatMessageContent | Iterable[ChatMessageContent | Mapping[str, Any] | str],
        kind: DecisionKind,
        name: str | None = None,
    ) -> None:
        object.__setattr__(self, "instructions", as_parts(instructions))
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "name", name)

    @classmethod
    def predicate(
        cls, instructions: str, *, yes: str | None = None, no: str | None = None, name: str | None = None
    ) -> DecisionQuestion:
        """Creates a question that is answered by yes or no. `yes` says when yes is right, and `no` when no is."""
        return cls(instructions, PredicateKind(yes, no), name)

    @classmethod
    def choice(cls, instructions: str, choices: Labels, *, name: str | None = None) -> DecisionQuestion:
        """Creates a question that is answered by one of the labels."""
        return cls(instructions, ChoiceKind(_labels("choices", choices)), name)

    @classmethod
    def score(cls, instructions: str, levels: Labels, *, name: str | None = None) -> DecisionQuestion:
        """Creates a question that is answered by a number: of the levels, the first is 0."""
        return cls(instructions, ScoreKind(_labels("levels", levels)), name)


def _labels(name: str, labels: Labels) -> list[DecisionLabel]:
    if isinstance(labels, (str, bytes)):
        raise TypeError(f"{name} must be a list of labels, found one {type(labels).__name__}")
    if isinstance(labels, Mapping):
        return [DecisionLabel(label, description) for label, description in labels.items()]
    return [_label(label) for label in labels]


def _label(label: DecisionLabel | Mapping[str, str] | str) -> DecisionLabel:
    if isinstance(label, DecisionLabel):
        return label
    return DecisionLabel(**label) if isinstance(label, Mapping) else DecisionLabel(label)


DecisionState: TypeAlias = Union[str, ChatMessage, Iterable[ChatMessage], Mapping[str, Any], list[Any], int, float, bool, None]
"""What questions are about: text, messages, which may have images, or a value that JSON can represent. None is nothing.

Of messages of users alone the contents count; of others, each begins with its author. A dict is a JSON value, also in the form of chat
completions; `ChatMessage.from_dict` makes a message of it.
"""


def as_state(state: DecisionState) -> ffi.DecisionState:
    """The state as the engine takes it."""
    if isinstance(state, str):
        return ffi.DecisionState.TEXT(state)
    if isinstance(state, ChatMessage):
        return ffi.DecisionState.MESSAGES([state])
    if isinstance(state, Iterable) and not isinstance(state, (Mapping, bytes)):
        state = list(state)
        if state and all(isinstance(item, ChatMessage) for item in state):
            return ffi.DecisionState.MESSAGES(state)
    return ffi.DecisionState.JSON(json_text(state))


DecisionQuestionLike: TypeAlias = Union[DecisionQuestion, Mapping[str, Any]]
"""A question, or a dict of it: `{"type": "predicate", "instructions": "Is the kettle on?"}`, with the arguments of the method that is
named by its type.
"""

_TYPES: dict[Any, Callable[..., DecisionQuestion]] = {
    "predicate": DecisionQuestion.predicate,
    "choice": DecisionQuestion.choice,
    "score": DecisionQuestion.score,
}


def as_questions(questions: Iterable[DecisionQuestionLike]) -> list[DecisionQuestion]:
    if isinstance(questions, (str, Mapping, DecisionQuestion)):
        raise TypeError(f"questions must be a list of questions, found one {type(questions).__name__}")
    return [_as_question(f"questions[{at}]", question) for at, question in enumerate(questions)]


def _as_question(place: str, question: DecisionQuestionLike) -> DecisionQuestion:
    if isinstance(question, DecisionQuestion):
        return question
    if not isinstance(question, Mapping):
        raise TypeError(f"{place} must be a DecisionQuestion or a dict, found {type(question).__name__}")
    arguments = dict(question)
    kind = arguments.pop("type", None)
    if kind not in _TYPES:
        raise TypeError(f"{place}.type must be 'predicate', 'choice' or 'score', found {kind!r}")
    try:
        return _TYPES[kind](**arguments)
    except TypeError as err:
        raise TypeError(f"{place}: {err}") from err


@adopted
@dataclass(frozen=True)
class DecisionTemperatures:
    """A temperature for each kind of question."""

    predicate: float = 1.0
    """For questions that are answered by yes or no."""
    choice: float = 1.0
    """For choices."""
    score: float = 1.0
    """For scores."""


def _temperatures(value: Any) -> DecisionTemperatures:
    if not isinstance(value, DecisionTemperatures):
        raise TypeError("DecisionTemperatures")
    return DecisionTemperatures(number(value.predicate), number(value.choice), number(value.score))


@adopted
@dataclass
class DecisionOptions(CheckedOptions):
    """How decisions are read. `None` takes the default."""

    _checks = {
        "temperature": _temperatures,
        "rotations": integer(32),
        "min_label_probability": number,
    }

    temperature: DecisionTemperatures | None = None
    """Divides the log-probabilities of answers: below 1, the answers are more certain. Default: 1 for each kind."""
    rotations: int | None = None
    """The orders in which the labels of a choice are shown; their log-probabilities are averaged, because models prefer some places
    of a list. Each costs as much as a question. Default: 2 for chat models, 1 for decision models."""
    min_label_probability: float | None = None
    """The least probability of all labels together. Below it, the model would have written something else, and the answer says that
    it is not answered. Default: 0.1 for chat models, 0 for decision models."""


class DecisionKeywords(TypedDict, total=False):
    """The options of `DecisionOptions` as keyword arguments."""

    temperature: DecisionTemperatures | None
    rotations: int | None
    min_label_probability: float | None


@adopted
@dataclass(frozen=True)
class LabelProbability:
    """A label and its probability."""

    label: str
    """The label, as the question has it."""
    probability: float
    """Its probability among the labels."""


@variant(ffi.DecisionOutcome, "PREDICATE")
@dataclass(frozen=True)
class PredicateOutcome:
    """The answer to a question that is answered by yes or no."""

    probability: float
    """The probability of yes."""


@variant(ffi.DecisionOutcome, "CHOICE")
@dataclass(frozen=True)
class ChoiceOutcome:
    """The answer to a choice."""

    choice: str
    """The most probable label; of equal ones, the first."""
    index: int
    """Its place among the labels."""
    confidence: float
    """How certain the choice is: 0 if all labels are equally probable, and 1 if one is certain."""
    probabilities: list[LabelProbability]
    """The labels in the order of the question. The probabilities add up to 1."""


@variant(ffi.DecisionOutcome, "SCORE")
@dataclass(frozen=True)
class ScoreOutcome:
    """The answer to a score."""

    score: float
    """The mean of the levels, each weighed by its probability: 0 is the first."""
    confidence: float
    """How certain the score is: 0 if all levels are equally probable, and 1 if one is certain."""
    probabilities: list[LabelProbability]
    """The levels in the order of the question. The probabilities add up to 1."""


DecisionOutcome: TypeAlias = Union[PredicateOutcome, ChoiceOutcome, ScoreOutcome]
"""What was decided."""


@adopted
@dataclass(frozen=True)
class DecisionAnswer:
    """The answer to one question."""

    name: str | None
    """The name of the question."""
    outcome: DecisionOutcome
    """The answer."""
    label_probability: float
    """The probability with which the model would have written one of the labels. The smaller it is, the less the answer says."""
    is_answered: bool
    """Whether that reaches `min_label_probability`. If not, the outcome says next to nothing."""


@adopted
@dataclass(frozen=True)
class DecisionUsage:
    """The tokens of decisions."""

    input_tokens: int
    """Tokens of all prompts; what they have in common counts once, except for decision models of types lfm2-d1-omni and lfm3-d1,
    which share nothing."""
    cached_tokens: int
    """The part of them that was computed for earlier requests."""


@adopted
@dataclass(frozen=True)
class Decisions:
    """The answers to questions about one state."""

    answers: list[DecisionAnswer]
    """One answer for each question, in the order of the questions."""
    usage: DecisionUsage
    """The tokens that they took."""
