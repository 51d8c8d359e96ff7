"""Records what llama.cpp's own vision library makes of pictures with the tiny LFM2-VL: vision_llama_cpp.json.

    python3 tests/golden/vision_llama_cpp.py

It needs the packages that libmtmd.py names. The pictures need no resizing, in which llama.cpp differs from the published
processor; of the tiled one, the smaller copy of the whole is left out for this reason.
"""

import json
import pathlib

import numpy as np

from libmtmd import Vision, ffi
from pictures import pixels

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / "fixtures" / "models" / "lfm2vl"
PROMPT = "<|startoftext|><|im_start|>user\n<image>What is this?<|im_end|>\n<|im_start|>assistant\n"
# Width, height, seed, and how many images need no resizing.
PICTURES = [(512, 512, 0, 1), (256, 384, 1, 1), (1024, 1024, 2, 4)]


def main():
    records = []
    for projector in ("mmproj-lfm2vl-f16.gguf", "mmproj-lfm2vl-q8_0.gguf"):
        vision = Vision(FOLDER / "lfm2vl-f16.gguf", FOLDER / projector, 2)
        for width, height, seed, n_compared in PICTURES:
            chunks = vision.chunks(PROMPT, [(width, height, pixels(width, height, seed).tobytes())])
            tokens, images = [], []
            for chunk in chunks:
                if not vision.is_image(chunk):
                    tokens.append(vision.tokens(chunk))
                    continue
                rows, n_rows = vision.rows(chunk)
                tokens.append(n_rows)
                values = np.frombuffer(ffi.buffer(rows, 4 * n_rows * vision.width), np.float32).reshape(n_rows, -1)
                kept = sorted({0, 1, n_rows // 2, n_rows - 1})
                images.append({
                    "n_rows": n_rows, "row_sums": [round(float(value), 4) for value in values.sum(1)],
                    "rows": [{"row": row, "values": [round(float(value), 5) for value in values[row]]} for row in kept],
                })
            records.append({
                "model": projector, "picture": [width, height, seed], "prompt": tokens, "images": images[:n_compared],
            })
            print(projector, width, height, [len(part) if isinstance(part, list) else part for part in tokens])
    (HERE / "vision_llama_cpp.json").write_text("[\n  " + ",\n  ".join(map(json.dumps, records)) + "\n]\n")


main()
