"""Facts about a model.

Written by scripts/bindgen from the table in core/src/tables.
"""

from __future__ import annotations

from dataclasses import dataclass

from causerie.notations import FunctionCallParser


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model."""

    name: str | None
    """The name that its files give it."""
    architecture: str
    """The family, by the name in its files."""
    parameters: int
    """Number of weights, each counted once."""
    layers: int
    """Number of layers of any kind."""
    context_size: int
    """Context size that the model was trained for, in tokens."""
    vocabulary_size: int
    """Number of tokens in its vocabulary."""
    quantisation: list[str]
    """Storage formats of the weights, the one with the most bytes first."""
    supports_function_calling: bool
    """Whether the chat template supports functions."""
    function_call_parser: FunctionCallParser
    """The notation in which the model writes calls, found from its chat template. It is the default of the options of a
    reply."""
    supports_reasoning: bool
    """Whether the chat template supports reasoning."""
    supports_images: bool
    """Whether messages can contain images."""
    supports_audio: bool
    """Whether messages can contain sound."""
    supports_speech: bool
    """Whether the model speaks: its replies may have sound."""
    memory_estimate: int
    """Estimated memory in bytes, with the context size that it was or would be loaded with."""
    vision_memory: int
    """The part of it that the vision tower and its projector take; 0 if the model takes no images."""
    hearing_memory: int
    """The part of it that the encoder of sound and its adapter take; 0 if the model has no audio input."""
    speech_memory: int
    """The part of it that the parts which speak take; 0 if the model does not speak."""
    unused_tensors: list[str]
    """Names in the files of tensors that nothing reads, in order."""
    problems: list[str]
    """Problems with the tokenizer or chat template that prevent loading, one per entry; empty once loaded."""
    gpu: str | None
    """The name of the GPU that computes the loaded model; none on the CPU, and before it is loaded."""
    gpu_differences: list[str]
    """How the GPU's results may differ from the CPU's, one per entry; empty if they have the same bits."""
