"""Widely used frameworks, each with a reply, a stream and a function."""

import unittest

import langchain_openai
import openai
import pydantic_ai
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from server import MODEL, TOOLS, Server

ASK = "Set a timer for 12 minutes for the pasta"
ARGUMENTS = {"duration": 12, "unit": "minutes", "label": "pasta"}


class Frameworks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def test_langchain(self):
        llm = langchain_openai.ChatOpenAI(
            base_url=self.server.base_url, api_key="placeholder", model=MODEL, temperature=0, max_tokens=60
        )
        whole = llm.invoke("Hello!")
        self.assertEqual("".join(chunk.content for chunk in llm.stream("Hello!")), whole.content)
        self.assertGreater(whole.usage_metadata["output_tokens"], 0)
        (call,) = llm.bind_tools(TOOLS).invoke(ASK).tool_calls
        self.assertEqual((call["name"], call["args"]), ("set_timer", ARGUMENTS))

    def test_pydantic_ai(self):
        provider = OpenAIProvider(base_url=self.server.base_url, api_key="placeholder")
        agent = pydantic_ai.Agent(OpenAIChatModel(MODEL, provider=provider), model_settings={"temperature": 0})
        timers = []

        @agent.tool_plain
        def set_timer(duration: float, unit: str, label: str = "") -> str:
            """Set a timer.

            Args:
                duration: How long, in the unit given.
                unit: Unit of the duration: seconds, minutes or hours.
                label: What the timer is for.
            """
            timers.append((duration, unit, label))
            return '{"timer": "pasta", "duration": "12 minutes"}'

        result = agent.run_sync(ASK)
        self.assertEqual(timers, [(12, "minutes", "pasta")])
        self.assertTrue(result.output)

    def test_responses_of_the_official_client(self):
        client = openai.OpenAI(base_url=self.server.base_url, api_key="placeholder", max_retries=0)
        tools = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
        fields = {"model": MODEL, "temperature": 0, "max_output_tokens": 60, "tools": tools}
        first = client.responses.create(input=ASK, **fields)
        call = next(item for item in first.output if item.type == "function_call")
        self.assertEqual((call.name, call.arguments), ("set_timer", '{"duration": 12, "unit": "minutes", "label": "pasta"}'))
        result = {"type": "function_call_output", "call_id": call.call_id, "output": '{"timer": "pasta", "duration": "12 minutes"}'}
        history = [{"role": "user", "content": ASK}, *first.output, result]
        second = client.responses.create(input=history, **fields)
        self.assertIn("pasta", second.output_text)
        self.assertGreater(second.usage.input_tokens_details.cached_tokens, 0)
        with client.responses.stream(input=history, **fields) as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            self.assertEqual(stream.get_final_response().output_text, text)
        self.assertEqual(text, second.output_text)
        with_logprobs = {**fields, "include": ["message.output_text.logprobs"], "top_logprobs": 1}
        logprobs = client.responses.create(input=history, **with_logprobs).output[-1].content[0].logprobs
        self.assertEqual("".join(token.token for token in logprobs), text)
        continued = client.responses.create(input=[result], previous_response_id=first.id, **fields)
        self.assertEqual(continued.output_text, text)
        with self.assertRaises(openai.BadRequestError) as caught:
            client.responses.create(input=ASK, model=MODEL, previous_response_id="resp_0")
        self.assertEqual(caught.exception.code, "previous_response_not_found")
        client.close()


if __name__ == "__main__":
    unittest.main()
