"""Writes what was trained: the demo model, and its vision tower as a projector file beside it."""

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type

from .. import projector, warm_start
from ..export import transformers_tensors, write_gguf
from .network import Text, TowerShape
from .scenes import LARGEST, PATCH, SMALLEST

HELPERS = ("objects.", "characters.")  # parts of the tower that only training uses
NAMES = {"mm1": "mm.1", "mm2": "mm.2"}


def read_projector(path):
    """The weights of `write_projector`, with the names of the tower's parameters."""
    weights = {}
    for tensor in gguf.GGUFReader(path).tensors:
        values = torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type).copy())
        name = tensor.name.removeprefix("v.")
        if name == "patch_embd.weight":
            values = values.permute(0, 2, 3, 1).flatten(1)
        for ours, theirs in NAMES.items():
            name = name.replace(f"{theirs}.", f"{ours}.", 1) if name.startswith(f"{theirs}.") else name
        weights["position_embd" if name == "position_embd.weight" else name] = values.float()
    return weights


def part_of(weights, part):
    return {name.removeprefix(part): weight.float() for name, weight in weights.items() if name.startswith(part)}


def write_projector(path, weights, shape):
    """Writes the tower and the projector, with the names and types of llama.cpp's converter: Q8_0, and F16 for the patches."""
    projector.write(path, "vision", lambda writer: add_tower(writer, weights, shape))


def add_tower(writer, weights, shape):
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.vision.projector_type", "lfm2")
    writer.add_bool("clip.use_gelu", True)
    numbers = {
        "image_size": shape.grid * PATCH, "patch_size": PATCH, "embedding_length": shape.hidden, "feed_forward_length": shape.feed_forward,
        "block_count": shape.layers, "projection_dim": shape.rows, "attention.head_count": shape.heads, "projector.scale_factor": 2,
        "image_min_pixels": SMALLEST, "image_max_pixels": LARGEST,
    }
    for key, value in numbers.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", shape.epsilon)
    for key in ("image_mean", "image_std"):
        writer.add_array(f"clip.vision.{key}", [0.5] * 3)
    for name, weight in weights.items():
        if name.startswith(HELPERS):
            continue
        first, _, rest = name.partition(".")
        values = weight.numpy()
        if name == "patch_embd.weight":
            kernels = values.reshape(-1, PATCH, PATCH, 3).transpose(0, 3, 1, 2)
            writer.add_tensor(f"v.{name}", np.ascontiguousarray(kernels, np.float16))
        elif name == "position_embd":
            writer.add_tensor("v.position_embd.weight", values)
        else:
            ours = f"{NAMES[first]}.{rest}" if first in NAMES else f"v.{name}"
            quantised = values.ndim == 2
            writer.add_tensor(ours, gguf.quants.quantize(values, Type.Q8_0) if quantised else values, raw_dtype=Type.Q8_0 if quantised else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--from", dest="start", type=Path, required=True, metavar="GGUF", help="the demo model before")
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--projector", type=Path, required=True, help="its encoder of sound stays as it is")
    parser.add_argument("--share", type=float, default=1.0, help="share of the new weights in the model; the rest are those before, so that it keeps what it knew")
    args = parser.parse_args()
    shape, before, tokenizer = warm_start.read(args.start)
    weights = torch.load(args.run / "checkpoint.pt", map_location="cpu", weights_only=True)["average"]
    learned = part_of(weights, "text.")
    text = {name: weight.lerp(learned[Text.name_of(name)], args.share) for name, weight in before.items()}
    write_gguf(args.gguf, transformers_tensors(text, shape), shape, tokenizer)
    write_projector(args.projector, part_of(weights, "tower."), TowerShape(rows=shape.hidden))


if __name__ == "__main__":
    main()
