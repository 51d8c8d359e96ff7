"""Writes the text parts of published models that read pictures, in Q8_0, with their true shapes and random weights.

    random_texts.py text-gemma3_4b-q8_0.gguf text-gemma4_e2b-q8_0.gguf text-qwen35_08b-q8_0.gguf

Each is a tiny text model of tests/fixtures with other dimensions and more layers. The vocabulary stays that of the tiny model, some 520
tokens, so that the output matrix takes no time and the table of embeddings no memory.
"""

import pathlib
import sys
from collections.abc import Callable
from typing import NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
from random_lfm2 import close, simple_blocks

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures/models"


class Text(NamedTuple):
    tiny: str
    layers: int
    metadata: dict
    # By layer: the shapes of tensors whose shape is not the width of the model; for tables of tokens, the length of a row.
    shapes: Callable[[int], dict]
    # By layer: the tiny model's layer that has the same tensors.
    alike: Callable[[int], int]


def gemma3(layer):
    hidden, wide, query, key = 2560, 10240, 8 * 256, 4 * 256
    return {
        "token_embd": hidden, "ffn_down": (hidden, wide), "ffn_gate": (wide, hidden), "ffn_up": (wide, hidden), "attn_q": (query, hidden),
        "attn_k": (key, hidden), "attn_v": (key, hidden), "attn_output": (hidden, query), "attn_q_norm": 256, "attn_k_norm": 256,
    }


def gemma4(layer):
    hidden, side, head = 1536, 256, 512 if layer % 5 == 4 else 256
    wide = 12288 if layer >= 15 else 6144
    return {
        "token_embd": hidden, "per_layer_token_embd": 35 * side, "per_layer_model_proj": (35 * side, hidden), "per_layer_proj_norm": side,
        "ffn_down": (hidden, wide), "ffn_gate": (wide, hidden), "ffn_up": (wide, hidden), "inp_gate": (side, hidden), "proj": (hidden, side),
        "attn_q": (8 * head, hidden), "attn_k": (head, hidden), "attn_v": (head, hidden), "attn_output": (hidden, 8 * head),
        "attn_q_norm": head, "attn_k_norm": head, "layer_output_scale": 1, "rope_freqs": 256,
    }


def qwen35(layer):
    hidden, wide, inner, head = 1024, 3584, 2048, 256
    return {
        "token_embd": hidden, "ffn_down": (hidden, wide), "ffn_gate": (wide, hidden), "ffn_up": (wide, hidden), "ssm_a": 16, "ssm_dt": 16,
        "ssm_conv1d": (3 * inner, 4), "ssm_alpha": (16, hidden), "ssm_beta": (16, hidden), "attn_qkv": (3 * inner, hidden),
        "attn_gate": (inner, hidden), "ssm_norm": 128, "ssm_out": (hidden, inner), "attn_q": (2 * 8 * head, hidden),
        "attn_k": (2 * head, hidden), "attn_v": (2 * head, hidden), "attn_output": (hidden, 8 * head), "attn_q_norm": head, "attn_k_norm": head,
    }


def gemma4_alike(layer):
    if layer < 15:
        return 2 if layer % 5 == 4 else 0
    return 4 if layer % 5 == 4 else 3


TEXTS = {
    "gemma3_4b": Text(
        "gemma3vl/gemma3vl-f16.gguf", 34,
        {"embedding_length": 2560, "feed_forward_length": 10240, "attention.head_count": 8, "attention.head_count_kv": 4,
         "attention.key_length": 256, "attention.value_length": 256, "attention.sliding_window": 1024},
        gemma3, lambda layer: 0,
    ),
    "gemma4_e2b": Text(
        "gemma4-media/gemma4-media-f16.gguf", 35,
        {"embedding_length": 1536, "feed_forward_length": [6144] * 15 + [12288] * 20, "attention.head_count": 8,
         "attention.head_count_kv": 1, "attention.key_length": 512, "attention.value_length": 512, "attention.key_length_swa": 256,
         "attention.value_length_swa": 256, "rope.dimension_count": 512, "rope.dimension_count_swa": 256, "attention.sliding_window": 512,
         "attention.sliding_window_pattern": [layer % 5 != 4 for layer in range(35)], "attention.shared_kv_layers": 20,
         "embedding_length_per_layer_input": 256},
        gemma4, gemma4_alike,
    ),
    "qwen35_08b": Text(
        "qwen35vl/qwen35vl-f16.gguf", 24,
        {"embedding_length": 1024, "feed_forward_length": 3584, "attention.head_count": 8, "attention.head_count_kv": 2,
         "attention.key_length": 256, "attention.value_length": 256, "rope.dimension_count": 64, "rope.dimension_sections": [11, 11, 10, 0],
         "ssm.state_size": 128, "ssm.group_count": 16, "ssm.time_step_rank": 16, "ssm.inner_size": 2048},
        qwen35, lambda layer: layer % 4,
    ),
}


def write(path):
    text, random = TEXTS[path.stem.split("-")[1]], np.random.default_rng(1)
    reader = gguf.GGUFReader(FIXTURES / text.tiny)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(path, architecture)
    changes = {f"{architecture}.{key}": value for key, value in (text.metadata | {"block_count": text.layers}).items()}
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        value = 7 if key == "general.file_type" else changes.get(key, field.contents())
        writer.add_key_value(key, value, field.types[0], field.types[-1] if len(field.types) > 1 else None)

    def add(name, tensor, layer):
        part = name.split(".")[-2] if name.endswith((".weight", ".bias")) else name.split(".")[-1]
        shape = text.shapes(layer).get(part, text.metadata["embedding_length"])
        if part in ("token_embd", "per_layer_token_embd"):
            shape = (int(tensor.shape[1]), shape)
        if part == "rope_freqs":
            writer.add_tensor(name, np.float32([1.0] * 64 + [1e30] * 192))
        elif part in ("ssm_a", "layer_output_scale"):
            writer.add_tensor(name, np.resize(tensor.data, shape).astype(np.float32))
        elif isinstance(shape, int):
            noise = random.standard_normal(shape, dtype=np.float32)
            writer.add_tensor(name, np.float32(0.0 if name.endswith(".bias") else 1.0) + np.float32(0.1) * noise)
        elif shape[1] < 32:
            writer.add_tensor(name, np.float32(0.5) * random.standard_normal(shape, dtype=np.float32))
        else:
            gain = (2 * text.layers) ** -0.5 if part in ("attn_output", "ssm_out", "ffn_down") else 1.0
            raw = simple_blocks(random, *shape, Type.Q8_0, gain * shape[1] ** -0.5)
            writer.add_tensor(name, raw, raw_dtype=Type.Q8_0)

    by_name = {tensor.name: tensor for tensor in reader.tensors}
    for name, tensor in by_name.items():
        if not name.startswith("blk."):
            add(name, tensor, 0)
    for layer in range(text.layers):
        alike = f"blk.{text.alike(layer)}."
        for name, tensor in by_name.items():
            if name.startswith(alike):
                add(name.replace(alike, f"blk.{layer}.", 1), tensor, layer)
    close(writer)


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        write(path)
