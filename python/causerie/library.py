"""The in-process calls of the local library: load, apply a chat template, generate, stream.

They take a prompt as a string or as token ids and return text, which includes the markers of calls. Use a `Conversation` to
get calls as data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, Union, overload

from causerie._border import uncopyable
from causerie._option_checks import gathered
from causerie._reading import Read, ReadOnce
from causerie.choices import LoadPhase
from causerie.error import SdkError
from causerie.function import FunctionLike, as_functions
from causerie.message import Image, ImageSource, MessageLike, as_messages
from causerie.options import GenerationOptions, LoadOptions
from causerie.response import Chunk, Complete, FinishReason, GenerationStats, MessageResponse
from causerie.runner import ModelRunner

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from causerie.options import GenerationKeywords, LoadKeywords


@uncopyable("pass the path of the model, and load it there")
@dataclass(frozen=True)
class Tokenizer:
    """The tokenizer of a loaded model, with its chat template."""

    model_runner: ModelRunner

    _tokenizes: ClassVar[bool] = True
    """Whether the chat template returns token ids by default."""

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a prompt."""
        return self.model_runner.tokenize(text)

    @overload
    def apply_chat_template(
        self,
        messages: Iterable[MessageLike],
        tools: Iterable[FunctionLike] | None = ...,
        *,
        tokenize: Literal[False],
        add_generation_prompt: bool = ...,
    ) -> str: ...

    @overload
    def apply_chat_template(
        self,
        messages: Iterable[MessageLike],
        tools: Iterable[FunctionLike] | None = ...,
        *,
        tokenizer: Literal[False],
        add_generation_prompt: bool = ...,
    ) -> str: ...

    @overload
    def apply_chat_template(
        self,
        messages: Iterable[MessageLike],
        tools: Iterable[FunctionLike] | None = ...,
        *,
        tokenize: Literal[True],
        add_generation_prompt: bool = ...,
    ) -> list[int]: ...

    @overload
    def apply_chat_template(
        self,
        messages: Iterable[MessageLike],
        tools: Iterable[FunctionLike] | None = ...,
        *,
        tokenizer: Literal[True],
        add_generation_prompt: bool = ...,
    ) -> list[int]: ...

    @overload
    def apply_chat_template(
        self,
        messages: Iterable[MessageLike],
        tools: Iterable[FunctionLike] | None = ...,
        *,
        add_generation_prompt: bool = ...,
    ) -> str | list[int]: ...

    def apply_chat_template(
        self,
        messages: Iterable[MessageLike],
        tools: Iterable[FunctionLike] | None = None,
        *,
        tokenize: bool | None = None,
        tokenizer: bool | None = None,
        add_generation_prompt: bool = False,
    ) -> str | list[int]:
        """Returns the prompt for messages: token ids with `tokenize=True`, text with `tokenize=False`. `tokenizer` is a synonym
        of `tokenize`. By default a tokenizer returns token ids, and a `Processor` text, as in transformers.

        An image is the marker that the template prints for it. Parts such as `{"type": "image"}` are placeholders for the
        images that are passed to `generate`, in their order.

        `tools` are functions to offer in addition to those in the messages. `add_generation_prompt` ends the prompt with
        the start of the model's turn.

        In text, a control token and a message that merely spells one are the same, and tokenize alike. In token ids they
        differ. Prefer token ids, or a conversation, for text from untrusted sources.
        """
        if tokenize is not None and tokenizer is not None and tokenize != tokenizer:
            raise SdkError.InvalidOption(f"tokenizer must equal tokenize, found {tokenizer}", "tokenizer")
        history = as_messages(messages)
        if tools is not None:
            conversation = self.model_runner.create_conversation_from_history(history)
            conversation._ffi.register_functions(as_functions(tools))  # without a fork check: no other code uses it
            history = conversation.history
        chosen = tokenizer if tokenize is None else tokenize
        if self._tokenizes if chosen is None else chosen:
            return self.model_runner.prompt_tokens(history, add_generation_prompt)
        return self.model_runner.render_prompt(history, add_generation_prompt)


@dataclass(frozen=True)
class Processor(Tokenizer):
    """The processor of a vision model. Its chat template returns text by default, for `generate` with images."""

    _tokenizes = False

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model, whose chat template returns token ids by default."""
        return Tokenizer(self.model_runner)


def load(
    model: str | os.PathLike[str],
    options: LoadOptions | None = None,
    *,
    progress: Callable[[float], bool | None] | None = None,
    on_phase: Callable[[LoadPhase], object] | None = None,
    **keywords: Unpack[LoadKeywords],
) -> tuple[ModelRunner, Tokenizer]:
    """Loads a model and its tokenizer, which is a `Processor` for a vision model; see `ModelRunner.load`."""
    runner = ModelRunner.load(model, options, progress=progress, on_phase=on_phase, **keywords)
    return runner, Processor(runner) if runner.info.supports_images else Tokenizer(runner)


def apply_chat_template(
    processor: Tokenizer,
    messages: Iterable[MessageLike],
    tools: Iterable[FunctionLike] | None = None,
    *,
    add_generation_prompt: bool = True,
) -> str:
    """Returns the prompt for messages as text, for `generate`; see `Tokenizer.apply_chat_template`.

    Raises `SdkError.UnsupportedContent` for an image if the model takes none.
    """
    return processor.apply_chat_template(messages, tools, tokenize=False, add_generation_prompt=add_generation_prompt)


class TextPiece(str):
    """A piece of text. The last piece, which may be empty, also has the finish reason and statistics of the reply."""

    _completion: Complete | None = None

    @property
    def text(self) -> str:
        """The text of the piece."""
        return str(self)

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the reply ended; `None` before the end."""
        return self._completion.finish_reason if self._completion else None

    @property
    def stats(self) -> GenerationStats | None:
        """Counts and durations; `None` before the end."""
        return self._completion.stats if self._completion else None

    @property
    def prompt_tokens(self) -> int | None:
        """Number of tokens in the prompt; `None` before the end."""
        return self.stats.prompt_tokens if self.stats else None

    @property
    def generation_tokens(self) -> int | None:
        """Number of generated tokens; `None` before the end."""
        return self.stats.completion_tokens if self.stats else None


