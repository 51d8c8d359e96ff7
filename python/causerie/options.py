"""Options for loading a model and for generating a reply."""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, TypeVar

from causerie._border import adopted
from causerie._json import dumps
from causerie._numbers import Duration, integer, milliseconds, number, seconds
from causerie.choices import (
    CacheType,
    ContextPolicy,
    Device,
    FunctionNames,
    OnBusy,
    OnCancel,
    SpeechMode,
    Strictness,
    ToolCallConstraint,
    ToolChoice,
    WeightMemory,
    one_of,
)
from causerie.error import SdkError
from causerie.notations import FunctionCallParser
from causerie.typed import reply_schema

Options = TypeVar("Options", bound="CheckedOptions")

_NOT_GIVEN: Any = object()


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("True or False")
    return value


def _optional_flag(value: Any) -> bool:
    return _flag(value)  # None is taken before, as the default


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a string")
    return value


def _path(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError("a path")
    return os.fsdecode(value)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise TypeError("a list of strings")
    return [_string(item) for item in value]


def _entries(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("a dict")
    entries = dict(value)
    try:
        dumps(entries)
    except (TypeError, ValueError, RecursionError) as err:
        raise TypeError(f"a dict that JSON can represent ({err})") from None
    return entries


def _biases(value: Any) -> dict[int, float]:
    if not isinstance(value, Mapping):
        raise TypeError("a dict from token ids to numbers")
    return {integer(32)(token): number(bias) for token, bias in value.items()}


def _names(value: Any) -> list[str]:
    return _strings(value)


def _schema(value: Any) -> str:
    if not isinstance(value, (str, Mapping)):
        try:
            value = reply_schema(value)
        except TypeError as err:
            raise TypeError(f"a dict or a type that JSON Schema can describe ({err})") from err
    return value if isinstance(value, str) else dumps(_entries(value))


def _tool_choice(value: Any) -> ToolChoice:
    match value:
        case ToolChoice(kind="auto" | "none" | "required" | "function", name=str()):
            return value
        case "auto" | "none" | "required":
            return ToolChoice(value)
        case {"type": "function", "function": {"name": str(name)}}:
            return ToolChoice.function(name)
    raise TypeError("'auto', 'none', 'required' or a ToolChoice")


def _one_of(choices: type[Enum]) -> Callable[[Any], Enum]:
    return functools.partial(one_of, choices)


class CheckedOptions:
    """Options that are checked when they are set. Wrong values raise `SdkError.InvalidOption`; `None` is the default."""

    _checks: ClassVar[Mapping[str, Callable[[Any], Any]]]

    def __setattr__(self, name: str, value: Any) -> None:
        check = self._checks.get(name)
        if check is None:
            raise _unknown(name, type(self))
        is_default = value is None and check not in (_flag, _strings)
        object.__setattr__(self, name, None if is_default else checked(name, check, value))


def checked(name: str, check: Callable[[Any], Any], value: Any) -> Any:
    """Returns a checked value. Raises `SdkError.InvalidOption`, which names the option."""
    try:
        return check(value)
    except (TypeError, ValueError, OverflowError) as err:
        raise SdkError.InvalidOption(f"{name} must be {err}, found {value!r}", name) from None


def gathered(kind: type[Options], options: Options | None, keywords: Mapping[str, Any]) -> Options:
    """Returns options that were given as an object or as keywords."""
    if options is None and kind is GenerationOptions and "generation_options" in keywords:
        options = keywords["generation_options"]  # the name of the argument in the specification
        keywords = {name: value for name, value in keywords.items() if name != "generation_options"}
    if options is not None:
        if not isinstance(options, kind):
            raise SdkError.InvalidOption(f"options must be {kind.__name__}, found {type(options).__name__}", "options")
        for name in keywords:
            raise SdkError.InvalidOption(f"{name} must be set in the options object, found a keyword beside it", name)
        return options
    for name in keywords:
        if name not in kind._checks:
            raise _unknown(name, kind)
    return kind(**keywords)


def _unknown(name: str, kind: type[CheckedOptions]) -> SdkError:
    found = f"there is no option {name}"
    if near := _nearest(name, list(kind._checks)):
        found += f"; did you mean {near}?"
    return SdkError.InvalidOption(found, name)


def _nearest(name: str, known: list[str]) -> str | None:
    """The known name that was probably meant: `maxTokens`, `temprature`, `seed`."""
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower()
    near = difflib.get_close_matches(words, known, 1, 0.75) or [other for other in known if words in other.split("_")]
    return near[0] if near else None


@adopted
@dataclass
class GenerationOptions(CheckedOptions):
    """Options for generating a reply. `None` takes the model's default, or else the default given here."""

    _checks = {
        "function_call_parser": _one_of(FunctionCallParser),
        "parser_strictness": _one_of(Strictness),
        "temperature": number,
        "top_p": number,
        "top_k": integer(32),
        "min_p": number,
        "repetition_penalty": number,
        "presence_penalty": number,
        "frequency_penalty": number,
        "logit_bias": _biases,
        "logprobs": integer(32),
        "rng_seed": integer(64),
        "max_tokens": integer(32),
        "stop_sequences": _strings,
        "tool_choice": _tool_choice,
        "parallel_tool_calls": _flag,
        "offered_functions": _names,
        "max_offered_functions": integer(32),
        "allowed_tools": _names,
        "tool_call_constraint": _one_of(ToolCallConstraint),
        "json_schema_constraint": _schema,
        "inject_schema_into_prompt": _flag,
        "continue_final_message": _flag,
        "enable_thinking": _flag,
        "inline_thinking_tags": _flag,
        "template_variables": _entries,
        "stop_after_tool_calls": _flag,
        "stop_on_repetition": _optional_flag,
        "speech_mode": _one_of(SpeechMode),
        "speech_temperature": number,
        "speech_top_k": integer(32),
        "on_cancel": _one_of(OnCancel),
        "on_busy": _one_of(OnBusy),
        "context_policy": _one_of(ContextPolicy),
        "timeout_milliseconds": integer(64),
        "timeout": milliseconds,
    }

    function_call_parser: FunctionCallParser | str | None = FunctionCallParser.MODEL
    """The notation of calls in the reply. `None` switches parsing off, and call text arrives as chunks. Default: the notation
    that the model writes."""
    parser_strictness: Strictness | str | None = None
    """Whether calls that needed repairs are delivered or rejected. Default: delivered."""
    temperature: float | None = None
    """Randomness; 0 always takes the most probable token. Default 1.0."""
    top_p: float | None = None
    """Keeps the most probable tokens whose probabilities sum up to this value. Default 1.0."""
    top_k: int | None = None
    """Keeps the k most probable tokens; 0 keeps all. Default 50."""
    min_p: float | None = None
    """Keeps tokens with at least this fraction of the highest probability. Default 0."""
    repetition_penalty: float | None = None
    """Values above 1.0 make tokens of the prompt and the reply less probable. Default 1.0."""
    presence_penalty: float | None = None
    """Subtracted from the logit of each token that the reply contains, from -2 to 2. Default 0."""
    frequency_penalty: float | None = None
    """Subtracted from the logit of a token for each occurrence in the reply, from -2 to 2. Default 0."""
    logit_bias: dict[int, float] | None = None
    """Added to the logits of tokens, by token id, from -100 to 100. Default: none."""
    logprobs: int | None = None
    """Reports each token's log-probability, with this many of the most probable alternatives, 0 to 20. Default: off."""
    rng_seed: int | None = None
    """The seed of sampling. Default: a random one, which is reported with the reply."""
    max_tokens: int | None = None
    """Maximum number of tokens in the reply. Default: until the model ends or the context is full."""
    stop_sequences: list[str] = field(default_factory=list)
    """Strings that end the reply. They are not part of it."""
    tool_choice: ToolChoice | str | dict[str, Any] | None = None
    """Whether functions are called. Default: the model decides."""
    parallel_tool_calls: bool = True
    """Whether a reply may make several calls. If not, constrained replies make only one; otherwise further calls get a
    diagnostic."""
    offered_functions: list[str] | None = None
    """Names of the functions of the conversation that the prompt lists. The others stay in the history. Default: all."""
    max_offered_functions: int | None = None
    """The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more, those
    that fit the user's messages best are chosen, by the model of `ModelRunner.set_function_ranker`. Default: no limit."""
    allowed_tools: list[str] | None = None
    """Names of the offered functions that may be called. Default: all."""
    tool_call_constraint: ToolCallConstraint | str | None = None
    """Whether calls are constrained to the declared functions. Default: off."""
    json_schema_constraint: str | dict[str, Any] | type[Any] | None = None
    """A JSON Schema, or a type, that constrains the text of the reply. Functions can still be called."""
    inject_schema_into_prompt: bool = True
    """Adds that schema to the prompt. It does not join the history."""
    continue_final_message: bool = False
    """Continues the last message of the history, which must be a reply without calls. The events report the new text only."""
    enable_thinking: bool = False
    """Delivers reasoning as `ReasoningChunk`. If false, it is only kept in the message."""
    inline_thinking_tags: bool = False
    """Delivers reasoning within the text, between `<think>` and `</think>`."""
    template_variables: dict[str, Any] | None = None
    """Additional variables for the chat template."""
    stop_after_tool_calls: bool = False
    """Ends the reply after its first block of calls."""
    stop_on_repetition: bool | None = None
    """Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`. Default: on for the demo model, and off
    for others."""
    speech_mode: SpeechMode | str | None = None
    """Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks."""
    speech_temperature: float | None = None
    """Randomness of the choice of sounds; 0 always takes the most probable. Default 1.0 in interleaved replies, 0.8 in others."""
    speech_top_k: int | None = None
    """Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others."""
    on_cancel: OnCancel | str | None = None
    """What remains of a cancelled reply in the history. Default: the text so far."""
    on_busy: OnBusy | str | None = None
    """What a request does while another reply of the conversation is being generated. Default: it fails."""
    context_policy: ContextPolicy | str | None = None
    """How a history that does not fit the context is treated. Default: an error."""
    timeout_milliseconds: int | None = None
    """The same as `timeout`, in milliseconds."""
    if TYPE_CHECKING:
        timeout: Duration | None = None
    else:
        timeout: InitVar[Duration | None] = _NOT_GIVEN

    def __post_init__(self, timeout: Any = _NOT_GIVEN) -> None:
        if timeout is not _NOT_GIVEN:
            self.timeout = timeout

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "timeout":
            name, value = "timeout_milliseconds", None if value is None else checked(name, milliseconds, value)
        super().__setattr__(name, value)


def _timeout(self: GenerationOptions) -> Duration | None:
    """Seconds, or a `timedelta`, after which the reply is cancelled. It reads as seconds. Default: never."""
    return None if self.timeout_milliseconds is None else self.timeout_milliseconds / 1000


setattr(GenerationOptions, "timeout", property(_timeout))
# Only the constructor takes it beside the milliseconds: `dataclasses.replace` would pass an old one on, which wins over new milliseconds.
del GenerationOptions.__dataclass_fields__["timeout"]


class GenerationKeywords(TypedDict, total=False):
    """The options of `GenerationOptions` as keyword arguments."""

    function_call_parser: FunctionCallParser | str | None
    parser_strictness: Strictness | str | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    min_p: float | None
    repetition_penalty: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    logit_bias: dict[int, float] | None
    logprobs: int | None
    rng_seed: int | None
    max_tokens: int | None
    stop_sequences: list[str]
    tool_choice: ToolChoice | str | dict[str, Any] | None
    parallel_tool_calls: bool
    offered_functions: list[str] | None
    max_offered_functions: int | None
    allowed_tools: list[str] | None
    tool_call_constraint: ToolCallConstraint | str | None
    json_schema_constraint: str | dict[str, Any] | type[Any] | None
    inject_schema_into_prompt: bool
    continue_final_message: bool
    enable_thinking: bool
    inline_thinking_tags: bool
    template_variables: dict[str, Any] | None
    stop_after_tool_calls: bool
    stop_on_repetition: bool | None
    speech_mode: SpeechMode | str | None
    speech_temperature: float | None
    speech_top_k: int | None
    on_cancel: OnCancel | str | None
    on_busy: OnBusy | str | None
    context_policy: ContextPolicy | str | None
    timeout_milliseconds: int | None
    timeout: Duration | None


class ReplyKeywords(GenerationKeywords, total=False):
    """The options of a reply as keyword arguments, or as an object under the specification's name."""

    generation_options: GenerationOptions | None


@adopted
@dataclass
class RoundOptions(CheckedOptions):
    """Options for running functions; see `FunctionHandlers`."""

    _checks = {"max_rounds": integer(32), "time_limit": seconds, "in_parallel": _flag}

    max_rounds: int | None = None
    time_limit: Duration | None = None
    in_parallel: bool = False


@adopted
@dataclass
class SamplingDefaults(CheckedOptions):
    """Sampling values that replace those that a model's files recommend."""

    _checks = {
        name: GenerationOptions._checks[name] for name in ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
    }

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None


def _sampling(value: Any) -> SamplingDefaults:
    if isinstance(value, SamplingDefaults):
        return value
    if isinstance(value, Mapping):
        return gathered(SamplingDefaults, None, value)
    raise TypeError("SamplingDefaults or a dict")


@adopted
@dataclass
class LoadOptions(CheckedOptions):
    """Options for loading a model. `None` takes the default."""

    _checks = {
        "context_size": integer(32),
        "device": _one_of(Device),
        "threads": integer(32),
        "cache_type": _one_of(CacheType),
        "chat_template": _string,
        "projector": _path,
        "function_names": _one_of(FunctionNames),
        "generation_defaults": _sampling,
        "cache_bytes": integer(64),
        "ignores_transparency": _optional_flag,
        "audio_decoder": _path,
        "audio_tokenizer": _path,
        "packed_folder": _path,
        "packed_bytes": integer(64),
        "weight_memory": _one_of(WeightMemory),
    }

    context_size: int | None = None
    """Context size in tokens, for a prompt and its reply together. Default: that of the model, at most 8,192."""
    device: Device | str | None = None
    """The device that computes. Default: the CPU."""
    threads: int | None = None
    """Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores."""
    cache_type: CacheType | str | None = None
    """The storage format of keys and values. Default: f16."""
    chat_template: str | None = None
    """A chat template that replaces the model's own."""
    projector: str | os.PathLike[str] | None = None
    """A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or
    a file beside the model's, whose name contains `mmproj` or `projector`."""
    function_names: FunctionNames | str | None = None
    """The rule for names of functions. Default: letters, digits, `_` and `-`."""
    generation_defaults: SamplingDefaults | None = None
    """Sampling values that replace those that the model's files recommend."""
    cache_bytes: int | None = None
    """Size of the prefix cache in bytes; 0 switches it off. Default 512 MiB."""
    ignores_transparency: bool | None = None
    """Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Default: no, they
    are put on white."""
    audio_decoder: str | os.PathLike[str] | None = None
    """A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own
    folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`."""
    audio_tokenizer: str | os.PathLike[str] | None = None
    """A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
    `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`."""
    packed_folder: str | os.PathLike[str] | None = None
    """A folder of the app for packed weights. The first load of a model writes its weights there as they are computed with, and
    later ones map that file instead of reading the model's. No other program may write to the folder. Default: none."""
    packed_bytes: int | None = None
    """The limit of all packed weights in that folder in bytes; the oldest are removed. Default 16 GiB."""
    weight_memory: WeightMemory | str | None = None
    """How packed weights come into memory. Results do not depend on it. Default: mapped on iOS and Android, auto elsewhere."""


class LoadKeywords(TypedDict, total=False):
    """The options of `LoadOptions` as keyword arguments."""

    context_size: int | None
    device: Device | str | None
    threads: int | None
    cache_type: CacheType | str | None
    chat_template: str | None
    projector: str | os.PathLike[str] | None
    function_names: FunctionNames | str | None
    generation_defaults: SamplingDefaults | None
    cache_bytes: int | None
    ignores_transparency: bool | None
    audio_decoder: str | os.PathLike[str] | None
    audio_tokenizer: str | os.PathLike[str] | None
    packed_folder: str | os.PathLike[str] | None
    packed_bytes: int | None
    weight_memory: WeightMemory | str | None

