"""Writes the files beside the text model of LFM2.5-Audio 1.5B with their shapes and random weights: encoder, vocoder, tokenizer, and a
vocoder with the tokenizer's tensors in it, which cera reads.

    random_speech.py FOLDER q8_0

`random_lfm2.py FOLDER/audio-1.2b-q8_0.gguf` writes the text model, with the control tokens that speech needs. As in published files,
matrices have one type; vectors, biases and convolutions are F32.
"""

import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

TEXT, CODEBOOKS, CODES = 2048, 8, 2049
# The encoder.
MODEL, LAYERS, HEADS, CHANNELS, KERNEL, BINS = 512, 17, 8, 256, 9, 128
# The vocoder: layers of 32 heads over 8 of keys and values.
DEPTH, DEPTH_LAYERS, DEPTH_INNER, DEPTH_HEAD = 1024, 6, 2816, 32
# The tokenizer's network.
WIDTH, INNER, HEAD, SPECTRUM = 512, 2304, 32, 1282
IS_ATTENTION = [False, False, True, False, True, False, True, False]
TYPES = {"q4_0": Type.Q4_0, "q8_0": Type.Q8_0, "f16": Type.F16}


class File:
    def __init__(self, path, architecture, matrices, seed):
        self.writer, self.random, self.matrices = gguf.GGUFWriter(path, architecture), np.random.default_rng(seed), matrices

    def values(self, shape, deviation):
        return self.random.standard_normal(shape, dtype=np.float32) * np.float32(deviation)

    def matrix(self, name, rows, columns, deviation=None):
        values = self.values((rows, columns), deviation or columns**-0.5)
        self.writer.add_tensor(name, gguf.quants.quantize(values, self.matrices), raw_dtype=self.matrices)

    def linear(self, name, rows, columns):
        self.matrix(f"{name}.weight", rows, columns)
        self.vector(f"{name}.bias", rows, 0)

    def norm(self, name, length):
        self.vector(f"{name}.weight", length)
        self.vector(f"{name}.bias", length, 0)

    def vector(self, name, length, around=1.0):
        self.writer.add_tensor(name, np.float32(around) + self.values(length, 0.1))

    def floats(self, name, shape, deviation):
        self.writer.add_tensor(name, self.values(shape, deviation))

    def finish(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def encoder(path, matrices):
    file = File(path, "clip", matrices, 1)
    file.writer.add_string("general.type", "mmproj")
    file.writer.add_bool("clip.has_audio_encoder", True)
    file.writer.add_string("clip.projector_type", "lfm2a")
    for key, value in {
        "embedding_length": MODEL, "feed_forward_length": MODEL, "block_count": LAYERS, "attention.head_count": HEADS,
        "num_mel_bins": BINS, "projection_dim": TEXT,
    }.items():
        file.writer.add_uint32(f"clip.audio.{key}", value)
    file.writer.add_float32("clip.audio.attention.layer_norm_epsilon", 1e-5)
    for index, shape in {0: (CHANNELS, 1, 3, 3), 2: (CHANNELS, 1, 3, 3), 3: (CHANNELS, CHANNELS, 1, 1),
                         5: (CHANNELS, 1, 3, 3), 6: (CHANNELS, CHANNELS, 1, 1)}.items():
        file.floats(f"a.conv1d.{index}.weight", shape, np.prod(shape[1:]) ** -0.5)
        file.floats(f"a.conv1d.{index}.bias", (CHANNELS, 1, 1), 0.1)
    file.linear("a.pre_encode.out", MODEL, CHANNELS * BINS // 8)
    for layer in range(LAYERS):
        block = f"a.blk.{layer}."
        for norm in ("ffn_norm", "ln1", "norm_conv", "conv_norm", "ffn_norm_1", "ln2"):
            file.norm(block + norm, MODEL)
        for part in ("", "_1"):
            file.linear(f"{block}ffn_up{part}", 4 * MODEL, MODEL)
            file.linear(f"{block}ffn_down{part}", MODEL, 4 * MODEL)
        for part in ("attn_q", "attn_k", "attn_v", "attn_out", "conv_pw2"):
            file.linear(block + part, MODEL, MODEL)
        file.linear(block + "conv_pw1", 2 * MODEL, MODEL)
        file.matrix(block + "linear_pos.weight", MODEL, MODEL)
        for bias in ("pos_bias_u", "pos_bias_v"):
            file.floats(block + bias, (HEADS, MODEL // HEADS), 0.1)
        file.floats(block + "conv_dw.weight", (MODEL, KERNEL), 1 / 3)
        file.vector(block + "conv_dw.bias", MODEL, 0)
    file.norm("mm.a.mlp.0", MODEL)
    file.linear("mm.a.mlp.1", TEXT, MODEL)
    file.linear("mm.a.mlp.3", TEXT, TEXT)
    # Tables of the speaking part; llama.cpp takes the width of the rows from the first.
    file.floats("a.position_embd.weight", (CODEBOOKS * CODES, TEXT), 0.5)
    file.vector("a.position_embd_norm.weight", TEXT)
    file.finish()


def vocoder(path, matrices):
    file = File(path, "this model speaks, and cannot be used alone", matrices, 2)
    add_codes(file)
    file.finish()


def whole_vocoder(path, matrices):
    file = File(path, "this model speaks, and cannot be used alone", matrices, 4)
    add_codes(file)
    add_samples(file)
    file.finish()


def tokenizer(path, matrices):
    file = File(path, "lfm2", matrices, 3)
    file.writer.add_block_count(len(IS_ATTENTION))
    file.writer.add_embedding_length(WIDTH)
    file.writer.add_sliding_window(30)
    add_samples(file)
    file.finish()


def add_codes(file):
    """The network that chooses the codes of a frame."""
    file.writer.add_uint32("depthformer_n_layer", DEPTH_LAYERS)
    file.writer.add_uint32("depthformer_n_embd", DEPTH)
    file.matrix("depth_linear.weight", CODEBOOKS * DEPTH, TEXT)
    file.vector("depth_linear.bias", CODEBOOKS * DEPTH, 0)
    file.matrix("audio_embedding.embedding.weight", CODEBOOKS * CODES, TEXT, 0.5)
    file.vector("audio_embedding.embedding_norm.weight", TEXT)
    file.matrix("audio_embedding.to_logits.weight", CODEBOOKS * CODES, TEXT)
    for codebook in range(CODEBOOKS):
        name = f"depth_embeddings.{codebook}."
        file.matrix(name + "embedding.weight", CODES, DEPTH, 0.5)
        file.vector(name + "embedding_norm.weight", DEPTH)
        file.matrix(name + "to_logits.weight", CODES, DEPTH)
    for layer in range(DEPTH_LAYERS):
        block = f"depthformer.layers.{layer}."
        for norm in ("operator_norm", "ffn_norm"):
            file.vector(f"{block}{norm}.weight", DEPTH)
        for norm in ("q", "k"):
            file.vector(f"{block}operator.attention.{norm}_layernorm.weight", DEPTH_HEAD)
        file.matrix(block + "operator.qkv_proj.weight", DEPTH + DEPTH // 2, DEPTH)
        file.matrix(block + "operator.out_proj.weight", DEPTH, DEPTH)
        for part, rows, columns in (("w1", DEPTH_INNER, DEPTH), ("w2", DEPTH, DEPTH_INNER), ("w3", DEPTH_INNER, DEPTH)):
            file.matrix(f"{block}feed_forward.{part}.weight", rows, columns)
    file.matrix("emb.emb.weight", CODEBOOKS * (CODES - 1), WIDTH, 1.0)


def add_samples(file):
    """The network that makes samples of codes."""
    file.vector("token_embd_norm.weight", WIDTH)
    for layer, is_attention in enumerate(IS_ATTENTION):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            file.vector(f"{block}{norm}.weight", WIDTH)
        for part, rows, columns in (("ffn_gate", INNER, WIDTH), ("ffn_down", WIDTH, INNER), ("ffn_up", INNER, WIDTH)):
            file.matrix(f"{block}{part}.weight", rows, columns)
        if is_attention:
            for part, rows in (("attn_q", WIDTH), ("attn_k", WIDTH // 2), ("attn_v", WIDTH // 2), ("attn_output", WIDTH)):
                file.matrix(f"{block}{part}.weight", rows, WIDTH)
            for norm in ("attn_q_norm", "attn_k_norm"):
                file.vector(f"{block}{norm}.weight", HEAD)
        else:
            file.matrix(block + "shortconv.in_proj.weight", 3 * WIDTH, WIDTH)
            file.floats(block + "shortconv.conv.weight", (WIDTH, 3), 0.5)
            file.matrix(block + "shortconv.out_proj.weight", WIDTH, WIDTH)
    file.matrix("dense_2.weight", SPECTRUM, WIDTH)
    file.vector("dense_2.bias", SPECTRUM, 0)


if __name__ == "__main__":
    folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
    writers = {"mmproj": encoder, "vocoder": vocoder, "tokenizer": tokenizer, "whole": whole_vocoder}
    for part, write in writers.items():
        write(folder / f"{part}-audio-1.2b-{kind}.gguf", TYPES[kind])
