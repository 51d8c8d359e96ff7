"""Embeddings and reranking: models that read whole texts, and give vectors or scores.

    from causerie.embedding import EmbeddingModel, cosine_similarity

    model = EmbeddingModel.load("all-MiniLM-L6-v2")
    [question] = model.embed(["Who eats?"], text_use="query").vectors
    for vector in model.embed(["A man eats bread.", "The rocket flies."]).vectors:
        print(cosine_similarity(question, vector))
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypedDict

from causerie import causerie_ffi as ffi
from causerie._border import adopted, check_can_load, check_not_forked, fork_count, uncopyable
from causerie._numbers import integer
from causerie._option_checks import CheckedOptions, flag, gathered, one_of_choices, optional_flag, path, string
from causerie._waiting import wait
from causerie.options import Device

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "EmbedOptions",
    "EmbeddingModel",
    "EmbeddingModelInfo",
    "EmbeddingModelOptions",
    "RankedDocument",
    "Ranking",
    "RerankOptions",
    "TextEmbeddings",
    "TextUse",
    "TokenEmbeddings",
    "cosine_similarity",
]


@adopted
class TextUse(str, Enum):
    """What a text is used for. Many models put a prompt before queries, before documents, or before both. The plain strings, such as
    `"query"`, are accepted in its place."""

    UNSPECIFIED = "unspecified"
    """The prompt that the model's files name as the default, if they name one."""
    QUERY = "query"
    """A question, or another text that something is searched with."""
    DOCUMENT = "document"
    """A text that is searched."""


@adopted
@dataclass
class EmbeddingModelOptions(CheckedOptions):
    """Options for loading an embedding model. `None` takes the default."""

    _checks = {
        "device": one_of_choices(Device),
        "threads": integer(32),
        "context_size": integer(32),
    }

    device: Device | str | None = None
    """The device that computes. Default: the CPU."""
    threads: int | None = None
    """Number of computing threads, 1 to 1024. Results do not depend on it. Default: the number of fast cores."""
    context_size: int | None = None
    """Tokens of a text at most, if the model can read more. A model that reads in both directions holds a whole text in memory.
    Default: 8,192."""


class EmbeddingModelKeywords(TypedDict, total=False):
    """The options of `EmbeddingModelOptions` as keyword arguments."""

    device: Device | str | None
    threads: int | None
    context_size: int | None


@adopted
@dataclass
class EmbedOptions(CheckedOptions):
    """How texts are embedded. `None` takes the default."""

    _checks = {
        "text_use": one_of_choices(TextUse),
        "prompt": string,
        "dimensions": integer(32),
        "normalises": optional_flag,
        "truncates": flag,
    }

    text_use: TextUse | str | None = None
    """What the texts are used for, which chooses the prompt in the model's files. Default: unspecified."""
    prompt: str | None = None
    """Text that is put before each text, instead of the prompt in the model's files. Models in GGUF files have no prompts: the
    model's description says which it needs."""
    dimensions: int | None = None
    """Values of a vector to keep, of which at least one. The shorter vector is brought to the length 1 again. Only models that were
    trained for it keep most of their quality. Default: all."""
    normalises: bool | None = None
    """Whether vectors are brought to the length 1. Default: as the model's files say; for a GGUF file, yes."""
    truncates: bool = True
    """Whether a text that is too long is cut at its end. Otherwise it is an error."""


class EmbedKeywords(TypedDict, total=False):
    """The options of `EmbedOptions` as keyword arguments."""

    text_use: TextUse | str | None
    prompt: str | None
    dimensions: int | None
    normalises: bool | None
    truncates: bool


@adopted
@dataclass
class RerankOptions(CheckedOptions):
    """How documents are ranked. `None` takes the default."""

    _checks = {
        "top_n": integer(32),
        "instruction": string,
    }

    top_n: int | None = None
    """The number of results. Default: all documents."""
    instruction: str | None = None
    """What makes a document relevant, for models that are asked in words, such as Qwen3-Reranker. Default: that it answers the query.
    Other models refuse it."""


class RerankKeywords(TypedDict, total=False):
    """The options of `RerankOptions` as keyword arguments."""

    top_n: int | None
    instruction: str | None


@adopted
@dataclass(frozen=True)
class EmbeddingModelInfo:
    """What an embedding model is and can do."""

    architecture: str
    """The model family, as the files name it: `bert`, `qwen3`."""
    dimensions: int
    """Values of a vector."""
    max_tokens: int
    """Tokens of a text at most, with the tokens around it."""
    embeds: bool
    """Whether texts have one vector: `EmbeddingModel.embed`."""
    embeds_tokens: bool
    """Whether each token has a vector: `EmbeddingModel.embed_tokens`."""
    ranks: bool
    """Whether the model ranks: `EmbeddingModel.rerank`."""
    prompts: list[str]
    """The names of the prompts in the model's files."""


@adopted
@dataclass(frozen=True)
class TextEmbeddings:
    """The vectors of texts, in the order of the texts."""

    vectors: list[list[float]]
    """A vector for each text."""
    token_count: int
    """Tokens that were read, with prompts and the tokens around texts."""
    truncated: list[int]
    """The texts that were cut, as indices."""


@adopted
@dataclass(frozen=True)
class TokenEmbeddings:
    """The vectors of all tokens of texts, for models that compare texts token by token (late interaction, as in ColBERT)."""

    texts: list[list[list[float]]]
    """For each text the vectors of its tokens, which have the length 1."""
    token_count: int
    """Tokens that were read, with prompts and the tokens around texts."""
    truncated: list[int]
    """The texts that were cut, as indices."""


