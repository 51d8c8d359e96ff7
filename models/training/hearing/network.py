"""The encoder of LFM2-Audio, small: a FastConformer, and an adapter to rows of the demo model's embedding. Names of parts are those of
GGUF files.

Recordings of a batch have the same length. The norm after each convolution is left out: files have it as a factor and a shift, which
the convolution can have as well.
"""

import math
from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

from .features import BINS

EPSILON = 1e-5


@dataclass
class EncoderShape:
    hidden: int = 160
    feed_forward: int = 480
    heads: int = 4
    layers: int = 6
    kernel: int = 9
    channels: int = 32  # of the convolutions over time and frequency
    adapter: int = 512
    rows: int = 256  # size of a row: the embedding of the text model

    as_dict = asdict


def waves(count, hidden, device=None):
    """Sines and cosines of the distances from `count` - 1 down to 1 - `count`, (distances, hidden)."""
    distance = torch.arange(count - 1, -count, -1, device=device, dtype=torch.float32)[:, None]
    angle = distance * torch.exp(torch.arange(0, hidden, 2, device=device) * (-math.log(10_000) / hidden))
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        hidden, wide = shape.hidden, shape.feed_forward
        self.heads = shape.heads
        self.ffn_norm, self.ln1, self.norm_conv, self.ffn_norm_1, self.ln2 = (nn.LayerNorm(hidden, EPSILON) for _ in range(5))
        self.ffn_up, self.ffn_down = nn.Linear(hidden, wide), nn.Linear(wide, hidden)
        self.ffn_up_1, self.ffn_down_1 = nn.Linear(hidden, wide), nn.Linear(wide, hidden)
        self.attn_q, self.attn_k, self.attn_v, self.attn_out = (nn.Linear(hidden, hidden) for _ in "qkvo")
        self.linear_pos = nn.Linear(hidden, hidden, bias=False)
        self.pos_bias_u, self.pos_bias_v = (nn.Parameter(torch.zeros(shape.heads, hidden // shape.heads)) for _ in "uv")
        self.conv_pw1, self.conv_pw2 = nn.Linear(hidden, 2 * hidden), nn.Linear(hidden, hidden)
        self.conv_dw = nn.Conv1d(hidden, hidden, shape.kernel, padding=shape.kernel // 2, groups=hidden)

    def attention(self, x, distances):
        count = x.shape[1]
        split = lambda each: each.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
        q, k, v = split(self.attn_q(x)), split(self.attn_k(x)), split(self.attn_v(x))
        near = split(self.linear_pos(distances.to(x.dtype)))  # (heads, distances, head)
        by_distance = (q + self.pos_bias_v[:, None]) @ near.transpose(-2, -1)
        # The score of a query i and a key j is at the distance i - j, which is in the column count - 1 - i + j.
        places = torch.arange(count, device=x.device)
        by_distance = by_distance.gather(-1, (count - 1 - places[:, None] + places).expand(*by_distance.shape[:2], -1, -1))
        scores = ((q + self.pos_bias_u[:, None]) @ k.transpose(-2, -1) + by_distance) * q.shape[-1] ** -0.5
        return self.attn_out((scores.float().softmax(-1).to(v.dtype) @ v).transpose(-3, -2).flatten(-2))

    def forward(self, x, distances):
        x = x + 0.5 * self.ffn_down(F.silu(self.ffn_up(self.ffn_norm(x))))
        x = x + self.attention(self.ln1(x), distances)
        gated = F.glu(self.conv_pw1(self.norm_conv(x)))
        x = x + self.conv_pw2(F.silu(self.conv_dw(gated.transpose(1, 2)).transpose(1, 2)))
        x = x + 0.5 * self.ffn_down_1(F.silu(self.ffn_up_1(self.ffn_norm_1(x))))
        return self.ln2(x)


class Encoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        channels = shape.channels
        square = dict(kernel_size=3, stride=2, padding=1)
        self.conv1d = nn.ModuleDict({
            "0": nn.Conv2d(1, channels, **square),
            "2": nn.Conv2d(channels, channels, groups=channels, **square), "3": nn.Conv2d(channels, channels, 1),
            "5": nn.Conv2d(channels, channels, groups=channels, **square), "6": nn.Conv2d(channels, channels, 1),
        })
        self.out = nn.Linear(channels * BINS // 8, shape.hidden)
        self.blk = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.mlp0, self.mlp1, self.mlp3 = nn.LayerNorm(shape.hidden, EPSILON), nn.Linear(shape.hidden, shape.adapter), nn.Linear(shape.adapter, shape.rows)

    def forward(self, features):
        """Rows for features, (recordings, frames, bins) to (recordings, rows, size)."""
        conv = self.conv1d
        x = F.relu(conv["0"](features[:, None]))
        x = F.relu(conv["3"](conv["2"](x)))
        x = F.relu(conv["6"](conv["5"](x)))
        x = self.out(x.transpose(1, 2).flatten(2))  # channels before frequencies
        distances = waves(x.shape[1], self.shape.hidden, x.device)
        for layer in self.blk:
            x = layer(x, distances)
        return self.mlp3(F.gelu(self.mlp1(self.mlp0(x))))
