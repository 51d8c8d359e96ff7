"""Speech to text: a Whisper model that writes what it hears, in recordings and while someone speaks.

    from causerie.transcribe import Transcriber

    transcriber = Transcriber.load("whisper-base")
    for segment in transcriber.transcribe("meeting.wav").segments:
        print(f"{segment.start:7.2f} {segment.text}")
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, Union

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_can_load, check_not_forked, fork_count, uncopyable, variant
from causerie._numbers import integer, number
from causerie._option_checks import CheckedOptions, flag, gathered, one_of_choices, string
from causerie._sounds import as_rate, sample_bytes, sound_file
from causerie._waiting import wait
from causerie.error import SdkError
from causerie.message import AudioSource
from causerie.options import CacheType, Device

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

__all__ = [
    "Complete",
    "GgufType",
    "Language",
    "LiveTranscription",
    "Partial",
    "Segment",
    "SpeechTask",
    "TranscribeOptions",
    "Transcriber",
    "TranscriberOptions",
    "Transcript",
    "TranscriptEvent",
    "TranscriptSegment",
    "TranscriptStream",
    "TranscriptWord",
]


@adopted
class GgufType(str, Enum):
    """A type of weights. The plain strings, such as `"q8_0"`, are accepted in its place."""

    Q8_0 = "q8_0"
    """8.5 bits per weight: hardly distinguishable from the original."""
    Q6K = "q6_k"
    """6.6 bits per weight."""
    Q5KM = "q5_k_m"
    """5.7 bits per weight."""
    Q4KM = "q4_k_m"
    """4.8 bits per weight."""
    Q4_0 = "q4_0"
    """4.5 bits per weight."""


@adopted
class SpeechTask(str, Enum):
    """What is written of what is heard."""

    TRANSCRIBE = "transcribe"
    """The words in their own language."""
    TRANSLATE = "translate"
    """The words in English."""


@adopted
@dataclass
class TranscriberOptions(CheckedOptions):
    """Options for loading a transcriber. `None` takes the default."""

    _checks = {
        "device": one_of_choices(Device),
        "threads": integer(32),
        "cache_type": one_of_choices(CacheType),
        "quantize": one_of_choices(GgufType),
    }

    device: Device | str | None = None
    """The device that computes. Default: the CPU."""
    threads: int | None = None
    """Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores."""
    cache_type: CacheType | str | None = None
    """The storage format of the decoder's keys and values. Default: f16."""
    quantize: GgufType | str | None = None
    """Stores the matrices of a model that is not quantised in this type, which makes it smaller and faster. Default: as in the
    files."""


class TranscriberKeywords(TypedDict, total=False):
    """The options of `TranscriberOptions` as keyword arguments."""

    device: Device | str | None
    threads: int | None
    cache_type: CacheType | str | None
    quantize: GgufType | str | None


def _numbers(value: Any) -> list[float]:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError("a list of numbers")
    return [number(item) for item in value]


@adopted
@dataclass
class TranscribeOptions(CheckedOptions):
    """How a sound is transcribed. `None` takes the default; the defaults are the same as in the original Whisper."""

    _checks = {
        "language": string,
        "task": one_of_choices(SpeechTask),
        "prompt": string,
        "uses_previous_text": flag,
        "has_times": flag,
        "has_word_times": flag,
        "temperatures": _numbers,
        "compression_ratio_threshold": number,
        "logprob_threshold": number,
        "no_speech_threshold": number,
        "seed": integer(64),
    }

    language: str | None = None
    """The code of the language that is spoken, such as `en`. Default: the model detects it."""
    task: SpeechTask | str | None = None
    """Whether the words are translated. Default: they are not."""
    prompt: str | None = None
    """Text that may come before the sound: names and terms that occur, and the style of the transcript."""
    uses_previous_text: bool = True
    """Whether the text of a window is given to the next one, which keeps names and style, and sometimes repeats itself."""
    has_times: bool = True
    """Whether the model writes times. Without them, a segment is a window of the sound."""
    has_word_times: bool = False
    """Whether each word gets its times."""
    temperatures: list[float] | None = None
    """Temperatures, of which the next is tried while the text is not good enough by the thresholds. 0 picks the most probable
    token. Default: 0, 0.2, 0.4, 0.6, 0.8 and 1."""
    compression_ratio_threshold: float | None = None
    """A text whose size divided by its compressed size is larger repeats itself; `math.inf` for no limit. Default 2.4."""
    logprob_threshold: float | None = None
    """A text with a lower mean of its tokens' log-probabilities is not good enough; `-math.inf` for no limit. Default -1."""
    no_speech_threshold: float | None = None
    """A window whose probability of no speech is larger, and whose text is not probable enough, is silent; `math.inf` for no limit.
    Default 0.6."""
    seed: int | None = None
    """The seed of temperatures above 0. Default 0."""


