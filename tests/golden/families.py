"""The tiny models of all families except dense LFM2, which is in shapes.py: their features, and the keys of their files.

The hidden size of every model is 32. `config` is its config.json, with the keys of published files.
"""

import math
from dataclasses import dataclass, field
from types import ModuleType

from gguf import ExpertGatingFuncType, RopeScalingType
from gguf import GGMLQuantizationType as Type

import qwen35
from vocabulary import BOS, EOS, PAD, SIZE

HIDDEN, CONTEXT = 32, 128
# Both are shorter than the prompt and its reply, so that most tokens exceed them. With the RoPE bases below, the original
# context also makes some pairs of a head rotate as before, some more slowly, and one in between.
WINDOW, ORIGINAL_CONTEXT = 16, 48
# Shorter than the prompt: LongRoPE has other factors from there on, for all positions.
MIN_CONTEXT = 32


@dataclass(frozen=True)
class Family:
    """A model of a family. `metadata` has calls of gguf-py's writer: method, argument."""

    name: str
    architecture: str
    config: dict
    quantisation: Type
    seed: int
    metadata: tuple = ()
    # Tensors of GGUF files that folders have as settings.
    tensors: dict = field(default_factory=dict)
    # Replacements for families that transformers cannot read with `config`: other keys, and other names of tensors.
    oracle: dict = field(default_factory=dict)
    renamed: dict = field(default_factory=dict)
    # GGUF names of the tensors in a layer that other families name differently.
    gguf_names: dict = field(default_factory=dict)
    # Whether norms in folders hold one less than their factors.
    lacks_one: bool = False
    # The config.json of a model with several parts around `config`. Its tensors are then named as in such models.
    around: dict = field(default_factory=dict)
    around_prefix: str = "language_model.model."
    other_parts: tuple = ("vision_tower.vision_model.post_layernorm.weight",)
    # A module that converts the values of tensors to values of a GGUF file and back.
    conversion: ModuleType | None = None
    # Divisors of the frequencies in a GGUF file.
    divisors: tuple = ()

    @property
    def heads(self):
        return self.config["num_attention_heads"]

    @property
    def kv_heads(self):
        return self.config["num_key_value_heads"]

    @property
    def is_permuted(self):
        """Whether llama.cpp's converter permutes the rows of a head, so that the pairs of RoPE are adjacent."""
        return self.architecture in ("llama", "smollm3", "mistral3", "granite")


def config(model_type, layers, heads, kv_heads, tied, **keys):
    return {
        "model_type": model_type, "bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD,
        "hidden_size": HIDDEN, "intermediate_size": 64, "max_position_embeddings": CONTEXT,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "num_hidden_layers": layers,
        "tie_word_embeddings": tied, "vocab_size": SIZE, "torch_dtype": "float16",
    } | keys