@adopted
@dataclass(frozen=True)
class RankedDocument:
    """A document's place in a ranking."""

    index: int
    """The document's index among those that were given."""
    relevance: float
    """How well it fits: a probability for most models; for some cross-encoders a logit, and for models with a vector for each token a
    sum of cosines."""


@adopted
@dataclass(frozen=True)
class Ranking:
    """Documents in the order of how well they fit a query."""

    results: list[RankedDocument]
    """The best first; of equal ones, the earlier first."""
    token_count: int
    """Tokens that were read."""
    truncated: list[int]
    """The documents that were cut, as indices."""


@uncopyable("pass the path of the model, and load it there")
class EmbeddingModel:
    """A model in memory that embeds texts, or ranks documents. It may be used from any thread, and computes one call at a time."""

    _ffi: ffi.EmbeddingModel
    _fork_count: int

    def __init__(self, *_: object) -> None:
        raise TypeError("an EmbeddingModel is created by EmbeddingModel.load(path)")

    @classmethod
    def _new(cls, model: ffi.EmbeddingModel) -> EmbeddingModel:
        made = cls.__new__(cls)
        made._ffi, made._fork_count = model, fork_count()
        return made

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str],
        options: EmbeddingModelOptions | None = None,
        **keywords: Unpack[EmbeddingModelKeywords],
    ) -> EmbeddingModel:
        """Loads a model: a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache.

        Raises `SdkError.ModelNotFound`, `SdkError.ModelLoad` for files that are damaged, incomplete or not supported, and
        `SdkError.InvalidOption`.
        """
        check_can_load()
        return cls._new(wait(ffi.load_embedding_model(path(model), gathered(EmbeddingModelOptions, options, keywords))))

    @classmethod
    async def load_async(
        cls,
        model: str | os.PathLike[str],
        options: EmbeddingModelOptions | None = None,
        **keywords: Unpack[EmbeddingModelKeywords],
    ) -> EmbeddingModel:
        """Like `load`, without blocking the event loop."""
        check_can_load()
        return cls._new(await ffi.load_embedding_model(path(model), gathered(EmbeddingModelOptions, options, keywords)))

    @property
    def info(self) -> EmbeddingModelInfo:
        """The description of the model."""
        return self._ffi.info()

    def embed(
        self, texts: Iterable[str], options: EmbedOptions | None = None, **keywords: Unpack[EmbedKeywords]
    ) -> TextEmbeddings:
        """Returns the vectors of texts. Texts are computed together; no text's vector depends on the others, not in a bit.

        Raises `SdkError.UnsupportedContent` for a model that does not give vectors of texts, `SdkError.InvalidOption`,
        `SdkError.PromptExceedsContext` for a text that is too long and must not be cut, and `SdkError.Generation` if the computation
        fails.
        """
        check_not_forked(self._fork_count)
        return wait(self._ffi.embed(_texts("texts", texts), gathered(EmbedOptions, options, keywords)))

    async def embed_async(
        self, texts: Iterable[str], options: EmbedOptions | None = None, **keywords: Unpack[EmbedKeywords]
    ) -> TextEmbeddings:
        """Like `embed`, without blocking the event loop. Cancelling the task does not end the computation."""
        check_not_forked(self._fork_count)
        return await self._ffi.embed(_texts("texts", texts), gathered(EmbedOptions, options, keywords))

    def embed_tokens(
        self, texts: Iterable[str], options: EmbedOptions | None = None, **keywords: Unpack[EmbedKeywords]
    ) -> TokenEmbeddings:
        """Returns the vectors of the tokens of texts, for models that compare texts token by token. Raises the errors of `embed`."""
        check_not_forked(self._fork_count)
        return wait(self._ffi.embed_tokens(_texts("texts", texts), gathered(EmbedOptions, options, keywords)))

    async def embed_tokens_async(
        self, texts: Iterable[str], options: EmbedOptions | None = None, **keywords: Unpack[EmbedKeywords]
    ) -> TokenEmbeddings:
        """Like `embed_tokens`, without blocking the event loop. Cancelling the task does not end the computation."""
        check_not_forked(self._fork_count)
        return await self._ffi.embed_tokens(_texts("texts", texts), gathered(EmbedOptions, options, keywords))

    def rerank(
        self,
        query: str,
        documents: Iterable[str],
        options: RerankOptions | None = None,
        **keywords: Unpack[RerankKeywords],
    ) -> Ranking:
        """Ranks documents by how well they fit a query. A document that is too long is cut at its end.

        Raises `SdkError.UnsupportedContent` for a model that does not rank, `SdkError.InvalidOption`, and `SdkError.Generation` if the
        computation fails.
        """
        check_not_forked(self._fork_count)
        return wait(self._ffi.rerank(query, _texts("documents", documents), gathered(RerankOptions, options, keywords)))

    async def rerank_async(
        self,
        query: str,
        documents: Iterable[str],
        options: RerankOptions | None = None,
        **keywords: Unpack[RerankKeywords],
    ) -> Ranking:
        """Like `rerank`, without blocking the event loop. Cancelling the task does not end the computation."""
        check_not_forked(self._fork_count)
        return await self._ffi.rerank(query, _texts("documents", documents), gathered(RerankOptions, options, keywords))

    def __repr__(self) -> str:
        info = self.info
        return f"<EmbeddingModel {info.architecture}, {info.dimensions} dimensions>"


def cosine_similarity(a: Iterable[float], b: Iterable[float]) -> float:
    """Returns the cosine of the angle between two vectors, from -1 to 1; 0 if one of them has the length 0.

    Raises `SdkError.InvalidArgument` for vectors of different sizes.
    """
    return ffi.cosine_similarity(list(a), list(b))


def _texts(name: str, texts: Iterable[str]) -> list[str]:
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"{name} must be a list of strings, found one {type(texts).__name__}")
    return list(texts)
