"""A tiny model with speech in and out, in the files of LFM2.5-Audio: model, projector, vocoder and tokenizer. Its weights are random, so
what it says has no meaning; the parts that speak are proven elsewhere, by what liquid-audio computes.

    pip install gguf numpy
    python tests/golden/speech.py
"""

import pathlib
import shutil

import gguf
import numpy as np

MODELS = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models"
HEARING, SPEAKING = MODELS / "lfm2a", MODELS / "lfm2a-speech"
# Two control tokens of the model with audio input get the names that speech needs.
TOKENS = {"<|fim_pre|>": "<|audio_start|>", "<|fim_mid|>": "<|text_end|>"}
HIDDEN, WIDTH, CODEBOOKS, CODES, SPECTRUM = 32, 8, 2, 2049, 1282
F16, F32 = gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.F32


def copy_model():
    """Copies the model with audio input, with other names of control tokens."""
    reader = gguf.GGUFReader(HEARING / "lfm2a-f16.gguf")
    writer = gguf.GGUFWriter(SPEAKING / "lfm2a-speech-f16.gguf", "lfm2")
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        value, kind = field.contents(), field.types[0]
        if key == "tokenizer.ggml.tokens":
            value = [TOKENS.get(token, token) for token in value]
        if key == "general.name":
            value = "tiny random LFM2-Audio that speaks"
        writer.add_key_value(key, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    finish(writer)


class Tensors:
    """Adds random tensors to a file: matrices in F16, others in F32."""

    def __init__(self, path, architecture, seed):
        self.writer, self.random = gguf.GGUFWriter(path, architecture), np.random.default_rng(seed)

    def matrix(self, name, rows, columns, scale=None):
        values = self.random.normal(0, scale or columns**-0.5, (rows, columns)).astype(np.float16)
        self.writer.add_tensor(name, values, raw_dtype=F16)

    def vector(self, name, length, mean=1.0):
        self.writer.add_tensor(name, self.random.normal(mean, 0.1, length).astype(np.float32), raw_dtype=F32)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_vocoder():
    """The part that writes frames of codes, with the table of the codes' sounds, as published vocoders have it."""
    # Published files have a sentence here.
    tensors = Tensors(SPEAKING / "vocoder-lfm2a-speech-f16.gguf", "this model speaks, and cannot be used alone", 1)
    tensors.matrix("depth_linear.weight", CODEBOOKS * WIDTH, HIDDEN)
    tensors.vector("depth_linear.bias", CODEBOOKS * WIDTH, 0)
    tensors.matrix("audio_embedding.embedding.weight", CODEBOOKS * CODES, HIDDEN, 0.5)
    for codebook in range(CODEBOOKS):
        tensors.matrix(f"depth_embeddings.{codebook}.embedding.weight", CODES, WIDTH, 0.5)
        tensors.vector(f"depth_embeddings.{codebook}.embedding_norm.weight", WIDTH)
    layer = "depthformer.layers.0."
    for norm in ["operator_norm", "operator.attention.q_layernorm", "operator.attention.k_layernorm", "ffn_norm"]:
        tensors.vector(f"{layer}{norm}.weight", WIDTH)
    tensors.matrix(f"{layer}operator.qkv_proj.weight", 3 * WIDTH, WIDTH)
    tensors.matrix(f"{layer}operator.out_proj.weight", WIDTH, WIDTH)
    for part, rows, columns in [("w1", 16, WIDTH), ("w2", WIDTH, 16), ("w3", 16, WIDTH)]:
        tensors.matrix(f"{layer}feed_forward.{part}.weight", rows, columns)
    tensors.matrix("emb.emb.weight", CODEBOOKS * (CODES - 1), WIDTH, 1.0)
    finish(tensors.writer)


def write_tokenizer():
    """The part that turns frames into sound."""
    tensors = Tensors(SPEAKING / "tokenizer-lfm2a-speech-f16.gguf", "lfm2", 2)
    tensors.writer.add_block_count(2)
    tensors.writer.add_embedding_length(WIDTH)
    tensors.vector("token_embd_norm.weight", WIDTH)
    for layer in range(2):
        prefix = f"blk.{layer}."
        tensors.vector(f"{prefix}attn_norm.weight", WIDTH)
        tensors.vector(f"{prefix}ffn_norm.weight", WIDTH)
        for part, rows, columns in [("ffn_gate", 16, WIDTH), ("ffn_down", WIDTH, 16), ("ffn_up", 16, WIDTH)]:
            tensors.matrix(f"{prefix}{part}.weight", rows, columns)
    tensors.matrix("blk.0.shortconv.in_proj.weight", 3 * WIDTH, WIDTH)
    tensors.writer.add_tensor("blk.0.shortconv.conv.weight", tensors.random.normal(0, 0.5, (WIDTH, 3)).astype(np.float32))
    tensors.matrix("blk.0.shortconv.out_proj.weight", WIDTH, WIDTH)
    for part in ["attn_q", "attn_k", "attn_v", "attn_output"]:
        tensors.matrix(f"blk.1.{part}.weight", WIDTH, WIDTH)
    tensors.vector("blk.1.attn_q_norm.weight", WIDTH)
    tensors.vector("blk.1.attn_k_norm.weight", WIDTH)
    tensors.matrix("dense_2.weight", SPECTRUM, WIDTH)
    tensors.vector("dense_2.bias", SPECTRUM, 0)
    finish(tensors.writer)


SPEAKING.mkdir(exist_ok=True)
copy_model()
shutil.copy(HEARING / "mmproj-lfm2a-q8_0.gguf", SPEAKING / "mmproj-lfm2a-speech-q8_0.gguf")
write_vocoder()
write_tokenizer()
