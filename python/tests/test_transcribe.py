"""Speech to text, on a small model with random weights."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
from typing import Any

import numpy
import pytest
from support import FIXTURES

import causerie
from causerie import ModelRunner, SdkError
from causerie.transcribe import (
    Complete,
    Language,
    LiveTranscription,
    Partial,
    Segment,
    TranscribeOptions,
    Transcriber,
    TranscriberOptions,
    TranscriptEvent,
)

FOLDER = FIXTURES / "models/whisper"
FILE = FIXTURES / "sounds/tones.wav"
TONE = [math.sin(at / 3) / 2 for at in range(24_000)]
# Texts of random weights fail all thresholds, so that each window would be tried at each temperature.
OPTIONS: Any = {"temperatures": [0.0]}


@pytest.fixture(scope="module")
def transcriber() -> Transcriber:
    return Transcriber.load(FOLDER)


def transcript_of(events: list[TranscriptEvent]) -> causerie.transcribe.Transcript:
    assert isinstance(events[-1], Complete)
    return events[-1].transcript


def test_a_recording_is_transcribed_with_its_events(transcriber: Transcriber) -> None:
    events = list(transcriber.stream(FILE, **OPTIONS))
    transcript = transcript_of(events)
    assert isinstance(events[0], Language) and events[0].code == transcript.language
    assert [event.segment for event in events if isinstance(event, Segment)] == transcript.segments
    assert "".join(segment.text for segment in transcript.segments).strip() == transcript.text
    assert transcript == transcriber.transcribe(str(FILE), **OPTIONS)
    assert transcript == transcriber.transcribe(FILE.read_bytes(), options=TranscribeOptions(**OPTIONS))
    assert transcript == asyncio.run(transcriber.transcribe_async(FILE, **OPTIONS))
    assert not transcript.was_cancelled and 0 < transcript.duration
    assert transcript.language in transcriber.languages


def test_samples_are_transcribed_from_any_source(transcriber: Transcriber) -> None:
    expected = transcriber.transcribe(TONE, 16_000, language="en", **OPTIONS)
    assert expected.duration == pytest.approx(1.5)
    assert expected == transcriber.transcribe(numpy.array(TONE), 16_000, language="en", **OPTIONS)
    assert transcriber.transcribe(TONE, 8_000, language="en", **OPTIONS).duration == pytest.approx(3.0)


def test_live_samples_give_the_transcript_of_the_whole(transcriber: Transcriber) -> None:
    live = transcriber.live(16_000, language="en", **OPTIONS)
    events: list[TranscriptEvent] = []
    for start in range(0, len(TONE), 1_600):
        live.push(TONE[start : start + 1_600])
        events.extend(live.ready())
    live.end()
    events.extend(live)
    transcript = transcript_of(events)
    assert transcript.duration == pytest.approx(1.5)
    assert [event.segment for event in events if isinstance(event, Segment)] == transcript.segments
    live.push(TONE)  # ignored after the end
    assert list(live) == [] == list(live.ready())


def test_samples_may_come_from_another_thread(transcriber: Transcriber) -> None:
    live = transcriber.live(16_000, language="en", **OPTIONS)

    def speak() -> None:
        for start in range(0, len(TONE), 4_000):
            live.push(TONE[start : start + 4_000])
        live.end()

    thread = threading.Thread(target=speak)
    thread.start()
    transcript = transcript_of(list(live))
    thread.join()
    assert transcript.duration == pytest.approx(1.5) and not transcript.was_cancelled


def test_a_task_reads_while_another_pushes(transcriber: Transcriber) -> None:
    async def main() -> causerie.transcribe.Transcript:
        async with transcriber.live(16_000, language="en", **OPTIONS) as live:
            reading = asyncio.create_task(read(live))
            for start in range(0, len(TONE), 4_000):
                live.push(TONE[start : start + 4_000])
                await asyncio.sleep(0)
            live.end()
            return await reading

    async def read(live: LiveTranscription) -> causerie.transcribe.Transcript:
        return transcript_of([event async for event in live])

    assert asyncio.run(main()).duration == pytest.approx(1.5)


def test_a_cancelled_transcription_ends_with_what_it_has(transcriber: Transcriber) -> None:
    with transcriber.stream(FILE, **OPTIONS) as stream:
        stream.cancel()
        assert transcript_of(list(stream)).was_cancelled
    live = transcriber.live(16_000)
    live.push(TONE)
    live.cancel()
    assert transcript_of(list(live)).was_cancelled


def test_a_task_that_waits_for_samples_can_be_cancelled(transcriber: Transcriber) -> None:
    async def main() -> None:
        live = transcriber.live(16_000)
        waiting = asyncio.create_task(live.__anext__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())


def test_a_transcription_that_is_dropped_ends_its_thread(transcriber: Transcriber) -> None:
    live = transcriber.live(16_000)
    live.push(TONE)
    assert list(live.ready())
    del live
    gc.collect()


def test_wrong_options_and_sounds_are_typed_errors(transcriber: Transcriber) -> None:
    with pytest.raises(SdkError.InvalidOption) as caught:
        transcriber.transcribe(FILE, language="xx")
    assert caught.value.option == "language"
    with pytest.raises(SdkError.InvalidOption, match="temperatures must be between 0 and 10, found -1"):
        transcriber.transcribe(FILE, temperatures=[-1])
    with pytest.raises(SdkError.InvalidOption, match="did you mean language"):
        transcriber.transcribe(FILE, langage="en")  # type: ignore[call-arg]
    with pytest.raises(SdkError.InvalidOption, match="has_word_times"):
        transcriber.transcribe(FILE, has_word_times=True)
    with pytest.raises(SdkError.UnsupportedContent):
        transcriber.transcribe(b"RIFF")
    with pytest.raises(SdkError.UnsupportedContent, match="found 10"):
        transcriber.live(10)
    with pytest.raises(SdkError.UnsupportedContent, match=r"samples\[0\] must be a finite number, found NaN"):
        transcriber.live(16_000).push([math.nan])
    with pytest.raises(FileNotFoundError):
        transcriber.transcribe("no/such.wav")


def test_loading_fails_with_typed_errors() -> None:
    with pytest.raises(SdkError.ModelNotFound):
        Transcriber.load("no/such/model")
    with pytest.raises(SdkError.ModelLoad):
        Transcriber.load(FIXTURES / "models/lfm2-q4_0.gguf")
    with pytest.raises(SdkError.InvalidOption, match="threads"):
        Transcriber.load(FOLDER, threads=0)
    with pytest.raises(TypeError, match=r"Transcriber\.load"):
        Transcriber(ModelRunner)


def test_a_file_of_ggml_is_loaded_and_quantised() -> None:
    ggml = Transcriber.load(FIXTURES / "models/ggml-whisper-f16.bin", threads=1)
    assert ggml.languages == asyncio.run(Transcriber.load_async(FOLDER, TranscriberOptions(quantize="q8_0"))).languages
    assert repr(ggml) == f"<Transcriber of {len(ggml.languages)} languages>"


def test_partial_texts_replace_each_other(transcriber: Transcriber) -> None:
    live = transcriber.live(16_000, language="en", **OPTIONS)
    live.push(TONE * 2)
    kinds = {type(event) for event in live.ready()}
    assert kinds <= {Language, Partial, Segment} and Language in kinds
    live.cancel()
