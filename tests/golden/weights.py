"""Random weights that make errors visible: norms far from 1, widely spread logits, every value exact in f16."""

import numpy as np
import torch
from transformers import Lfm2ForCausalLM

GLOBAL = {
    "model.embed_tokens": "token_embd",
    "model.embedding_norm": "token_embd_norm",  # the output norm, despite its name
    "lm_head": "output",
}
IN_LAYER = {
    "operator_norm": "attn_norm", "ffn_norm": "ffn_norm",
    "feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up",
    "conv.in_proj": "shortconv.in_proj", "conv.conv": "shortconv.conv", "conv.out_proj": "shortconv.out_proj",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.out_proj": "attn_output",
    "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
}


def gguf_name(name):
    """Returns the GGUF name of a transformers tensor."""
    stem = name.removesuffix(".weight")
    if stem in GLOBAL:
        return GLOBAL[stem] + ".weight"
    _, _, layer, rest = stem.split(".", 3)
    return f"blk.{layer}.{IN_LAYER[rest]}.weight"


def deviation(name, shape):
    """Returns the standard deviation of a matrix. Small ones (0.02) would give flat logits, which hide errors."""
    if "embed_tokens" in name or "lm_head" in name:
        return 1.5 * shape[-1] ** -0.5
    if "conv.conv" in name:
        return 0.6
    return shape[-1] ** -0.5


def random_weights(shape):
    """Returns f32 arrays by transformers' names, in the model's order; a tied output matrix is left out."""
    random = np.random.default_rng(shape.seed)
    weights = {}
    for name, parameter in Lfm2ForCausalLM(shape.config()).named_parameters():
        noise = random.standard_normal(tuple(parameter.shape), dtype=np.float32)
        values = 1 + 0.2 * noise if noise.ndim == 1 else deviation(name, noise.shape) * noise
        weights[name] = values.astype(np.float16).astype(np.float32)
    return weights


@torch.no_grad()
def model_of(shape, weights):
    """Returns the transformers model with these weights, in f32."""
    model = Lfm2ForCausalLM._from_config(shape.config(), attn_implementation="eager", dtype=torch.float32).eval()
    parameters = dict(model.named_parameters())
    assert parameters.keys() == weights.keys()
    for name, parameter in parameters.items():
        parameter.copy_(torch.from_numpy(weights[name].copy()))
    return model
