"""A tiny model around a real tokenizer."""

import json
import pathlib
import shutil

import numpy as np


def write_tiny(folder, tokenizer, n_tokens):
    """Writes a folder with a tiny Llama of random weights and this tokenizer."""
    folder, hidden = pathlib.Path(folder), 32
    for name in ["tokenizer.json", "tokenizer_config.json"]:
        shutil.copy(tokenizer / name, folder / name)
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": n_tokens, "hidden_size": hidden, "intermediate_size": hidden,
        "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "float16",
    }
    (folder / "config.json").write_text(json.dumps(config))
    matrices = [f"self_attn.{name}_proj" for name in "qkvo"] + [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    shapes = {"model.embed_tokens.weight": (n_tokens, hidden), "model.norm.weight": (hidden,)}
    shapes |= {f"model.layers.0.{name}.weight": (hidden, hidden) for name in matrices}
    shapes |= {f"model.layers.0.{name}.weight": (hidden,) for name in ("input_layernorm", "post_attention_layernorm")}
    draws, tensors = np.random.default_rng(3), {}
    for name, shape in shapes.items():
        tensors[name] = draws.standard_normal(shape).astype(np.float16)
    write_safetensors(folder / "model.safetensors", tensors)


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F16", "shape": tensor.shape, "data_offsets": [at, at + tensor.nbytes]}
        at += tensor.nbytes
    header = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
