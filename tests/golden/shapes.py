"""The shapes of the tiny models. Their seeds give wide margins and replies without control tokens."""

from dataclasses import dataclass

from transformers import Lfm2Config

from vocabulary import BOS, EOS, PAD, SIZE

C, A = "conv", "full_attention"


@dataclass(frozen=True)
class Shape:
    """The shape of a model. `feed_forward` is the effective size, as in the tensors."""

    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    layers: tuple[str, ...]
    rope_theta: float
    tied: bool
    seed: int

    context = 4096
    norm_eps = 1e-5

    @property
    def is_attention(self):
        return [kind == A for kind in self.layers]

    def config(self):
        return Lfm2Config(
            vocab_size=SIZE, hidden_size=self.hidden, intermediate_size=self.feed_forward,
            num_hidden_layers=len(self.layers), num_attention_heads=self.heads, num_key_value_heads=self.kv_heads,
            layer_types=list(self.layers), conv_L_cache=3, norm_eps=self.norm_eps, block_auto_adjust_ff_dim=False,
            rope_parameters={"rope_type": "default", "rope_theta": self.rope_theta},
            max_position_embeddings=self.context, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD,
            tie_word_embeddings=self.tied,
        )


# head_dim 16, two query heads per KV head
SMALL = Shape(64, 96, 4, 2, (C, C, A, C, A), 1e6, True, seed=7)
# variations: a separate output matrix, attention in the first layer, one query head per KV head, head_dim 32
SHARDED = Shape(64, 192, 2, 2, (A, C, C, A, C), 5e6, False, seed=1)
# rows of 256, as the K-quants need; head_dim 32, four query heads per KV head
WIDE_Q2_K = Shape(256, 256, 8, 2, (C, A), 1e7, True, seed=14)
WIDE_Q4_K = Shape(256, 256, 8, 2, (C, A), 1e7, True, seed=31)
WIDE_Q5_K = Shape(256, 256, 8, 2, (C, A), 1e7, False, seed=1)
WIDE_Q6_K = Shape(256, 256, 8, 2, (C, A), 1e7, True, seed=20)