class TranscribeKeywords(TypedDict, total=False):
    """The options of `TranscribeOptions` as keyword arguments."""

    language: str | None
    task: SpeechTask | str | None
    prompt: str | None
    uses_previous_text: bool
    has_times: bool
    has_word_times: bool
    temperatures: list[float] | None
    compression_ratio_threshold: float | None
    logprob_threshold: float | None
    no_speech_threshold: float | None
    seed: int | None


@adopted
@dataclass(frozen=True)
class TranscriptWord:
    """A word with its times."""

    word: str
    """The word, mostly with a space before it."""
    start: float
    """When it begins, in seconds."""
    end: float
    """When it ends, in seconds."""
    probability: float
    """The mean probability of its tokens."""


@adopted
@dataclass(frozen=True)
class TranscriptSegment:
    """A part of a transcript: a sentence, or a part of one."""

    start: float
    """When it begins, in seconds."""
    end: float
    """When it ends, in seconds."""
    text: str
    """The text, mostly with a space before it."""
    tokens: list[int]
    """The tokens of the text, with the tokens of its times."""
    avg_logprob: float
    """The mean of the log-probabilities of the window's tokens."""
    no_speech_prob: float
    """The probability that nobody speaks in the window."""
    compression_ratio: float
    """The size of the window's text divided by its compressed size."""
    temperature: float
    """The temperature that the text was written with."""
    words: list[TranscriptWord]
    """The words with their times, if they were requested."""


@adopted
@dataclass(frozen=True)
class Transcript:
    """The text of a sound."""

    text: str
    """The texts of all segments, one after the other, without white space around."""
    language: str
    """The code of the language that is spoken."""
    duration: float
    """How long the sound plays, in seconds."""
    segments: list[TranscriptSegment]
    """The parts of the text, in order."""
    was_cancelled: bool
    """Whether the transcription was cancelled; the segments are those before."""


@variant(ffi.TranscriptEvent, "LANGUAGE")
@dataclass(frozen=True)
class Language:
    """The language that is spoken."""

    code: str
    """The code of the language."""
    probability: float
    """Its probability among all languages; 1 if it was given."""


@variant(ffi.TranscriptEvent, "PARTIAL")
@dataclass(frozen=True)
class Partial:
    """The text after the last segment so far. It replaces the one before, and may still change."""

    text: str


@variant(ffi.TranscriptEvent, "SEGMENT")
@dataclass(frozen=True)
class Segment:
    """A segment, which does not change any more."""

    segment: TranscriptSegment


@variant(ffi.TranscriptEvent, "COMPLETE")
@dataclass(frozen=True)
class Complete:
    """The whole transcript, which comes last."""

    transcript: Transcript


TranscriptEvent: TypeAlias = Union[Language, Partial, Segment, Complete]
"""An event of a transcription. The last one is `Complete`, or an error. Later versions may add events: ignore unknown ones."""


@uncopyable("pass the path of the model, and load it there")
class Transcriber:
    """A Whisper model in memory, which writes what it hears. It may be used from any thread.

    It does not survive `os.fork()`: start processes with `spawn`.
    """

    _ffi: ffi.Transcriber
    _fork_count: int

    def __init__(self, *_: object) -> None:
        raise TypeError("a Transcriber is created by Transcriber.load(path)")

    @classmethod
    def _new(cls, transcriber: ffi.Transcriber) -> Transcriber:
        made = cls.__new__(cls)
        made._ffi, made._fork_count = transcriber, fork_count()
        return made

    @classmethod
    def load(
        cls, model: str | os.PathLike[str], options: TranscriberOptions | None = None, **keywords: Unpack[TranscriberKeywords]
    ) -> Transcriber:
        """Loads a model: a Hugging Face folder, or a file of ggml, which whisper.cpp reads.

        Raises `SdkError.ModelNotFound`, `SdkError.ModelLoad`, `SdkError.OutOfMemory` and `SdkError.InvalidOption`.
        """
        check_can_load()
        return cls._new(wait(ffi.load_transcriber(os.fspath(model), gathered(TranscriberOptions, options, keywords))))

    @classmethod
    async def load_async(
        cls, model: str | os.PathLike[str], options: TranscriberOptions | None = None, **keywords: Unpack[TranscriberKeywords]
    ) -> Transcriber:
        """Like `load`, without blocking the event loop."""
        check_can_load()
        return cls._new(await ffi.load_transcriber(os.fspath(model), gathered(TranscriberOptions, options, keywords)))

    @property
    def languages(self) -> list[str]:
        """The codes of the languages that the model knows."""
        return self._ffi.languages()

    def transcribe(
        self,
        sound: AudioSource,
        sample_rate: int | None = None,
        options: TranscribeOptions | None = None,
        **keywords: Unpack[TranscribeKeywords],
    ) -> Transcript:
        """Returns the transcript of a sound: a file, or samples with their number per second; see `Audio`.

        Raises `SdkError.InvalidOption`, `SdkError.UnsupportedContent`, and `SdkError.Generation` if the computation fails.
        """
        for event in self.stream(sound, sample_rate, options, **keywords):
            if isinstance(event, Complete):
                return event.transcript
        raise SdkError.Internal("the transcription has no end")

    async def transcribe_async(
        self,
        sound: AudioSource,
        sample_rate: int | None = None,
        options: TranscribeOptions | None = None,
        **keywords: Unpack[TranscribeKeywords],
    ) -> Transcript:
        """Like `transcribe`, without blocking the event loop."""
        async for event in self.stream(sound, sample_rate, options, **keywords):
            if isinstance(event, Complete):
                return event.transcript
        raise SdkError.Internal("the transcription has no end")

    def stream(
        self,
        sound: AudioSource,
        sample_rate: int | None = None,
        options: TranscribeOptions | None = None,
        **keywords: Unpack[TranscribeKeywords],
    ) -> TranscriptStream:
        """The events of a transcription, which is computed while they are read. See `transcribe` for sounds and errors."""
        chosen = gathered(TranscribeOptions, options, keywords)
        if sample_rate is None:
            stream = self._ffi.start_transcription(sound_file(sound), chosen)
        else:
            samples = sample_bytes(sound)
            stream = self._ffi.start_transcription_of_samples(samples, as_rate(sample_rate), chosen)
        return TranscriptStream._new(stream, self._fork_count)

    def live(
        self, sample_rate: int, options: TranscribeOptions | None = None, **keywords: Unpack[TranscribeKeywords]
    ) -> LiveTranscription:
        """Starts the transcription of samples that are pushed as they come. Raises `SdkError.InvalidOption`, and
        `SdkError.UnsupportedContent` for a rate that no sound has."""
        check_not_forked(self._fork_count)
        chosen = gathered(TranscribeOptions, options, keywords)
        return LiveTranscription._new(self._ffi.start_live_transcription(as_rate(sample_rate), chosen), self._fork_count)

    def __repr__(self) -> str:
        n_languages = len(self.languages)
        return f"<Transcriber of {n_languages} language{'s' * (n_languages != 1)}>"


