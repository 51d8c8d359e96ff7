"""Sound from everything that apps have sound in, on small models with random weights, and on the demo model, which hears."""

from __future__ import annotations

import array
import math
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest
from support import FIXTURES, REPOSITORY

import causerie
from causerie import Audio, ChatMessage, ModelInfo, ModelRunner, SdkError, Text

MODEL = FIXTURES / "models/lfm2a/lfm2a-f16.gguf"
SPEAKS = FIXTURES / "models/lfm2a-speech/lfm2a-speech-f16.gguf"
FILE = FIXTURES / "sounds/short.wav"

TONE = [math.sin(at / 5) / 2 for at in range(4_000)]


@pytest.fixture(scope="module")
def hearing() -> ModelRunner:
    return ModelRunner.load(MODEL)


def wav(samples: list[float], rate: int) -> bytes:
    """The file that Rust's `audio_from_samples` makes: one channel, 16 bits, limited."""
    data = b"".join(struct.pack("<h", max(-32768, min(32767, round(sample * 32768)))) for sample in samples)
    return struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVEfmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", len(data)) + data


def reply(model: ModelRunner, *content: Text | Audio) -> tuple[str, int]:
    """Returns the reply to a message, and the number of rows of sound in its prompt."""
    end = model.create_conversation().respond(ChatMessage("user", content), temperature=0.0, max_tokens=4)
    return end.text, end.stats.audio_tokens


def test_samples_are_a_wav_file_of_sixteen_bits() -> None:
    assert Audio([0.0, 0.25, -0.5, 1.5, -2], 24_000).data == wav([0.0, 0.25, -0.5, 1.5, -2], 24_000)
    assert Audio([], 16_000).data == wav([], 16_000)


@pytest.mark.parametrize(
    "samples",
    [
        tuple(TONE),
        iter(TONE),
        array.array("f", TONE),
        array.array("d", TONE),
        memoryview(array.array("f", TONE)),
        numpy.array(TONE),
        numpy.array(TONE, numpy.float32),
        numpy.array(TONE, ">f4"),
        numpy.array(TONE).reshape(-1, 1),
        numpy.array(TONE).reshape(1, -1),
        numpy.repeat(numpy.array(TONE), 2)[::2],
        numpy.array(TONE, numpy.float32)[::-1][::-1],
    ],
    ids=lambda samples: type(samples).__name__,
)
def test_every_source_of_samples_is_the_same_sound(samples: Any) -> None:
    assert Audio(samples, 48_000) == Audio(TONE, 48_000)


def test_files_are_given_as_images_are(tmp_path: Path) -> None:
    data = FILE.read_bytes()
    for source in (FILE, str(FILE), data, bytearray(data), memoryview(data), numpy.frombuffer(data, numpy.uint8)):
        assert Audio(source).data == data
    with pytest.raises(FileNotFoundError):
        Audio(tmp_path / "missing.wav")


@pytest.mark.parametrize("rate", [-1, 0, 999, 384_001, 1 << 32, (1 << 32) + 16_000])
def test_rates_that_no_sound_has_are_refused(rate: int) -> None:
    with pytest.raises(SdkError.UnsupportedContent, match=f"^a sound must have between 1000 and 384000 samples per second, found {rate}$"):
        Audio([0.0], rate)


@pytest.mark.parametrize("sample", [math.nan, math.inf, -math.inf, 1e300])
def test_samples_must_be_finite(sample: float) -> None:
    for samples in ([0.0, sample], numpy.array([0.0, sample]), array.array("d", [0.0, sample])):
        with pytest.raises(SdkError.UnsupportedContent, match=r"^samples\[1\] must be a finite number, found (NaN|-?inf)$"):
            Audio(samples, 16_000)


@pytest.mark.parametrize(
    ("samples", "found"),
    [
        (numpy.zeros((100, 2)), r"one channel, .*, found the shape \(100, 2\)"),
        (numpy.zeros((2, 3), numpy.float32), r"one channel"),
        (numpy.zeros(100, numpy.int16), "floats between -1 and 1, found int16"),
        (array.array("h", [0] * 100), "floats between -1 and 1, found items of the format h"),
    ],
)
def test_samples_of_another_kind_are_refused(samples: Any, found: str) -> None:
    with pytest.raises(SdkError.UnsupportedContent, match=found):
        Audio(samples, 16_000)


@pytest.mark.parametrize(("value", "rate"), [(3, 16_000), ("ab", 16_000), (b"ab", 16_000), ([1, "a"], 16_000), ([0.0], 16e3), ([0.0], True), ([0.0], None)])
def test_what_is_no_sound_is_refused_by_its_type(value: Any, rate: Any) -> None:
    with pytest.raises(TypeError, match="^(samples|sample_rate|a sound) must be "):
        Audio(value, rate)


def test_numbers_of_numpy_are_rates() -> None:
    rate: Any = numpy.int64(16_000)
    assert Audio([0.0], rate) == Audio([0.0], 16_000)


