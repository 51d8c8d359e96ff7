"""Loading a model, and what is made of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_can_load, check_not_forked, fork_count
from causerie._waiting import is_ending, wait
from causerie.choices import FunctionCallParser
from causerie.error import SdkError
from causerie.handlers import FunctionHandlers, ReplyStream
from causerie.message import MessageLike, as_messages
from causerie.options import GenerationOptions, LoadOptions, gathered
from causerie.response import Response

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from causerie.conversation import Conversation
    from causerie.options import GenerationKeywords, LoadKeywords

DEMO = "causerie/demo"
"""The name of the demo model, which is part of this package."""


@adopted
@dataclass(frozen=True)
class ModelInfo:
    """What a model is."""

    name: str | None
    """What its makers call it, where the files say."""
    architecture: str
    """The family, by the name that its files give it."""
    parameters: int
    """Weights, each counted once."""
    layers: int
    context_size: int
    """Tokens that the model was made to hold in view."""
    vocabulary_size: int
    quantisation: list[str]
    """Types of the weights, the one with the most bytes first."""
    supports_function_calling: bool
    """Whether the chat template offers functions."""
    function_call_parser: FunctionCallParser
    """Reads the calls that the model writes, by its chat template; for `GenerationOptions`, which do not take it by themselves."""
    supports_reasoning: bool
    """Whether the chat template speaks of reasoning."""
    memory_estimate: int
    """Bytes of memory that it takes with the context it was loaded with, or would be, estimated."""
    problems: list[str]
    """Why it cannot be loaded although its weights could be, a line each; of a loaded model, none."""

    @classmethod
    def read(cls, model: str | os.PathLike[str], context_size: int | None = None) -> ModelInfo:
        """What a model is, and what it would take, from the headers of its files. Nothing is loaded.

        The memory is that of a context as loading has it: the model's own, at most 8,192 tokens, or at most
        `context_size`. Raises as `ModelRunner.load` does.
        """
        return ffi.read_model_info(_place(model), LoadOptions(context_size=context_size).context_size)


class ModelRunner:
    """A loaded model, from which conversations are made. A `with` block unloads it at its end.

    It may be used from any thread. It does not survive `os.fork()`: in the child replies, sessions and changes of
    conversations raise `SdkError.ModelUnloaded`, and no other model can be loaded there. Start processes with `spawn`.
    """

    def __init__(self, runner: ffi.ModelRunner) -> None:
        self._ffi = runner
        self._fork_count = fork_count()

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str],
        options: LoadOptions | None = None,
        *,
        progress: Callable[[float], bool | None] | None = None,
        **keywords: Unpack[LoadKeywords],
    ) -> ModelRunner:
        """Loads a model: a GGUF file, a Hugging Face folder, `<namespace>/<name>` in the local cache, or `causerie/demo`.

        `progress` is called on another thread with how far it is, from 0 to 1. Returning `False` cancels loading, which
        then raises `SdkError.LoadCancelled`; an exception cancels it too, and is raised from here. Options may be given
        as an object or as keywords.

        Raises `SdkError.ModelNotFound`, `SdkError.ModelLoad` for files that are broken, incomplete or of a kind that is
        not supported, and `SdkError.InvalidOption`.
        """
        check_can_load()
        watch = _Progress(progress) if progress else None
        try:
            return cls(wait(ffi.load_model(_place(model), gathered(LoadOptions, options, keywords), watch)))
        except SdkError as err:
            raise (watch and watch.raised) or err from None

    @classmethod
    async def load_async(
        cls,
        model: str | os.PathLike[str],
        options: LoadOptions | None = None,
        *,
        progress: Callable[[float], bool | None] | None = None,
        **keywords: Unpack[LoadKeywords],
    ) -> ModelRunner:
        """As `load`, without holding up the event loop. Cancelling the task cancels loading."""
        check_can_load()
        watch = _Progress(progress) if progress else None
        try:
            return cls(await ffi.load_model(_place(model), gathered(LoadOptions, options, keywords), watch))
        except SdkError as err:
            raise (watch and watch.raised) or err from None

    def create_conversation(self, system_prompt: str = "") -> Conversation:
        """A conversation that begins with a system prompt; with an empty one, without."""
        return self._conversation(self._ffi.create_conversation(system_prompt))

    def create_conversation_from_history(self, history: Iterable[MessageLike]) -> Conversation:
        """A conversation that goes on from a history. Functions come with it: its system message carries them."""
        return self._conversation(self._ffi.create_conversation_from_history(as_messages(history)))

    def restore_session(self, path: str | os.PathLike[str]) -> Conversation:
        """A conversation that was saved to a file. Raises `SdkError.Session`."""
        check_not_forked(self._fork_count)
        return self._conversation(self._ffi.restore_session(os.fspath(path)))

    def complete(
        self,
        prompt: str | Sequence[int],
        options: GenerationOptions | None = None,
        **keywords: Unpack[GenerationKeywords],
    ) -> Response:
        """Completes a prompt as it stands: text, in which control tokens count as such, or token ids."""
        chosen = gathered(GenerationOptions, options, keywords)
        if isinstance(prompt, str):
            return self._response(self._ffi.complete(prompt, chosen))
        tokens = list(prompt)
        for token in tokens:
            if not 0 <= token < 1 << 32:
                raise SdkError.InvalidMessage(f"the prompt holds token id {token}, and no model knows it")
        return self._response(self._ffi.complete_tokens(tokens, chosen))

    def render_prompt(self, messages: Iterable[MessageLike], add_generation_prompt: bool = True) -> str:
        """The prompt that the model would read for these messages."""
        return self._ffi.render_prompt(as_messages(messages), add_generation_prompt)

    def prompt_tokens(self, messages: Iterable[MessageLike], add_generation_prompt: bool = True) -> list[int]:
        """The token ids of the prompt that the model would read for these messages."""
        return self._ffi.prompt_tokens(as_messages(messages), add_generation_prompt)

    def tokenize(self, prompt: str) -> list[int]:
        """The token ids of a prompt given as text."""
        return self._ffi.tokenize(prompt)

    @property
    def context_size(self) -> int:
        """Tokens that a prompt and its reply can have together."""
        return self._ffi.context_size()

    @property
    def supports_function_calling(self) -> bool:
        """Whether the model's chat template can offer functions."""
        return self._ffi.supports_function_calling()

    @property
    def info(self) -> ModelInfo:
        """What the model is."""
        return self._ffi.info()

    def unload(self) -> None:
        """Ends all replies of this model as cancelled ones, and frees its memory.

        Conversations stay readable. Calling it again does nothing.
        """
        check_not_forked(self._fork_count)
        wait(self._ffi.unload())

    async def unload_async(self) -> None:
        """As `unload`, without holding up the event loop."""
        check_not_forked(self._fork_count)
        await self._ffi.unload()

    def __enter__(self) -> ModelRunner:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self.unload()

    async def __aenter__(self) -> ModelRunner:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.unload_async()

    def __repr__(self) -> str:
        return f"<ModelRunner {self.info.architecture}, context of {self.context_size} tokens>"

    def _conversation(self, conversation: ffi.Conversation) -> Conversation:
        from causerie.conversation import Conversation

        return Conversation(self, conversation)

    def _response(self, stream: ffi.ResponseStream, handlers: FunctionHandlers | None = None) -> Response:
        return Response(ReplyStream(stream, handlers), self._fork_count)


class _Progress(ffi.LoadProgress):
    """Passes on how far loading is, and keeps what the app's function raises."""

    def __init__(self, tell: Callable[[float], bool | None]) -> None:
        self._tell = tell
        self.raised: BaseException | None = None

    def proceed(self, fraction: float) -> bool:
        try:
            return self._tell(fraction) is not False and not is_ending()
        except BaseException as err:
            self.raised = err
            return False


def _place(model: str | os.PathLike[str]) -> str:
    place = os.fspath(model)
    return str(Path(__file__).with_name("demo.gguf")) if place == DEMO else place
