"""Blocks of each quantised type in GGUF files, and their values according to gguf-py."""

import json

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize

# Offsets of the f16 scales in a block.
SCALES = {
    Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
    Type.Q2_K: [80, 82], Type.Q3_K: [108], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
    Type.IQ4_NL: [0], Type.IQ4_XS: [0],
}
N_BLOCKS = 3


def blocks_of(random, quantisation):
    """Returns random bits with realistic scales: both signs, magnitudes between 1e-4 and 1e-2."""
    blocks = random.integers(0, 256, (N_BLOCKS, GGML_QUANT_SIZES[quantisation][1]), dtype=np.uint8)
    for at in SCALES[quantisation]:
        scales = random.choice([-1, 1], N_BLOCKS) * 10 ** random.uniform(-4, -2, N_BLOCKS)
        blocks[:, at:at + 2] = scales.astype("<f2")[:, None].view(np.uint8)
    return blocks


def write_tensor_types(golden):
    random = np.random.default_rng(17)
    cases = {}
    for quantisation in SCALES:
        blocks = blocks_of(random, quantisation)
        values = dequantize(blocks, quantisation).astype("<f4")
        cases[quantisation.name] = {
            "number": int(quantisation), "blocks": blocks.tobytes().hex(), "values": values.tobytes().hex(),
        }
    lines = [f" {json.dumps(name)}: {json.dumps(case)}" for name, case in cases.items()]
    (golden / "tensor_types.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