def test_a_sound_is_heard_as_its_file_is(hearing: ModelRunner) -> None:
    question = Text("What is this?")
    rows = reply(hearing, Audio(TONE, 16_000), question)
    assert rows == reply(hearing, Audio(wav(TONE, 16_000)), question) and 0 < rows[1]
    assert reply(hearing, question)[1] == 0
    # The same length at half the rate has half the samples.
    assert reply(hearing, Audio(TONE[::2], 8_000), question)[1] == rows[1]


def test_information_says_what_a_model_hears_and_speaks() -> None:
    for info in (ModelInfo.read(MODEL), ModelInfo.read(SPEAKS)):
        assert info.supports_audio and 0 < info.hearing_memory < info.memory_estimate
    assert 0 < info.speech_memory < info.memory_estimate and info.supports_speech
    text = ModelInfo.read(FIXTURES / "models/lfm2-q4_0.gguf")
    assert (text.hearing_memory, text.speech_memory) == (0, 0)


def test_the_demo_model_hears_a_request() -> None:
    with ModelRunner.load(REPOSITORY / "models/demo.gguf") as runner:
        conversation = runner.create_conversation("You are causerie, a small assistant on this device.")
        functions = (REPOSITORY / "server/src/chat/functions.json").read_text()
        conversation.register_functions(causerie.functions_from_json(functions))
        end = conversation.respond(ChatMessage("user", (Audio(FIXTURES / "sounds/timer.wav"),)))
        assert [call.raw_text for call in end.full_message.function_calls or []] == ['set_timer(duration=12, unit="minutes")']


def test_a_reply_speaks_in_samples_of_one_rate() -> None:
    with ModelRunner.load(SPEAKS) as runner:
        conversation = runner.create_conversation("Respond with interleaved text and audio.")
        options: Any = {"temperature": 0.0, "speech_temperature": 0.0, "max_tokens": 24}
        events = list(conversation.generate_response("Hi", **options))
        sounds = [event for event in events if isinstance(event, causerie.AudioSample)]
        assert sounds and {event.sample_rate for event in sounds} == {24_000}
        part = next(part for part in conversation.history[-1].content if isinstance(part, Audio))
        assert part.data.startswith(b"RIFF")


READING: Any = {"speech_temperature": 0.0, "max_tokens": 12, "logit_bias": {3: 100.0}}
"""Token 3 begins sound; by itself, a model with random weights might begin with text."""


def aloud(runner: ModelRunner, voice: Any, **options: Any) -> list[float]:
    events = runner.speak("Dinner is ready.", voice, **READING, **options)
    return [sample for event in events if isinstance(event, causerie.AudioSample) for sample in event.samples]


def test_a_text_is_read_aloud_in_a_voice() -> None:
    with ModelRunner.load(SPEAKS) as runner:
        samples = aloud(runner, "uk_male")
        assert 1_920 < len(samples) and samples == aloud(runner, causerie.SpeechVoice.UK_MALE)
        assert samples != aloud(runner, "us_male")
        complete = list(runner.speak("Dinner is ready.", options=causerie.GenerationOptions(**READING)))[-1]
        assert isinstance(complete, causerie.Complete) and 0 < complete.stats.spoken_tokens <= 12
        with pytest.raises(SdkError.InvalidOption, match=r"^voice must be one of 'us_male', .*, found 'alloy'$"):
            runner.speak("Dinner is ready.", "alloy")


def test_a_model_that_does_not_speak_reads_nothing_aloud(hearing: ModelRunner) -> None:
    with pytest.raises(SdkError.UnsupportedContent, match="^the model does not speak"):
        hearing.speak("Dinner is ready.")


@pytest.mark.parametrize("source", [list, numpy.array, lambda samples: array.array("f", samples)])
def test_samples_are_written_to_files_as_they_come(source: Any) -> None:
    expected = Audio(TONE, 24_000).data
    for format, begin in (("pcm", b""), ("wav", expected[:4]), (causerie.SoundFormat.FLAC, b"fLaC")):
        writer = causerie.SoundFileWriter(format, 24_000)
        file = b"".join(writer.push(source(TONE[at : at + 700])) for at in range(0, len(TONE), 700)) + writer.finish()
        assert file.startswith(begin) and (format == causerie.SoundFormat.FLAC or file.endswith(expected[44:]))
        assert (writer.push(TONE), writer.finish()) == (b"", b"")


def test_files_that_no_sound_has_are_refused() -> None:
    for rate in (-1, 0, 999, 384_001, 1 << 32):
        with pytest.raises(SdkError.UnsupportedContent, match="^a sound must have between 1000 and 384000 samples per second"):
            causerie.SoundFileWriter("wav", rate)
    with pytest.raises(SdkError.InvalidOption, match="^format must be one of 'wav', 'flac', 'pcm', found 'mp3'$"):
        causerie.SoundFileWriter("mp3")
