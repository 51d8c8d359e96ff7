"""Realtime conversations with the official client: in text with the demo model, and in sound with a tiny random LFM2-Audio."""

import base64
import json
import math
import struct
import unittest

import openai

from server import MODEL, ROOT, TOOLS, Server

SPEAKING = ROOT / "tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf"
RATE = 24000


def tone(seconds, amplitude=0.5):
    """Returns samples as events have them."""
    samples = (round(32767 * amplitude * math.sin(0.1 * at)) for at in range(round(RATE * seconds)))
    return base64.b64encode(b"".join(struct.pack("<h", sample) for sample in samples)).decode()


def until(connection, kind):
    """Returns the events up to the next one of a type."""
    events = []
    for event in connection:
        assert event.type != "error", event
        events.append(event)
        if event.type == kind:
            return events
    raise AssertionError(f"{kind} never came")


class Realtime(unittest.TestCase):
    def serve(self, *options):
        server = Server(*options)
        client = openai.OpenAI(base_url=server.base_url, api_key="placeholder", max_retries=0)
        self.addCleanup(server.stop)
        self.addCleanup(client.close)
        return client

    def test_a_function_is_called_and_its_result_read(self):
        client = self.serve()
        tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
        with client.realtime.connect(model=MODEL) as connection:
            until(connection, "session.created")
            connection.session.update(session={"type": "realtime", "tools": tools, "output_modalities": ["text"]})
            session = until(connection, "session.updated")[-1].session
            self.assertEqual((session.output_modalities, session.tools[0].name), (["text"], tools[0]["name"]))
            text = [{"type": "input_text", "text": "Set a timer for 12 minutes for the pasta"}]
            connection.conversation.item.create(item={"type": "message", "role": "user", "content": text})
            connection.response.create(response={"max_output_tokens": 100})
            events = until(connection, "response.done")
            (call,) = [event for event in events if event.type == "response.function_call_arguments.done"]
            self.assertEqual(json.loads(call.arguments), {"duration": 12, "unit": "minutes", "label": "pasta"})
            output = events[-1].response.output[0]
            self.assertEqual((output.type, output.name, output.call_id), ("function_call", "set_timer", call.call_id))
            result = {"type": "function_call_output", "call_id": call.call_id, "output": '{"status": "started"}'}
            connection.conversation.item.create(item=result)
            connection.response.create()
            events = until(connection, "response.done")
            spoken = "".join(event.delta for event in events if event.type == "response.output_text.delta")
            self.assertTrue(spoken)
            self.assertEqual(events[-1].response.output[0].content[0].text, spoken)

    def test_a_turn_is_found_and_answered_in_sound_and_cut(self):
        client = self.serve("--model", str(SPEAKING), "--model-id", MODEL, "--context", "2048")
        turns = {"type": "server_vad", "silence_duration_ms": 200, "interrupt_response": False}
        format = {"type": "audio/pcm", "rate": RATE}
        with client.realtime.connect(model=MODEL) as connection:
            until(connection, "session.created")
            audio = {"input": {"format": format, "turn_detection": turns}, "output": {"format": format}}
            settings = {"type": "realtime", "audio": audio, "max_output_tokens": 40, "temperature": 0}
            connection.session.update(session=settings)
            until(connection, "session.updated")
            connection.input_audio_buffer.append(audio=tone(0.5))
            connection.input_audio_buffer.append(audio=tone(0.5, 0))
            committed = until(connection, "input_audio_buffer.committed")[-1]
            events = until(connection, "response.done")
            sound = b"".join(
                base64.b64decode(event.delta) for event in events if event.type == "response.output_audio.delta"
            )
            self.assertTrue(sound and len(sound) % (2 * 1920) == 0)
            (item,) = events[-1].response.output
            words = "".join(event.delta for event in events if event.type == "response.output_audio_transcript.delta")
            self.assertEqual(item.content[0].transcript, words)
            connection.conversation.item.truncate(item_id=item.id, content_index=0, audio_end_ms=100)
            self.assertEqual(until(connection, "conversation.item.truncated")[-1].audio_end_ms, 100)
            heard = events[-1].response.usage.input_token_details.audio_tokens
            connection.response.create(response={"max_output_tokens": 2})
            usage = until(connection, "response.done")[-1].response.usage
            # Of the reply, two frames of 80 ms were heard.
            self.assertEqual(usage.input_token_details.audio_tokens, heard + 2)
            connection.conversation.item.delete(item_id=committed.item_id)
            until(connection, "conversation.item.deleted")

    def test_an_error_leaves_the_session_open(self):
        client = self.serve()
        with client.realtime.connect(model=MODEL) as connection:
            until(connection, "session.created")
            connection.send({"type": "conversation.item.retrieve", "item_id": "none", "event_id": "mine"})
            error = connection.recv()
            expected = ("error", "item_retrieve_invalid_item_id", "mine")
            self.assertEqual((error.type, error.error.code, error.error.event_id), expected)
            connection.input_audio_buffer.clear()
            until(connection, "input_audio_buffer.cleared")
