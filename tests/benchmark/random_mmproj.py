"""Writes projector files with the shapes of LFM2-VL's towers and random weights.

    random_mmproj.py mmproj-450m-f16.gguf mmproj-1.6b-q8_0.gguf …

The types are the same as from llama.cpp's converter: rows that are not whole blocks of Q8_0 stay F16.
"""

import pathlib
import sys
from typing import NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type


class Tower(NamedTuple):
    hidden: int
    feed_forward: int
    layers: int
    heads: int
    text: int


TOWERS = {"450m": Tower(768, 3072, 12, 12, 1024), "1.6b": Tower(1152, 4304, 27, 16, 2048)}
PROJECTOR = 2048


def write(path):
    _, size, kind = path.stem.split("-")
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
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


for path in map(pathlib.Path, sys.argv[1:]):
    write(path)
