"""LiteLLM, which has an environment of its own because it needs an older client of OpenAI."""

import json
import unittest

import litellm

from server import MODEL, TOOLS, Server

TIMER = [{"role": "user", "content": "Set a timer for 12 minutes for the pasta"}]


class LiteLlm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        litellm.telemetry = False
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def ask(self, messages=TIMER, **fields):
        options = {"api_base": self.server.base_url, "api_key": "placeholder", "temperature": 0, "max_tokens": 60}
        return litellm.completion(model=f"openai/{MODEL}", messages=messages, num_retries=0, **options, **fields)

    def test_a_reply_whole_and_streamed(self):
        hello = [{"role": "user", "content": "Hello!"}]
        whole = self.ask(hello).choices[0].message.content
        chunks = self.ask(hello, stream=True, stream_options={"include_usage": True})
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), whole)

    def test_a_function_called_whole_and_streamed(self):
        arguments = {"duration": 12, "unit": "minutes", "label": "pasta"}
        (call,) = self.ask(tools=TOOLS).choices[0].message.tool_calls
        self.assertEqual((call.function.name, json.loads(call.function.arguments)), ("set_timer", arguments))
        chunks = list(self.ask(tools=TOOLS, stream=True))
        (call,) = litellm.stream_chunk_builder(chunks, messages=TIMER).choices[0].message.tool_calls
        self.assertEqual((call.function.name, json.loads(call.function.arguments)), ("set_timer", arguments))

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(litellm.ContextWindowExceededError):
            self.ask([{"role": "user", "content": "word " * 20_000}])
        with self.assertRaises(litellm.BadRequestError):
            self.ask(tool_choice="required")


if __name__ == "__main__":
    unittest.main()
