"""A conversation: a history that grows by messages and replies."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_not_forked
from causerie.error import SdkError
from causerie.function import FunctionLike, SdkFunction, as_function, as_functions
from causerie.handlers import FunctionHandlers, RoundStream
from causerie.message import ChatMessage, MessageLike, as_message
from causerie.options import GenerationOptions, gathered
from causerie.response import Response
from causerie.runner import ModelRunner

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from causerie.options import GenerationKeywords


@adopted
@dataclass(frozen=True)
class ContextPlan:
    """What a prompt leaves out of a history; messages are named by their place in it."""

    tokens_before: int
    """Tokens of the whole history."""
    tokens_after: int
    """Tokens of what the model would read."""
    dropped_messages: list[int]
    """Messages left out."""
    shrunk_messages: list[int]
    """Results of functions cut short."""


class Conversation:
    """A conversation with a model. `ModelRunner.create_conversation` makes one.

    It may be used from any thread. While a reply is being written it can be read, and what would change it raises
    `SdkError.Busy`.
    """

    def __init__(self, model_runner: ModelRunner, conversation: ffi.Conversation) -> None:
        self._model_runner = model_runner
        self._ffi = conversation

    @property
    def model_runner(self) -> ModelRunner:
        """The runner that made this conversation."""
        return self._model_runner

    @property
    def history(self) -> list[ChatMessage]:
        """All messages so far, as a copy.

        A reply joins them before its `Complete` is delivered, and as soon as it has called functions.
        """
        return self._ffi.history()

    @property
    def functions(self) -> list[SdkFunction]:
        """The functions registered, as a copy."""
        return self._ffi.functions()

    @property
    def is_generating(self) -> bool:
        """Whether a reply is being generated, or waits for its turn."""
        return self._ffi.is_generating()

    def register_function(self, function: FunctionLike) -> None:
        """Offers a function to the model. One of the same name is replaced where it stands."""
        self._check_not_forked()
        self._ffi.register_function(as_function(function))

    def register_functions(self, functions: Iterable[FunctionLike]) -> None:
        """Offers several functions to the model, all or none."""
        self._check_not_forked()
        self._ffi.register_functions(as_functions(functions))

    def unregister_function(self, name: str) -> bool:
        """Offers a function no longer; false when there is none of this name."""
        self._check_not_forked()
        return self._ffi.unregister_function(name)

    def generate_response(
        self,
        message: MessageLike,
        options: GenerationOptions | None = None,
        **keywords: Unpack[GenerationKeywords],
    ) -> Response:
        """The reply to a message. Options may be given as an object or as keywords.

        Reading it raises `SdkError.Busy` while another reply is being written, `SdkError.PromptExceedsContext`,
        `SdkError.InvalidMessage`, `SdkError.InvalidOption`, `SdkError.FunctionCallingUnsupported`,
        `SdkError.UnsupportedContent`, `SdkError.ModelUnloaded`, and `SdkError.Generation` where the computation fails.
        """
        chosen = gathered(GenerationOptions, options, keywords)
        return self._model_runner._response(self._ffi.start_response(as_message(message), chosen))

    def continue_response(
        self, options: GenerationOptions | None = None, **keywords: Unpack[GenerationKeywords]
    ) -> Response:
        """The reply to the history as it stands; see `generate_response`."""
        chosen = gathered(GenerationOptions, options, keywords)
        return self._model_runner._response(self._ffi.start_continuation(chosen))

    def respond_with_functions(
        self,
        message: MessageLike,
        handlers: FunctionHandlers,
        options: GenerationOptions | None = None,
        **keywords: Unpack[GenerationKeywords],
    ) -> Response:
        """The reply to a message with all that the model does for it.

        Its calls are run by the handlers, the results go back to it, and so on until it answers. All messages join the
        history as if they were sent by hand. Every event is that of a plain reply; `FunctionResult` tells what came of
        each call, and the one `Complete` comes last. A call that does not fit its function, that was rejected, or that
        names a function which is neither declared nor handled is answered with an error, so that the model can mend it.
        A call of a function that is declared but not handled ends the reply: all calls of that round are the app's. The
        conversation is busy up to the end. The options hold for each reply on the way.

        Reading it raises what that of `generate_response` raises.
        """
        return self._rounds(as_message(message), handlers, gathered(GenerationOptions, options, keywords))

    def continue_with_functions(
        self,
        handlers: FunctionHandlers,
        options: GenerationOptions | None = None,
        **keywords: Unpack[GenerationKeywords],
    ) -> Response:
        """The reply to the history as it stands; see `respond_with_functions`."""
        return self._rounds(None, handlers, gathered(GenerationOptions, options, keywords))

    def _rounds(self, message: ChatMessage | None, handlers: FunctionHandlers, options: GenerationOptions) -> Response:
        rounds = self._ffi.start_rounds(message, list(handlers._handlers), handlers._options(), options)
        return self._model_runner._response(RoundStream(rounds, handlers))

    def append_to_history(self, message: MessageLike) -> None:
        """Adds a message without generating, for example one of several function results."""
        self._check_not_forked()
        self._ffi.append_to_history(as_message(message))

    def remove_last_message(self) -> ChatMessage | None:
        """Takes the last message back; `None` when there is none."""
        self._check_not_forked()
        return self._ffi.remove_last_message()

    def truncate(self, message_count: int) -> None:
        """Keeps the first messages of the history. Raises `SdkError.InvalidArgument` for less than none."""
        self._check_not_forked()
        if message_count < 0:
            reason = f"message_count is {message_count}, expected a whole number from 0"
            raise SdkError.InvalidArgument(reason, "message_count")
        self._ffi.truncate(min(message_count, 0xFFFF_FFFF))

    def fork(self) -> Conversation:
        """An independent conversation with the same history."""
        return Conversation(self._model_runner, self._ffi.fork())

    def prompt_token_count(self) -> int:
        """Tokens that the model would read for the history as it stands, functions included."""
        return self._ffi.prompt_token_count()

    def plan_context(
        self, options: GenerationOptions | None = None, **keywords: Unpack[GenerationKeywords]
    ) -> ContextPlan:
        """What a reply to the history as it stands would leave out of the prompt."""
        return self._ffi.plan_context(gathered(GenerationOptions, options, keywords))

    def save_session(self, path: str | os.PathLike[str], include_cache: bool = True) -> None:
        """Saves the conversation to a file, with or without what the model has read of it.

        Raises `SdkError.Session` when the file cannot be written, `SdkError.Busy` while a reply is being written, and
        `SdkError.ModelUnloaded`.
        """
        self._check_not_forked()
        self._ffi.save_session(os.fspath(path), include_cache)

    def _check_not_forked(self) -> None:
        """Changes wait for replies that were cancelled, and saving for the model: in a child, for ever."""
        check_not_forked(self._model_runner._fork_count)
