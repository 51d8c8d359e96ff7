"""Writes a Whisper folder of Hugging Face as a file of ggml in Q8_0, which whisper.cpp reads: `whisper_ggml.py FOLDER FILE.bin`.

Matrices are in Q8_0, convolutions in F16, the rest in F32, as whisper.cpp's quantiser writes them.
"""

import json
import pathlib
import struct
import sys

import gguf
import numpy as np
from safetensors.numpy import load_file

MAGIC, RATE, N_FFT = 0x67676D6C, 16_000, 400
F32, F16, Q8_0 = 0, 1, 8
# The number of a file whose matrices are in Q8_0.
FILE_TYPE = 7
# Names of the original model, by names of the folder.
NAMES = [
    ("encoder_attn_layer_norm", "cross_attn_ln"), ("self_attn_layer_norm", "attn_ln"), ("final_layer_norm", "mlp_ln"),
    ("encoder_attn.", "cross_attn."), ("self_attn.", "attn."), ("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value"),
    ("out_proj", "out"), ("fc1", "mlp.0"), ("fc2", "mlp.2"), ("layers.", "blocks."), ("embed_tokens", "token_embedding"),
    ("embed_positions.weight", "positional_embedding"), ("encoder.layer_norm", "encoder.ln_post"), ("decoder.layer_norm", "decoder.ln"),
]


def mel_filters(n_bins):
    """Triangles between frequencies that are equally far apart on Slaney's scale, each with the area of its neighbours."""
    step = np.log(6.4) / 27

    def hertz(mels):
        return np.where(mels < 15, mels * 200 / 3, 1000 * np.exp(step * (mels - 15)))

    edges = hertz(np.linspace(0, 15 + np.log(RATE / 2 / 1000) / step, n_bins + 2))
    frequencies = np.arange(N_FFT // 2 + 1) * RATE / N_FFT
    rising = (frequencies - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges)[1:, None]
    return (np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]).astype(np.float32)


def text_tokens(folder):
    """The bytes of the tokens of text, in order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + at): byte for at, byte in enumerate(hidden)}
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    in_order = sorted((id, token) for token, id in vocabulary.items() if not token.startswith("<|"))
    return [bytes(byte_of[symbol] for symbol in token) for _, token in in_order]


def original_name(name):
    name = name.removeprefix("model.")
    for of_folder, original in NAMES:
        name = name.replace(of_folder, original)
    return name


def encoded(name, tensor):
    """The type and the bytes of a tensor."""
    if tensor.ndim < 2 or name.endswith("positional_embedding") or tensor.shape[-1] == 1:
        return F32, tensor.astype(np.float32).tobytes()
    if tensor.ndim == 3:
        return F16, tensor.astype(np.float16).tobytes()
    return Q8_0, gguf.quants.quantize(tensor.astype(np.float32), gguf.GGMLQuantizationType.Q8_0).tobytes()


def main(folder, path):
    config = json.loads((folder / "config.json").read_text())
    tokens = text_tokens(folder)
    keys = ["vocab_size", "max_source_positions", "d_model", "encoder_attention_heads", "encoder_layers", "max_target_positions", "d_model",
            "decoder_attention_heads", "decoder_layers", "num_mel_bins"]
    filters = mel_filters(config["num_mel_bins"])
    with open(path, "wb") as file:
        file.write(struct.pack("<I11i", MAGIC, *(config[key] for key in keys), FILE_TYPE))
        file.write(struct.pack("<2i", *filters.shape) + filters.tobytes())
        file.write(struct.pack("<i", len(tokens)))
        for token in tokens:
            file.write(struct.pack("<I", len(token)) + token)
        for name, tensor in load_file(folder / "model.safetensors").items():
            if name == "proj_out.weight":
                continue  # the table of tokens again
            name = original_name(name)
            if name.startswith("encoder.conv") and name.endswith("bias"):
                tensor = tensor.reshape(-1, 1)
            kind, data = encoded(name, tensor)
            file.write(struct.pack("<3i", tensor.ndim, len(name), kind))
            file.write(struct.pack(f"<{tensor.ndim}i", *reversed(tensor.shape)) + name.encode() + data)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
