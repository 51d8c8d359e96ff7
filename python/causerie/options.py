"""Options for loading a model and for generating a reply, and their choices.

Written by scripts/bindgen from the tables in core/src/tables.
"""

from __future__ import annotations

import os
from dataclasses import InitVar, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypedDict

from causerie._border import adopted
from causerie._numbers import Duration, integer, milliseconds, number, seconds
from causerie._option_checks import (
    NOT_GIVEN,
    CheckedOptions,
    biases,
    checked,
    entries,
    flag,
    nested,
    one_of_choices,
    optional_flag,
    path,
    schema,
    string,
    strings,
    tool_choice,
    tool_names,
)
from causerie.choices import ContextPolicy, ToolChoice
from causerie.notations import FunctionCallParser


@adopted
class Strictness(str, Enum):
    """How calls are handled that can be read only after a repair."""

    RECOVER = "recover"
    """They are delivered, with a list of the repairs."""
    STRICT = "strict"
    """They are rejected, with the repaired call as candidate."""


@adopted
class ToolCallConstraint(str, Enum):
    """Whether calls are constrained to the declared functions during generation."""

    OFF = "off"
    """Calls are not constrained, but validated afterwards. A required call is constrained all the same."""
    TYPED = "typed"
    """Once the model begins a block of calls, it can only write calls of declared functions, with arguments of the
    declared names and types. Each argument is written once, the required ones always. The content of strings is free. If
    no allowed token can be generated, the reply ends with the reason `Constraint`."""


@adopted
class OnCancel(str, Enum):
    """What remains of a cancelled reply in the history. A reply cancelled in the request queue leaves nothing."""

    KEEP_PARTIAL = "keep_partial"
    """Keeps the text so far, if any, marked as incomplete."""
    DROP_PARTIAL = "drop_partial"
    """Keeps the user's message, drops the reply."""
    DROP_TURN = "drop_turn"
    """Drops the reply and the message that it answers."""


@adopted
class OnBusy(str, Enum):
    """How a conversation handles a request while it is generating another reply."""

    ERROR = "error"
    """Fails with the error `Busy`."""
    QUEUE = "queue"
    """Puts the request in a queue, in the order of the first pulls of the streams, and answers it when the earlier
    replies have ended."""
    REPLACE = "replace"
    """Cancels all earlier requests, and answers this one when they have ended."""


@adopted
class SpeechMode(str, Enum):
    """Whether, and in which order, a model that speaks gives text and sound."""

    AUTO = "auto"
    """As the system prompt asks: interleaved after `Respond with interleaved text and audio.`, sequential otherwise."""
    OFF = "off"
    """Text alone."""
    SEQUENTIAL = "sequential"
    """Text, until the model begins to speak: to read a text aloud, or to answer in text."""
    INTERLEAVED = "interleaved"
    """A few words and their sound in turn: to talk."""


@adopted
class SpeechVoice(str, Enum):
    """A voice in which published models read a text aloud: the prompt asks for it."""

    US_MALE = "us_male"
    """American English."""
    US_FEMALE = "us_female"
    """American English."""
    UK_MALE = "uk_male"
    """British English."""
    UK_FEMALE = "uk_female"
    """British English."""


@adopted
class Device(str, Enum):
    """The device that a model is computed on."""

    CPU = "cpu"
    """The CPU."""
    GPU = "gpu"
    """A GPU, by Vulkan, Metal or DX12; pictures and sound are still computed on the CPU. Requires a build with the
    feature `gpu`; in other builds, loading fails with the error `InvalidOption`, and so it does without a GPU.
    docs/gpu.md says what was tried on what."""
    AUTO = "auto"
    """A GPU if there is one that computes the model and has memory for it, otherwise the CPU; the choice is logged. On
    phones and in builds without the feature `gpu`, the CPU."""
    METAL = "metal"
    """As `Gpu`, by an earlier name. In builds with the feature `metal` and without `gpu`, the GPU of an Apple device by
    candle's tensors."""


@adopted
class CacheType(str, Enum):
    """The storage format of keys and values."""

    F16 = "f16"
    """Half the memory and traffic of F32; other engines use it too."""
    F32 = "f32"
    """For comparisons with references to the last digit."""
    Q8_0 = "q8_0"
    """Bytes with a scale for each 32 values of a head: little more than half of F16, for long contexts. It is coarser;
    how much a model loses by it has to be measured."""


