"""Values of options that are one of several choices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeVar

from causerie._border import adopted
from causerie.error import SdkError

Choice = TypeVar("Choice", bound=Enum)


def one_of(choices: type[Choice], value: object) -> Choice:
    """Returns the choice that a value is, or names. Raises a `TypeError` whose text is what the value must be."""
    try:
        return choices(value)
    except ValueError:
        raise TypeError("one of " + ", ".join(repr(choice.value) for choice in choices)) from None


def chosen(choices: type[Choice], name: str, value: object) -> Choice:
    """Returns the choice that an argument is, or names. Raises `SdkError.InvalidOption`."""
    try:
        return one_of(choices, value)
    except TypeError as err:
        raise SdkError.InvalidOption(f"{name} must be {err}, found {value!r}", name) from None


@adopted
class Strictness(str, Enum):
    """Treatment of calls that needed repairs."""

    RECOVER = "recover"
    """They are delivered, with the codes of the repairs."""
    STRICT = "strict"
    """They are rejected, with the repaired call as candidate."""


@adopted
class OnCancel(str, Enum):
    """What remains of a cancelled reply in the history."""

    KEEP_PARTIAL = "keep_partial"
    """The reply so far, marked as incomplete."""
    DROP_PARTIAL = "drop_partial"
    """Only the message that it answers."""
    DROP_TURN = "drop_turn"
    """Neither the reply nor the message that it answers."""


@adopted
class SpeechMode(str, Enum):
    """Whether, and in which order, a model that speaks gives text and sound."""

    AUTO = "auto"
    """As the system prompt asks: interleaved after `Respond with interleaved text and audio.`, sequential otherwise."""
    OFF = "off"
    """Text alone."""
    SEQUENTIAL = "sequential"
    """Text, until the model begins to speak."""
    INTERLEAVED = "interleaved"
    """A few words and their sound in turn."""


@adopted
class SpeechVoice(str, Enum):
    """A voice of a model that speaks."""

    US_MALE = "us_male"
    """American English."""
    US_FEMALE = "us_female"
    """American English."""
    UK_MALE = "uk_male"
    """British English."""
    UK_FEMALE = "uk_female"
    """British English."""


@adopted
class SoundFormat(str, Enum):
    """A format of sound, with 16 bits for each sample of one channel."""

    WAV = "wav"
    """A WAV file."""
    FLAC = "flac"
    """A FLAC file: about half as large, without loss."""
    PCM = "pcm"
    """The samples alone, with the lower byte first."""


@adopted
class OnBusy(str, Enum):
    """What a request does while another reply of the conversation is being generated."""

    ERROR = "error"
    """It fails with `SdkError.Busy`."""
    QUEUE = "queue"
    """It waits until the requests before it have ended."""
    REPLACE = "replace"
    """It cancels the requests before it, and waits until they have ended."""


class ContextPolicy(str, Enum):
    """Treatment of a history that does not fit the context."""

    ERROR = "error"
    """The reply fails with `SdkError.PromptExceedsContext`."""
    SLIDE = "slide"
    """The prompt omits whole turns, the oldest first."""
    SHRINK = "shrink"
    """Like `SLIDE`, but function results in older turns are cut short first."""

    # The generated code queries these.
    def is_ERROR(self) -> bool:
        return self is ContextPolicy.ERROR

    def is_SLIDE(self) -> bool:
        return self is not ContextPolicy.ERROR

    @property
    def shrink_tool_results(self) -> bool:
        return self is ContextPolicy.SHRINK


@adopted
class Device(str, Enum):
    """The device that computes."""

    CPU = "cpu"
    """The CPU."""
    METAL = "metal"
    """The GPU of an Apple device."""


@adopted
class CacheType(str, Enum):
    """The storage format of keys and values."""

    F16 = "f16"
    """Half the memory and traffic of F32; the usual choice of other engines."""
    F32 = "f32"
    """For exact comparisons with reference results."""
    Q8_0 = "q8_0"
    """8-bit integers with a scale for each 32 elements of a head: slightly more than half of F16, for long contexts. It is
    less exact; measure the effect on your model."""


@adopted
class WeightMemory(str, Enum):
    """How packed weights come into memory."""

    MAPPED = "mapped"
    """They stay in the file, which is mapped: loading copies nothing, and the memory counts as the system's."""
    COPIED = "copied"
    """They are read into memory of the process, and the file is not used any more."""
    AUTO = "auto"
    """They are mapped, and copied while no reply runs if there is enough free memory: replies are written faster then."""


@adopted
class LoadPhase(str, Enum):
    """What loading a model does."""

    PACKING = "packing"
    """Packed weights are written into the folder of the app."""
    READING = "reading"
    """The weights are read into memory."""
    MAPPING = "mapping"
    """Packed weights are mapped."""
    READY = "ready"
    """The model is loaded."""


@adopted
class FunctionNames(str, Enum):
    """The rule for names of functions."""

    PLAIN = "plain"
    """Letters, digits, `_` and `-`, at most 200; identifiers are recommended."""
    DOTTED = "dotted"
    """Also several such names joined by dots."""


@adopted
class ToolCallConstraint(str, Enum):
    """Whether calls are constrained to the declared functions."""

    OFF = "off"
    """Calls are not constrained, only validated afterwards."""
    TYPED = "typed"
    """Once the model begins a call, only valid calls of declared functions are allowed."""


@dataclass(frozen=True)
class ToolChoice:
    """Whether functions are called: one of the constants, or `ToolChoice.function("f")`.

    The strings `"auto"`, `"none"` and `"required"` and the form of chat completions are accepted in its place.
    """

    kind: str
    """`auto`, `none`, `required` or `function`."""
    name: str = ""
    """The name of the function, if `kind` is `function`."""

    AUTO: ClassVar[ToolChoice]
    """The model decides."""
    NONE: ClassVar[ToolChoice]
    """No function is called; the prompt still offers them."""
    REQUIRED: ClassVar[ToolChoice]
    """The reply begins with a call."""

    @classmethod
    def function(cls, name: str) -> ToolChoice:
        """The reply begins with a call of this function and calls no other."""
        return cls("function", name)

    # The generated code queries these.
    def is_AUTO(self) -> bool:
        return self.kind == "auto"

    def is_NONE(self) -> bool:
        return self.kind == "none"

    def is_REQUIRED(self) -> bool:
        return self.kind == "required"

    def is_FUNCTION(self) -> bool:
        return self.kind == "function"


ToolChoice.AUTO, ToolChoice.NONE, ToolChoice.REQUIRED = map(ToolChoice, ("auto", "none", "required"))
