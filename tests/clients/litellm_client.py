"""LiteLLM, in an environment of its own: it wants other versions of the clients than the rest."""

import json
import unittest

import litellm

from server import MODEL, TOOLS, Server

litellm.suppress_debug_info = True
ASK = [{"role": "user", "content": "Set a timer for 12 minutes for the pasta"}]


class LiteLlm(unittest.TestCase):
    def test_replies_streams_and_calls(self):
        server = Server()
        fields = {"model": f"openai/{MODEL}", "api_base": server.base_url, "api_key": "placeholder", "temperature": 0}
        hello = [{"role": "user", "content": "Hello!"}]
        try:
            whole = litellm.completion(messages=hello, **fields)
            stream = litellm.completion(messages=hello, stream=True, stream_options={"include_usage": True}, **fields)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
            self.assertEqual(text, whole.choices[0].message.content)
            (call,) = litellm.completion(messages=ASK, tools=TOOLS, **fields).choices[0].message.tool_calls
            arguments = {"duration": 12, "unit": "minutes", "label": "pasta"}
            self.assertEqual((call.function.name, json.loads(call.function.arguments)), ("set_timer", arguments))
            with self.assertRaises(litellm.exceptions.NotFoundError):
                litellm.completion(messages=hello, **{**fields, "model": "openai/other"})
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
