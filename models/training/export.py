"""Writes the trained model: a GGUF file, and, for tests of other loaders, a Hugging Face folder."""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.torch import save_file
from tokenizers import Tokenizer

from . import warm_start
from .model import Shape
from .names import gguf_name
from .prompt import TEMPLATE
from .tokenizer import BOS, CONTROL, END_OF_TURN, parts

CONTEXT = 4096
NORMAL_TYPE, CONTROL_TYPE = 1, 3


def transformers_tensors(weights, shape):
    """The weights with the names that transformers uses."""
    tensors = {}
    for name, weight in weights.items():
        parts = name.split(".")
        if parts[0] == "layers" and parts[2] == "operator":
            parts[2] = "conv" if shape.layers[int(parts[1])] == "c" else "self_attn"
            if parts[3:] == ["conv"]:
                parts.append("weight")
                weight = weight[:, None]  # (hidden, 1, window)
        tensors["model." + ".".join(parts)] = weight.detach().float().contiguous()
    return tensors


def write_gguf(path, tensors, shape, tokenizer, matrix_type=Type.Q8_0):
    writer = gguf.GGUFWriter(path, "lfm2")
    writer.add_name("causerie-demo")
    writer.add_file_type({Type.F32: 0, Type.Q8_0: 7}[matrix_type])
    writer.add_quantization_version(2)
    writer.add_block_count(len(shape.layers))
    writer.add_context_length(CONTEXT)
    writer.add_float32("general.sampling.temp", 0.0)  # small models are most often right with greedy sampling
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv([shape.kv_heads if kind == "a" else 0 for kind in shape.layers])
    writer.add_rope_freq_base(shape.theta)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_shortconv_l_cache(shape.window)
    tokens, merges = parts(tokenizer)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("lfm2")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL_TYPE if token in CONTROL else NORMAL_TYPE for token in tokens])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(END_OF_TURN)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(TEMPLATE.read_text().removesuffix("\n"))
    for name, tensor in tensors.items():
        values = tensor.numpy()
        if "conv.conv" in name:
            writer.add_tensor(gguf_name(name), np.ascontiguousarray(values.squeeze(1)))
        elif values.ndim == 1 or matrix_type == Type.F32:
            writer.add_tensor(gguf_name(name), values)
        else:
            writer.add_tensor(gguf_name(name), gguf.quants.quantize(values, matrix_type), raw_dtype=matrix_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_folder(folder, tensors, shape, tokenizer):
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2", "dtype": "float32", "vocab_size": shape.vocabulary, "hidden_size": shape.hidden,
        "intermediate_size": shape.feed_forward, "num_hidden_layers": len(shape.layers), "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads, "layer_types": ["conv" if kind == "c" else "full_attention" for kind in shape.layers],
        "conv_L_cache": shape.window, "conv_bias": False, "norm_eps": shape.epsilon, "block_auto_adjust_ff_dim": False,
        "block_multiple_of": 32, "block_ffn_dim_multiplier": 1.0, "rope_parameters": {"rope_type": "default", "rope_theta": shape.theta},
        "max_position_embeddings": CONTEXT, "bos_token_id": BOS, "eos_token_id": END_OF_TURN, "pad_token_id": 0, "tie_word_embeddings": True,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    (folder / "chat_template.jinja").write_text(TEMPLATE.read_text())
    tokenizer.save(str(folder / "tokenizer.json"))
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def load_checkpoint(folder):
    checkpoint = torch.load(folder / "checkpoint.pt", map_location="cpu", weights_only=True)
    return checkpoint, Shape(**checkpoint["shape"]), Tokenizer.from_file(str(folder / "tokenizer.json"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("--type", choices=["q8_0", "f32"], default="q8_0")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--mix-with", type=Path, metavar="GGUF", help="the model that training started from; --layers must be those of that training")
    parser.add_argument("--layers")
    parser.add_argument("--share", type=float, default=0.5, help="share of the learned weights in the mixture")
    args = parser.parse_args()
    checkpoint, shape, tokenizer = load_checkpoint(args.run)
    weights = checkpoint["average"]
    if args.mix_with:
        weights = warm_start.mix(args.mix_with, args.layers or shape.layers, weights, args.share)
    tensors = transformers_tensors(weights, shape)
    if args.gguf:
        write_gguf(args.gguf, tensors, shape, tokenizer, Type[args.type.upper()])
    if args.folder:
        write_folder(args.folder, tensors, shape, tokenizer)


if __name__ == "__main__":
    main()