class _Pulled(Protocol):
    """What events are pulled from."""

    async def next(self) -> TranscriptEvent | None: ...
    def cancel(self) -> None: ...


Source = TypeVar("Source", bound=_Pulled)


class _Events(Generic[Source]):
    """The events of a transcription. Leaving the loop by an error, the end of a `with` block and garbage collection stop it."""

    _ffi: Source
    _fork_count: int

    def __init__(self, *_: object) -> None:
        raise TypeError(f"a {type(self).__name__} is made by a Transcriber")

    @classmethod
    def _new(cls, stream: Source, fork_count: int) -> Self:
        made = cls.__new__(cls)
        made._ffi, made._fork_count = stream, fork_count
        return made

    def __iter__(self) -> Iterator[TranscriptEvent]:
        return self

    def __next__(self) -> TranscriptEvent:
        check_not_forked(self._fork_count)
        try:
            event = wait(self._ffi.next())
        except BaseException:
            self.cancel()
            raise
        if event is None:
            raise StopIteration
        return event

    def __aiter__(self) -> AsyncIterator[TranscriptEvent]:
        return self

    async def __anext__(self) -> TranscriptEvent:
        check_not_forked(self._fork_count)
        try:
            event = await self._ffi.next()
        except BaseException:
            self.cancel()
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    def cancel(self) -> None:
        """Stops the transcription, from any thread. It then ends with a `Complete` of the segments before.

        It may be called more than once, and after the end.
        """
        self._ffi.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self.cancel()


@uncopyable("read it once, and keep its events")
class TranscriptStream(_Events[ffi.TranscriptStream]):
    """The events of a transcription. Read them once, with `for` or `async for`.

    Nothing is computed before the first event is requested, nor while none is. An interrupted read stops it, and so do `cancel()`
    and the end of a `with` block.
    """


@uncopyable("read it once, and keep its events")
class LiveTranscription(_Events[ffi.LiveTranscription]):
    """The transcription of samples that are pushed as they come.

    Its events are read with `for` or `async for`, which wait for samples, while another thread or task pushes them; or with
    `ready()`, which does not wait.

        live = transcriber.live(16_000)
        for samples in microphone:
            live.push(samples)
            for event in live.ready():
                print(event)
        live.end()
        for event in live:
            print(event)
    """

    def push(self, samples: AudioSource) -> None:
        """Adds samples of one channel, and returns at once. After the end, they are ignored.

        Raises `SdkError.UnsupportedContent` if they are not floats of one channel, or if one is NaN or infinite.
        """
        check_not_forked(self._fork_count)
        self._ffi.push(sample_bytes(samples))

    def end(self) -> None:
        """Says that no more samples come."""
        self._ffi.end()

    def ready(self) -> Iterator[TranscriptEvent]:
        """The events that the samples so far give. Each is computed when it is requested."""
        check_not_forked(self._fork_count)
        while (event := wait(self._ffi.next_ready())) is not None:
            yield event
