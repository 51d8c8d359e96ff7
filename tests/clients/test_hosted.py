"""The hosted form that `causerie run` serves: clients send `Authorization: Key …` and use a base path."""

import pathlib
import subprocess
import unittest

import anthropic
import langchain_openai
import openai

from server import COMMAND, MODEL, TOOLS

HELLO = [{"role": "user", "content": "Hello!"}]


class Hosted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen(
            [COMMAND, "run", "--org", "acme"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        cls.base_url = cls.process.stdout.readline().removeprefix("base_url ").strip()
        cls.key = cls.process.stdout.readline().removeprefix("api_key ").strip()
        cls.headers = {"Authorization": f"Key {cls.key}"}

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        assert cls.process.wait() == 0
        cls.process.stdout.close()

    def openai(self, **options):
        return openai.OpenAI(base_url=self.base_url, api_key="unused", max_retries=0, **options)

    def test_openai(self):
        with self.openai(default_headers=self.headers) as client:
            self.assertEqual([model.id for model in client.models.list()], [MODEL])
            reply = client.chat.completions.create(model=MODEL, messages=HELLO, temperature=0)
            stream = client.chat.completions.create(model=MODEL, messages=HELLO, temperature=0, stream=True)
            text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
            self.assertEqual(text, reply.choices[0].message.content)
            called = client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": "Set a timer for 12 minutes"}], tools=TOOLS, temperature=0
            )
            self.assertEqual(called.choices[0].message.tool_calls[0].function.name, "set_timer")

    def test_without_the_key(self):
        with self.openai() as client, self.assertRaises(openai.AuthenticationError) as caught:
            client.models.list()
        self.assertEqual(caught.exception.code, "invalid_key")
        self.assertEqual(caught.exception.response.headers["www-authenticate"], "Key")

    def test_anthropic(self):
        base_url = self.base_url.removesuffix("/v1")
        fields = {"model": MODEL, "max_tokens": 20, "messages": HELLO}
        with anthropic.Anthropic(base_url=base_url, api_key="unused", max_retries=0) as client:
            message = client.messages.create(**fields, extra_headers=self.headers)
            self.assertTrue(message.content[0].text)
            with self.assertRaises(anthropic.AuthenticationError) as caught:
                client.messages.create(**fields)
            self.assertEqual(caught.exception.body["error"]["type"], "authentication_error")

    def test_langchain(self):
        llm = langchain_openai.ChatOpenAI(
            base_url=self.base_url, api_key="unused", model=MODEL, default_headers=self.headers, temperature=0
        )
        self.assertTrue(llm.invoke("Hello!").content)

    def test_conformance(self):
        ran = subprocess.run(
            [pathlib.Path(COMMAND).with_name("causerie-conformance"), "--base-url", self.base_url, "--key", self.key, "--scheme", "Key"],
            capture_output=True, text=True,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout)


if __name__ == "__main__":
    unittest.main()
