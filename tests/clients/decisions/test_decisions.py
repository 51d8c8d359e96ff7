"""Decisions by the clients that ask for them: OpenAI's, LangChain, LiteLLM and TypeSafe's. The model knows nothing of decisions: what
is compared is the form of its answers, and that all clients get the same ones."""

import tempfile
import unittest
import warnings

import litellm
import openai
import typesafe_sdk
from langchain_openai.decisions import Choice, OpenAIDecisions, Predicate, Score

from server import MODEL, Server, decision_model

STATE = "The kettle boils, and Anna is in the garden."
ROOMS = ["kitchen", "garden", "hall"]
LEVELS = ["cold", "mild", "hot"]
QUESTIONS = [
    {"type": "predicate", "instructions": "Is the water hot?", "name": "hot"},
    {"type": "choice", "instructions": "Where is Anna?", "choices": [{"value": room} for room in ROOMS], "name": "room"},
    {"type": "score", "instructions": "How warm is it?", "levels": [{"label": level} for level in LEVELS], "name": "warmth"},
]
NAMED = {
    "hot": {"type": "noul", "instructions": "Is the water hot?"},
    "room": {"type": "choice", "instructions": "Where is Anna?", "criteria": dict.fromkeys(ROOMS)},
    "warmth": {"type": "score", "instructions": "How warm is it?", "criteria": LEVELS},
}


class Decisions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Server("--model", str(decision_model(cls.folder.name)), "--model-id", MODEL)
        cls.openai = openai.OpenAI(base_url=cls.server.base_url, api_key="placeholder", max_retries=0)
        decided = cls.openai.decisions.create(model=MODEL, input=STATE, questions=QUESTIONS)
        cls.hot, cls.room, cls.warmth = decided.answers

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        assert cls.server.stop() == 0
        cls.folder.cleanup()

    def test_openai(self):
        self.assertEqual([a.type for a in (self.hot, self.room, self.warmth)], ["predicate", "choice", "score"])
        self.assertTrue(0 <= self.hot.probability <= 1)
        probabilities = {entry.value: entry.probability for entry in self.room.probabilities}
        self.assertEqual(list(probabilities), ROOMS)
        self.assertEqual(self.room.choice, max(probabilities, key=probabilities.get))
        self.assertAlmostEqual(sum(probabilities.values()), 1)
        mean = sum(entry.value * entry.probability for entry in self.warmth.probabilities)
        self.assertAlmostEqual(self.warmth.score, mean)
        again = self.openai.decisions.create(model=MODEL, input=STATE, questions=QUESTIONS)
        self.assertGreater(again.usage.input_tokens_details.cached_tokens, 0)
        self.assertEqual(again.answers, [self.hot, self.room, self.warmth])

    def test_values_keep_their_types(self):
        choices = [{"value": True}, {"value": "true"}]
        question = {"type": "choice", "instructions": "Hot?", "choices": choices}
        (answer,) = self.openai.decisions.create(model=MODEL, input=STATE, questions=[question]).answers
        self.assertEqual([entry.value for entry in answer.probabilities], [True, "true"])
        self.assertIsNone(answer.name)

    def test_a_refusal_and_an_error(self):
        extra = {"min_label_probability": 1}
        decided = self.openai.decisions.create(model=MODEL, input=STATE, questions=QUESTIONS[:1], extra_body=extra)
        self.assertEqual((decided.answers[0].type, decided.answers[0].name), ("refusal", "hot"))
        with self.assertRaises(openai.BadRequestError) as caught:
            self.openai.decisions.create(model=MODEL, input=STATE, questions=[])
        self.assertEqual(caught.exception.param, "questions")

    def test_langchain(self):
        with warnings.catch_warnings(action="ignore"):  # it says that it is new
            client = OpenAIDecisions(model=MODEL, base_url=self.server.base_url, api_key="placeholder")
        questions = {
            "hot": Predicate(instructions="Is the water hot?"),
            "room": Choice(instructions="Where is Anna?", choices=dict.fromkeys(ROOMS)),
            "warmth": Score(instructions="How warm is it?", levels=LEVELS),
        }
        decided = client.invoke({"input": STATE, "questions": questions})
        self.assertEqual(decided.predicates["hot"].probability, self.hot.probability)
        self.assertEqual(decided.choices["room"].choice, self.room.choice)
        self.assertEqual(decided.choices["room"].confidence, self.room.confidence)
        self.assertEqual(decided.scores["warmth"].score, self.warmth.score)

    def test_litellm_in_both_forms(self):
        # An address of OpenAI's form gets /v1/decisions, one of another server's /v1/systemone.
        for provider in ("openai", "hosted_vllm"):
            options = {"api_base": self.server.base_url, "api_key": "placeholder", "model": f"{provider}/{MODEL}"}
            decided = litellm.decisions(input=STATE, questions=QUESTIONS, **options).model_dump()
            hot, room, warmth = decided["answers"]
            self.assertAlmostEqual(hot["probability"], self.hot.probability, msg=provider)
            self.assertEqual(room["choice"], self.room.choice, provider)
            self.assertAlmostEqual(warmth["score"], self.warmth.score, msg=provider)
            named = litellm.systemone(state=STATE, questions=NAMED, **options).model_dump()["answers"]
            self.assertAlmostEqual(named["hot"]["noul"], self.hot.probability, msg=provider)
            self.assertEqual(named["room"]["choice"], self.room.choice, provider)

    def test_typesafe(self):
        address = self.server.base_url.removesuffix("/v1")
        with typesafe_sdk.TypeSafeClient(api_key="placeholder", base_url=address, model=MODEL) as client:
            decided = client.system_one(STATE, NAMED)
        self.assertEqual(decided.answers["hot"].noul, self.hot.probability)
        self.assertEqual(decided.answers["room"].choice, self.room.choice)
        self.assertEqual(decided.answers["warmth"].score, self.warmth.score)
        self.assertEqual(decided.usage.output_tokens, 0)


if __name__ == "__main__":
    unittest.main()
