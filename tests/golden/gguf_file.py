"""Writes a tiny model as GGUF, and reads it back with gguf-py."""

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

from superblocks import random_blocks
from vocabulary import BOS, EOS, PAD
from weights import deviation, gguf_name

FILE_TYPES = {
    Type.F32: 0, Type.F16: 1, Type.Q4_0: 2, Type.Q4_1: 3, Type.Q8_0: 7, Type.Q5_0: 8, Type.Q5_1: 9,
    Type.Q2_K: 10, Type.Q4_K: 15,
    Type.Q5_K: 17, Type.Q6_K: 18, Type.BF16: 32,
}
NORMAL, CONTROL = 1, 3


def add_metadata(writer, shape, vocabulary, template, quantisation):
    writer.add_name("tiny random LFM2")
    writer.add_file_type(FILE_TYPES[quantisation])
    writer.add_quantization_version(2)
    writer.add_block_count(len(shape.layers))
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv([shape.kv_heads if yes else 0 for yes in shape.is_attention])
    writer.add_rope_freq_base(shape.rope_theta)
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_shortconv_l_cache(3)
    add_vocabulary(writer, vocabulary, template)


def add_vocabulary(writer, vocabulary, template):
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("lfm2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types([CONTROL if vocabulary.is_control(id) else NORMAL for id in range(len(vocabulary.tokens))])
    writer.add_token_merges([" ".join(pair) for pair in vocabulary.merges])
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_pad_token_id(PAD)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(template)


def add_matrix(writer, name, values, quantisation, random):
    if quantisation in (Type.Q2_K, Type.Q4_K, Type.Q5_K, Type.Q6_K):
        # As in published files: the embedding and the output matrix are Q6_K, and the most sensitive matrices of Q2_K are Q3_K.
        if "embed_tokens" in name or "lm_head" in name:
            quantisation = Type.Q6_K
        elif quantisation == Type.Q2_K and ("v_proj" in name or "w2" in name or "out_proj" in name):
            quantisation = Type.Q3_K
        raw = random_blocks(random, *values.shape, quantisation, deviation(name, values.shape))
    else:
        raw = gguf.quants.quantize(values, quantisation)
    writer.add_tensor(gguf_name(name), raw, raw_dtype=quantisation)


def write(path, shape, vocabulary, template, weights, quantisation, output_norm="token_embd_norm", max_tensors=0):
    """Writes the model. K-quants use the norms and convolutions of `weights`, but draw their matrices at random. With
    `max_tensors`, the model is split into files with at most this many tensors each."""
    random = np.random.default_rng(shape.seed)
    writer = gguf.GGUFWriter(path, "lfm2", split_max_tensors=max_tensors)
    add_metadata(writer, shape, vocabulary, template, quantisation)
    for name, values in weights.items():
        if "conv.conv" in name:
            writer.add_tensor(gguf_name(name), values.squeeze(1))  # (hidden, 3)
        elif values.ndim == 1:
            writer.add_tensor(gguf_name(name).replace("token_embd_norm", output_norm), values)
        else:
            add_matrix(writer, name, values, quantisation, random)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read(path, weights):
    """Returns the weights of a file in f32, with the names and shapes of `weights`."""
    tensors = {
        tensor.name.replace("output_norm", "token_embd_norm"): gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        for tensor in gguf.GGUFReader(path).tensors
    }
    return {
        name: np.ascontiguousarray(tensors[gguf_name(name)].reshape(values.shape), np.float32)
        for name, values in weights.items()
    }
