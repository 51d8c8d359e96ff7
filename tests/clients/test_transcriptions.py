"""Speech to text from the official client: with a tiny random Whisper, whose text means nothing."""

import json
import unittest

import openai

from server import ROOT, Server

MODEL = ROOT / "tests/fixtures/models/whisper"
SOUND = ROOT / "tests/fixtures/sounds/flac16.flac"


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
        with SOUND.open("rb") as file:
            return self.openai.audio.transcriptions.create(model="whisper", file=file, **fields)

    def test_a_whole_text_has_the_duration_of_its_sound(self):
        reply = self.ask(language="en", temperature=0)
        self.assertIsInstance(reply.text, str)
        self.assertEqual(self.ask().usage.seconds, 0.03)

    def test_formats(self):
        self.assertEqual(self.ask(response_format="text"), self.text + "\n")
        self.assertTrue(self.ask(response_format="vtt").startswith("WEBVTT"))
        self.assertIsInstance(self.ask(response_format="srt"), str)
        verbose = self.ask(response_format="verbose_json", timestamp_granularities=["segment"])
        self.assertEqual((verbose.text, verbose.duration), (self.text, 0.03))
        self.assertEqual("".join(segment.text for segment in verbose.segments).strip(), self.text)

    def test_a_stream_ends_with_the_whole_text(self):
        events = list(self.ask(stream=True))
        self.assertEqual((events[-1].type, events[-1].text), ("transcript.text.done", self.text))
        self.assertEqual("".join(event.delta for event in events[:-1]).strip(), self.text)

    def test_a_translation(self):
        with SOUND.open("rb") as file:
            self.assertIsInstance(self.openai.audio.translations.create(model="whisper", file=file).text, str)

    def test_an_error_names_its_field(self):
        with self.assertRaises(openai.BadRequestError) as raised:
            self.openai.audio.transcriptions.create(model="whisper", file=("a.webm", b"\x1aE\xdf\xa3", "video/webm"))
        self.assertEqual(raised.exception.param, "file")
        self.assertIn("WebM", json.dumps(raised.exception.body))
