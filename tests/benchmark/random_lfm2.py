"""Writes GGUF files with the shapes of LFM2 and random weights: quick to make, and as fast to run as the published models.

    random_lfm2.py 350m-q4_0.gguf 1.2b-q4_k_m.gguf vl-350m-q8_0.gguf …

Those with `vl` have the control tokens and the template of LFM2-VL, those with `audio` the control tokens of LFM2-Audio. Tensors have
the types that llama.cpp's quantiser chooses: the embedding, which is also the output matrix, is Q6_K in files of 4 to 6 bits, and Q4_K_M and
Q5_K_M use Q6_K for the matrices that benefit from more bits.
"""

import itertools
import pathlib
import sys
from typing import NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "golden"))
from superblocks import f16, random_blocks



class Shape(NamedTuple):
    hidden: int
    feed_forward: int
    heads: int


SHAPES = {"tiny": Shape(512, 1024, 8), "350m": Shape(1024, 4608, 16), "1.2b": Shape(2048, 8192, 32)}
KV_HEADS, HEAD_DIM, N_LAYERS, CONTEXT = 8, 64, 16, 128_000
ATTENTION = [2, 5, 8, 10, 12, 14]
SIZE, BOS, EOS, PAD = 65536, 1, 7, 0
FILE_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 7, "q4_k_m": 15, "q5_k_m": 17, "q6_k": 18}
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PARTS = (
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{{ '<image>' if part.type == 'image' else part.text }}{% endfor %}{% endif %}"
)
MARKERS = ["<image>", "<|image_start|>", "<|image_end|>", "<|img_thumbnail|>"] + [
    f"<|img_row_{row}_col_{column}|>" for row in range(1, 11) for column in range(1, 11)
]
CONTROL = {"vl": MARKERS, "audio": ["<|audio_start|>", "<|text_end|>"]}


def vocabulary(control_tokens):
    """Control tokens, bytes, pairs of letters, and pairs of pairs: each pair is a merge of two earlier tokens."""
    bytes_ = [chr(code) for code in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]]
    control = ["<|pad|>", "<|startoftext|>", *(f"<|control_{id}|>" for id in range(2, 6)), "<|im_start|>", "<|im_end|>"]
    control += control_tokens
    control += [f"<|control_{id}|>" for id in range(len(control), 64)]
    pairs = list(itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=2))
    words = [first + second for first, second in pairs]
    merges = [*pairs, *itertools.product(words, repeat=2)][: SIZE - len(control) - len(bytes_)]
    tokens = control + bytes_ + [first + second for first, second in merges]
    return tokens, [" ".join(merge) for merge in merges], len(control)


def simple_blocks(random, rows, columns, quantisation, deviation):
    """Q4_0 and Q8_0: blocks of 32 with one scale. 4.6 and 74 are the standard deviations of the uniform draws."""
    n = rows * columns // 32
    if quantisation == Type.Q4_0:
        values, spread = random.integers(0, 256, (n, 16), dtype=np.uint8), 4.6
    else:
        values, spread = random.integers(-128, 128, (n, 32), dtype=np.int8).view(np.uint8), 74
    scales = deviation / spread * random.uniform(0.7, 1.3, n)
    return np.concatenate([f16(scales), values], axis=1).reshape(rows, -1)


def float_blocks(random, rows, columns, deviation):
    weights = random.standard_normal((rows, columns), dtype=np.float32)
    return (weights * np.float32(deviation)).astype(np.float16)


def type_of(name, layer, kind):
    if kind in ("f16", "q8_0"):
        return {"f16": Type.F16, "q8_0": Type.Q8_0}[kind]
    if name == "token_embd" or kind == "q6_k":
        return Type.Q6_K
    if kind == "q4_0":
        return Type.Q4_0
    eighth = N_LAYERS // 8
    needs_more = layer < eighth or layer >= 7 * eighth or (layer - eighth) % 3 == 2
    return Type.Q6_K if name in ("attn_v", "ffn_down") and needs_more else {"q4_k_m": Type.Q4_K, "q5_k_m": Type.Q5_K}[kind]


def add_metadata(writer, name, shape, kind, purpose):
    writer.add_name(f"random LFM2 {name}")
    writer.add_file_type(FILE_TYPES[kind])
    writer.add_quantization_version(2)
    writer.add_block_count(N_LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv([KV_HEADS if layer in ATTENTION else 0 for layer in range(N_LAYERS)])
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(SIZE)
    writer.add_shortconv_l_cache(3)
    tokens, merges, n_control = vocabulary(CONTROL.get(purpose, []))
    assert len(tokens) == len(set(tokens)) == SIZE
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("lfm2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * n_control + [1] * (SIZE - n_control))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_pad_token_id(PAD)
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE.replace("{{ message.content }}", PARTS) if purpose == "vl" else TEMPLATE)


def write(path):
    *purpose, size, kind = path.stem.split("-")
    shape = SHAPES[size]
    hidden = shape.hidden
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "lfm2")
    add_metadata(writer, path.stem, shape, kind, "-".join(purpose))

    def matrix(name, rows, columns, layer=0, part=None, gain=1.0):
        quantisation = type_of(part or name, layer, kind)
        deviation = gain * columns**-0.5
        if quantisation == Type.F16:
            writer.add_tensor(f"{name}.weight", float_blocks(random, rows, columns, deviation))
            return
        blocks = simple_blocks if quantisation in (Type.Q4_0, Type.Q8_0) else random_blocks
        raw = blocks(random, rows, columns, quantisation, deviation)
        writer.add_tensor(f"{name}.weight", raw, raw_dtype=quantisation)

    def vector(name, *shape, around=1.0):
        noise = random.standard_normal(shape, dtype=np.float32)
        writer.add_tensor(f"{name}.weight", around + np.float32(0.2) * noise)

    matrix("token_embd", SIZE, hidden, gain=1.5)
    vector("token_embd_norm", hidden)
    into_stream = (2 * N_LAYERS) ** -0.5  # keeps the scale of the residual stream constant over the layers
    for layer in range(N_LAYERS):
        def part(name, rows, columns, gain=1.0):
            matrix(f"blk.{layer}.{name}", rows, columns, layer, name, gain)

        for norm in ("attn_norm", "ffn_norm"):
            vector(f"blk.{layer}.{norm}", hidden)
        if layer in ATTENTION:
            part("attn_q", hidden, hidden)
            part("attn_k", KV_HEADS * HEAD_DIM, hidden)
            part("attn_v", KV_HEADS * HEAD_DIM, hidden)
            part("attn_output", hidden, hidden, into_stream)
            for norm in ("attn_q_norm", "attn_k_norm"):
                vector(f"blk.{layer}.{norm}", HEAD_DIM)
        else:
            part("shortconv.in_proj", 3 * hidden, hidden)
            vector(f"blk.{layer}.shortconv.conv", hidden, 3, around=0.3)
            part("shortconv.out_proj", hidden, hidden, into_stream)
        part("ffn_gate", shape.feed_forward, hidden)
        part("ffn_up", shape.feed_forward, hidden)
        part("ffn_down", hidden, shape.feed_forward, into_stream)
    close(writer)


def close(writer):
    """Writes the file."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        write(path)
