"""A conversation: a history that grows by messages and replies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_not_forked, uncopyable
from causerie._numbers import Duration
from causerie._option_checks import checked, gathered
from causerie.error import SdkError
from causerie.function import FunctionLike, SdkFunction, as_functions
from causerie.handlers import FunctionHandlers, Functions, as_handlers, separated
from causerie.message import ChatMessage, MessageLike, as_message
from causerie.options import GenerationOptions
from causerie.response import Complete, Readers, Response
from causerie.runner import ModelRunner
from causerie.snapshots import Snapshots, value_of_reply
from causerie.typed import reply_schema

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from causerie.options import ReplyKeywords

T = TypeVar("T")


@adopted
@dataclass(frozen=True)
class ContextPlan:
    """What a prompt leaves out of a history. Messages are given by their index."""

    tokens_before: int
    """Tokens of the whole history."""
    tokens_after: int
    """Tokens of the prompt."""
    dropped_messages: list[int]
    """Messages left out."""
    shrunk_messages: list[int]
    """Function results that are cut short."""


@adopted
@dataclass(frozen=True)
class PrefillProgress:
    """How much of a reply's prompt is prefilled. What comes from the prefix cache counts as prefilled."""

    done_tokens: int
    """Tokens of the prompt that are prefilled."""
    total_tokens: int
    """Tokens of the prompt; 0 until the prompt is prepared."""
    done_images: int
    """Images of the prompt that are computed. Each tile of a large picture counts as an image, and its smaller copy as well."""
    total_images: int
    """Images of the prompt, counted in the same way."""


