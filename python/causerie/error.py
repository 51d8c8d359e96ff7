"""What can go wrong: one exception for each kind, each of them an `SdkError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from causerie import error


class SdkError(Exception):
    """What can go wrong. Its kinds are its attributes: `except SdkError.Busy`."""

    ModelNotFound: ClassVar[type[error.ModelNotFound]]
    ModelLoad: ClassVar[type[error.ModelLoad]]
    LoadCancelled: ClassVar[type[error.LoadCancelled]]
    ModelUnloaded: ClassVar[type[error.ModelUnloaded]]
    Busy: ClassVar[type[error.Busy]]
    StreamAlreadyConsumed: ClassVar[type[error.StreamAlreadyConsumed]]
    PromptExceedsContext: ClassVar[type[error.PromptExceedsContext]]
    InvalidOption: ClassVar[type[error.InvalidOption]]
    InvalidMessage: ClassVar[type[error.InvalidMessage]]
    InvalidFunction: ClassVar[type[error.InvalidFunction]]
    InvalidArgument: ClassVar[type[error.InvalidArgument]]
    FunctionCallingUnsupported: ClassVar[type[error.FunctionCallingUnsupported]]
    UnsupportedContent: ClassVar[type[error.UnsupportedContent]]
    Generation: ClassVar[type[error.Generation]]
    Serialization: ClassVar[type[error.Serialization]]
    Session: ClassVar[type[error.Session]]
    Internal: ClassVar[type[error.Internal]]

    reason: str
    """One readable line."""

    def __init__(self, reason: str, *details: object) -> None:
        super().__init__(reason, *details)
        self.reason = reason

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Only the kinds of this module: apps may derive from them.
        if cls.__module__ == __name__:
            setattr(SdkError, cls.__name__, cls)
            cls.__module__, cls.__qualname__ = "causerie", f"SdkError.{cls.__name__}"

    def __str__(self) -> str:
        return self.reason


class ModelNotFound(SdkError):
    """No file, or no model, at the place given."""


class ModelLoad(SdkError):
    """The model's files are unreadable, broken, incomplete or of a kind that is not known."""


class LoadCancelled(SdkError):
    """The app cancelled loading."""


class ModelUnloaded(SdkError):
    """The model was unloaded: its conversations can be read, but not go on."""


class Busy(SdkError):
    """The conversation is generating: wait for its end or cancel it."""


class StreamAlreadyConsumed(SdkError):
    """The response was read before."""


class PromptExceedsContext(SdkError):
    """The prompt leaves no room in the context for one token of reply."""

    def __init__(self, reason: str, needed: int, available: int) -> None:
        super().__init__(reason, needed, available)
        self.needed = needed
        """Tokens of the prompt."""
        self.available = available
        """Tokens of the context."""


class InvalidOption(SdkError):
    """An option is unknown, of the wrong type, out of its range, or contradicts another."""

    def __init__(self, reason: str, option: str) -> None:
        super().__init__(reason, option)
        self.option = option
        """The name of the option."""


class InvalidMessage(SdkError):
    """A message cannot stand where it was given."""


class InvalidFunction(SdkError):
    """The definition of a function breaks a rule."""


class InvalidArgument(SdkError):
    """An argument, or a reply, is not what its type says."""

    def __init__(self, reason: str, argument: str) -> None:
        super().__init__(reason, argument)
        self.argument = argument
        """Its place: `config.items[2].id`."""


class FunctionCallingUnsupported(SdkError):
    """Functions are registered, but the model's chat template cannot offer them."""


class UnsupportedContent(SdkError):
    """The model cannot take a content part of this kind."""


class Generation(SdkError):
    """The computation failed."""


class Serialization(SdkError):
    """Text that should hold data of a known form does not."""


class Session(SdkError):
    """A saved session cannot be restored."""

    def __init__(self, reason: str, fault: str) -> None:
        super().__init__(reason, fault)
        self.fault = fault
        """`file`, `version`, `model` or `corrupt`."""


class Internal(SdkError):
    """A fault of causerie itself, caught before it reached the app."""