LFM2_MOE = config(
    "lfm2_moe", 4, 4, 2, True, norm_eps=1e-5, rope_theta=5e6, conv_L_cache=3, conv_bias=False,
    layer_types=["conv", "conv", "full_attention", "conv"], num_dense_layers=1, num_experts=5, num_experts_per_tok=2,
    moe_intermediate_size=32, norm_topk_prob=True, use_expert_bias=True, routed_scaling_factor=1.25,
)
MIXED = ["conv", "sliding_attention", "conv", "full_attention"]
LFM2_SLIDING = config(
    "lfm2", 4, 4, 2, True, norm_eps=1e-5, conv_L_cache=7, conv_bias=False, head_dim=16, layer_types=MIXED,
    sliding_window=WINDOW, block_auto_adjust_ff_dim=False,
    rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "default", "rope_theta": 1e6},
    },
)
LLAMA_LINEAR = config(
    "llama", 3, 4, 4, False, rms_norm_eps=1e-6, attention_bias=True, mlp_bias=True,
    rope_scaling={"type": "linear", "factor": 2.5},
)
SMOLLM2 = config("llama", 3, 4, 1, True, rms_norm_eps=1e-5, rope_theta=1e5)
LLAMA3 = config(
    "llama", 3, 4, 2, True, rms_norm_eps=1e-5, rope_theta=5e5, head_dim=16,
    rope_scaling={
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": ORIGINAL_CONTEXT,
    },
)
QWEN2 = config(
    "qwen2", 3, 2, 1, False, rms_norm_eps=1e-6, rope_theta=1e4, sliding_window=WINDOW, use_sliding_window=False,
    max_window_layers=2,
    rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": ORIGINAL_CONTEXT},
)
QWEN3 = config(
    "qwen3", 3, 4, 2, True, rms_norm_eps=1e-6, rope_theta=1e6, head_dim=16, attention_bias=False, sliding_window=None,
    use_sliding_window=False, max_window_layers=3,
)
SMOLLM3 = config(
    "smollm3", 4, 2, 1, True, rms_norm_eps=1e-6, rope_theta=5e6, no_rope_layers=[1, 1, 1, 0], no_rope_layer_interval=4,
    use_sliding_window=False, sliding_window=None,
)
GEMMA3_NAMES = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
# Both have layers of both kinds: the sixth has full attention.
GEMMA3 = config(
    "gemma3_text", 7, 4, 1, True, rms_norm_eps=1e-6, head_dim=16, hidden_activation="gelu_pytorch_tanh",
    query_pre_attn_scalar=16, rope_theta=1e6, rope_local_base_freq=1e4, rope_scaling=None, sliding_window=WINDOW,
    sliding_window_pattern=6, attn_logit_softcapping=None, final_logit_softcapping=None,
    use_bidirectional_attention=False,
)
GEMMA3_LINEAR = config(
    "gemma3_text", 6, 2, 2, True, rms_norm_eps=1e-6, head_dim=32, hidden_activation="gelu_pytorch_tanh",
    query_pre_attn_scalar=32, rope_scaling={"rope_type": "linear", "factor": 8.0}, sliding_window=WINDOW,
    layer_types=["sliding_attention"] * 5 + ["full_attention"], final_logit_softcapping=5.0,
)
# The last two layers read the keys and values of the second and the third, and are twice as wide.
GEMMA4 = config(
    "gemma4_text", 5, 2, 1, True, rms_norm_eps=1e-6, head_dim=16, global_head_dim=32, hidden_activation="gelu_pytorch_tanh",
    sliding_window=WINDOW, num_kv_shared_layers=2, use_double_wide_mlp=True, hidden_size_per_layer_input=32,
    vocab_size_per_layer_input=SIZE, final_logit_softcapping=8.0, attention_k_eq_v=False, enable_moe_block=False,
    use_bidirectional_attention="vision",
    layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention", "full_attention"],
    rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
    },
)
LFM3 = config(
    "lfm3", 4, 4, 2, True, norm_eps=1e-5, conv_L_cache=7, conv_bias=False, head_dim=16, layer_types=MIXED,
    sliding_window=WINDOW, use_sandwich_norm=True, use_attention_gate=True,
    rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        # Published files call proportional settings default.
        "full_attention": {"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5},
    },
)
LFM3_ORACLE = {
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.5},
    },
}
QWEN35 = config("qwen3_5_text", 4, 4, 2, True, **qwen35.CONFIG)
MISTRAL = config("mistral", 3, 4, 2, False, rms_norm_eps=1e-5, rope_theta=1e4, sliding_window=WINDOW)
MINISTRAL3 = config(
    "ministral3", 3, 4, 2, True, rms_norm_eps=1e-5, head_dim=16, sliding_window=None,
    rope_parameters={
        "type": "yarn", "rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
        "mscale_all_dim": 1.0, "original_max_position_embeddings": MIN_CONTEXT, "llama_4_scaling_beta": 0.1,
    },
)
# Real files give no factor of attention, and their windows are larger than their context.
LONG, SHORT = [1.0, 1.1, 1.35, 2.0, 4.5, 9.0], [1.0, 1.0, 1.05, 1.1, 1.2, 1.4]
PHI4 = config(
    "phi3", 3, 2, 1, True, rms_norm_eps=1e-5, rope_theta=1e4, partial_rotary_factor=0.75, sliding_window=262144,
    original_max_position_embeddings=MIN_CONTEXT,
    rope_scaling={"type": "longrope", "long_factor": LONG, "short_factor": SHORT},
)
PHI4_SHORT = PHI4 | {"max_position_embeddings": 4 * CONTEXT, "original_max_position_embeddings": 2 * CONTEXT}
GRANITE = config(
    "granite", 3, 4, 2, False, rms_norm_eps=1e-5, rope_theta=1e4, attention_bias=True, mlp_bias=True, embedding_multiplier=5.0,
    attention_multiplier=0.25, residual_multiplier=0.7, logits_scaling=2.0,
)
GRANITE4 = config(
    "granitemoehybrid", 3, 4, 2, True, rms_norm_eps=1e-5, rope_theta=1e4, layer_types=["attention"] * 3,
    position_embedding_type="nope", embedding_multiplier=1.5, attention_multiplier=0.25, residual_multiplier=0.9, logits_scaling=1.5,
    shared_intermediate_size=64, num_local_experts=0, num_experts_per_tok=0, mamba_n_heads=4, mamba_d_head=16, mamba_expand=2,
)


