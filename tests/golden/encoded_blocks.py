"""Writes encoded_blocks.json: values, and how other implementations encode them. Needs gguf-py, numpy, and llama.cpp's package
llama-cpp-py-sync 0.11739, which scripts/golden does not install:

    python tests/golden/encoded_blocks.py

For types with a fixed formula, the blocks of gguf-py. For the others, whose encoders are free to choose, the sum of squared
errors of llama.cpp's encoder.
"""

import ctypes
import json
import pathlib

import gguf
import llama_cpp_py_sync
import numpy as np
from gguf import GGMLQuantizationType as Type

FORMULAS = [Type.Q8_0, Type.Q4_0]
SEARCHES = [Type.Q5_0, Type.Q5_1, Type.Q4_K, Type.Q5_K, Type.Q6_K]
SUPER = 256


def values():
    """Returns super-blocks as weights have them, and awkward ones."""
    random = np.random.default_rng(5)
    heavy = random.standard_t(3, SUPER) * 0.02
    outlier = random.normal(0, 0.02, SUPER)
    outlier[77] = -1.5
    scales = np.repeat(10 ** random.uniform(-4, 0, SUPER // 32), 32)
    ties = np.resize([-1, 1, 0.5, -0.5, 0.25, 0, 0.125, -0.25], SUPER)
    zeros = np.zeros(SUPER)
    zeros[200:] = random.normal(0, 1e-3, 56)
    blocks = [
        random.normal(0, 0.02, SUPER), random.normal(0, 1, SUPER), random.laplace(0, 0.05, SUPER), heavy, outlier,
        random.normal(0, 1, SUPER) * scales, random.uniform(0, 1, SUPER), -random.uniform(0.5, 1, SUPER), ties, zeros,
        np.full(SUPER, 0.3), np.zeros(SUPER),
    ]
    return np.array(blocks, np.float32)


def ggml():
    library = ctypes.CDLL(str(pathlib.Path(llama_cpp_py_sync.__file__).parent / "libggml-base.so.0"))
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    library.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p,
    ]
    return library


def squared_error(library, rows, quantisation):
    n_values, n_bytes = gguf.GGML_QUANT_SIZES[quantisation]
    blocks = np.zeros((len(rows), SUPER // n_values * n_bytes), np.uint8)
    library.ggml_quantize_chunk(int(quantisation), rows.ctypes.data, blocks.ctypes.data, 0, len(rows), SUPER, None)
    found = gguf.quants.dequantize(blocks, quantisation)
    return float(((found.astype(np.float64) - rows) ** 2).sum())


def main():
    rows, library = values(), ggml()
    record = {
        "values": rows.astype("<f4").tobytes().hex(),
        "blocks": {kind.name: gguf.quants.quantize(rows, kind).tobytes().hex() for kind in FORMULAS},
        "squared_errors": {kind.name: [squared_error(library, row[None], kind) for row in rows] for kind in SEARCHES},
    }
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]
    (pathlib.Path(__file__).parent / "encoded_blocks.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
