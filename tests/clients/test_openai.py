"""The official client of OpenAI, with the address of the server and a placeholder key."""

import asyncio
import contextlib
import json
import unittest

import openai

from server import MODEL, TOOLS, Server

HELLO = [{"role": "user", "content": "Hello!"}]
TIMER = [{"role": "user", "content": "Set a timer for 12 minutes for the pasta"}]


class OpenAi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = openai.OpenAI(base_url=cls.server.base_url, api_key="placeholder", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        assert cls.server.stop() == 0

    def chat(self, messages=HELLO, **fields):
        fields = {"temperature": 0, "max_tokens": 60, **fields}
        return self.client.chat.completions.create(model=MODEL, messages=messages, **fields)

    def test_models_are_listed_and_found(self):
        self.assertEqual([model.id for model in self.client.models.list()], [MODEL])
        self.assertEqual(self.client.models.retrieve(MODEL).id, MODEL)

    def test_a_reply_has_all_its_fields(self):
        reply = self.chat()
        choice = reply.choices[0]
        self.assertEqual((reply.object, reply.model, choice.message.role), ("chat.completion", MODEL, "assistant"))
        self.assertIn(choice.finish_reason, ["stop", "length"])
        self.assertTrue(choice.message.content)
        self.assertEqual(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens)
        self.assertTrue(reply._request_id.startswith("req_"))

    def test_a_stream_gives_the_same_text(self):
        stream = self.chat(stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        whole = self.chat()
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(chunks[-1].choices, [])

    def test_a_function_is_called_and_its_result_gets_an_answer(self):
        reply = self.chat(TIMER, tools=TOOLS, tool_choice="auto").choices[0]
        self.assertEqual(reply.finish_reason, "tool_calls")
        (call,) = reply.message.tool_calls
        self.assertEqual(call.function.name, "set_timer")
        self.assertEqual(json.loads(call.function.arguments), {"duration": 12, "unit": "minutes", "label": "pasta"})
        result = {"role": "tool", "tool_call_id": call.id, "content": '{"timer": "pasta", "duration": "12 minutes"}'}
        history = [*TIMER, reply.message.to_dict(), result]
        answer = self.chat(history, tools=TOOLS)
        self.assertIn("pasta", answer.choices[0].message.content)
        self.assertGreater(answer.usage.prompt_tokens_details.cached_tokens, 0)

    def test_streamed_calls_have_the_form_that_the_client_expects(self):
        fields = {"model": MODEL, "messages": TIMER, "tools": TOOLS, "temperature": 0}
        with self.client.chat.completions.stream(**fields) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_completion().choices[0]
        self.assertIn("tool_calls.function.arguments.delta", kinds)
        self.assertEqual(final.finish_reason, "tool_calls")
        arguments = json.loads(final.message.tool_calls[0].function.arguments)
        self.assertEqual(arguments, {"duration": 12, "unit": "minutes", "label": "pasta"})

    def test_no_tool_is_called_with_tool_choice_none(self):
        reply = self.chat(TIMER, tools=TOOLS, tool_choice="none").choices[0]
        self.assertIsNone(reply.message.tool_calls)
        self.assertNotEqual(reply.finish_reason, "tool_calls")

    def test_sampling_fields_that_the_client_does_not_know_work(self):
        extra = {"min_p": 0.05, "repetition_penalty": 1.1, "top_k": 20}
        texts = {
            self.chat(temperature=1.2, seed=5, extra_body=extra).choices[0].message.content for _ in range(2)
        }
        self.assertEqual(len(texts), 1, "the same seed gives the same reply")

    def test_tokens_are_reported_with_their_log_probabilities(self):
        choice = self.chat(logprobs=True, top_logprobs=2).choices[0]
        tokens = choice.logprobs.content
        self.assertEqual(b"".join(bytes(token.bytes) for token in tokens).decode(), choice.message.content)
        for token in tokens:  # at temperature 0, the most probable token is chosen
            self.assertEqual((token.token, token.logprob), (token.top_logprobs[0].token, token.top_logprobs[0].logprob))
            self.assertEqual(len(token.top_logprobs), 2)
        with self.chat(logprobs=True, top_logprobs=2, stream=True) as stream:
            choices = [chunk.choices[0] for chunk in stream]
        streamed = [token for choice in choices if choice.logprobs for token in choice.logprobs.content]
        self.assertEqual(streamed, tokens)
        fields = {"model": MODEL, "prompt": "Once", "temperature": 0, "max_tokens": 8, "logprobs": 1}
        legacy = self.client.completions.create(**fields).choices[0]
        offsets = [legacy.text[start:] for start in legacy.logprobs.text_offset]
        self.assertTrue(all(rest.startswith(token) for rest, token in zip(offsets, legacy.logprobs.tokens)))
        self.assertEqual(len(legacy.logprobs.tokens), len(legacy.logprobs.top_logprobs))

    def test_penalties_and_biases_work(self):
        plain = self.chat(logprobs=True).choices[0]
        self.assertTrue(self.chat(presence_penalty=1.5, frequency_penalty=1.5).choices[0].message.content)
        self.assertNotEqual(self.chat(logit_bias={"300": 100}).choices[0].message.content, plain.message.content)

    def test_several_choices_and_stops(self):
        reply = self.chat(n=2, temperature=1.0, seed=1)
        self.assertEqual([choice.index for choice in reply.choices], [0, 1])
        text = self.chat().choices[0].message.content
        stop = text[len(text) // 2 :][:3]
        stopped = self.chat(stop=stop).choices[0]
        self.assertEqual(stopped.message.content, text[: text.index(stop)])

    def test_errors_are_the_clients_own(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.models.retrieve("other")
        self.assertEqual(caught.exception.code, "model_not_found")
        for fields in [{"tool_choice": "required"}, {"response_format": {"type": "json_schema", "json_schema": {}}}]:
            with self.assertRaises(openai.BadRequestError) as caught:
                self.chat(**fields)
            self.assertEqual(caught.exception.code, "invalid_value")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat([{"role": "user", "content": "word " * 20_000}], stream=True)
        self.assertEqual(caught.exception.code, "context_length_exceeded")
        self.assertGreater(caught.exception.body["prompt_tokens"], caught.exception.body["context_length"])

    def test_prompts_are_continued(self):
        fields = {"model": MODEL, "prompt": "Once", "temperature": 0, "max_tokens": 8}
        whole = self.client.completions.create(**fields, echo=True).choices[0].text
        self.assertTrue(whole.startswith("Once"))
        stream = self.client.completions.create(**fields, stream=True)
        self.assertEqual("Once" + "".join(chunk.choices[0].text for chunk in stream), whole)

    def test_a_client_may_disconnect_during_a_stream(self):
        with self.chat(stream=True, max_tokens=4000, extra_body={"ignore_eos": True}) as stream:
            next(iter(stream))
        self.assertTrue(self.chat().choices)

    def test_concurrent_replies_equal_single_ones(self):
        alone = self.chat().choices[0].message.content

        async def together():
            async with openai.AsyncOpenAI(base_url=self.server.base_url, api_key="placeholder") as client:
                create = client.chat.completions.create
                requests = [create(model=MODEL, messages=HELLO, temperature=0, max_tokens=60) for _ in range(6)]
                return [reply.choices[0].message.content for reply in await asyncio.gather(*requests)]

        self.assertEqual(asyncio.run(together()), [alone] * 6)


class FullQueue(unittest.TestCase):
    def test_a_full_queue_asks_the_client_to_retry(self):
        server = Server("--slots", "1", "--queue", "0")
        client = openai.OpenAI(base_url=server.base_url, api_key="placeholder", max_retries=0)
        try:
            fields = {"model": MODEL, "messages": HELLO, "max_tokens": 4000, "extra_body": {"ignore_eos": True}}
            # A reply may have ended before the next request comes.
            with contextlib.ExitStack() as streams, self.assertRaises(openai.RateLimitError) as caught:
                for _ in range(100):
                    streams.enter_context(client.chat.completions.create(**fields, stream=True))
            self.assertEqual(caught.exception.response.headers["retry-after"], "1")
        finally:
            client.close()
            server.stop()


if __name__ == "__main__":
    unittest.main()
