"""A voice agent of Pipecat, which has an environment of its own: its service for OpenAI's realtime API speaks with a tiny random model."""

import asyncio
import math
import struct
import unittest

from pipecat.frames.frames import EndFrame, InputAudioRawFrame, LLMContextFrame, TTSAudioRawFrame, TTSStoppedFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.openai.realtime import events
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner

from server import MODEL, ROOT, Server

SPEAKING = ROOT / "tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf"
RATE = 24000
SECONDS = 120
"""Ends a try that got no sound, or a test that fails."""


def sound(seconds, amplitude):
    """Returns a frame as a transport gives it."""
    samples = (round(32767 * amplitude * math.sin(0.1 * at)) for at in range(round(RATE * seconds)))
    audio = b"".join(struct.pack("<h", sample) for sample in samples)
    return InputAudioRawFrame(audio=audio, sample_rate=RATE, num_channels=1)


class Listener(FrameProcessor):
    """Keeps the sound of the first reply."""

    def __init__(self):
        super().__init__()
        self.audio = b""
        self.ended = asyncio.Event()

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            self.audio += frame.audio
        if isinstance(frame, TTSStoppedFrame):
            self.ended.set()
        await self.push_frame(frame, direction)


class Pipecat(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.server = Server("--model", str(SPEAKING), "--model-id", MODEL, "--context", "2048")
        self.addCleanup(self.server.stop)

    async def test_an_agent_hears_a_turn_and_speaks(self):
        # About one reply of the random weights in a hundred ends before its sound, and Pipecat cannot ask for temperature 0.
        for is_last in (False, False, True):
            try:
                return await self.hear_and_speak()
            except asyncio.TimeoutError:
                if is_last:
                    raise

    async def hear_and_speak(self):
        turns = events.TurnDetection(silence_duration_ms=200)
        properties = events.SessionProperties(
            audio=events.AudioConfiguration(input=events.AudioInput(turn_detection=turns)), max_output_tokens=40
        )
        service = OpenAIRealtimeLLMService(
            api_key="placeholder",
            base_url=self.server.base_url.replace("http://", "ws://") + "/realtime",
            settings=OpenAIRealtimeLLMService.Settings(model=MODEL, session_properties=properties),
        )
        errors = []
        service.add_event_handler("on_error", lambda _, error: errors.append(error))
        listener = Listener()
        worker = PipelineWorker(Pipeline([service, listener]), cancel_on_idle_timeout=False, enable_rtvi=False)
        running = asyncio.create_task(WorkerRunner(handle_sigint=False).run(worker))
        # The context makes the session ready, with a reply to nothing.
        await worker.queue_frame(LLMContextFrame(LLMContext([{"role": "user", "content": "Hi"}])))
        await asyncio.wait_for(listener.ended.wait(), SECONDS)
        first, listener.audio = listener.audio, b""
        listener.ended.clear()
        for frame in (sound(0.5, 0.5), sound(0.5, 0)):
            await worker.queue_frame(frame)
        await asyncio.wait_for(listener.ended.wait(), SECONDS)
        await worker.queue_frame(EndFrame())
        await asyncio.wait_for(running, SECONDS)
        self.assertEqual(errors, [])
        for audio in (first, listener.audio):
            self.assertTrue(audio and len(audio) % (2 * 1920) == 0, len(audio))


if __name__ == "__main__":
    unittest.main()
