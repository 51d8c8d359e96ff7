"""What a generation yields, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Protocol, TypeAlias, Union

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_not_forked, variant
from causerie._waiting import pull
from causerie.error import SdkError
from causerie.function import RejectedCall, SdkFunctionCall
from causerie.message import ChatMessage


@adopted
class FinishReason(str, Enum):
    """Why a reply ended."""

    STOP = "stop"
    """The model ended its turn, or a stop sequence was met."""
    TOOL_CALLS = "tool_calls"
    """The model ended its turn, and at least one call was delivered."""
    MAX_TOKENS = "max_tokens"
    """The maximum of tokens was written."""
    EXCEED_CONTEXT = "exceed_context"
    """The context is full."""
    INTERRUPTED = "interrupted"
    """Cancelled, or out of time."""
    CONSTRAINT = "constraint"
    """The reply could not go on as its options demand."""


@adopted
@dataclass(frozen=True)
class Sampling:
    """The sampling values that were used; see `GenerationOptions`."""

    temperature: float
    top_p: float
    top_k: int
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float


@adopted
@dataclass(frozen=True)
class GenerationStats:
    """Counts of tokens, and times in seconds, of one generation."""

    prompt_tokens: int
    cached_prompt_tokens: int
    """Tokens of the prompt that did not have to be read, because a sequence before had read them."""
    completion_tokens: int
    """Tokens that the model wrote, those of calls and reasoning included."""
    reasoning_tokens: int
    call_tokens: int
    forced_tokens: int
    """Tokens that were the only ones possible, so that the model was not asked for them."""
    drafted_tokens: int
    """Tokens that were guessed, by where the text before them stood already, and read along to see whether they are right."""
    accepted_draft_tokens: int
    """Those of them that were right."""
    constraint_time: float
    """Spent finding out which tokens are possible; a part of the other times."""
    total_tokens: int
    """Tokens of prompt and reply together."""
    queue_time: float
    """From the request to its turn."""
    time_to_first_token: float
    """From the request to the first token written."""
    prefill_time: float
    """Spent reading the prompt."""
    decode_time: float
    """Spent writing."""
    tokens_per_second: float
    """Tokens written per second of decoding."""
    seed: int
    """The seed that was used."""
    sampling: Sampling
    context_size: int
    """Tokens that the context can hold."""
    peak_memory: int | None
    """Bytes that the process had in memory at its peak so far; `None` where the system does not tell."""


@adopted
@dataclass(frozen=True)
class PromptReport:
    """How a history became a prompt; messages are named by their place in the history."""

    dropped_messages: list[int]
    """Messages left out for want of room."""
    shrunk_messages: list[int]
    """Results of functions that were cut short for want of room."""
    miscounted_results: list[int]
    """Assistant messages that are followed by more or fewer results than they made calls."""


@variant(ffi.MessageResponse, "CHUNK")
@dataclass(frozen=True)
class Chunk:
    """Text, in whole characters."""

    text: str


@variant(ffi.MessageResponse, "REASONING_CHUNK")
@dataclass(frozen=True)
class ReasoningChunk:
    """Text of the model's reasoning, in whole characters."""

    reasoning: str


@variant(ffi.MessageResponse, "AUDIO_SAMPLE")
@dataclass(frozen=True)
class AudioSample:
    """Sound."""

    samples: list[float]
    """Mono samples from -1.0 to 1.0."""
    sample_rate: int
    """Samples per second."""


@variant(ffi.MessageResponse, "FUNCTION_CALLS")
@dataclass(frozen=True)
class FunctionCalls:
    """Calls that the model wants made: one event for each block that it wrote."""

    function_calls: list[SdkFunctionCall]


@variant(ffi.MessageResponse, "FUNCTION_CALLS_REJECTED")
@dataclass(frozen=True)
class FunctionCallsRejected:
    """Call text that could not be delivered as calls."""

    rejected_calls: list[RejectedCall]


@adopted
class ReplySection(str, Enum):
    """Where in a reply something stands."""

    TEXT = "text"
    REASONING = "reasoning"
    CALLS = "calls"


@adopted
@dataclass(frozen=True)
class ScoredToken:
    """A token, with the natural logarithm of its probability: of what the model computed, before anything was done to it."""

    id: int
    text: str
    """Its bytes as text; for a control token, its spelling."""
    bytes: bytes
    """What it adds to the reply; empty for a control token."""
    logprob: float


@adopted
@dataclass(frozen=True)
class TokenLogprob:
    """A token of a reply, and how likely it was."""

    token: ScoredToken
    place: ReplySection
    """What it belongs to. Markers around reasoning and calls belong to those."""
    alternatives: list[ScoredToken]
    """The most probable tokens in its place, the best first, as many as were asked for."""


@variant(ffi.MessageResponse, "LOGPROBS")
@dataclass(frozen=True)
class Logprobs:
    """Log-probabilities of tokens, where `logprobs` asks for them: of each once, in order, no later than its text.

    The token that ends the reply, and those that a stop sequence cuts off, are left out.
    """

    tokens: list[TokenLogprob]


