"""Records what llama.cpp's own vision library makes of pictures with the tiny models: vision_llama_cpp.json.

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
MODELS = HERE.parent / "fixtures" / "models"
CHATML = "<|startoftext|><|im_start|>user\n<image>What is this?<|im_end|>\n<|im_start|>assistant\n"
GEMMA3 = "<|startoftext|><start_of_turn>user\n<image>What is this?<end_of_turn>\n<start_of_turn>model\n"
GEMMA4 = "<|startoftext|><|turn>user\n<image>What is this?<turn|>\n<|turn>model\n"
# The projector, the text model, the prompt, and pictures: width, height, seed, and how many images need no resizing.
LFM2_PICTURES = [(512, 512, 0, 1), (256, 384, 1, 1), (1024, 1024, 2, 4)]
CASES = [
    ("lfm2vl/mmproj-lfm2vl-f16.gguf", "lfm2vl/lfm2vl-f16.gguf", CHATML, LFM2_PICTURES),
    ("lfm2vl/mmproj-lfm2vl-q8_0.gguf", "lfm2vl/lfm2vl-f16.gguf", CHATML, LFM2_PICTURES),
    ("gemma3vl/mmproj-gemma3vl-f16.gguf", "gemma3vl/gemma3vl-f16.gguf", GEMMA3, [(336, 336, 3, 1)]),
    ("gemma4-media/mmproj-gemma4-media-f16.gguf", "gemma4-media/gemma4-media-f16.gguf", GEMMA4, [(768, 768, 4, 1), (672, 912, 5, 1)]),
    ("gemma4-large/mmproj-gemma4-large-f16.gguf", "gemma4-media/gemma4-media-f16.gguf", GEMMA4, [(336, 480, 6, 1), (672, 240, 7, 1)]),
    ("qwen35vl/mmproj-qwen35vl-f16.gguf", "qwen35vl/qwen35vl-f16.gguf", CHATML, [(128, 128, 8, 1), (192, 96, 9, 1)]),
]


def main():
    records = []
    for projector, text, prompt, pictures in CASES:
        vision = Vision(MODELS / text, MODELS / projector, 2)
        for width, height, seed, n_compared in pictures:
            chunks = vision.chunks(prompt, [(width, height, pixels(width, height, seed).tobytes())])
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
                "model": projector.rpartition("/")[2], "picture": [width, height, seed], "prompt": tokens, "images": images[:n_compared],
            })
            print(projector, width, height, [len(part) if isinstance(part, list) else part for part in tokens])
    (HERE / "vision_llama_cpp.json").write_text("[\n  " + ",\n  ".join(map(json.dumps, records)) + "\n]\n")


main()