@adopted
class WeightMemory(str, Enum):
    """How packed weights come into memory: the ones in the folder of the load options, or in a bundle that was made with
    them. Weights that are not packed are always converted into memory. Default: mapped on iOS and Android, `Auto`
    elsewhere."""

    MAPPED = "mapped"
    """They stay in the file, which is mapped: loading copies nothing, the memory counts as the system's, and processes
    share it. If another program truncates the file, the process ends on Unix; docs/packed-weights.md says more."""
    COPIED = "copied"
    """They are read into memory of the process, and the file is not used any more."""
    AUTO = "auto"
    """They are mapped, and copied to large pages while no reply runs, if there is enough free memory: replies are written
    faster from these."""


@adopted
class FunctionNames(str, Enum):
    """Which names functions may have. Identifiers are recommended, which are letters, digits and `_` without a digit in
    front: models write them best."""

    PLAIN = "plain"
    """Letters, digits, `_` and `-`, at most 200: `create_event`, `get-weather`, `21st_magic_builder`."""
    DOTTED = "dotted"
    """Also several such names joined by dots: `calendar.create_event`."""


@adopted
@dataclass
class GenerationOptions(CheckedOptions):
    """Options for generating a reply. `None` takes the model's default, or else the default given here."""

    _checks = {
        "function_call_parser": one_of_choices(FunctionCallParser),
        "parser_strictness": one_of_choices(Strictness),
        "temperature": number,
        "top_p": number,
        "top_k": integer(32),
        "min_p": number,
        "repetition_penalty": number,
        "presence_penalty": number,
        "frequency_penalty": number,
        "logit_bias": biases,
        "logprobs": integer(32),
        "rng_seed": integer(64),
        "max_tokens": integer(32),
        "ignore_end": flag,
        "stop_sequences": strings,
        "tool_choice": tool_choice,
        "parallel_tool_calls": flag,
        "offered_functions": tool_names,
        "max_offered_functions": integer(32),
        "allowed_tools": tool_names,
        "tool_call_constraint": one_of_choices(ToolCallConstraint),
        "json_schema_constraint": schema,
        "inject_schema_into_prompt": flag,
        "continue_final_message": flag,
        "enable_thinking": flag,
        "inline_thinking_tags": flag,
        "template_variables": entries,
        "stop_after_tool_calls": flag,
        "stop_on_repetition": optional_flag,
        "speech_mode": one_of_choices(SpeechMode),
        "speech_temperature": number,
        "speech_top_k": integer(32),
        "on_cancel": one_of_choices(OnCancel),
        "on_busy": one_of_choices(OnBusy),
        "context_policy": one_of_choices(ContextPolicy),
        "timeout_milliseconds": integer(64),
        "timeout": milliseconds,
    }

    function_call_parser: FunctionCallParser | str | None = FunctionCallParser.MODEL
    """The notation of calls in the reply. Without one, parsing is off, and calls arrive as chunks of text. Default: the
    notation that the model writes."""
    parser_strictness: Strictness | str | None = None
    """How calls are handled that can be read only after a repair. Default: they are delivered."""
    temperature: float | None = None
    """Randomness of the choice of tokens; 0 always picks the most probable token. Default 1.0."""
    top_p: float | None = None
    """Nucleus sampling: keeps the most probable tokens up to this cumulative probability, between 0 and 1; 0 keeps the
    most probable token only. Default 1.0."""
    top_k: int | None = None
    """Keeps the k most probable tokens; 0 keeps all. Default 50."""
    min_p: float | None = None
    """Keeps tokens with at least this fraction of the most probable token's probability, between 0 and 1. Default 0."""
    repetition_penalty: float | None = None
    """Values above 1.0 make tokens that occur in the prompt or the reply less probable. Default 1.0."""
    presence_penalty: float | None = None
    """Subtracted once from the logit of each token that occurs in the reply, between -2 and 2. Values above 0 favour new
    topics. Default 0."""
    frequency_penalty: float | None = None
    """Subtracted from the logit of a token for each of its occurrences in the reply, between -2 and 2. Default 0."""
    logit_bias: dict[int, float] | None = None
    """Values added to the logits of tokens, by id, between -100 and 100; -100 practically excludes a token. Default:
    none."""
    logprobs: int | None = None
    """Reports each token's log-probability in `Logprobs` events, with this many of the likeliest alternatives, 0 to 20.
    Default: no such events."""
    rng_seed: int | None = None
    """Seed of the random choices. On the CPU, the same seed, model, build and prompt give the same reply, whatever else
    is generated at the same time or is cached (docs/adr/0015). On Metal, the last bits of logits may differ if part of
    the prompt comes from the cache. Default: a random seed, which is reported with the reply."""
    max_tokens: int | None = None
    """The largest number of tokens of the reply. Default: no limit but the context."""
    ignore_end: bool = False
    """Continues after tokens that end a reply, until `max_tokens` or the end of the context. For benchmarks, which need
    replies of equal length. Default: no."""
    stop_sequences: list[str] = field(default_factory=list)
    """Strings that end the reply. They are not part of it."""
    tool_choice: ToolChoice | str | dict[str, Any] | None = None
    """Whether the model may or must call functions. Default: the model decides."""
    parallel_tool_calls: bool = True
    """Whether a reply may contain several calls. If not, a constraint prevents further calls; without a constraint they
    are delivered with the diagnostic `parallel_limit`. Default: yes."""
    offered_functions: list[str] | None = None
    """Names of the functions of the conversation that the prompt lists, in the order in which they were registered. The
    others stay in the history and may not be called; `allowed_tools` may not name them. With many functions, a small
    model makes more right calls if the few that fit the message are offered alone; an embedding model chooses them. A
    prompt that lists the same functions as the one before goes on from the prefix cache. Default: all."""
    max_offered_functions: int | None = None
    """The largest number of functions that the prompt lists, besides those that the conversation has called. If there are
    more, those that fit the user's messages best are chosen, by the embedding model that the runner's
    `set_function_ranker` sets, without which this option is an error. The better half for the last message is always
    listed. Functions that were listed before keep their places, so that messages about the same things have the same
    list, and their prompts go on from the prefix cache (docs/functions.md). With `offered_functions` or `allowed_tools`
    the choice is among these. Default: no limit."""
    allowed_tools: list[str] | None = None
    """Names of the functions that may be called, out of the ones that the prompt offers. A constraint prevents calls of
    other functions; without a constraint they are delivered with the diagnostic `tool_not_allowed`. Default: all."""
    tool_call_constraint: ToolCallConstraint | str | None = None
    """Whether calls are constrained to the declared functions during generation. Default: they are not."""
    json_schema_constraint: str | dict[str, Any] | type[Any] | None = None
    """A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called: a reply is
    either an answer that fits the schema or a block of calls. Reasoning is not constrained. Default: none. A dict, or a
    type, is taken as well."""
    inject_schema_into_prompt: bool = True
    """Whether the prompt states that schema, at the end of the system message. The history does not change. Default: yes."""
    continue_final_message: bool = False
    """Continues the last message of the history, which must be a reply without calls: the prompt ends with its text, and
    the new text is added to it. The events report the new text only. Default: no."""
    enable_thinking: bool = False
    """Requests reasoning from templates that have the variable `enable_thinking`, and delivers reasoning in
    `ReasoningChunk` events. Otherwise, reasoning that a model writes all the same is only kept in the message. Default:
    no."""
    inline_thinking_tags: bool = False
    """Delivers reasoning as part of the text, between `<think>` and `</think>`. Default: no."""
    template_variables: dict[str, Any] | None = None
    """Further variables for the chat template, such as `{"style": "brief"}`. Variables that causerie sets itself are an
    error. Default: none."""
    stop_after_tool_calls: bool = False
    """Ends the reply after its first block of calls. Some models regularly write text after calls. Default: no."""
    stop_on_repetition: bool | None = None
    """Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`: the same words over three
    kilobytes and 128 times, or the same paragraph over eight kilobytes. Data, code and drawings may repeat a part 1,024
    times. Text that is held to a schema and calls never end so. Default: on for the demo model, and off for others."""
    speech_mode: SpeechMode | str | None = None
    """Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks."""
    speech_temperature: float | None = None
    """Randomness of the choice of sounds; 0 always picks the most probable. Default 1.0 in interleaved replies, 0.8 in
    others."""
    speech_top_k: int | None = None
    """Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others."""
    on_cancel: OnCancel | str | None = None
    """What remains of a cancelled reply in the history. Default: the text so far."""
    on_busy: OnBusy | str | None = None
    """How a request is handled while the conversation is generating another reply. Default: an error."""
    context_policy: ContextPolicy | str | None = None
    """How a history that does not fit the context is handled. Default: an error."""
    timeout_milliseconds: int | None = None
    """The same as `timeout`, in milliseconds."""

    if TYPE_CHECKING:
        timeout: Duration | None = None
    else:
        timeout: InitVar[Duration | None] = NOT_GIVEN

    def __post_init__(self, timeout: Any = NOT_GIVEN) -> None:
        if timeout is not NOT_GIVEN:
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


