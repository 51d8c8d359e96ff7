"""The events of a reply, and how they are read."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_not_forked, uncopyable, variant
from causerie.error import SdkError
from causerie.function import Diagnostic, RejectedCall, SdkFunctionCall
from causerie.message import ChatMessage

if TYPE_CHECKING:
    from causerie import response
    from causerie.library import TextStream


@adopted
class FinishReason(str, Enum):
    """Why a reply ended."""

    STOP = "stop"
    """The model ended its turn, or a stop sequence was met."""
    TOOL_CALLS = "tool_calls"
    """The model ended its turn, and at least one call was delivered."""
    MAX_TOKENS = "max_tokens"
    """The maximum number of tokens was generated."""
    EXCEED_CONTEXT = "exceed_context"
    """The context is full."""
    INTERRUPTED = "interrupted"
    """Cancelled, or out of time."""
    CONSTRAINT = "constraint"
    """The reply could not continue under its constraint."""


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
    """Token counts, and durations in seconds, of one generation."""

    prompt_tokens: int
    cached_prompt_tokens: int
    """Prompt tokens taken from the prefix cache instead of being prefilled."""
    audio_tokens: int
    """Tokens of the prompt that are sound: rows of 80 ms, for example."""
    completion_tokens: int
    """Generated tokens, including calls and reasoning."""
    spoken_tokens: int
    """Tokens of the reply that are sound: frames of 80 ms, for example."""
    reasoning_tokens: int
    call_tokens: int
    forced_tokens: int
    """Completion tokens that the constraint forced, so that no sampling was needed."""
    drafted_tokens: int
    """Draft tokens that the model verified (speculative decoding)."""
    accepted_draft_tokens: int
    """Draft tokens that were accepted."""
    constraint_time: float
    """Time spent computing which tokens the constraint allows; a part of the other times."""
    total_tokens: int
    """Tokens of prompt and reply together."""
    queue_time: float
    """Time in the request queue."""
    time_to_first_token: float
    """Time from the request to the first generated token."""
    prefill_time: float
    """Time spent prefilling the prompt."""
    decode_time: float
    """Time spent decoding."""
    tokens_per_second: float
    """Generated tokens per second of decoding."""
    seed: int
    """The seed that was used."""
    sampling: Sampling
    context_size: int
    """Tokens that the context can hold."""
    peak_memory: int | None
    """Peak memory of the whole process so far, in bytes; `None` where the system does not report it."""


@adopted
@dataclass(frozen=True)
class PromptReport:
    """What a prompt left out of the history. Messages are given by their index."""

    dropped_messages: list[int]
    """Messages left out so that the prompt fits the context."""
    shrunk_messages: list[int]
    """Function results that were cut short so that the prompt fits the context."""
    miscounted_results: list[int]
    """Assistant messages whose number of following results differs from their number of calls."""


class MessageResponse:
    """One event of a reply, which is also a member of this class: `MessageResponse.Chunk`.

    Nothing follows `Complete` or an error. Later versions may add events: ignore unknown ones.
    """

    if TYPE_CHECKING:
        Chunk: ClassVar[type[response.Chunk]]
        ReasoningChunk: ClassVar[type[response.ReasoningChunk]]
        AudioSample: ClassVar[type[response.AudioSample]]
        FunctionCalls: ClassVar[type[response.FunctionCalls]]
        FunctionCallsRejected: ClassVar[type[response.FunctionCallsRejected]]
        Logprobs: ClassVar[type[response.Logprobs]]
        FunctionResult: ClassVar[type[response.FunctionResult]]
        RoundComplete: ClassVar[type[response.RoundComplete]]
        Complete: ClassVar[type[response.Complete]]

    def __init__(self, *_: object) -> None:
        raise TypeError("a MessageResponse is a Chunk, a Complete or another event of a reply")


@variant(ffi.MessageResponse, "CHUNK")
@dataclass(frozen=True)
class Chunk(MessageResponse):
    """Text, in whole characters."""

    text: str


@variant(ffi.MessageResponse, "REASONING_CHUNK")
@dataclass(frozen=True)
class ReasoningChunk(MessageResponse):
    """Text of the model's reasoning, in whole characters."""

    reasoning: str


@variant(ffi.MessageResponse, "AUDIO_SAMPLE")
@dataclass(frozen=True)
class AudioSample(MessageResponse):
    """Audio."""

    samples: list[float]
    """Mono samples from -1.0 to 1.0."""
    sample_rate: int
    """Samples per second."""

    def __repr__(self) -> str:
        return f"AudioSample(<{len(self.samples)} samples>, sample_rate={self.sample_rate})"


