"""Writes the trained encoder into the projector file of the demo model, beside the vision tower, which stays as it is."""

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type

from .. import projector
from .features import BINS
from .network import EPSILON, EncoderShape

OUTSIDE = {"out": "a.pre_encode.out", "mlp0": "mm.a.mlp.0", "mlp1": "mm.a.mlp.1", "mlp3": "mm.a.mlp.3"}


def gguf_tensors(weights):
    """The weights with the names and shapes of llama.cpp's converter."""
    tensors = {}
    for name, weight in weights.items():
        values, (first, _, rest) = weight.detach().float().numpy(), name.partition(".")
        if first == "conv1d":
            tensors[f"a.{name}"] = values[:, None, None] if name.endswith("bias") else values
        elif first == "blk":
            tensors[f"a.{name}"] = values[:, 0] if name.endswith("conv_dw.weight") else values
            if name.endswith("conv_dw.bias"):  # the norm that follows is a part of the convolution
                norm = f"a.{name.removesuffix('conv_dw.bias')}conv_norm"
                tensors |= {f"{norm}.weight": np.ones_like(values), f"{norm}.bias": np.zeros_like(values)}
        else:
            tensors[f"{OUTSIDE[first]}.{rest}"] = values
    return tensors


def is_quantised(name, values):
    return values.ndim == 2 and values.shape[-1] % 32 == 0 and "pos_bias" not in name and "conv_dw" not in name


def add_sound(writer, weights, shape):
    numbers = {
        "embedding_length": shape.hidden, "feed_forward_length": shape.feed_forward, "block_count": shape.layers,
        "attention.head_count": shape.heads, "num_mel_bins": BINS, "projection_dim": shape.rows,
    }
    writer.add_bool("clip.has_audio_encoder", True)
    writer.add_string("clip.audio.projector_type", "lfm2a")
    for key, value in numbers.items():
        writer.add_uint32(f"clip.audio.{key}", value)
    writer.add_float32("clip.audio.attention.layer_norm_epsilon", EPSILON)
    for name, values in gguf_tensors(weights).items():
        values = np.ascontiguousarray(values, np.float32)
        quantised = is_quantised(name, values)
        writer.add_tensor(name, gguf.quants.quantize(values, Type.Q8_0) if quantised else values, raw_dtype=Type.Q8_0 if quantised else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--projector", type=Path, required=True, metavar="GGUF", help="its vision tower stays as it is")
    args = parser.parse_args()
    checkpoint = torch.load(args.run / "checkpoint.pt", map_location="cpu", weights_only=True)
    projector.write(args.projector, "audio", lambda writer: add_sound(writer, checkpoint["average"], EncoderShape(**checkpoint["shape"])))


if __name__ == "__main__":
    main()