def longrope(config):
    """Returns the metadata of a GGUF file that llama.cpp's converter writes for Phi."""
    context, original = config["max_position_embeddings"], config["original_max_position_embeddings"]
    return (
        ("add_rope_dimension_count", 12), ("add_sliding_window", 262144), ("add_rope_scaling_orig_ctx_len", original),
        ("add_rope_scaling_attn_factors", math.sqrt(1 + math.log(context / original) / math.log(original))),
    )


def multipliers(config):
    return (
        ("add_embedding_scale", config["embedding_multiplier"]), ("add_attention_scale", config["attention_multiplier"]),
        ("add_residual_scale", config["residual_multiplier"]), ("add_logit_scale", config["logits_scaling"]),
        ("add_rope_dimension_count", 8),
    )


FACTORS = {"rope_factors_long.weight": LONG, "rope_factors_short.weight": SHORT}
FAMILIES = [
    Family(
        "lfm2moe", "lfm2moe", LFM2_MOE, Type.Q8_0, seed=27, metadata=(
            ("add_head_count_kv", [0, 0, 2, 0]), ("add_shortconv_l_cache", 3), ("add_expert_count", 5),
            ("add_expert_used_count", 2), ("add_expert_feed_forward_length", 32), ("add_leading_dense_block_count", 1),
            ("add_expert_gating_func", ExpertGatingFuncType.SIGMOID), ("add_expert_weights_scale", 1.25),
        ),
    ),
    # transformers supports sliding windows with convolutions in LFM3 only. Without gates and outer norms, it equals LFM2.
    Family(
        "lfm2-sliding", "lfm2", LFM2_SLIDING, Type.Q4_0, seed=5, metadata=(
            ("add_head_count_kv", [0, 2, 0, 2]), ("add_shortconv_l_cache", 7), ("add_sliding_window", WINDOW),
            ("add_sliding_window_pattern", [False, True, False, False]), ("add_rope_freq_base_swa", 1e4),
        ),
        oracle={"model_type": "lfm3", "use_sandwich_norm": False, "use_attention_gate": False},
        renamed={
            "self_attn.out_proj": "self_attn.o_proj", "self_attn.q_layernorm": "self_attn.q_norm",
            "self_attn.k_layernorm": "self_attn.k_norm",
        },
    ),
    Family("llama-linear", "llama", LLAMA_LINEAR, Type.Q5_0, seed=5),
    Family("smollm2", "llama", SMOLLM2, Type.Q4_1, seed=1),
    Family("llama3", "llama", LLAMA3, Type.Q8_0, seed=14),
    Family("qwen2", "qwen2", QWEN2, Type.Q5_1, seed=4),
    Family("qwen3", "qwen3", QWEN3, Type.Q4_0, seed=16),
    Family("smollm3", "smollm3", SMOLLM3, Type.Q5_0, seed=5),
    # As the file of 270 million parameters: without optional metadata.
    Family(
        "gemma3", "gemma3", GEMMA3, Type.Q8_0, seed=8, metadata=(("add_sliding_window", WINDOW),),
        gguf_names=GEMMA3_NAMES, lacks_one=True,
    ),
    # As the folder of 4 billion parameters: the decoder is one of several parts.
    Family(
        "gemma3-linear", "gemma3", GEMMA3_LINEAR, Type.Q4_0, seed=30, gguf_names=GEMMA3_NAMES, lacks_one=True,
        metadata=(
            ("add_sliding_window", WINDOW), ("add_sliding_window_pattern", 6), ("add_rope_freq_base_swa", 1e4),
            ("add_final_logit_softcapping", 5.0),
        ),
        around={"model_type": "gemma3", "vision_config": {"model_type": "siglip_vision_model"}, "mm_tokens_per_image": 256},
    ),
    Family(
        "gemma4", "gemma4", GEMMA4, Type.Q8_0, seed=6, divisors=(1,) * 4 + (1e30,) * 12, metadata=(
            ("add_key_length_swa", 16), ("add_value_length_swa", 16), ("add_rope_dimension_count", 32),
            ("add_rope_dimension_count_swa", 16), ("add_rope_freq_base_swa", 1e4), ("add_sliding_window", WINDOW),
            ("add_feed_forward_length", [64, 64, 64, 128, 128]), ("add_sliding_window_pattern", [True, True, False, True, False]), ("add_shared_kv_layers", 2),
            ("add_embedding_length_per_layer_input", 32), ("add_final_logit_softcapping", 8.0),
        ),
        gguf_names=GEMMA3_NAMES | {
            "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
        },
    ),
    Family(
        "lfm3", "lfm3", LFM3, Type.Q8_0, seed=21, metadata=(
            ("add_head_count_kv", [0, 2, 0, 2]), ("add_shortconv_l_cache", 7), ("add_sliding_window", WINDOW),
            ("add_sliding_window_pattern", [False, True, False, False]), ("add_rope_freq_base_swa", 1e4),
            ("add_rope_dimension_count", 16),
        ),
        oracle=LFM3_ORACLE, divisors=(1,) * 4 + (1e30,) * 4,
        gguf_names={
            "post_operator_norm": "post_attention_norm", "post_ffn_norm": "post_ffw_norm",
            "self_attn.gate_proj": "attn_gate",
        },
    ),
    # As published folders: the decoder is one of several parts, and there is a layer that predicts further tokens.
    Family(
        "qwen35", "qwen35", QWEN35, Type.Q8_0, seed=7, metadata=qwen35.METADATA, gguf_names=qwen35.NAMES, lacks_one=True,
        conversion=qwen35, around={"model_type": "qwen3_5", "vision_config": {"model_type": "qwen3_5"}},
        around_prefix="model.language_model.", other_parts=("model.visual.merger.norm.weight", "mtp.norm.weight"),
    ),
    Family("mistral", "llama", MISTRAL, Type.Q8_0, seed=2, metadata=(("add_sliding_window", WINDOW),)),
    Family(
        "ministral3", "mistral3", MINISTRAL3, Type.Q8_0, seed=6, metadata=(
            ("add_rope_dimension_count", 16), ("add_rope_scaling_type", RopeScalingType.YARN), ("add_rope_scaling_factor", 4.0),
            ("add_rope_scaling_orig_ctx_len", MIN_CONTEXT), ("add_rope_scaling_yarn_beta_fast", 32.0),
            ("add_rope_scaling_yarn_beta_slow", 1.0), ("add_rope_scaling_yarn_log_mul", 1.0), ("add_attn_temperature_scale", 0.1),
        ),
    ),
    Family("phi4", "phi3", PHI4, Type.Q8_0, seed=2, metadata=longrope(PHI4), tensors=FACTORS),
    Family("phi4-short", "phi3", PHI4_SHORT, Type.Q4_0, seed=1, metadata=longrope(PHI4_SHORT), tensors=FACTORS),
    Family("granite", "granite", GRANITE, Type.Q5_0, seed=3, metadata=multipliers(GRANITE)),
    Family(
        "granite4", "granite", GRANITE4, Type.Q8_0, seed=2, metadata=(
            *multipliers(GRANITE4), ("add_head_count_kv", [2, 2, 2]), ("add_rope_scaling_finetuned", False),
        ),
    ),
]
# Families that also get a GGUF file whose queries, keys and values are one tensor, as the converter's option writes it.
JOINED = ["llama3", "qwen2"]