@variant(ffi.MessageResponse, "FUNCTION_CALLS")
@dataclass(frozen=True)
class FunctionCalls(MessageResponse):
    """Calls that the model made: one event for each block of calls that it wrote."""

    function_calls: list[SdkFunctionCall]


@variant(ffi.MessageResponse, "FUNCTION_CALLS_REJECTED")
@dataclass(frozen=True)
class FunctionCallsRejected(MessageResponse):
    """Call text that could not be delivered as calls."""

    rejected_calls: list[RejectedCall]


@adopted
class ReplySection(str, Enum):
    """A section of a reply."""

    TEXT = "text"
    REASONING = "reasoning"
    CALLS = "calls"


@adopted
@dataclass(frozen=True)
class ScoredToken:
    """A token with the natural logarithm of its probability, before temperature, penalties, biases and constraints."""

    id: int
    text: str
    """Its bytes as text; for a control token, its spelling."""
    bytes: bytes
    """The bytes that it adds to the reply; empty for a control token."""
    logprob: float


@adopted
@dataclass(frozen=True)
class TokenLogprob:
    """A token of a reply with its log-probability."""

    token: ScoredToken
    place: ReplySection
    """The section that it belongs to. Markers of reasoning and of calls belong to those sections."""
    alternatives: list[ScoredToken]
    """The most probable tokens at its position, the best first, as many as were requested."""


@variant(ffi.MessageResponse, "LOGPROBS")
@dataclass(frozen=True)
class Logprobs(MessageResponse):
    """Log-probabilities of tokens, if `logprobs` requests them: each token once, in order, no later than its text.

    The token that ends the reply and tokens that a stop sequence cuts off are left out.
    """

    tokens: list[TokenLogprob]


@variant(ffi.MessageResponse, "FUNCTION_RESULT")
@dataclass(frozen=True)
class FunctionResult(MessageResponse):
    """The result of a call, if functions run during the reply."""

    call_id: str | None
    """The call's id; `None` for a rejected call."""
    name: str | None
    """The function's name; `None` for a rejected call whose name could not be read."""
    text: str
    """The text of the message with the tool role that was added to the history."""
    is_error: bool
    """Whether the text describes an error of the function or of the call."""
    error: BaseException | None = field(default=None, compare=False)
    """The exception of the function, with its traceback; `None` if it raised none, or did not run, or took too long."""


@variant(ffi.MessageResponse, "ROUND_COMPLETE")
@dataclass(frozen=True)
class RoundComplete(MessageResponse):
    """The end of a reply whose calls were run; another reply follows. The results of its calls come before this event."""

    # The order of patterns: the most used fields first.
    __match_args__ = ("full_message", "finish_reason", "stats", "prompt", "unconstrained", "stop_sequence", "diagnostics")

    full_message: ChatMessage
    """The assembled reply, as it stands in the history."""
    finish_reason: FinishReason
    stop_sequence: str | None
    """The stop sequence that was met, if one was."""
    stats: GenerationStats
    prompt: PromptReport
    """What the prompt left out of the history, and whether the results in it match the calls."""
    unconstrained: str | None
    """Why calls were not constrained, or only up to some token, although that was requested."""
    diagnostics: list[Diagnostic]
    """Remarks about the reply as a whole: that its text looks like a call, although no function was called."""


@variant(ffi.MessageResponse, "COMPLETE")
@dataclass(frozen=True)
class Complete(MessageResponse):
    """The end of the stream."""

    # The order of patterns: the most used fields first.
    __match_args__ = ("full_message", "finish_reason", "stats", "earlier_rounds", "prompt", "unconstrained", "stop_sequence", "diagnostics")

    full_message: ChatMessage
    """The assembled reply, as it stands in the history."""
    finish_reason: FinishReason
    stop_sequence: str | None
    """The stop sequence that was met, if one was."""
    stats: GenerationStats
    earlier_rounds: list[GenerationStats]
    """Counts and durations of the earlier replies of the same stream, one for each `RoundComplete`."""
    prompt: PromptReport
    """What the prompt left out of the history, and whether the results in it match the calls."""
    unconstrained: str | None
    """Why calls were not constrained, or only up to some token, although that was requested."""
    diagnostics: list[Diagnostic]
    """Remarks about the reply as a whole: that its text looks like a call, although no function was called."""

    @property
    def text(self) -> str:
        """The text of the reply."""
        return self.full_message.text


for _kind in (
    Chunk,
    ReasoningChunk,
    AudioSample,
    FunctionCalls,
    FunctionCallsRejected,
    Logprobs,
    FunctionResult,
    RoundComplete,
    Complete,
):
    setattr(MessageResponse, _kind.__name__, _kind)


