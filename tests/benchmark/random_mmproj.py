"""Writes projector files with the shapes of published towers and random weights.

    random_mmproj.py mmproj-450m-f16.gguf mmproj-1.6b-q8_0.gguf mmproj-gemma4_e2b-f16.gguf …

The types are the same as from llama.cpp's converter: rows that are not whole blocks of Q8_0 stay F16. 450m and 1.6b are LFM2-VL's. The
others are the tiny projectors of tests/fixtures with larger dimensions and more layers, for the text parts of random_texts.py.
"""

import pathlib
import sys
from typing import NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
from random_lfm2 import close


class Tower(NamedTuple):
    hidden: int
    feed_forward: int
    layers: int
    heads: int
    text: int


TOWERS = {"450m": Tower(768, 3072, 12, 12, 1024), "1.6b": Tower(1152, 4304, 27, 16, 2048)}
PROJECTOR = 2048


FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures/models"


class Grown(NamedTuple):
    """A tiny projector, the dimensions that take the place of its own, and changes to its metadata."""

    tiny: str
    layers: int
    text: int
    dimensions: dict
    metadata: dict


GROWN = {
    "gemma3_4b": Grown(
        "gemma3vl/mmproj-gemma3vl-f16.gguf", 27, 2560, {96: 1152, 64: 4304, 576: 4096},
        {"embedding_length": 1152, "feed_forward_length": 4304, "attention.head_count": 16, "image_size": 896, "projector.scale_factor": 4},
    ),
    "gemma4_e2b": Grown(
        "gemma4-media/mmproj-gemma4-media-f16.gguf", 16, 1536, {32: 768, 48: 3072, 16: 64, 64: 10240},
        {"embedding_length": 768, "feed_forward_length": 3072, "attention.head_count": 12},
    ),
    "qwen35_08b": Grown(
        "qwen35vl/mmproj-qwen35vl-f16.gguf", 12, 1024, {96: 768, 288: 2304, 384: 3072, 64: 3072},
        {"embedding_length": 768, "feed_forward_length": 3072, "attention.head_count": 12, "image_size": 768,
         "image_min_pixels": 64 << 10, "image_max_pixels": 16 << 20},
    ),
}
# The dimension that is the text's width.
TEXT = {"gemma3_4b": {"mm.input_projection.weight": 1}, "gemma4_e2b": {"mm.input_projection.weight": 0},
        "qwen35_08b": {"mm.2.weight": 0, "mm.2.bias": 0}}
# Where a dimension of another meaning has the same length as one that grows: the places of a table, the pixels of a patch.
KEPT = {
    "v.position_embd.weight": {"gemma4_e2b": [0]},
    "v.patch_embd.weight": {"gemma4_e2b": [1, 2, 3], "qwen35_08b": [1, 2, 3], "gemma3_4b": [1, 2, 3]},
    "v.patch_embd.weight.1": {"qwen35_08b": [1, 2, 3]},
}
PLACES = {"qwen35_08b": 2304}


