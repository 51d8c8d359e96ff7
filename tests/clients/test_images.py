"""Images from the official clients: to a tiny random LFM2-VL, whose prompts transformers has counted."""

import base64
import json
import struct
import unittest
import zlib

import anthropic
import openai

from server import MODEL, ROOT, Server

FOLDER = ROOT / "tests/fixtures/models/lfm2vl-hf"
GOLDEN = json.loads((ROOT / "tests/golden/vision.json").read_text())["conversations"]


def png(width, height, seed=0):
    """Returns a picture of the golden files."""
    def level(x, y, c):
        fine = (x * (3 + c) + y * (5 - c) + x * y // 16 + 37 * seed) % 256
        return ((fine + 3 * ((x // 24 + y // 40 + c + seed) % 3) * 80 + (x + y) // 8 % 64) // 4) % 256

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(level(x, y, c) for x in range(width) for c in range(3)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def data_url(file):
    return "data:image/png;base64," + base64.b64encode(file).decode()


def record(index):
    """Returns a conversation of the golden files: its only question, and the length of its prompt."""
    found = GOLDEN[index]
    (message,) = found["messages"]
    return message["content"], len(found["prompt"])


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--model", str(FOLDER), "--model-id", MODEL, "--cache-type", "f32")
        cls.openai = openai.OpenAI(base_url=cls.server.base_url, api_key="placeholder", max_retries=0)
        root = cls.server.base_url.removesuffix("/v1")
        cls.anthropic = anthropic.Anthropic(base_url=root, api_key="placeholder", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        cls.anthropic.close()
        assert cls.server.stop() == 0

    def chat(self, content, role="user", before=()):
        messages = [*before, {"role": role, "content": content}]
        if role == "tool":
            messages[-1]["tool_call_id"] = "call_1"
        return self.openai.chat.completions.create(model=MODEL, messages=messages, temperature=0, max_tokens=8)

    def test_every_form_has_the_tokens_and_the_reply_of_the_reference(self):
        for index in (0, 1):
            parts, n_tokens = record(index)
            files = [part.get("text") or png(*part["picture"]) for part in parts]
            chat = self.chat([
                {"type": "text", "text": part} if isinstance(part, str) else {"type": "image_url", "image_url": {"url": data_url(part)}}
                for part in files
            ])
            response = self.openai.responses.create(model=MODEL, temperature=0, max_output_tokens=8, input=[{"role": "user", "content": [
                {"type": "input_text", "text": part} if isinstance(part, str) else {"type": "input_image", "detail": "auto", "image_url": data_url(part)}
                for part in files
            ]}])
            message = self.anthropic.messages.create(model=MODEL, extra_body={"temperature": 0}, max_tokens=8, messages=[{"role": "user", "content": [
                {"type": "text", "text": part} if isinstance(part, str)
                else {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(part).decode()}}
                for part in files
            ]}])
            self.assertEqual(chat.usage.prompt_tokens, n_tokens)
            self.assertEqual(response.usage.input_tokens, n_tokens)
            usage = message.usage
            self.assertEqual(usage.input_tokens + (usage.cache_read_input_tokens or 0), n_tokens)
            texts = {chat.choices[0].message.content, response.output_text, message.content[0].text}
            self.assertEqual(len(texts), 1, texts)

    def test_a_tool_shows_an_image(self):
        call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        before = [{"role": "user", "content": "Look!"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
        text = self.chat([{"type": "text", "text": "seen"}], "tool", before)
        image = {"type": "image_url", "image_url": {"url": data_url(png(50, 38))}}
        shown = self.chat([{"type": "text", "text": "seen"}, image], "tool", before)
        # Two rows, and the tokens before and after them.
        self.assertEqual(shown.usage.prompt_tokens, text.usage.prompt_tokens + 4)
        tool_use = [{"type": "tool_use", "id": "call_1", "name": "look", "input": {}}]
        block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png(50, 38)).decode()}}
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "seen"}, block]}
        counted = [self.anthropic.messages.count_tokens(model=MODEL, messages=[
            {"role": "user", "content": "Look!"}, {"role": "assistant", "content": tool_use},
            {"role": "user", "content": [result | {"content": content}]},
        ]).input_tokens for content in (result["content"][:1], result["content"])]
        self.assertEqual(counted[1], counted[0] + 4)

    def test_addresses_and_damaged_images_are_refused_by_their_place(self):
        for url, words in [
            ("https://example.org/cat.png", "fetches no such address"),
            ("file:///etc/passwd", "fetches no such address"),
            ("data:image/png;base64,!", "valid base64"),
            (data_url(b"damaged"), "JPEG, PNG, WebP or GIF"),
        ]:
            with self.assertRaises(openai.BadRequestError) as refused:
                self.chat([{"type": "image_url", "image_url": {"url": url}}])
            self.assertIn(words, refused.exception.message)


class RemoteImages(unittest.TestCase):
    def test_an_allowed_host_in_a_private_network_is_refused(self):
        server = Server("--model", str(FOLDER), "--model-id", MODEL, "--allow-image-urls", "localhost:9", "127.0.0.1")
        client = openai.OpenAI(base_url=server.base_url, api_key="placeholder", max_retries=0)
        for url, words in [
            ("http://localhost:9/a.png", "private network"),
            ("http://127.0.0.1/a.png", "private network"),
            ("http://images.example/a.png", "--allow-image-urls"),
        ]:
            content = [{"type": "image_url", "image_url": {"url": url}}]
            with self.assertRaises(openai.BadRequestError) as refused:
                client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": content}])
            self.assertIn("messages[0].content[0].image_url.url must", refused.exception.message)
            self.assertIn(words, refused.exception.message)
        client.close()
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
