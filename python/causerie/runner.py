"""Loading a model, and creating conversations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_can_load, check_not_forked, fork_count, uncopyable
from causerie._facts import ModelFacts
from causerie._loading import Loading
from causerie._option_checks import gathered
from causerie._waiting import is_ending, wait
from causerie.choices import LoadPhase, chosen
from causerie.decide import DecisionOptions, DecisionQuestionLike, Decisions, DecisionState, as_questions, as_state
from causerie.error import SdkError
from causerie.handlers import FunctionHandlers, Functions, ReplyStream, separated
from causerie.message import Image, ImageSource, MessageLike, as_image, as_messages
from causerie.options import GenerationOptions, LoadOptions, SpeechVoice
from causerie.response import Readers, Response

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from causerie.conversation import Conversation
    from causerie.decide import DecisionKeywords
    from causerie.embedding import EmbeddingModel
    from causerie.options import GenerationKeywords, LoadKeywords

DEMO = "causerie/demo"
"""The name of the demo model, which is part of this package."""


@adopted
@dataclass(frozen=True)
class ModelInfo(ModelFacts):
    """Information about a model."""

    @classmethod
    def read(cls, model: str | os.PathLike[str], context_size: int | None = None) -> ModelInfo:
        """Reads information about a model, with its memory estimate, from the headers of its files. Nothing is loaded.

        The memory is estimated for the context size of loading: that of the model, at most 8,192 tokens, or at most
        `context_size`. Raises the errors of `ModelRunner.load`.
        """
        return ffi.read_model_info(_path(model), LoadOptions(context_size=context_size).context_size)


@uncopyable("pass the path of the model, and load it there")
class ModelRunner:
    """A loaded model, which creates conversations. A `with` block unloads it at its end.

    It may be used from any thread. It does not survive `os.fork()`: in the child, replies, sessions and changes of
    conversations raise `SdkError.ModelUnloaded`, and no other model can be loaded there. Start processes with `spawn`.
    """

    _ffi: ffi.ModelRunner
    _fork_count: int

    def __init__(self, *_: object) -> None:
        raise TypeError("a ModelRunner is created by ModelRunner.load(path)")

    @classmethod
    def _new(cls, runner: ffi.ModelRunner) -> ModelRunner:
        made = cls.__new__(cls)
        made._ffi, made._fork_count = runner, fork_count()
        return made

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str],
        options: LoadOptions | None = None,
        *,
        progress: Callable[[float], bool | None] | None = None,
        on_phase: Callable[[LoadPhase], object] | None = None,
        **keywords: Unpack[LoadKeywords],
    ) -> ModelRunner:
        """Loads a model: a GGUF file, a Hugging Face folder, `<namespace>/<name>` in the local cache, or `causerie/demo`.

        `progress` is called on another thread with the progress from 0 to 1. Returning `False` cancels loading, which then
        raises `SdkError.LoadCancelled`; an exception also cancels it, and is rethrown here. `on_phase` is called on that
        thread when a phase of loading begins, and when the model is ready. Options may be given as an object or as
        keywords.

        Raises `SdkError.ModelNotFound`, `SdkError.ModelLoad` for files that are damaged, incomplete or not
        supported, and `SdkError.InvalidOption`.
        """
        check_can_load()
        watch = _Progress(progress, on_phase) if progress or on_phase else None
        try:
            return cls._new(wait(ffi.load_model(_path(model), gathered(LoadOptions, options, keywords), watch)))
        except SdkError as err:
            raise (watch and watch.raised) or err from None

    @classmethod
    def load_async(
        cls,
        model: str | os.PathLike[str],
        options: LoadOptions | None = None,
        *,
        progress: Callable[[float], bool | None] | None = None,
        on_phase: Callable[[LoadPhase], object] | None = None,
        **keywords: Unpack[LoadKeywords],
    ) -> Loading:
        """Like `load`, without blocking the event loop: `await` it, or use it in `async with`. Cancelling the task cancels loading."""
        watch = _Progress(progress, on_phase) if progress or on_phase else None
        return Loading(cls._load_async(model, gathered(LoadOptions, options, keywords), watch))

    @classmethod
    async def _load_async(cls, model: str | os.PathLike[str], options: LoadOptions, watch: _Progress | None) -> ModelRunner:
        check_can_load()
        try:
            return cls._new(await ffi.load_model(_path(model), options, watch))
        except SdkError as err:
            raise (watch and watch.raised) or err from None

    def create_conversation(self, system_prompt: str | None = "", functions: Functions = ()) -> Conversation:
        """Creates a conversation with a system prompt, if there is one, and with functions for the model.

        Every reply runs the Python functions among them, and the functions of a `FunctionHandlers`, and goes on with their results; see
        `Conversation.respond_with_functions`. Calls of the others (an `SdkFunction`, a dict, a class) are left to the app.

        Raises `SdkError.InvalidFunction`.
        """
        return self._conversation(self._ffi.create_conversation(system_prompt or ""), functions)

    def create_conversation_from_history(
        self, history: Iterable[MessageLike], functions: Functions = ()
    ) -> Conversation:
        """Creates a conversation that continues a history, with the functions in its system message, and with further ones as in
        `create_conversation`."""
        return self._conversation(self._ffi.create_conversation_from_history(as_messages(history)), functions)

    def restore_session(self, path: str | os.PathLike[str], functions: Functions = ()) -> Conversation:
        """Restores a conversation that was saved to a file, with its functions, and with further ones as in
        `create_conversation`. Raises `SdkError.Session`."""
        check_not_forked(self._fork_count)
        return self._conversation(self._ffi.restore_session(os.fspath(path)), functions)

    def complete(
        self,
        prompt: str | Sequence[int],
        options: GenerationOptions | None = None,
        **keywords: Unpack[GenerationKeywords],
    ) -> Response:
        """Completes a prompt as it is: text, in which spellings of control tokens become control tokens, or token ids."""
        chosen = gathered(GenerationOptions, options, keywords)
        if isinstance(prompt, str):
            return self._response(self._ffi.complete(prompt, chosen))
        tokens = list(prompt)
        for token in tokens:
            if not 0 <= token < 1 << 32:
                raise SdkError.InvalidMessage(f"token ids must be from 0 to {(1 << 32) - 1}, found {token}")
        return self._response(self._ffi.complete_tokens(tokens, chosen))

    def complete_with_images(
        self,
        prompt: str,
        images: Iterable[Image | ImageSource],
        options: GenerationOptions | None = None,
        **keywords: Unpack[GenerationKeywords],
    ) -> Response:
        """Completes a prompt that shows images. They replace, in order, the markers that the chat template prints for images,
        such as `<image>`. See `Image` for what an image can be.
        """
        chosen = gathered(GenerationOptions, options, keywords)
        return self._response(self._ffi.complete_with_images(prompt, [as_image(image).data for image in images], chosen))

    def speak(
        self,
        text: str,
        voice: SpeechVoice | str = SpeechVoice.US_FEMALE,
        options: GenerationOptions | None = None,
        **keywords: Unpack[GenerationKeywords],
    ) -> Response:
        """Reads a text aloud. The sound is in the `AudioSample` events; text that the model writes beside it is not part of what
        is read. The most probable tokens of text are taken, unless `temperature` is given. See `SoundFileWriter` for files.

        Raises `SdkError.UnsupportedContent` if the model does not speak.
        """
        options = gathered(GenerationOptions, options, keywords)
        return self._response(self._ffi.speak(text, chosen(SpeechVoice, "voice", voice), options))

    def set_function_ranker(self, model: EmbeddingModel) -> None:
        """Sets the model that chooses among the functions of this runner's conversations, for replies with `max_offered_functions`:
        by the vectors of messages, and of the names and descriptions of functions.

        Raises `SdkError.UnsupportedContent` for a model that gives no vectors of texts.
        """
        self._ffi.set_function_ranker(model._ffi)

    def decide(
        self,
        state: DecisionState,
        questions: Iterable[DecisionQuestionLike],
        options: DecisionOptions | None = None,
        **keywords: Unpack[DecisionKeywords],
    ) -> Decisions:
        """Answers questions about a state, with probabilities. No text is generated: the answers are read from the logits after each
        question. The state is prefilled once, and stays in the prefix cache for later questions about it. A question may be a dict:
        `{"type": "choice", "instructions": "Where?", "choices": ["in", "out"]}`.

        Any chat model can decide; how well depends on the model. Look at `is_answered` first.

        Raises `SdkError.InvalidArgument` for questions with too few or too many labels, and for more than 400 questions,
        `SdkError.InvalidOption`, `SdkError.PromptExceedsContext`, `SdkError.UnsupportedContent`, `SdkError.InvalidMessage` for a model
        without a chat template, and `SdkError.Generation` if the computation fails.
        """
        check_not_forked(self._fork_count)
        options = gathered(DecisionOptions, options, keywords)
        return wait(self._ffi.decide(as_state(state), as_questions(questions), options))

    async def decide_async(
        self,
        state: DecisionState,
        questions: Iterable[DecisionQuestionLike],
        options: DecisionOptions | None = None,
        **keywords: Unpack[DecisionKeywords],
    ) -> Decisions:
        """Like `decide`, without blocking the event loop. Cancelling the task cancels the questions."""
        check_not_forked(self._fork_count)
        options = gathered(DecisionOptions, options, keywords)
        return await self._ffi.decide(as_state(state), as_questions(questions), options)

    def render_prompt(self, messages: Iterable[MessageLike], add_generation_prompt: bool = True) -> str:
        """Returns the prompt for these messages."""
        return self._ffi.render_prompt(as_messages(messages), add_generation_prompt)

    def prompt_tokens(self, messages: Iterable[MessageLike], add_generation_prompt: bool = True) -> list[int]:
        """Returns the token ids of the prompt for these messages."""
        return self._ffi.prompt_tokens(as_messages(messages), add_generation_prompt)

    def tokenize(self, prompt: str) -> list[int]:
        """Returns the token ids of a prompt."""
        return self._ffi.tokenize(prompt)

    @property
    def context_size(self) -> int:
        """The context size in tokens, for a prompt and its reply together."""
        return self._ffi.context_size()

    @property
    def supports_function_calling(self) -> bool:
        """Whether the model's chat template supports functions."""
        return self._ffi.supports_function_calling()

    @property
    def info(self) -> ModelInfo:
        """Information about the model."""
        return self._ffi.info()

    @property
    def device_note(self) -> str | None:
        """Why the model is not computed on the GPU that its options ask for: there is none, its memory is too small, or it
        failed meanwhile. `None` if it is computed as asked for."""
        return self._ffi.device_note()

    def unload(self) -> None:
        """Cancels all replies of this model, and frees its memory.

        Conversations stay readable. Calling it again does nothing.
        """
        check_not_forked(self._fork_count)
        wait(self._ffi.unload())

    async def unload_async(self) -> None:
        """Like `unload`, without blocking the event loop."""
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

    def _conversation(self, conversation: ffi.Conversation, functions: Functions) -> Conversation:
        from causerie.conversation import Conversation

        offered, handlers = separated(functions, FunctionHandlers())
        if new := [*offered, *handlers.functions]:
            conversation.register_functions(new)
        return Conversation._new(self, conversation, handlers)

    def _response(
        self, stream: ffi.ResponseStream, readers: Readers | None = None, handlers: FunctionHandlers | None = None
    ) -> Response:
        return Response._new(ReplyStream(stream, handlers), self._fork_count, readers or Readers())


class _Progress(ffi.LoadProgress):
    """Forwards the progress of loading, and stores the exception of the app's function."""

    def __init__(
        self, report: Callable[[float], bool | None] | None, on_phase: Callable[[LoadPhase], object] | None
    ) -> None:
        self._report = report
        self._on_phase = on_phase
        self._phase: LoadPhase | None = None
        self.raised: BaseException | None = None

    def proceed(self, fraction: float, phase: LoadPhase) -> bool:
        try:
            if self._on_phase and phase != self._phase:
                self._on_phase(phase)
            self._phase = phase
            return (self._report is None or self._report(fraction) is not False) and not is_ending()
        except BaseException as err:
            self.raised = err
            return False


def _path(model: str | os.PathLike[str]) -> str:
    place = os.fspath(model)
    return str(Path(__file__).with_name("demo.gguf")) if place == DEMO else place