@adopted
@dataclass
class RoundOptions(CheckedOptions):
    """Options for running functions; see `FunctionHandlers`."""

    _checks = {
        "max_rounds": integer(32),
        "time_limit": seconds,
        "in_parallel": flag,
    }

    max_rounds: int | None = None
    """Maximum number of replies whose calls are run. The calls of the next reply are left to the app, which finds them in
    its `Complete`. Default 8."""
    time_limit: Duration | None = None
    """How long a function may take. After that the model reads that the function took too long. Default: no limit."""
    in_parallel: bool = False
    """Whether all calls of a reply are run at once. Default: one after the other. Results come in the order of the calls."""


@adopted
@dataclass
class SamplingDefaults(CheckedOptions):
    """Sampling values that replace the ones that a model's files recommend."""

    _checks = {
        "temperature": number,
        "top_p": number,
        "top_k": integer(32),
        "min_p": number,
        "repetition_penalty": number,
    }

    temperature: float | None = None
    """As in `GenerationOptions`."""
    top_p: float | None = None
    """As in `GenerationOptions`."""
    top_k: int | None = None
    """As in `GenerationOptions`."""
    min_p: float | None = None
    """As in `GenerationOptions`."""
    repetition_penalty: float | None = None
    """As in `GenerationOptions`."""


