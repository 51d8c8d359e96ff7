"""Embeddings and reranking, on a small BERT with random weights, against values of other implementations."""

from __future__ import annotations

import asyncio
import json
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support import FIXTURES, REPOSITORY

from causerie import SdkError
from causerie.embedding import EmbeddingModel, EmbedOptions, TextUse, cosine_similarity

GOLDEN: Any = json.loads((REPOSITORY / "tests/golden/embeddings.json").read_text())["tokens"]
TEXTS = [case["text"] for case in GOLDEN["single"][:2]]
TOLERANCE = 1e-4  # as in the core's test: F32 sums in another order, and F16 weights in the files


@pytest.fixture(scope="module")
def model() -> EmbeddingModel:
    return EmbeddingModel.load(FIXTURES / "models/bert")


@pytest.fixture(scope="module")
def ranker() -> EmbeddingModel:
    return EmbeddingModel.load(str(FIXTURES / "models/bert-rank-f16.gguf"))


def test_vectors_agree_with_the_reference(model: EmbeddingModel) -> None:
    found = model.embed(TEXTS)
    for vector, expected in zip(found.vectors, GOLDEN["unit_means"], strict=True):
        assert vector == pytest.approx(expected, abs=TOLERANCE)
    assert found.token_count == sum(len(case["ids"]) for case in GOLDEN["single"][:2]) and found.truncated == []
    assert asyncio.run(model.embed_async(TEXTS)) == found
    with ThreadPoolExecutor(4) as pool:
        assert [one.vectors[0] for one in pool.map(lambda text: model.embed([text]), TEXTS)] == found.vectors


def test_relevances_agree_with_the_reference(ranker: EmbeddingModel) -> None:
    for case in GOLDEN["pairs"]:
        found = ranker.rerank(case["first"], [case["second"]])
        assert found.results[0].relevance == pytest.approx(case["relevance"], abs=TOLERANCE)
        assert found.token_count == len(case["ids"])


def test_documents_are_ranked(ranker: EmbeddingModel) -> None:
    documents = ["the rocket", "a man eats bread", "reading", "bread"]
    results = ranker.rerank("who eats", documents).results
    relevances = [ranker.rerank("who eats", [document]).results[0].relevance for document in documents]
    assert [result.index for result in results] == sorted(range(4), key=lambda at: -relevances[at])
    assert ranker.rerank("who eats", documents, top_n=2).results == results[:2]
    assert asyncio.run(ranker.rerank_async("who eats", documents)).results == results


def test_options_count(model: EmbeddingModel) -> None:
    query = model.embed(TEXTS, text_use="query")
    assert query == model.embed(TEXTS, EmbedOptions(text_use=TextUse.QUERY)) == model.embed(TEXTS, prompt="query: ")
    assert query != model.embed(TEXTS)
    [short] = model.embed(TEXTS[:1], dimensions=8).vectors
    assert len(short) == 8 and math.hypot(*short) == pytest.approx(1)
    [whole] = model.embed(TEXTS[:1], normalises=False).vectors
    assert math.hypot(*whole) != pytest.approx(1, abs=1e-3)
    assert model.embed(["bread " * 500]).truncated == [0]
    with pytest.raises(SdkError.PromptExceedsContext):
        model.embed(["bread " * 500], truncates=False)
    assert EmbeddingModel.load(FIXTURES / "models/bert", context_size=16).info.max_tokens == 16


def test_a_model_says_what_it_can_do(model: EmbeddingModel, ranker: EmbeddingModel) -> None:
    assert (model.info.embeds, model.info.embeds_tokens, model.info.ranks) == (True, False, False)
    assert ranker.info.ranks and not ranker.info.embeds
    assert model.info.architecture == "bert" and model.info.dimensions == 32 and "query" in model.info.prompts
    with pytest.raises(SdkError.UnsupportedContent):
        model.rerank("who eats", TEXTS)
    with pytest.raises(SdkError.UnsupportedContent):
        model.embed_tokens(TEXTS)
    with pytest.raises(SdkError.UnsupportedContent):
        ranker.embed(TEXTS)


def test_similarity_is_a_cosine() -> None:
    assert cosine_similarity([3, 0], (4, 4)) == pytest.approx(math.sqrt(0.5))
    assert cosine_similarity([0, 0], [1, 2]) == 0
    with pytest.raises(SdkError.InvalidArgument, match="vectors must have the same size, found 2 and 3"):
        cosine_similarity([1, 2], [1, 2, 3])


def test_faults_are_errors_with_their_kind(model: EmbeddingModel) -> None:
    with pytest.raises(SdkError.ModelNotFound):
        EmbeddingModel.load("no/such/model")
    with pytest.raises(SdkError.ModelLoad):
        EmbeddingModel.load(FIXTURES / "models/whisper")
    with pytest.raises(SdkError.InvalidOption, match="dimensions must be from 1 to 32, found 33"):
        model.embed(TEXTS, dimensions=33)
    with pytest.raises(TypeError, match="texts must be a list of strings, found one str"):
        model.embed("one text")
    with pytest.raises(SdkError.InvalidOption, match="did you mean text_use"):
        model.embed(TEXTS, textUse="query")  # type: ignore[call-arg]