@variant(ffi.MessageResponse, "FUNCTION_RESULT")
@dataclass(frozen=True)
class FunctionResult:
    """What came of a call, where functions are run along with the reply."""

    call_id: str | None
    """The call's id; `None` for a call that was rejected."""
    name: str | None
    """The function; `None` for a rejected call whose name could not be read."""
    text: str
    """The text of the message with the tool role that was added to the history."""
    is_error: bool
    """Whether the text tells an error: of the function, or of the call."""


@variant(ffi.MessageResponse, "COMPLETE")
@dataclass(frozen=True)
class Complete:
    """The end of a reply."""

    # What patterns name first is what they mostly want.
    __match_args__ = ("full_message", "finish_reason", "stats", "earlier_rounds", "prompt", "unconstrained", "stop_sequence")

    full_message: ChatMessage
    """The assembled reply, as it stands in the history."""
    finish_reason: FinishReason
    stop_sequence: str | None
    """The stop sequence that was met, if one was."""
    stats: GenerationStats
    earlier_rounds: list[GenerationStats]
    """Those of the replies before it whose calls were run along the way; else empty."""
    prompt: PromptReport
    """What the prompt left out of the history, and whether the results in it match the calls."""
    unconstrained: str | None
    """Why calls were not constrained, or from some token on no longer, where that was asked for."""


MessageResponse: TypeAlias = Union[
    Chunk, ReasoningChunk, AudioSample, FunctionCalls, FunctionCallsRejected, Logprobs, FunctionResult, Complete
]
"""One event of a reply. After `Complete`, or after one error, nothing follows."""


class Stream(Protocol):
    """What a response is read from."""

    def claim(self) -> None: ...
    def cancel(self) -> None: ...
    def pull(self) -> MessageResponse | None: ...
    async def next(self) -> MessageResponse | None: ...


class ReplyStream:
    """The stream of one reply."""

    def __init__(self, stream: ffi.ResponseStream) -> None:
        self.claim, self.cancel, self.next = stream.claim, stream.cancel, stream.next
        self._stream = stream

    def pull(self) -> MessageResponse | None:
        event: MessageResponse | None = pull(self._stream)
        return event


class Response:
    """A reply as it is written. Read it once, with `for` or `async for`.

    It is cold: nothing happens before the first event is asked for, and the model waits while none is. Leaving the loop
    stops the reply within one token, and so do `cancel()`, the end of a `with` block, Ctrl-C, and the cancelling of
    the task that reads.
    """

    def __init__(self, stream: Stream, fork_count: int) -> None:
        self._stream: Stream | None = stream
        self._fork_count = fork_count
        self._completion: Complete | None = None

    @property
    def completion(self) -> Complete | None:
        """The last event, once it was read."""
        return self._completion

    def cancel(self) -> None:
        """Stops the reply within one token. It then ends with a `Complete` that was interrupted.

        It may be called from any thread, and again, and after the end.
        """
        if stream := self._stream:
            stream.cancel()

    def __iter__(self) -> ResponseIterator:
        return ResponseIterator(self)

    def __aiter__(self) -> ResponseIterator:
        return ResponseIterator(self)

    def __enter__(self) -> Response:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self._leave()

    async def __aenter__(self) -> Response:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        """Stops the reply, and lets the engine forget it."""
        self.cancel()
        self._stream = None


class ResponseIterator:
    """Reads a response, and stops it when it is dropped."""

    _response: Response | None = None

    def __init__(self, response: Response) -> None:
        if response._stream is None:
            raise SdkError.StreamAlreadyConsumed("the response was read or left before")
        response._stream.claim()
        self._response = response

    def __iter__(self) -> ResponseIterator:
        return self

    def __aiter__(self) -> ResponseIterator:
        return self

    def __next__(self) -> MessageResponse:
        stream = self._stream()
        if stream is None:
            raise StopIteration
        try:
            event = stream.pull()
        except BaseException:
            self._leave()
            raise
        if event is None:
            raise StopIteration
        return self._taken(event)

    async def __anext__(self) -> MessageResponse:
        stream = self._stream()
        if stream is None:
            raise StopAsyncIteration
        try:
            event = await stream.next()
        except BaseException:
            self._leave()
            raise
        if event is None:
            raise StopAsyncIteration
        return self._taken(event)

    def __del__(self) -> None:
        self._leave()

    def _stream(self) -> Stream | None:
        if self._response is None:
            return None
        check_not_forked(self._response._fork_count)
        return self._response._stream

    def _taken(self, event: MessageResponse) -> MessageResponse:
        if isinstance(event, Complete) and self._response:
            self._response._completion = event
            self._response._stream = None  # nothing follows
        return event

    def _leave(self) -> None:
        if self._response:
            self._response._leave()
