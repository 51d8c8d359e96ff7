"""What an option can be, where it is one of several things."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final

from causerie._border import adopted


@adopted
class FunctionCallParser(str, Enum):
    """How a model family writes its function calls."""

    DEFAULT = "default"
    """Python-style calls between `<|tool_call_start|>` and `<|tool_call_end|>`."""
    JSON_STYLE = "json"
    """JSON objects between `<tool_call>` and `</tool_call>`."""


DefaultFunctionCallParser: Final = FunctionCallParser.DEFAULT
JsonStyleFunctionCallParser: Final = FunctionCallParser.JSON_STYLE


@adopted
class Strictness(str, Enum):
    """What becomes of calls that had to be mended to be read."""

    RECOVER = "recover"
    """They are delivered, with their repairs named."""
    STRICT = "strict"
    """They are rejected, with the mended call as candidate."""


@adopted
class PositionalArguments(str, Enum):
    """What becomes of Python arguments without names."""

    REJECT = "reject"
    """Their call is rejected."""
    MAP_BY_ORDER = "map_by_order"
    """They take the names of the function's parameters, in their order."""


@adopted
class RejectedCallText(str, Enum):
    """What becomes of the text of a block of calls that could not be delivered, besides its rejection."""

    WHEN_NO_CALL = "when_no_call"
    """It is text, in its place, when no call of its block was delivered."""
    NEVER = "never"
    """It stands in the rejection alone."""
    ALWAYS = "always"
    """It is text in any case, behind the calls of its block."""


@adopted
class OnCancel(str, Enum):
    """What stays in the history of a reply that is cancelled."""

    KEEP_PARTIAL = "keep_partial"
    """What was written, marked as incomplete."""
    DROP_PARTIAL = "drop_partial"
    """Nothing of the reply; the message it answers stays."""
    DROP_TURN = "drop_turn"
    """Neither the reply nor the message it answers."""


@adopted
class OnBusy(str, Enum):
    """What a conversation does with a request while another reply of it is being written."""

    ERROR = "error"
    """Refuses it with `SdkError.Busy`."""
    QUEUE = "queue"
    """Answers it when those before it have ended."""


@adopted
class ToolListForm(str, Enum):
    """The form of the entries in the tool list that a model reads."""

    BARE = "bare"
    """`{"name", "description", "parameters"}`."""
    WRAPPED = "wrapped"
    """`{"type": "function", "function": {…}}`."""


class ContextPolicy(str, Enum):
    """What happens to a history that does not fit the context."""

    ERROR = "error"
    """`SdkError.PromptExceedsContext`."""
    SLIDE = "slide"
    """The prompt leaves out whole turns, the oldest first."""
    SHRINK = "shrink"
    """As `SLIDE`, but first the results of functions in older turns are cut short."""

    # How the border asks.
    def is_ERROR(self) -> bool:
        return self is ContextPolicy.ERROR

    def is_SLIDE(self) -> bool:
        return self is not ContextPolicy.ERROR

    @property
    def shrink_tool_results(self) -> bool:
        return self is ContextPolicy.SHRINK


@adopted
class Device(str, Enum):
    """What a model computes on."""

    CPU = "cpu"
    """The processor."""
    METAL = "metal"
    """The GPU of an Apple device."""


@adopted
class CacheType(str, Enum):
    """What keys and values are kept as."""

    F16 = "f16"
    """Half the memory and traffic of F32; what other engines take too."""
    F32 = "f32"
    """For comparing with references to the last digits."""
    Q8_0 = "q8_0"
    """Bytes with a scale for each 32 of a head: little more than half of F16, for long contexts. Coarser: how much a
    model loses by it is for its user to measure."""


@adopted
class FunctionNames(str, Enum):
    """Which names functions may have."""

    PLAIN = "plain"
    """Letters, `_` and digits, not starting with a digit."""
    DOTTED = "dotted"
    """Also several such names joined by dots or hyphens."""


@adopted
class ToolCallConstraint(str, Enum):
    """Whether calls are held to the declared functions while they are written."""

    OFF = "off"
    """The model writes what it likes; calls are validated afterwards."""
    TYPED = "typed"
    """Once the model begins a call, it writes nothing but calls of declared functions that fit."""


@dataclass(frozen=True)
class ToolChoice:
    """Whether functions are called: one of the constants, or `ToolChoice.function("f")`.

    Where it is taken, `"auto"`, `"none"`, `"required"` and the form of chat completions do as well.
    """

    kind: str
    """`auto`, `none`, `required` or `function`."""
    name: str = ""
    """The function, where one is named."""

    AUTO: ClassVar[ToolChoice]
    """As the model likes."""
    NONE: ClassVar[ToolChoice]
    """No function is called; the prompt still offers them."""
    REQUIRED: ClassVar[ToolChoice]
    """The reply begins with a call."""

    @classmethod
    def function(cls, name: str) -> ToolChoice:
        """The reply begins with a call of this function, and calls no other."""
        return cls("function", name)

    # How the border asks.
    def is_AUTO(self) -> bool:
        return self.kind == "auto"

    def is_NONE(self) -> bool:
        return self.kind == "none"

    def is_REQUIRED(self) -> bool:
        return self.kind == "required"

    def is_FUNCTION(self) -> bool:
        return self.kind == "function"


ToolChoice.AUTO, ToolChoice.NONE, ToolChoice.REQUIRED = map(ToolChoice, ("auto", "none", "required"))
