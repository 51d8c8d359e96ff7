"""Writes a tiny model as a Hugging Face folder: safetensors, configuration, tokenizer, chat template."""

import json
import shutil

import torch

from vocabulary import BOS, CONTROL, EOS, PAD, SIZE, tokenizer_of
from weights import model_of

GENERATION = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD, "do_sample": True}
TOKENIZER = {
    "add_bos_token": True, "add_eos_token": False, "bos_token": CONTROL[BOS], "eos_token": CONTROL[EOS],
    "pad_token": CONTROL[PAD], "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
}


def common_config(shape):
    return {
        "architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2", "bos_token_id": BOS, "eos_token_id": EOS,
        "pad_token_id": PAD, "conv_L_cache": 3, "conv_bias": False, "hidden_size": shape.hidden,
        "max_position_embeddings": shape.context, "norm_eps": shape.norm_eps, "num_attention_heads": shape.heads,
        "num_hidden_layers": len(shape.layers), "num_key_value_heads": shape.kv_heads, "vocab_size": SIZE,
        "use_cache": True,
    }


def new_config(shape):
    """Returns config.json with the keys of later published files."""
    return common_config(shape) | {
        "block_auto_adjust_ff_dim": False, "intermediate_size": shape.feed_forward, "layer_types": list(shape.layers),
        "rope_theta": shape.rope_theta, "tie_word_embeddings": shape.tied, "torch_dtype": "float32",
    }


def old_config(shape):
    """Returns config.json with the keys of the first published files. The feed-forward size must be computed from it: 2/3 of
    200, times 1.25, rounded up to a multiple of 64."""
    return common_config(shape) | {
        "block_auto_adjust_ff_dim": True, "block_dim": shape.hidden, "block_ff_dim": 200,
        "block_ffn_dim_multiplier": 1.25, "block_multiple_of": 64, "block_norm_eps": shape.norm_eps,
        "block_use_swiglu": True, "conv_dim": shape.hidden, "conv_dim_out": shape.hidden,
        "full_attn_idxs": [layer for layer, yes in enumerate(shape.is_attention) if yes], "num_heads": shape.heads,
        "rope_parameters": {"rope_theta": shape.rope_theta, "rope_type": "default"}, "tie_embedding": shape.tied,
        "torch_dtype": "bfloat16", "use_pos_enc": True,
    }


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_weights(folder, shape, weights, dtype, shard_size):
    shutil.rmtree(folder, ignore_errors=True)
    model_of(shape, weights).to(dtype).save_pretrained(folder, max_shard_size=shard_size)


def write_single(folder, shape, vocabulary, template, weights):
    write_weights(folder, shape, weights, torch.float32, "1GB")
    write_json(folder / "config.json", new_config(shape))
    write_json(folder / "generation_config.json", GENERATION | {"temperature": 0.3, "min_p": 0.15, "repetition_penalty": 1.05})
    write_json(folder / "tokenizer_config.json", TOKENIZER)
    tokenizer_of(vocabulary).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)


def write_sharded(folder, shape, vocabulary, template, weights):
    write_weights(folder, shape, weights, torch.bfloat16, "256KB")
    write_json(folder / "config.json", old_config(shape))
    write_json(folder / "generation_config.json", GENERATION | {"eos_token_id": [EOS, 2], "temperature": 0.1, "top_k": 40, "top_p": 0.9})
    write_json(folder / "tokenizer_config.json", TOKENIZER | {"chat_template": template})
    tokenizer_of(vocabulary).save(str(folder / "tokenizer.json"))
