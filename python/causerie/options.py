"""Options of loading and of one generation."""

from __future__ import annotations

import math
import operator
import struct
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from numbers import Real
from typing import Any, ClassVar, TypedDict, TypeVar

from causerie._border import adopted
from causerie._json import dumps
from causerie.choices import (
    CacheType,
    ContextPolicy,
    Device,
    FunctionCallParser,
    FunctionNames,
    OnBusy,
    OnCancel,
    PositionalArguments,
    RejectedCallText,
    Strictness,
    ToolCallConstraint,
    ToolChoice,
    ToolListForm,
)
from causerie.error import SdkError
from causerie.typed import reply_schema

Options = TypeVar("Options", bound="CheckedOptions")


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("a number")
    number = float(value)
    struct.pack(">f", number)  # the library's have 32 bits; OverflowError for what they do not reach
    return number


def _seconds(value: Any) -> float:
    number = _number(value)
    if math.isnan(number):
        raise TypeError("a number of seconds")
    return number


def _whole(bits: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number = None if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)
        if number is None or not 0 <= number < 1 << bits:
            raise TypeError(f"a whole number from 0 to {(1 << bits) - 1}")
        return number

    return check


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("True or False")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise TypeError("a list of texts")
    return [_text(text) for text in value]


def _entries(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("a dict")
    entries = dict(value)
    try:
        dumps(entries)
    except (TypeError, ValueError, RecursionError) as err:
        raise TypeError(f"what JSON can hold: {err}") from None
    return entries


def _biases(value: Any) -> dict[int, float]:
    if not isinstance(value, Mapping):
        raise TypeError("a dict of token ids and numbers")
    return {_whole(32)(token): _number(bias) for token, bias in value.items()}


def _names(value: Any) -> list[str]:
    return _texts(value)


def _schema(value: Any) -> str:
    if isinstance(value, type) or typing.get_origin(value):
        value = reply_schema(value)
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
    def check(value: Any) -> Enum:
        try:
            return choices(value)
        except ValueError:
            raise TypeError("one of " + ", ".join(repr(choice.value) for choice in choices)) from None

    return check


class CheckedOptions:
    """Options that refuse a value when it is set, with `SdkError.InvalidOption`; `None` is the default of each."""

    _checks: ClassVar[Mapping[str, Callable[[Any], Any]]]

    def __setattr__(self, name: str, value: Any) -> None:
        check = self._checks.get(name)
        if check is None:
            raise _unknown(name)
        try:
            checked = None if value is None and check not in (_flag, _texts) else check(value)
        except (TypeError, ValueError, OverflowError) as err:
            reason = f"{name} is {value!r}, expected {err}"
            raise SdkError.InvalidOption(reason, name) from None
        object.__setattr__(self, name, checked)


def gathered(kind: type[Options], options: Options | None, keywords: Mapping[str, Any]) -> Options:
    """Options, given as an object or as keywords."""
    if options is not None:
        if not isinstance(options, kind):
            raise SdkError.InvalidOption(f"options are {kind.__name__}, not {type(options).__name__}", "options")
        for name in keywords:
            raise SdkError.InvalidOption(f"{name} is given beside options that are an object", name)
        return options
    for name in keywords.keys() - kind._checks.keys():
        raise _unknown(name)
    return kind(**keywords)


def _unknown(name: str) -> SdkError:
    return SdkError.InvalidOption(f"there is no option {name}", name)


@adopted
@dataclass
class GenerationOptions(CheckedOptions):
    """How one reply is generated. `None` takes the model's own default, else the one named here."""

    _checks = {
        "function_call_parser": _one_of(FunctionCallParser),
        "parser_strictness": _one_of(Strictness),
        "positional_arguments": _one_of(PositionalArguments),
        "bare_calls": _flag,
        "rejected_call_text": _one_of(RejectedCallText),
        "temperature": _number,
        "top_p": _number,
        "top_k": _whole(32),
        "min_p": _number,
        "repetition_penalty": _number,
        "presence_penalty": _number,
        "frequency_penalty": _number,
        "logit_bias": _biases,
        "logprobs": _whole(32),
        "rng_seed": _whole(64),
        "max_tokens": _whole(32),
        "stop_sequences": _texts,
        "tool_choice": _tool_choice,
        "parallel_tool_calls": _flag,
        "allowed_tools": _names,
        "tool_call_constraint": _one_of(ToolCallConstraint),
        "json_schema_constraint": _schema,
        "inject_schema_into_prompt": _flag,
        "enable_thinking": _flag,
        "inline_thinking_tags": _flag,
        "template_variables": _entries,
        "stop_after_tool_calls": _flag,
        "on_cancel": _one_of(OnCancel),
        "on_busy": _one_of(OnBusy),
        "context_policy": _one_of(ContextPolicy),
        "timeout_milliseconds": _whole(64),
    }

    function_call_parser: FunctionCallParser | str | None = FunctionCallParser.DEFAULT
    """How calls are found in the reply; `None` switches parsing off, and call text arrives as chunks."""
    parser_strictness: Strictness | str | None = None
    """What becomes of calls that had to be mended to be read. Default: they are delivered."""
    positional_arguments: PositionalArguments | str | None = None
    """What becomes of arguments that the model wrote without their names. Default: their call is rejected."""
    bare_calls: bool = False
    """Takes a reply that begins with a list of calls without markers as calls, where all are registered."""
    rejected_call_text: RejectedCallText | str | None = None
    """What becomes of the text of rejected calls. Default: it is text where no call was delivered."""
    temperature: float | None = None
    """Randomness: 0 always picks the most probable token. Default 1.0."""
    top_p: float | None = None
    """Keeps the most probable tokens up to this probability in sum. Default 1.0."""
    top_k: int | None = None
    """Keeps the k most probable tokens; 0 keeps all. Default 50."""
    min_p: float | None = None
    """Keeps tokens of at least this share of the best one's probability. Default 0."""
    repetition_penalty: float | None = None
    """Above 1.0, makes tokens of the prompt and of the reply less probable. Default 1.0."""
    presence_penalty: float | None = None
    """Taken off the logit of a token once the reply has it, from -2 to 2. Default 0."""
    frequency_penalty: float | None = None
    """Taken off the logit of a token for each time that the reply has it, from -2 to 2. Default 0."""
    logit_bias: dict[int, float] | None = None
    """Added to the logits of tokens, by id, from -100 to 100. Default: nothing."""
    logprobs: int | None = None
    """Tells how likely each token was, beside so many of the most probable ones, 0 to 20. Default: nothing is told."""
    rng_seed: int | None = None
    """Fixes the draws. Default: drawn anew, and reported with the reply."""
    max_tokens: int | None = None
    """Tokens of reply at most. Default: until the model ends or the context is full."""
    stop_sequences: list[str] = field(default_factory=list)
    """Texts that end the reply; they are not part of it."""
    tool_choice: ToolChoice | str | dict[str, Any] | None = None
    """Whether functions are called. Default: as the model likes."""
    parallel_tool_calls: bool = True
    """Whether a reply may make several calls; further ones are not written where calls are constrained, else flagged."""
    allowed_tools: list[str] | None = None
    """Names of the functions that may be called, of those that the prompt offers. Default: all."""
    tool_call_constraint: ToolCallConstraint | str | None = None
    """Whether calls are held to the declared functions while they are written. Default: off."""
    json_schema_constraint: str | dict[str, Any] | type[Any] | None = None
    """A JSON Schema, or a type, that the text of the reply must fit; functions can be called all the same."""
    inject_schema_into_prompt: bool = True
    """Tells the model of that schema, in the prompt alone."""
    enable_thinking: bool = False
    """Delivers reasoning as `ReasoningChunk`; else it is only kept with the message."""
    inline_thinking_tags: bool = False
    """Delivers reasoning within the text, between `<think>` and `</think>`."""
    template_variables: dict[str, Any] | None = None
    """Variables for the chat template besides those that all of them know, for what a newer one takes."""
    stop_after_tool_calls: bool = False
    """Ends the reply behind its first block of calls."""
    on_cancel: OnCancel | str | None = None
    """What stays of a cancelled reply. Default: what was written."""
    on_busy: OnBusy | str | None = None
    """What happens while another reply of the conversation is being written. Default: an error."""
    context_policy: ContextPolicy | str | None = None
    """What happens to a history that does not fit the context. Default: an error."""
    timeout_milliseconds: int | None = None
    """Milliseconds after which the reply is cancelled. Default: never."""


class GenerationKeywords(TypedDict, total=False):
    """The options of `GenerationOptions`, as keywords of a call."""

    function_call_parser: FunctionCallParser | str | None
    parser_strictness: Strictness | str | None
    positional_arguments: PositionalArguments | str | None
    bare_calls: bool
    rejected_call_text: RejectedCallText | str | None
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
    allowed_tools: list[str] | None
    tool_call_constraint: ToolCallConstraint | str | None
    json_schema_constraint: str | dict[str, Any] | type[Any] | None
    inject_schema_into_prompt: bool
    enable_thinking: bool
    inline_thinking_tags: bool
    template_variables: dict[str, Any] | None
    stop_after_tool_calls: bool
    on_cancel: OnCancel | str | None
    on_busy: OnBusy | str | None
    context_policy: ContextPolicy | str | None
    timeout_milliseconds: int | None


@adopted
@dataclass
class RoundOptions(CheckedOptions):
    """How functions are run along with a reply; see `FunctionHandlers`."""

    _checks = {"max_rounds": _whole(32), "time_limit": _seconds, "in_parallel": _flag}

    max_rounds: int | None = None
    time_limit: float | None = None
    in_parallel: bool = False


@adopted
@dataclass
class SamplingDefaults(CheckedOptions):
    """Sampling values in place of those that a model's files recommend."""

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
    raise TypeError("SamplingDefaults")


@adopted
@dataclass
class LoadOptions(CheckedOptions):
    """How a model is loaded. `None` takes the default."""

    _checks = {
        "context_size": _whole(32),
        "device": _one_of(Device),
        "threads": _whole(32),
        "cache_type": _one_of(CacheType),
        "chat_template": _text,
        "tool_list_form": _one_of(ToolListForm),
        "function_names": _one_of(FunctionNames),
        "generation_defaults": _sampling,
        "random_seed": _whole(64),
        "cache_bytes": _whole(64),
        "cache_entries": _whole(32),
    }

    context_size: int | None = None
    """Tokens that a prompt and its reply can have together. Default: what the model was made for, at most 8,192."""
    device: Device | str | None = None
    """What computes. Default: the CPU."""
    threads: int | None = None
    """Threads that compute, 1 to 1024, where the CPU is one that our kernels know. Default: as many as fast cores."""
    cache_type: CacheType | str | None = None
    """What keys and values are kept as, where the CPU is one that our kernels know. Default: f16."""
    chat_template: str | None = None
    """A chat template in place of the model's own."""
    tool_list_form: ToolListForm | str | None = None
    """The form in which the chat template is handed functions. Default: what its family is used to."""
    function_names: FunctionNames | str | None = None
    """Which names the functions that the model is offered may have. Default: letters, `_` and digits."""
    generation_defaults: SamplingDefaults | None = None
    """Sampling values in place of those that the model's files recommend."""
    random_seed: int | None = None
    """From which the seeds of replies follow that have none of their own."""
    cache_bytes: int | None = None
    """Bytes that the beginnings of prompts which were read before may take. Default 512 MiB."""
    cache_entries: int | None = None
    """How many of them are kept; 0 keeps none. Default 256."""


class LoadKeywords(TypedDict, total=False):
    """The options of `LoadOptions`, as keywords of a call."""

    context_size: int | None
    device: Device | str | None
    threads: int | None
    cache_type: CacheType | str | None
    chat_template: str | None
    tool_list_form: ToolListForm | str | None
    function_names: FunctionNames | str | None
    generation_defaults: SamplingDefaults | None
    random_seed: int | None
    cache_bytes: int | None
    cache_entries: int | None

