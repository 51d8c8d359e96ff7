"""Embeddings from the official client, and reranking: with tiny random models, whose vectors mean nothing."""

import json
import math
import unittest
import urllib.request

import openai

from server import ROOT, Server

MODELS = ROOT / "tests/fixtures/models"
GOLDEN = json.loads((ROOT / "tests/golden/embeddings.json").read_text())["tokens"]


class Embeddings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = ["--embedding-model", str(MODELS / "bert"), "--embedding-model", str(MODELS / "bert-rank-f16.gguf")]
        cls.server = Server(*options)
        cls.openai = openai.OpenAI(base_url=cls.server.base_url, api_key="placeholder", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        cls.server.stop()

    def embed(self, texts, **fields):
        reply = self.openai.embeddings.create(model="bert", input=texts, **fields)
        return [entry.embedding for entry in reply.data]

    def assert_near(self, found, expect):
        self.assertEqual(len(found), len(expect))
        self.assertLess(max(abs(a - b) for a, b in zip(found, expect)), 1e-4)

    def test_texts_have_the_vectors_of_the_reference(self):
        texts = [case["text"] for case in GOLDEN["single"][:2]]
        # The client asks for base64 if nothing is said, and decodes it.
        for found, expect in zip(self.embed(texts), GOLDEN["unit_means"]):
            self.assert_near(found, expect)

    def test_forms_of_input_and_of_vectors_agree(self):
        case = GOLDEN["single"][0]
        expect = self.embed(case["text"])
        for texts in ([case["text"]], case["ids"], [case["ids"]]):
            self.assertEqual(self.embed(texts), expect)
        self.assertEqual(self.embed(case["text"], encoding_format="float"), expect)

    def test_shorter_vectors(self):
        vector = self.embed("a man", dimensions=8)[0]
        self.assertEqual(len(vector), 8)
        self.assertAlmostEqual(math.hypot(*vector), 1, places=6)

    def test_errors_name_the_field(self):
        for fields, param in (({"dimensions": 1000}, "dimensions"), ({"texts": "man " * 100}, "input"), ({"texts": []}, "input")):
            with self.assertRaises(openai.BadRequestError) as raised:
                self.embed(**{"texts": "a", **fields})
            self.assertEqual(raised.exception.param, param)

    def test_documents_are_ranked_by_the_scores_of_the_reference(self):
        pairs = GOLDEN["pairs"][:2]
        body = {"query": pairs[0]["first"], "documents": [pair["second"] for pair in pairs], "model": "bert-rank-f16"}
        request = urllib.request.Request(
            f"{self.server.base_url}/rerank", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            results = json.load(reply)["results"]
        self.assertEqual([result["index"] for result in results], [1, 0])
        for result in results:
            self.assertAlmostEqual(result["relevance_score"], pairs[result["index"]]["relevance"], places=4)


if __name__ == "__main__":
    unittest.main()