@uncopyable("use fork() for a copy, and messages_to_json(history) or save_session() for another process")
class Conversation:
    """A conversation with a model. `ModelRunner.create_conversation` creates one.

    It may be used from any thread. While a reply is being generated it can be read, and methods that would change it raise
    `SdkError.Busy`.
    """

    _model_runner: ModelRunner
    _ffi: ffi.Conversation
    _handlers: FunctionHandlers
    """The functions that every reply runs."""
    _readers: Readers

    def __init__(self, *_: object) -> None:
        raise TypeError("a Conversation is created by create_conversation() of a ModelRunner")

    @classmethod
    def _new(cls, model_runner: ModelRunner, conversation: ffi.Conversation, handlers: FunctionHandlers) -> Self:
        made = cls.__new__(cls)
        made._model_runner, made._ffi, made._readers = model_runner, conversation, Readers()
        made._handlers = FunctionHandlers()._joined(handlers)
        return made

    def __repr__(self) -> str:
        history = self.history
        last = f", the last by {history[-1].role.value}" if history else ""
        state = ", generating" if self.is_generating else ""
        return f"<Conversation of {len(history)} message{'s' * (len(history) != 1)}{last}{state}>"

    @property
    def model_runner(self) -> ModelRunner:
        """The runner that created this conversation."""
        return self._model_runner

    @property
    def history(self) -> list[ChatMessage]:
        """A copy of all messages so far.

        A reply joins them before its `Complete` is delivered, and as soon as it has called functions. Waits for a reply that was
        cancelled or left: it ends with the running step of the model.
        """
        return self._ffi.history()

    @property
    def functions(self) -> list[SdkFunction]:
        """A copy of the registered functions."""
        return self._ffi.functions()

    @property
    def is_generating(self) -> bool:
        """Whether a reply is being generated, or waits in the request queue."""
        return self._ffi.is_generating()

    @property
    def prefill_progress(self) -> PrefillProgress:
        """How much of the latest reply's prompt is prefilled, to show while its first event is awaited.

        All zeros before the first reply. With function calls, the prompt is that of the current round.
        """
        return self._ffi.prefill_progress()

    def register_function(self, function: FunctionLike) -> None:
        """Offers a function to the model. It replaces a function of the same name in place."""
        self.register_functions([function])

    def register_functions(self, functions: Iterable[FunctionLike]) -> None:
        """Offers several functions to the model, all or none. Calls of them are left to the app."""
        self._prepare_change()
        offered = as_functions(functions)
        self._ffi.register_functions(offered)
        for function in offered:
            self._handlers._forget(function.name)

    def unregister_function(self, name: str) -> bool:
        """Stops offering a function. Returns false if none has this name."""
        self._prepare_change()
        self._handlers._forget(name)
        return self._ffi.unregister_function(name)

    @overload
    def generate_response(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: None = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Response: ...

    @overload
    def generate_response(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Callable[..., T],
        **keywords: Unpack[ReplyKeywords],
    ) -> Snapshots[T]: ...

    @overload
    def generate_response(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Any,  # `int | str` and `Literal["a"]`, which have no type in mypy
        **keywords: Unpack[ReplyKeywords],
    ) -> Snapshots[Any]: ...

    def generate_response(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Any = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Response | Snapshots[Any]:
        """The reply to a message; without one, to the history as it stands. Options may be given as an object or as keywords.

        `functions` are offered beside the functions of the conversation, and run as in `create_conversation`: a `FunctionHandlers`
        with its own options, a list with the options of the conversation. With `as_type`, the reply is constrained to this type,
        and read as values of it; see `Snapshots`.

        Reading it raises `SdkError.Busy` while another reply is being generated, `SdkError.PromptExceedsContext`,
        `SdkError.InvalidMessage`, `SdkError.InvalidOption`, `SdkError.FunctionCallingUnsupported`,
        `SdkError.UnsupportedContent`, `SdkError.ModelUnloaded`, and `SdkError.Generation` if the computation fails.
        """
        response = self._reply(message, functions, _typed(gathered(GenerationOptions, options, keywords), as_type))
        return response if as_type is None else Snapshots._new_typed(response, as_type)

    @overload
    def respond(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: None = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Complete: ...

    @overload
    def respond(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Callable[..., T],
        **keywords: Unpack[ReplyKeywords],
    ) -> T: ...

    @overload
    def respond(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Any,
        **keywords: Unpack[ReplyKeywords],
    ) -> Any: ...

    def respond(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Any = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Complete | Any:
        """Reads a reply, and returns its end, with its `text`; with `as_type`, the value of this type that it is.

        It takes what `generate_response` takes, and raises its errors, and `SdkError.InvalidArgument` for a reply that is not of
        the type: one that was cut short, for example, or that ends in calls that are left to the app.
        """
        response = self._reply(message, functions, _typed(gathered(GenerationOptions, options, keywords), as_type))
        for _ in response:
            pass
        return _end(response, as_type)

    @overload
    async def respond_async(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: None = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Complete: ...

    @overload
    async def respond_async(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Callable[..., T],
        **keywords: Unpack[ReplyKeywords],
    ) -> T: ...

    @overload
    async def respond_async(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Any,
        **keywords: Unpack[ReplyKeywords],
    ) -> Any: ...

    async def respond_async(
        self,
        message: MessageLike | EllipsisType = ...,
        options: GenerationOptions | None = None,
        *,
        functions: Functions | None = None,
        as_type: Any = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Complete | Any:
        """Like `respond`, without blocking the event loop."""
        response = self._reply(message, functions, _typed(gathered(GenerationOptions, options, keywords), as_type))
        async for _ in response:
            pass
        return _end(response, as_type)

    def continue_response(
        self, options: GenerationOptions | None = None, **keywords: Unpack[ReplyKeywords]
    ) -> Response:
        """The reply to the history as it stands; see `generate_response`."""
        return self._reply(..., None, gathered(GenerationOptions, options, keywords))

    def interrupt(self, played_until: Duration) -> None:
        """Interrupts the reply that the listener hears, at the end of what was played.

        `played_until` is the time, in seconds or as a `timedelta`, from the beginning of the sound of the replies to the last
        message of the user. A reply under way is cancelled, and the message of the reply is cut to what was heard: all up to the
        last frame of which something was played, also the text before it. If nothing was heard, no message remains. Calls stay,
        and a reply without sound keeps its text. The next reply goes on from the prefix cache.
        """
        self._ffi.interrupt(played_until.total_seconds() if isinstance(played_until, timedelta) else played_until)

    def respond_with_functions(
        self,
        message: MessageLike,
        handlers: FunctionHandlers | Iterable[Callable[..., Any]],
        options: GenerationOptions | None = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Response:
        """The reply to a message with all its function calls. Functions may be given instead of their `FunctionHandlers`.

        The handlers run the calls, the model reads the results, and so on until it answers. All messages join the
        history as if they were sent by hand. The functions of the handlers are registered when the reply begins; one of
        the same name is replaced. The events are the same as of a plain reply. `FunctionResult` reports the result
        of each call, `RoundComplete` the end of a reply with calls, and one `Complete` the end of the last reply. If a
        call does not fit its function, was rejected, or names a function that is not declared, the model reads an
        error that lets it repair the call. A call of a function that is declared but not handled ends the
        stream: all calls of that reply are left to the app. The conversation is busy until the end. The options apply to
        each reply.

        Reading it raises the errors of `generate_response`, and `SdkError.InvalidOption` for a handler of a function that is
        not registered.
        """
        return self._reply(message, as_handlers(handlers, self._handlers), gathered(GenerationOptions, options, keywords))

    def continue_with_functions(
        self,
        handlers: FunctionHandlers | Iterable[Callable[..., Any]],
        options: GenerationOptions | None = None,
        **keywords: Unpack[ReplyKeywords],
    ) -> Response:
        """The reply to the history as it stands; see `respond_with_functions`."""
        return self._reply(..., as_handlers(handlers, self._handlers), gathered(GenerationOptions, options, keywords))

    def _reply(
        self, message: MessageLike | EllipsisType, functions: Functions | None, options: GenerationOptions
    ) -> Response:
        sent = None if isinstance(message, EllipsisType) else as_message(message)
        offered, given = ([], self._handlers) if functions is None else separated(functions, self._handlers)
        handlers = self._handlers._joined(given)
        for function in offered:
            handlers._forget(function.name)
        if functions is not None or handlers._handlers:
            names, rounds, new = list(handlers._handlers), handlers._options(), [*offered, *given.functions]
            stream = self._ffi.start_response_with_functions(sent, names, new, rounds, options)
        elif sent is None:
            stream = self._ffi.start_continuation(options)
        else:
            stream = self._ffi.start_response(sent, options)
        return self._model_runner._response(stream, self._readers, handlers)

    def append_to_history(self, message: MessageLike) -> None:
        """Adds a message without generating, for example one of several function results."""
        self._prepare_change()
        self._ffi.append_to_history(as_message(message))

    def remove_last_message(self) -> ChatMessage | None:
        """Removes and returns the last message; `None` if there is none."""
        self._prepare_change()
        return self._ffi.remove_last_message()

    def truncate(self, message_count: int) -> None:
        """Keeps only the first messages of the history. Raises `SdkError.InvalidArgument` for a negative count."""
        self._prepare_change()
        if message_count < 0:
            reason = f"message_count must be 0 or more, found {message_count}"
            raise SdkError.InvalidArgument(reason, "message_count")
        self._ffi.truncate(min(message_count, 0xFFFF_FFFF))

    def fork(self) -> Conversation:
        """Creates an independent conversation with the same history."""
        return Conversation._new(self._model_runner, self._ffi.fork(), self._handlers)

    def prompt_token_count(self) -> int:
        """Number of prompt tokens for the history as it stands, including functions."""
        return self._ffi.prompt_token_count()

    def plan_context(
        self, options: GenerationOptions | None = None, **keywords: Unpack[ReplyKeywords]
    ) -> ContextPlan:
        """What a reply to the history as it stands would leave out of the prompt."""
        return self._ffi.plan_context(gathered(GenerationOptions, options, keywords))

    def save_session(self, path: str | os.PathLike[str], include_cache: bool = True) -> None:
        """Saves the conversation to a file, with or without the model's cache of it.

        Raises `SdkError.Session` if the file cannot be written, `SdkError.Busy` while a reply is being generated, and
        `SdkError.ModelUnloaded`.
        """
        self._prepare_change()
        self._ffi.save_session(os.fspath(path), include_cache)

    def _prepare_change(self) -> None:
        """Refuses calls in a forked process, where changes and saving would wait for the engine forever."""
        check_not_forked(self._model_runner._fork_count)
        self._readers.end_cancelled()


def _typed(options: GenerationOptions, of: Any) -> GenerationOptions:
    """The options of a reply that is of a type, if one is given."""
    if of is None:
        return options
    if options.json_schema_constraint is not None:
        reason = "json_schema_constraint must not be given beside as_type"
        raise SdkError.InvalidOption(reason, "json_schema_constraint")
    return replace(options, json_schema_constraint=checked("as_type", _schema_of_type, of))


def _schema_of_type(of: Any) -> dict[str, Any]:
    try:
        return reply_schema(of)
    except TypeError as err:
        raise TypeError(f"a type that JSON Schema can describe ({err})") from err


def _end(response: Response, of: Any) -> Complete | Any:
    if response.completion is None:
        raise SdkError.Internal("the reply has no end")
    return response.completion if of is None else value_of_reply(response.completion, of)