@adopted
@dataclass
class LoadOptions(CheckedOptions):
    """Options for loading a model. `None` takes the default."""

    _checks = {
        "context_size": integer(32),
        "device": one_of_choices(Device),
        "threads": integer(32),
        "cache_type": one_of_choices(CacheType),
        "chat_template": string,
        "projector": path,
        "function_names": one_of_choices(FunctionNames),
        "generation_defaults": nested(SamplingDefaults),
        "cache_bytes": integer(64),
        "ignores_transparency": flag,
        "audio_decoder": path,
        "audio_tokenizer": path,
        "packed_folder": path,
        "packed_bytes": integer(64),
        "weight_memory": one_of_choices(WeightMemory),
        "gpu_name": string,
        "gpu_bytes": integer(64),
    }

    context_size: int | None = None
    """The largest number of tokens of a prompt and its reply together, limited to the model's own context size. Default:
    the model's context size, at most 8,192."""
    device: Device | str | None = None
    """The device that computes. Default: the CPU."""
    threads: int | None = None
    """Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are
    fast and slow ones, the number of fast ones."""
    cache_type: CacheType | str | None = None
    """The storage format of keys and values; with the feature `metal` it is always F32 on Metal. Default: F16."""
    chat_template: str | None = None
    """A chat template that replaces the model's own."""
    projector: str | os.PathLike[str] | None = None
    """A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or a
    file beside the model's, whose name contains `mmproj` or `projector`."""
    function_names: FunctionNames | str | None = None
    """Which names functions may have. Default: letters, digits, `_` and `-`."""
    generation_defaults: SamplingDefaults | None = None
    """Sampling values that replace the ones that the model's files recommend. The options of a reply take precedence."""
    cache_bytes: int | None = None
    """Size limit of the prefix cache in bytes; 0 disables the cache. The entry used last is kept even if it alone is
    larger. An eighth as much is kept of images that were computed, for pictures that are shown again. Default 512 MiB."""
    ignores_transparency: bool = False
    """Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Such colours
    were never meant to be seen: black ink on a transparent ground is often black on black. Default: no, they are put on
    white."""
    audio_decoder: str | os.PathLike[str] | None = None
    """A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's
    own folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`."""
    audio_tokenizer: str | os.PathLike[str] | None = None
    """A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder
    `audio_detokenizer` in the model's own, or a file beside the model's, whose name contains `tokenizer`."""
    packed_folder: str | os.PathLike[str] | None = None
    """A folder of the app for packed weights. The first load of a model writes its weights there as the kernels read
    them, and later ones map that file instead of reading the model's: they take a fraction of the time and, with mapped
    weights, of the memory. No other program may write to the folder. Packed weights are as large as the weights of the
    model. When new ones are written, older ones are removed: of other releases, of models that are gone, and the oldest
    above the limit. On a GPU, and for a model in memory, nothing is written. Default: none."""
    packed_bytes: int | None = None
    """The limit of all packed weights in that folder in bytes. A larger model is not packed. Default 16 GiB."""
    weight_memory: WeightMemory | str | None = None
    """How packed weights come into memory. No result depends on it. Default: mapped on iOS and Android, `Auto` elsewhere."""
    gpu_name: str | None = None
    """The GPU's name, or a part of it in upper or lower case, as `causerie inspect devices` shows it. A software device
    is taken only by its name. Default: a card with memory of its own, or else the processor's."""
    gpu_bytes: int | None = None
    """The memory of the GPU that the model and its sequences may take, in bytes. A model that needs more is refused, or
    goes to the CPU if the device is chosen by `Auto`; where sequences need more, replies go on on the CPU. Default: what
    the system leaves to the process."""


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
    ignore_end: bool
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
    ignores_transparency: bool
    audio_decoder: str | os.PathLike[str] | None
    audio_tokenizer: str | os.PathLike[str] | None
    packed_folder: str | os.PathLike[str] | None
    packed_bytes: int | None
    weight_memory: WeightMemory | str | None
    gpu_name: str | None
    gpu_bytes: int | None
