"""The official client of Anthropic, with the server's address without /v1."""

import unittest

import anthropic

from server import MODEL, TOOLS, Server

TIMER = [{"role": "user", "content": "Set a timer for 12 minutes for the pasta"}]
ANTHROPIC_TOOLS = [
    {
        "name": tool["function"]["name"],
        "description": tool["function"]["description"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in TOOLS
]


class Anthropic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        base_url = cls.server.base_url.removesuffix("/v1")
        cls.client = anthropic.Anthropic(base_url=base_url, api_key="placeholder", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        assert cls.server.stop() == 0

    def fields(self, **more):
        return {"model": MODEL, "max_tokens": 60, "messages": TIMER, "extra_body": {"temperature": 0}, **more}

    def test_a_tool_is_used_and_its_result_gets_an_answer(self):
        message = self.client.messages.create(**self.fields(tools=ANTHROPIC_TOOLS))
        self.assertEqual(message.stop_reason, "tool_use")
        call = next(block for block in message.content if block.type == "tool_use")
        self.assertEqual((call.name, call.input), ("set_timer", {"duration": 12, "unit": "minutes", "label": "pasta"}))
        result = {"type": "tool_result", "tool_use_id": call.id, "content": '{"timer": "pasta", "duration": "12 minutes"}'}
        history = [*TIMER, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        answer = self.client.messages.create(**self.fields(messages=history, tools=ANTHROPIC_TOOLS))
        self.assertIn("pasta", answer.content[0].text)
        self.assertGreater(answer.usage.cache_read_input_tokens, 0)
        self.assertTrue(answer._request_id.startswith("req_"))

    def test_a_stream_adds_up_to_the_same_message(self):
        for tools in ([], ANTHROPIC_TOOLS):
            whole = self.client.messages.create(**self.fields(tools=tools))
            with self.client.messages.stream(**self.fields(tools=tools)) as stream:
                text = "".join(stream.text_stream)
                final = stream.get_final_message()
            self.assertEqual(text, "".join(block.text for block in whole.content if block.type == "text"))
            strip = lambda message: [block.model_dump(exclude={"id"}) for block in message.content]
            self.assertEqual(strip(final), strip(whole))
            self.assertEqual(final.stop_reason, whole.stop_reason)
            self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)
            self.assertGreater(final.usage.input_tokens + final.usage.cache_read_input_tokens, 0)

    def test_a_stop_sequence_is_reported(self):
        hello = [{"role": "user", "content": "Hello!"}]
        text = self.client.messages.create(**self.fields(messages=hello)).content[0].text
        stop = text[len(text) // 2 :][:3]
        message = self.client.messages.create(**self.fields(messages=hello, stop_sequences=["§", stop]))
        self.assertEqual((message.stop_reason, message.stop_sequence), ("stop_sequence", stop))
        self.assertEqual(message.content[0].text, text[: text.index(stop)])

    def test_tokens_are_counted(self):
        count = self.client.messages.count_tokens(model=MODEL, messages=TIMER).input_tokens
        usage = self.client.messages.create(**self.fields()).usage
        self.assertEqual(count, usage.input_tokens + usage.cache_read_input_tokens)

    def test_a_tool_can_be_required(self):
        hello = [{"role": "user", "content": "Hello!"}]
        choice = {"type": "tool", "name": "set_timer"}
        message = self.client.messages.create(**self.fields(messages=hello, tools=ANTHROPIC_TOOLS, tool_choice=choice))
        self.assertEqual([block.name for block in message.content if block.type == "tool_use"][0], "set_timer")

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(anthropic.NotFoundError) as caught:
            self.client.post("/v1/v1/messages", cast_to=object, body={})
        self.assertIn("without /v1", str(caught.exception))
        self.assertEqual(self.client.messages.create(**self.fields(model="other")).model, MODEL)
        with self.assertRaises(anthropic.BadRequestError):
            self.client.messages.create(**self.fields(extra_body={"temperature": 3}))


if __name__ == "__main__":
    unittest.main()