class Stream(Protocol):
    """The source of a response's events."""

    def claim(self) -> None: ...
    def cancel(self) -> None: ...
    def pull(self) -> MessageResponse | None: ...
    async def next(self) -> MessageResponse | None: ...


class Readers:
    """Iterators over the replies of one conversation that tasks of asyncio read.

    A cancelled task does not run before its event loop gets to it. Until then its reply would keep the conversation busy, so
    the next request ends the replies of cancelled tasks.
    """

    def __init__(self) -> None:
        self._iterators: weakref.WeakSet[ResponseIterator] = weakref.WeakSet()
        self._lock = threading.Lock()

    def add(self, iterator: ResponseIterator) -> None:
        with self._lock:
            self._iterators.add(iterator)

    def end_cancelled(self) -> None:
        """Ends the replies of tasks that were cancelled."""
        with self._lock:
            iterators = list(self._iterators)
        for iterator in iterators:
            if iterator._is_cancelled():
                iterator._leave()


@uncopyable("read it once, and keep its events or its completion")
class Response:
    """The events of a reply. Read them once, with `for` or `async for`.

    A response is cold: nothing happens before the first event is requested. The model writes at most eighteen events ahead of
    the reader, and then waits. Leaving the loop stops the reply within one token, and so do `cancel()`, the end of a `with`
    block, Ctrl-C, and cancelling the task that reads. The history may then have a little more text than was read. The
    conversation is busy until the model has ended the reply, which may be before its last event is read.
    """

    _stream: Stream | None
    _fork_count: int
    _readers: Readers
    _completion: Complete | None = None
    _has_begun = False

    def __init__(self, *_: object) -> None:
        raise TypeError("a Response is made by generate_response() of a Conversation")

    @classmethod
    def _new(cls, stream: Stream, fork_count: int, readers: Readers) -> Response:
        made = cls.__new__(cls)
        made._stream, made._fork_count, made._readers = stream, fork_count, readers
        return made

    def __repr__(self) -> str:
        if self._completion:
            return f"<Response, ended: {self._completion.finish_reason.value}>"
        state = "left" if self._stream is None else "being read" if self._has_begun else "not read yet"
        return f"<Response, {state}>"

    @property
    def completion(self) -> Complete | None:
        """The last event, once it has been read."""
        return self._completion

    @property
    def text(self) -> TextStream:
        """The text of the reply, in pieces, instead of its events."""
        from causerie.library import TextStream

        return TextStream._new(self)

    def cancel(self) -> None:
        """Stops the reply within one token. It then ends with a `Complete` whose finish reason is `INTERRUPTED`.

        It may be called from any thread, more than once, and after the end.
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
        """Stops the reply and releases its stream."""
        self.cancel()
        self._stream = None


@uncopyable("read it once, and keep its events")
class ResponseIterator:
    """Reads a response. Stops the reply when it is garbage-collected."""

    _response: Response | None = None
    _has_begun = False
    # The task that reads, with the number of its cancellations when it asked for the last event.
    _task: tuple[weakref.ref[asyncio.Task[Any]], int] | None = None

    def __init__(self, response: Response) -> None:
        if response._stream is None:
            raise SdkError.StreamAlreadyConsumed("the response was already read or left")
        response._stream.claim()
        response._has_begun = True
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
        try:
            return self._taken(event)
        finally:
            del event  # the traceback of an exception in it references this frame

    async def __anext__(self) -> MessageResponse:
        stream = self._stream()
        if stream is None:
            raise StopAsyncIteration
        self._note_task()
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
        if not self._has_begun:
            self._has_begun = True
            self._response._readers.end_cancelled()
        return self._response._stream

    def _note_task(self) -> None:
        task = asyncio.current_task()
        if task and self._response:
            if self._task is None:
                self._response._readers.add(self)
            self._task = weakref.ref(task), _cancellations(task)

    def _is_cancelled(self) -> bool:
        """Whether the task that reads was cancelled since it asked for the last event."""
        if self._task is None:
            return False
        task = self._task[0]()
        return task is not None and self._task[1] < _cancellations(task)

    def _taken(self, event: MessageResponse) -> MessageResponse:
        if isinstance(event, Complete) and self._response:
            self._response._completion = event
            self._response._stream = None  # nothing follows
        return event

    def _leave(self) -> None:
        if self._response:
            self._response._leave()


def _cancellations(task: asyncio.Task[Any]) -> int:
    """The number of cancellations that the task has not handled; always 0 before Python 3.11, which does not tell."""
    cancelling: Callable[[], int] | None = getattr(task, "cancelling", None)
    return cancelling() if cancelling else 0
