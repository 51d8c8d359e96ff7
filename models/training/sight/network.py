"""The vision tower of LFM2-VL (SigLIP 2 and a projector), small, and the demo model for padded batches on a GPU."""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

from ..model import Shape, rotate, rotations
from .scenes import CHARACTER_KINDS, OBJECT_KINDS, PATCH

LOOKING_HEAD = 2  # of the heads of an attention layer, the one that learns where to look while it reads


@dataclass
class TowerShape:
    hidden: int = 256
    feed_forward: int = 768
    heads: int = 4
    layers: int = 6
    grid: int = 16  # patches along each side of the table of positions
    projector: int = 512
    rows: int = 256  # size of a row: the embedding of the text model
    epsilon: float = 1e-6

    as_dict = asdict


class TowerLayer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.ln1, self.ln2 = (nn.LayerNorm(shape.hidden, shape.epsilon) for _ in "12")
        self.attn_q, self.attn_k, self.attn_v, self.attn_out = (nn.Linear(shape.hidden, shape.hidden) for _ in "qkvo")
        self.ffn_up, self.ffn_down = nn.Linear(shape.hidden, shape.feed_forward), nn.Linear(shape.feed_forward, shape.hidden)

    def forward(self, x):
        split = lambda each: each.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        normed = self.ln1(x)
        after = F.scaled_dot_product_attention(split(self.attn_q(normed)), split(self.attn_k(normed)), split(self.attn_v(normed)))
        x = x + self.attn_out(after.transpose(1, 2).flatten(2))
        return x + self.ffn_down(F.gelu(self.ffn_up(self.ln2(x)), approximate="tanh"))


