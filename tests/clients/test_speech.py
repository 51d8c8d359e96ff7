"""Replies that speak, from the official client: with a tiny random model, whose words and sound mean nothing."""

import base64
import io
import json
import tempfile
import unittest
import wave

import openai

from server import MODEL, ROOT, Server, reading_model

FILE = ROOT / "tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf"
QUESTION = {"role": "user", "content": "Who are you?"}


class Speech(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model", str(FILE), "--model-id", MODEL)
        cls.openai = openai.OpenAI(base_url=cls.server.base_url, api_key="placeholder", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        assert cls.server.stop() == 0

    def fields(self, form, messages=(QUESTION,)):
        return {
            "model": MODEL, "messages": list(messages), "modalities": ["text", "audio"],
            "audio": {"voice": "alloy", "format": form}, "temperature": 0, "seed": 7, "max_tokens": 40,
        }

    def chat(self, form, messages=(QUESTION,), **more):
        return self.openai.chat.completions.create(**self.fields(form, messages), **more)

    def whole(self):
        return self.chat("wav").choices[0].message

    def test_a_whole_reply_has_a_file_and_a_transcript(self):
        message = self.whole()
        with wave.open(io.BytesIO(base64.b64decode(message.audio.data))) as file:
            self.assertEqual((file.getframerate(), file.getnchannels(), file.getsampwidth()), (24000, 1, 2))
            self.assertGreater(file.getnframes(), 24000)
            samples = file.readframes(file.getnframes())
        self.assertIsNone(message.content)
        self.assertTrue(message.audio.transcript)
        pcm = self.chat("pcm16").choices[0].message.audio.data
        self.assertEqual(base64.b64decode(pcm), samples)

    def test_the_client_joins_the_deltas_of_a_stream(self):
        data, transcript, ids, expires = "", "", [], []
        for chunk in self.chat("pcm16", stream=True):
            if audio := chunk.choices[0].delta.audio:
                data += audio.data or ""
                transcript += audio.transcript or ""
                ids += [audio.id] if audio.id else []
                expires += [audio.expires_at] if audio.expires_at else []
        whole = self.chat("pcm16").choices[0].message.audio
        self.assertEqual((base64.b64decode(data), transcript), (base64.b64decode(whole.data), whole.transcript))
        self.assertEqual((len(ids), len(expires)), (1, 1))
        with self.openai.chat.completions.stream(**self.fields("pcm16")) as stream:
            for _ in stream:
                joined = stream.current_completion_snapshot.choices[0].message
        self.assertEqual((joined.audio.data, joined.audio.transcript), (whole.data, whole.transcript))
        self.assertIsNone(joined.content)

    def test_the_next_question_names_the_sound_of_the_answer(self):
        first = self.chat("wav")
        said = {"role": "assistant", "audio": {"id": first.choices[0].message.audio.id}}
        second = self.chat("wav", [QUESTION, said, {"role": "user", "content": "Why?"}])
        details = second.usage.prompt_tokens_details
        self.assertEqual(details.audio_tokens, first.usage.completion_tokens_details.audio_tokens)
        self.assertGreaterEqual(details.cached_tokens, first.usage.prompt_tokens)
        forgotten = {"role": "assistant", "audio": {"id": "audio_1"}}
        with self.assertRaises(openai.BadRequestError) as raised:
            self.chat("wav", [QUESTION, forgotten, {"role": "user", "content": "Why?"}])
        self.assertIn("send its transcript", json.dumps(raised.exception.body))

    def test_a_model_without_speech_is_named(self):
        server = Server()
        client = openai.OpenAI(base_url=server.base_url, api_key="placeholder", max_retries=0)
        with self.assertRaises(openai.BadRequestError) as raised:
            client.chat.completions.create(
                model=MODEL, messages=[QUESTION], modalities=["text", "audio"], audio={"voice": "alloy", "format": "wav"}
            )
        self.assertIn(f"the model {MODEL} does not speak", raised.exception.message)
        with self.assertRaises(openai.BadRequestError) as raised:
            client.audio.speech.create(model=MODEL, voice="alloy", input="Good morning!")
        self.assertIn(f"the model {MODEL} does not", raised.exception.message)
        client.close()
        server.stop()


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        model = reading_model(cls.folder.name)
        cls.server = Server("--model", str(model), "--model-id", MODEL, "--context", "120")
        cls.openai = openai.OpenAI(base_url=cls.server.base_url, api_key="placeholder", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        assert cls.server.stop() == 0
        cls.folder.cleanup()

    def fields(self, **fields):
        extra = {"seed": 7, **fields.pop("extra_body", {})}
        return {"model": MODEL, "voice": "alloy", "input": "Dinner is ready.", "extra_body": extra, **fields}

    def test_a_file_is_read_whole_and_while_it_comes(self):
        whole = self.openai.audio.speech.create(**self.fields(extra_body={"stream": False})).content
        with wave.open(io.BytesIO(whole)) as file:
            samples = file.readframes(file.getnframes())
            self.assertEqual((file.getframerate(), 2 * file.getnframes()), (24000, len(whole) - 44))
        with self.openai.audio.speech.with_streaming_response.create(**self.fields(response_format="pcm")) as reply:
            self.assertEqual(reply.headers["content-type"], "audio/pcm")
            pieces = list(reply.iter_bytes())
        self.assertEqual(b"".join(pieces), samples)
        self.assertGreater(len(samples), 4000)

    def test_events_join_to_the_file(self):
        pcm = self.openai.audio.speech.create(**self.fields(response_format="pcm")).content
        fields = self.fields(response_format="pcm", stream_format="sse")
        with self.openai.audio.speech.with_streaming_response.create(**fields) as reply:
            self.assertEqual(reply.headers["content-type"], "text/event-stream")
            events = [json.loads(line.removeprefix("data: ")) for line in reply.iter_lines() if line]
        self.assertEqual(b"".join(base64.b64decode(event["audio"]) for event in events[:-1]), pcm)
        self.assertEqual(events[-1]["type"], "speech.audio.done")

    def test_a_format_that_is_not_written_is_named(self):
        with self.assertRaises(openai.BadRequestError) as raised:
            self.openai.audio.speech.create(**self.fields(response_format="opus"))
        self.assertEqual(raised.exception.param, "response_format")


if __name__ == "__main__":
    unittest.main()
