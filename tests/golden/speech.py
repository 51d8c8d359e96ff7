"""Tiny models with speech in and out: one in the files of LFM2.5-Audio (model, projector, vocoder and tokenizer), and one in the files
of LFM3-Audio (model and projector). Their weights are random, so what they say has no meaning; the parts that speak are
proven elsewhere, by what liquid-audio and llama.cpp compute.

    pip install gguf numpy
    python tests/golden/speech.py
"""

import pathlib
import shutil

import gguf
import numpy as np

MODELS = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "models"
HEARING, SPEAKING, MARKED = MODELS / "lfm2a", MODELS / "lfm2a-speech", MODELS / "lfm3a-speech"
# Control tokens of other models get the names that speech needs.
TOKENS = {"<|fim_pre|>": "<|audio_start|>", "<|fim_mid|>": "<|text_end|>"}
MARKED_TOKENS = {**TOKENS, "<|fim_suf|>": "<|mixed_start|>"}
HIDDEN, WIDTH, CODEBOOKS, CODES, SPECTRUM = 32, 8, 2, 2049, 1282
F16, F32 = gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.F32


def copy_model(source, target, architecture, name, tokens, changes={}):
    """Copies a model, with other names of control tokens."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, architecture)
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        value, kind = field.contents(), field.types[0]
        if key == "tokenizer.ggml.tokens":
            value = [tokens.get(token, token) for token in value]
        value = {"general.name": name, **changes}.get(key, value)
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


def write_marked_layer(tensors, prefix, width, is_attention, has_extras):
    """A layer of one of LFM3-Audio's networks. The encoder has neither gates nor norms of outputs."""
    for norm in ["ln1", "ln2"] + (["attn_post_norm", "ffn_post_norm"] if has_extras else []):
        tensors.vector(f"{prefix}{norm}.weight", width)
    for part, rows, columns in [("ffn_gate", 24, width), ("ffn_down", width, 24), ("ffn_up", 24, width)]:
        tensors.matrix(f"{prefix}{part}.weight", rows, columns)
    if not is_attention:
        tensors.matrix(f"{prefix}conv_pw1.weight", 3 * width, width)
        tensors.writer.add_tensor(f"{prefix}conv_dw.weight", tensors.random.normal(0, 0.5, (width, 3)).astype(np.float32))
        tensors.matrix(f"{prefix}conv_pw2.weight", width, width)
        return
    for part, rows in [("attn_q", width), ("attn_k", width // 2), ("attn_v", width // 2), ("attn_out", width)]:
        tensors.matrix(f"{prefix}{part}.weight", rows, width)
    if has_extras:
        tensors.matrix(f"{prefix}attn_gate.weight", 2, width)
    for norm in ["attn_q_norm", "attn_k_norm"]:
        tensors.vector(f"{prefix}{norm}.weight", width // 2)


def write_marked_projector():
    """Encoder, writer of frames and codec of LFM3-Audio in one file: 12 codebooks of 17 codes."""
    width, levels, codes, codebooks = 16, 2, 17, 12
    tensors = Tensors(MARKED / "mmproj-lfm3a-speech-f16.gguf", "clip", 3)
    writer, random = tensors.writer, tensors.random
    writer.add_bool("clip.has_audio_encoder", True)
    writer.add_bool("clip.has_gen_audio_encoder", True)
    writer.add_string("clip.audio.projector_type", "lfm3a")
    writer.add_string("clip.gen.audio.projector_type", "lfm3a_gen")
    for part, layers in [("clip.audio.", 2), ("clip.gen.audio.", 1)]:
        for key, value in [
            ("embedding_length", width),
            ("feed_forward_length", 24),
            ("block_count", layers),
            ("attention.head_count", 2),
            ("attention.head_count_kv", 1),
            ("projection_dim", HIDDEN),
        ]:
            writer.add_uint32(part + key, value)
        writer.add_float32(f"{part}attention.layer_norm_epsilon", 1e-5)
    writer.add_uint32("clip.audio.num_mel_bins", 128)
    writer.add_uint32("clip.audio.window_size", 8)
    writer.add_float32("clip.gen.audio.sampling.temp", 1.0)
    writer.add_int32("clip.gen.audio.sampling.top_k", 8)
    writer.add_float32("clip.gen.audio.sampling.penalty_repeat", 1.1)
    writer.add_int32("clip.gen.audio.sampling.penalty_last_n", 16)
    for at, shape in [(0, (4, 1, 3, 3)), (2, (4, 1, 3, 3)), (3, (4, 4, 1, 1)), (5, (4, 1, 3, 3)), (6, (4, 4, 1, 1))]:
        writer.add_tensor(f"a.conv1d.{at}.weight", random.normal(0, 0.5, shape).astype(np.float32))
        writer.add_tensor(f"a.conv1d.{at}.bias", random.normal(0, 0.1, (4, 1, 1)).astype(np.float32))
    for name, rows, columns in [
        ("a.pre_encode.out", width, 4 * 16),
        ("mm.a.mlp.1", 24, width),
        ("mm.a.mlp.3", HIDDEN, 24),
        ("a.gen.code.proj_in", codebooks * width, HIDDEN),
        ("a.gen.wav.quant.first.out_proj", width, codebooks * levels),
        ("a.gen.wav.tfm.in_proj", width, width),
        ("a.gen.wav.tfm.out_proj", SPECTRUM, width),
    ]:
        tensors.matrix(f"{name}.weight", rows, columns)
        tensors.vector(f"{name}.bias", rows, 0)
    for name in ["a.post_ln", "mm.a.mlp.0", "a.gen.code.output_norm", "a.gen.wav.tfm.output_norm"]:
        tensors.vector(f"{name}.weight", width)
    tensors.vector("mm.a.mlp.0.bias", width, 0)
    for prefix, layers, has_extras in [("a.blk.", 2, False), ("a.gen.wav.tfm.blk.", 2, True)]:
        for layer in range(layers):
            write_marked_layer(tensors, f"{prefix}{layer}.", width, layer == 1, has_extras)
    write_marked_layer(tensors, "a.gen.code.blk.0.", width, True, True)
    embeddings = random.normal(0, 0.5, (codebooks, codes, width)).astype(np.float16)
    embeddings[:, -1] *= 0.3  # so that one of twelve codebooks seldom ends the sound
    writer.add_tensor("a.gen.code.embd.weight", embeddings, raw_dtype=F16)
    tensors.matrix("a.gen.code.out_embd.weight", codebooks * codes, HIDDEN, 0.1)
    writer.add_tensor("a.gen.code.head_norm.weight", random.normal(1, 0.1, (codebooks, width)).astype(np.float32))
    tensors.vector("a.gen.code.mask_embd", width, 0)
    values = random.uniform(-1, 1, (codes - 1, levels)).astype(np.float32)
    writer.add_tensor("a.gen.wav.quant.first.codebook.weight", values)
    finish(writer)


SPEAKING.mkdir(exist_ok=True)
copy_model(HEARING / "lfm2a-f16.gguf", SPEAKING / "lfm2a-speech-f16.gguf", "lfm2", "tiny random LFM2-Audio that speaks", TOKENS)
shutil.copy(HEARING / "mmproj-lfm2a-q8_0.gguf", SPEAKING / "mmproj-lfm2a-speech-q8_0.gguf")
write_vocoder()
write_tokenizer()
MARKED.mkdir(exist_ok=True)
copy_model(
    MODELS / "lfm3-q8_0.gguf",
    MARKED / "lfm3a-speech-q8_0.gguf",
    "lfm3",
    "tiny random LFM3-Audio",
    MARKED_TOKENS,
    {"lfm3.context_length": 2048},
)
write_marked_projector()
