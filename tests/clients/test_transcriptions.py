"""Speech to text from the official client: with a tiny random Whisper, whose text means nothing."""

import io
import json
import math
import struct
import unittest
import warnings
import wave

import openai

from server import ROOT, Server

MODEL = ROOT / "tests/fixtures/models/whisper"


def tone():
    """Returns a WAV file of two seconds, of which the model writes something."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((1, 2, 16000, 0, "NONE", None))
        writer.writeframes(b"".join(struct.pack("<h", round(16000 * math.sin(0.17 * at))) for at in range(32000)))
    return ("tone.wav", file.getvalue())


class Transcriptions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--transcriber", str(MODEL))
        cls.openai = openai.OpenAI(base_url=cls.server.base_url, api_key="placeholder", max_retries=0)
        cls.text = cls.ask(cls).text

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        cls.server.stop()

    def ask(self, **fields):
        return self.openai.audio.transcriptions.create(model="whisper", file=tone(), **fields)

    def test_a_whole_text_has_the_duration_of_its_sound(self):
        reply = self.ask(language="en", temperature=0)
        self.assertTrue(reply.text)
        self.assertEqual(reply.usage.seconds, 2)

    def test_formats(self):
        self.assertEqual(self.ask(response_format="text"), self.text + "\n")
        self.assertTrue(self.ask(response_format="vtt").startswith("WEBVTT"))
        self.assertTrue(self.ask(response_format="srt").startswith("1\n00:00:0"))
        verbose = self.ask(response_format="verbose_json", timestamp_granularities=["segment"])
        self.assertEqual((verbose.text, verbose.duration), (self.text, 2))
        self.assertEqual("".join(segment.text for segment in verbose.segments).strip(), self.text)

    def test_a_stream_ends_with_the_whole_text(self):
        events = list(self.ask(stream=True))
        self.assertEqual((events[-1].type, events[-1].text), ("transcript.text.done", self.text))
        self.assertEqual("".join(event.delta for event in events[:-1]).strip(), self.text)

    def test_a_translation(self):
        with warnings.catch_warnings(action="ignore"):  # the client calls it deprecated
            self.assertTrue(self.openai.audio.translations.create(model="whisper", file=tone()).text)

    def test_an_error_names_its_field(self):
        with self.assertRaises(openai.BadRequestError) as raised:
            self.openai.audio.transcriptions.create(model="whisper", file=("a.webm", b"\x1aE\xdf\xa3", "video/webm"))
        self.assertEqual(raised.exception.param, "file")
        self.assertIn("WebM", json.dumps(raised.exception.body))