class Tower(nn.Module):
    """Names of parts are those of GGUF files. The last two parts only help training: what is on each patch."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.patch_embd = nn.Linear(3 * PATCH * PATCH, shape.hidden)
        self.position_embd = nn.Parameter(torch.randn(shape.grid**2, shape.hidden) * 0.02)
        self.blk = nn.ModuleList(TowerLayer(shape) for _ in range(shape.layers))
        self.post_ln = nn.LayerNorm(shape.hidden, shape.epsilon)
        self.mm1, self.mm2 = nn.Linear(4 * shape.hidden, shape.projector), nn.Linear(shape.projector, shape.rows)
        self.objects, self.characters = nn.Linear(shape.hidden, OBJECT_KINDS), nn.Linear(shape.hidden, CHARACTER_KINDS)
        for layer in self.blk:
            for weight in (layer.attn_out.weight, layer.ffn_down.weight):
                nn.init.normal_(weight, std=0.1 * weight.shape[1] ** -0.5)

    def positions(self, height, width):
        table = self.position_embd.view(1, self.shape.grid, self.shape.grid, -1).permute(0, 3, 1, 2).float()
        resized = F.interpolate(table, (height, width), mode="bilinear", align_corners=False, antialias=True)
        return resized[0].permute(1, 2, 0).reshape(height * width, -1)

    def forward(self, pixels):
        """Rows for pictures (pictures, height, width, 3) of bytes, (pictures, rows, size), and what is on each patch."""
        count, height, width, _ = pixels.shape
        h, w = height // PATCH, width // PATCH
        patches = pixels.view(count, h, PATCH, w, PATCH, 3).permute(0, 1, 3, 2, 4, 5).reshape(count, h * w, -1)  # rows of (y, x, channel)
        x = self.patch_embd(patches.to(self.patch_embd.weight.dtype) / 127.5 - 1)
        x = x + self.positions(h, w)
        for layer in self.blk:
            x = layer(x)
        x = self.post_ln(x)
        merged = x.view(count, h // 2, 2, w // 2, 2, -1).permute(0, 1, 3, 2, 4, 5).reshape(count, h * w // 4, -1)
        return self.mm2(F.gelu(self.mm1(merged))), self.objects(x), self.characters(x)


class Text(nn.Module):
    """The demo model for padded batches, with the names of `model.py`, from which it takes its weights."""

    def __init__(self, weights, shape: Shape):
        super().__init__()
        self.shape = shape
        for name, weight in weights.items():
            self.register_parameter(self.name_of(name), nn.Parameter(weight.clone()))

    @staticmethod
    def name_of(name):
        """The name of a parameter, which may not have dots."""
        return name.replace(".", "_")

    def weight(self, name):
        return getattr(self, self.name_of(name))

    def norm(self, x, name):
        return F.rms_norm(x, (x.shape[-1],), self.weight(name).to(x.dtype), self.shape.epsilon)

    def linear(self, x, name):
        return F.linear(x, self.weight(name))

    def convolution(self, x, at):
        b, c, x = self.linear(x, f"{at}.in_proj.weight").chunk(3, -1)
        taps = self.weight(f"{at}.conv")
        u = F.pad(b * x, (0, 0, len(taps[0]) - 1, 0))
        mixed = sum(u[:, tap : u.shape[1] - len(taps[0]) + 1 + tap] * taps[:, tap].to(u.dtype) for tap in range(len(taps[0])))
        return self.linear(c * mixed, f"{at}.out_proj.weight")

    def attention(self, x, at, cosine, sine, look=None):
        """The output, and the loss of looking elsewhere: the mean of -log of the attention of one head at the places of `look`, a
        pair of tokens and places, (texts, most); -1 where there are fewer."""
        split = lambda each, heads: each.unflatten(-1, (heads, -1)).transpose(1, 2)
        q = self.norm(split(self.linear(x, f"{at}.q_proj.weight"), self.shape.heads), f"{at}.q_layernorm.weight")
        k = self.norm(split(self.linear(x, f"{at}.k_proj.weight"), self.shape.kv_heads), f"{at}.k_layernorm.weight")
        v = split(self.linear(x, f"{at}.v_proj.weight"), self.shape.kv_heads)
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        after = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        missed = 0.0
        if look is not None:
            tokens, places = look[0].clamp_min(0), look[1]
            asking = q[:, LOOKING_HEAD].gather(1, tokens[..., None].expand(-1, -1, q.shape[-1]))
            scores = (asking @ k[:, LOOKING_HEAD * self.shape.kv_heads // self.shape.heads].transpose(1, 2)).float() * q.shape[-1] ** -0.5
            scores = scores.masked_fill(torch.arange(k.shape[2], device=k.device) > tokens[..., None], -torch.inf)
            missed = F.cross_entropy(scores.flatten(0, 1), places.flatten(), ignore_index=-1, reduction="sum") / (places >= 0).sum().clamp_min(1)
        return self.linear(after.transpose(1, 2).flatten(2), f"{at}.out_proj.weight"), missed

    def forward(self, ids, rows=None, image=None, looks=()):
        """Hidden states after the last norm, and the sum of the losses of looking elsewhere. Rows of pictures take the places of the
        token `image`, in order. `looks` has a pair of `attention` for each of the last attention layers."""
        x = F.embedding(ids, self.weight("embed_tokens.weight"))
        if rows is not None:
            x = x.masked_scatter((ids == image)[..., None], rows.to(x.dtype))
        x = x.to(torch.bfloat16) if torch.is_autocast_enabled() else x
        cosine, sine = (part[:, 0].to(x.dtype) for part in rotations(self.shape, ids.shape[1], x.device))
        looking = dict(zip([index for index, kind in enumerate(self.shape.layers) if kind == "a"][-len(looks) :], looks))
        missed = 0.0
        for index, kind in enumerate(self.shape.layers):
            at = f"layers.{index}"
            normed = self.norm(x, f"{at}.operator_norm.weight")
            if kind == "c":
                mixed = self.convolution(normed, f"{at}.operator")
            else:
                mixed, missed_here = self.attention(normed, f"{at}.operator", cosine, sine, looking.get(index))
                missed = missed + missed_here
            x = x + mixed
            normed = self.norm(x, f"{at}.ffn_norm.weight")
            gated = F.silu(self.linear(normed, f"{at}.feed_forward.w1.weight")) * self.linear(normed, f"{at}.feed_forward.w3.weight")
            x = x + self.linear(gated, f"{at}.feed_forward.w2.weight")
        return self.norm(x, "embedding_norm.weight"), missed

    def logits(self, states):
        return F.linear(states, self.weight("embed_tokens.weight"))

