"""The names of weights here, in transformers, and in GGUF files."""

IN_LAYER = {
    "operator_norm": "attn_norm", "ffn_norm": "ffn_norm",
    "feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up",
    "conv.in_proj": "shortconv.in_proj", "conv.conv": "shortconv.conv", "conv.out_proj": "shortconv.out_proj",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_output",
    "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
}
TO_OURS = {gguf_name: name.replace("self_attn.", "operator.").replace("conv.", "operator.", 1) for name, gguf_name in IN_LAYER.items()}


def gguf_name(name):
    name = name.removeprefix("model.").removesuffix(".weight")
    if not name.startswith("layers."):
        return {"embed_tokens": "token_embd", "embedding_norm": "token_embd_norm"}[name] + ".weight"
    _, layer, rest = name.split(".", 2)
    return f"blk.{layer}.{IN_LAYER[rest]}.weight"


def our_name(name):
    """`blk.2.attn_q.weight` is `layers.2.operator.q_proj.weight`; the taps of a convolution have no `.weight`."""
    name = name.removesuffix(".weight")
    if not name.startswith("blk."):
        return {"token_embd": "embed_tokens", "token_embd_norm": "embedding_norm"}[name] + ".weight"
    _, layer, rest = name.split(".", 2)
    return f"layers.{layer}.{TO_OURS[rest]}" + ("" if rest == "shortconv.conv" else ".weight")
