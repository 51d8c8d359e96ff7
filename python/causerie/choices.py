"""Values of options that are one of several choices."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeVar

from causerie._border import OfKind, adopted
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
class SoundFormat(str, Enum):
    """A format of sound, with 16 bits for each sample of one channel."""

    WAV = "wav"
    """A WAV file."""
    FLAC = "flac"
    """A FLAC file: about half as large, without loss."""
    PCM = "pcm"
    """The samples alone, with the lower byte first."""


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


@dataclass(frozen=True)
class ToolChoice(OfKind):
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


ToolChoice.AUTO, ToolChoice.NONE, ToolChoice.REQUIRED = map(ToolChoice, ("auto", "none", "required"))
