"""Errors: one exception class for each kind, all of them subclasses of `SdkError`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from causerie import error


class SdkError(Exception):
    """An error of the SDK. Its kinds are attributes of this class: `except SdkError.Busy`."""

    ModelNotFound: ClassVar[type[error.ModelNotFound]]
    ModelLoad: ClassVar[type[error.ModelLoad]]
    OutOfMemory: ClassVar[type[error.OutOfMemory]]
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
    Download: ClassVar[type[error.Download]]
    Internal: ClassVar[type[error.Internal]]

    reason: str
    """The message, one line."""

    def __init__(self, reason: str, *details: object) -> None:
        super().__init__(reason, *details)
        self.reason = reason

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Only the kinds of this module are attributes: apps may derive their own classes.
        if cls.__module__ == __name__:
            setattr(SdkError, cls.__name__, cls)
            cls.__module__, cls.__qualname__ = "causerie", f"SdkError.{cls.__name__}"

    def __str__(self) -> str:
        return self.reason


class ModelNotFound(SdkError):
    """There is no model at the given path."""


class ModelLoad(SdkError):
    """The model's files are unreadable, damaged, incomplete or not supported."""


class OutOfMemory(SdkError):
    """The model needs more memory than the system gives to this process."""

    def __init__(self, reason: str, needed: int, available: int) -> None:
        super().__init__(reason, needed, available)
        self.needed = needed
        """Number of bytes that are needed."""
        self.available = available
        """Number of bytes that are left, as far as the system says."""


class LoadCancelled(SdkError):
    """The app cancelled loading."""


class ModelUnloaded(SdkError):
    """The model was unloaded. Its conversations can be read, but not continued."""


class Busy(SdkError):
    """The conversation is generating a reply. Wait for its end or cancel it."""


class StreamAlreadyConsumed(SdkError):
    """The response was already read."""


class PromptExceedsContext(SdkError):
    """The prompt fills the context, without space for a single token of the reply."""

    def __init__(self, reason: str, needed: int, available: int) -> None:
        super().__init__(reason, needed, available)
        self.needed = needed
        """Number of tokens in the prompt."""
        self.available = available
        """Size of the context in tokens."""


class InvalidOption(SdkError):
    """An option is unknown, has the wrong type, is out of range, or contradicts another option."""

    def __init__(self, reason: str, option: str) -> None:
        super().__init__(reason, option)
        self.option = option
        """The name of the option."""


class InvalidMessage(SdkError):
    """A message is invalid at its position."""


class InvalidFunction(SdkError):
    """The definition of a function is invalid."""


class InvalidArgument(SdkError):
    """An argument, or a reply, does not fit its type."""

    def __init__(self, reason: str, argument: str) -> None:
        super().__init__(reason, argument)
        self.argument = argument
        """Its path, such as `config.items[2].id`."""


class FunctionCallingUnsupported(SdkError):
    """Functions are registered, but the model's chat template does not support functions."""


class UnsupportedContent(SdkError):
    """The model does not support this kind of content."""


class Generation(SdkError):
    """The computation failed."""


class Serialization(SdkError):
    """A string does not contain data of the expected form."""


class Session(SdkError):
    """A saved session cannot be restored."""

    def __init__(self, reason: str, fault: str) -> None:
        super().__init__(reason, fault)
        self.fault = fault
        """`file`, `version`, `model` or `corrupt`."""


class Download(SdkError):
    """A model cannot be downloaded. What has arrived is kept, except for damaged files."""

    def __init__(self, reason: str, fault: str, is_retryable: bool) -> None:
        super().__init__(reason, fault, is_retryable)
        self.fault = fault
        """`cancelled`, `offline`, `network`, `sign_in`, `conditions`, `token`, `forbidden`, `rate_limited`, `no_space`,
        `corrupt` or `storage`."""
        self.is_retryable = is_retryable
        """Whether the same call can succeed later."""


class Internal(SdkError):
    """A bug in causerie, caught before it could crash the app."""