@uncopyable("read it once, and keep its pieces")
class TextStream(ReadOnce[TextPiece]):
    """Pieces of text as they are generated. It can be read once, with `for` or `async for`, like a `Response`."""

    def _read(self) -> Read[TextPiece]:
        return _piece


def _piece(event: MessageResponse) -> tuple[TextPiece] | None:
    if isinstance(event, Chunk):
        return (TextPiece(event.text),)
    if not isinstance(event, Complete):
        return None
    last = TextPiece()
    last._completion = event
    return (last,)


Images: TypeAlias = Union[Image, ImageSource, Sequence[Union[Image, ImageSource]]]

_CALL_OPTIONS = (
    "function_call_parser",
    "parser_strictness",
    "tool_choice",
    "parallel_tool_calls",
    "allowed_tools",
    "tool_call_constraint",
    "stop_after_tool_calls",
)


def stream_generate(
    model: ModelRunner,
    tokenizer: Tokenizer,
    prompt: str | Sequence[int],
    *,
    image: Images | None = None,
    **keywords: Unpack[GenerationKeywords],
) -> TextStream:
    """Generates text for a prompt in pieces. Accepts all options of `GenerationOptions` except those about calls.

    `image` is an image or a list of images, for the markers of images in the prompt; see `generate`.
    """
    # The specification passes both, although a model has only one tokenizer.
    if tokenizer.model_runner is not model:
        raise SdkError.InvalidMessage("tokenizer must belong to the same model")
    for name in _CALL_OPTIONS:
        if name in keywords:
            raise SdkError.InvalidOption(f"{name} is only available in conversations: here calls are text", name)
    options = gathered(GenerationOptions, None, keywords)
    options.function_call_parser = None
    images = image if isinstance(image, (list, tuple)) else [] if image is None else [image]
    if not images:
        return TextStream._new(model.complete(prompt, options))
    if not isinstance(prompt, str):
        reason = "a prompt with images must be text, found token ids; apply the chat template with tokenize=False"
        raise SdkError.InvalidMessage(reason)
    return TextStream._new(model.complete_with_images(prompt, images, options))


@overload
def generate(
    model: ModelRunner,
    tokenizer: Tokenizer,
    prompt: str | Sequence[int],
    *,
    verbose: bool = ...,
    image: Images | None = ...,
    **keywords: Unpack[GenerationKeywords],
) -> str: ...


@overload
def generate(
    model: ModelRunner,
    processor: Tokenizer,
    /,
    image: Images,
    prompt: str | Sequence[int],
    *,
    verbose: bool = ...,
    **keywords: Unpack[GenerationKeywords],
) -> str: ...


def generate(model: ModelRunner, tokenizer: Tokenizer, *inputs: Any, verbose: bool = False, **keywords: Any) -> str:
    """Generates text for a prompt. `verbose` prints the text as it arrives, and then the counts.

    With vision models, an image or a list of images comes before the prompt, or is given as `image`. Each replaces the
    marker that the chat template prints for an image. An image is a path, the bytes of a file, an image of PIL, an array of
    pixels (see `ImageSource`) or an `Image`.

    Raises `SdkError.UnsupportedContent` if the model takes no images, and for a file that cannot be decoded;
    `SdkError.InvalidMessage` if the prompt does not have a marker for each image.
    """
    inputs = (*inputs, keywords.pop("prompt")) if "prompt" in keywords else inputs
    if len(inputs) not in (1, 2):
        raise TypeError(f"generate() takes a prompt, or an image and a prompt, found {len(inputs)} values")
    *images, prompt = inputs
    image = images[0] if images else keywords.pop("image", None)
    pieces: list[str] = []
    for piece in stream_generate(model, tokenizer, prompt, image=image, **keywords):
        pieces.append(piece)
        if verbose:
            print(piece, end="", flush=True)
            if piece.stats:
                _print_counts(piece.stats)
    return "".join(pieces)


def _print_counts(stats: GenerationStats) -> None:
    prefill = stats.prompt_tokens / stats.prefill_time if stats.prefill_time else 0.0
    print("\n==========")
    print(f"Prompt: {stats.prompt_tokens} tokens, {prefill:.1f} tokens-per-sec")
    print(f"Generation: {stats.completion_tokens} tokens, {stats.tokens_per_second:.1f} tokens-per-sec")
