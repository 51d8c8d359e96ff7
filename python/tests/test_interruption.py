"""Spoken replies that their listener interrupts, on a tiny model with random weights that speaks."""

from __future__ import annotations

import io
import wave

from support import FIXTURES

from causerie import Audio, AudioSample, ChatMessage, Complete, FinishReason, ModelRunner

GGUF = FIXTURES / "models/lfm2a-speech/lfm2a-speech-f16.gguf"
FRAME = 1920
"""Samples of a frame, which has 80 ms."""


def sample_count(message: ChatMessage) -> int:
    """Returns the number of samples in a message."""
    files = [wave.open(io.BytesIO(part.data)) for part in message.content if isinstance(part, Audio)]
    return sum(file.getnframes() for file in files)


def test_an_interrupted_reply_keeps_what_was_heard() -> None:
    conversation = ModelRunner.load(GGUF, context_size=2048).create_conversation("Respond with interleaved text and audio.")
    end, generated = None, 0
    for event in conversation.generate_response("Hi", temperature=0.0, speech_temperature=0.0):
        if isinstance(event, AudioSample):
            generated += len(event.samples)
            if 4 * FRAME <= generated:
                conversation.interrupt(0.1)
        elif isinstance(event, Complete):
            end = event
    assert end is not None and end.finish_reason is FinishReason.INTERRUPTED
    assert sample_count(end.full_message) == 2 * FRAME
    assert conversation.history[-1] == end.full_message
    # After the end, the message in the history is cut.
    conversation.interrupt(0.01)
    assert sample_count(conversation.history[-1]) == FRAME
    conversation.interrupt(0)
    assert conversation.history[-1].role == "user"