def write_grown(path, size, kind):
    grown, random = GROWN[size], np.random.default_rng(1)
    reader, writer = gguf.GGUFReader(FIXTURES / grown.tiny), gguf.GGUFWriter(path, "clip")
    changes = {f"clip.vision.{key}": value for key, value in (
        grown.metadata | {"block_count": grown.layers, "projection_dim": grown.text}).items()}
    for key, field in reader.fields.items():
        if not key.startswith("clip.") or "audio" in key:
            continue
        value = changes.get(key, field.contents())
        if "is_deepstack_layers" in key:
            value = [False] * grown.layers
        writer.add_key_value(key, value, field.types[0], field.types[-1] if len(field.types) > 1 else None)
    writer.add_string("general.type", "mmproj")

    def add(name, tensor):
        shape = [int(length) for length in reversed(tensor.shape)]
        kept = KEPT.get(tensor.name, {}).get(size, [])
        shape = [length if at in kept else grown.dimensions.get(length, length) for at, length in enumerate(shape)]
        if tensor.name in TEXT[size]:
            shape[TEXT[size][tensor.name]] = grown.text
        if tensor.name == "v.position_embd.weight":
            shape[0] = PLACES.get(size, shape[0])
        noise = random.standard_normal(shape, dtype=np.float32)
        if len(shape) == 1:
            # Bounds of clipped inputs and outputs are kept, but far away, as a trained model's are.
            bounds = {"min": np.float32([-40.0]), "max": np.float32([40.0])}
            values = bounds[name[-3:]] if name.endswith(("_min", "_max")) else 0.1 * noise + np.float32(not name.endswith("bias"))
            writer.add_tensor(name, values.astype(np.float32))
        elif "position" in name:
            writer.add_tensor(name, 0.5 * noise)
        elif len(shape) == 4:
            writer.add_tensor(name, (noise * np.prod(shape[1:]) ** -0.5).astype(np.float16))
        else:
            columns = shape[1]
            gain = (2 * grown.layers) ** -0.5 if name.endswith(("attn_out.weight", "ffn_down.weight")) else 1.0
            values = noise * np.float32(gain * columns**-0.5)
            is_quantised = kind == "q8_0" and columns % 32 == 0 and "input_projection" not in name
            quantisation = Type.Q8_0 if is_quantised else Type.F16
            writer.add_tensor(name, gguf.quants.quantize(values, quantisation), raw_dtype=quantisation)

    for tensor in reader.tensors:
        if tensor.name.startswith(("a.", "mm.a.")) or tensor.name.startswith("v.blk.1."):
            continue
        layers = range(grown.layers) if tensor.name.startswith("v.blk.0.") else [None]
        for layer in layers:
            add(tensor.name if layer is None else tensor.name.replace("v.blk.0.", f"v.blk.{layer}.", 1), tensor)
    close(writer)


def write(path):
    _, size, kind = path.stem.split("-")
    if size in GROWN:
        return write_grown(path, size, kind)
    tower = TOWERS[size]
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "lfm2")
    writer.add_bool("clip.use_gelu", True)
    for key, value in {
        "image_size": 256, "patch_size": 16, "embedding_length": tower.hidden, "feed_forward_length": tower.feed_forward,
        "block_count": tower.layers, "projection_dim": tower.text, "attention.head_count": tower.heads, "projector.scale_factor": 2,
    }.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_array("clip.vision.image_mean", [0.5] * 3)
    writer.add_array("clip.vision.image_std", [0.5] * 3)

    def vector(name, length, around):
        writer.add_tensor(name, around + np.float32(0.1) * random.standard_normal(length, dtype=np.float32))

    def norm(name, length=tower.hidden):
        vector(f"{name}.weight", length, 1)
        vector(f"{name}.bias", length, 0)

    def linear(name, rows, columns, gain=1.0):
        values = random.standard_normal((rows, columns), dtype=np.float32) * np.float32(gain * columns**-0.5)
        quantisation = Type.Q8_0 if kind == "q8_0" and columns % 32 == 0 else Type.F16
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, quantisation), raw_dtype=quantisation)
        vector(f"{name}.bias", rows, 0)

    patch = random.standard_normal((tower.hidden, 3, 16, 16), dtype=np.float32) / 28
    writer.add_tensor("v.patch_embd.weight", patch.astype(np.float16))
    vector("v.patch_embd.bias", tower.hidden, 0)
    writer.add_tensor("v.position_embd.weight", random.standard_normal((256, tower.hidden), dtype=np.float32))
    into_stream = (2 * tower.layers) ** -0.5
    for layer in range(tower.layers):
        for name in ("ln1", "ln2"):
            norm(f"v.blk.{layer}.{name}")
        for name in ("attn_q", "attn_k", "attn_v"):
            linear(f"v.blk.{layer}.{name}", tower.hidden, tower.hidden)
        linear(f"v.blk.{layer}.attn_out", tower.hidden, tower.hidden, into_stream)
        linear(f"v.blk.{layer}.ffn_up", tower.feed_forward, tower.hidden)
        linear(f"v.blk.{layer}.ffn_down", tower.hidden, tower.feed_forward, into_stream)
    norm("v.post_ln")
    linear("mm.1", PROJECTOR, 4 * tower.hidden)
    linear("mm.2", tower.text, PROJECTOR)
    close(writer)


for path in map(pathlib.Path, sys.argv[1:]):
    write(path)
