"""LFM2 in PyTorch, for training: short convolutions and a few attention layers, tied embedding.

A batch is groups of conversations that share a system block. The block is computed once for its group, and its keys,
values and convolution state serve all conversations after it. Tensors of a layer hold all tokens in one row list:
first the blocks (groups x prefix, padded on the left), then the conversations (rows x length, padded on the right).
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Shape:
    vocabulary: int = 2048
    hidden: int = 256
    feed_forward: int = 640
    heads: int = 4
    kv_heads: int = 2
    layers: str = "ccacaca"  # c: short convolution, a: attention
    window: int = 3
    theta: float = 1e6
    epsilon: float = 1e-5

    @property
    def head(self):
        return self.hidden // self.heads

    as_dict = asdict


class Batch:
    """Where each token stands. `prefix` is (groups, P), `after` is (groups * count, T); 0 is padding."""

    def __init__(self, prefix, after):
        self.groups, self.before = prefix.shape
        self.rows, self.length = after.shape
        self.count = self.rows // self.groups
        self.ids = torch.cat([prefix.reshape(-1), after.reshape(-1)])
        self.cut = prefix.numel()
        real = prefix != 0
        self.real = real.reshape(-1, 1)
        causal = torch.ones(self.before, self.before, dtype=torch.bool, device=prefix.device).tril()
        diagonal = torch.eye(self.before, dtype=torch.bool, device=prefix.device)  # padding sees itself, so that softmax stays finite
        self.prefix_mask = (causal & real[:, None, :] | diagonal)[:, None]
        causal = torch.ones(self.length, self.length, dtype=torch.bool, device=prefix.device).tril()
        seen = real[:, None, None, :].expand(self.groups, self.count, self.length, self.before).reshape(self.rows, self.length, self.before)
        self.after_mask = torch.cat([seen, causal.expand(self.rows, -1, -1)], 2)[:, None]

    def split(self, x):
        return x[: self.cut].view(self.groups, self.before, *x.shape[1:]), x[self.cut :].view(self.rows, self.length, *x.shape[1:])

    def join(self, prefix, after):
        return torch.cat([prefix.flatten(0, 1), after.flatten(0, 1)])


def rotations(shape, length, device):
    """Cosine and sine, (length, 1, head), for rotating halves."""
    frequency = shape.theta ** (-torch.arange(0, shape.head, 2, device=device).float() / shape.head)
    angle = torch.arange(length, device=device).float()[:, None] * frequency
    angle = torch.cat([angle, angle], 1)[:, None]
    return angle.cos(), angle.sin()


def rotate(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


class ShortConv(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.in_proj = nn.Linear(shape.hidden, 3 * shape.hidden, bias=False)
        self.out_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.conv = nn.Parameter(torch.randn(shape.hidden, shape.window) * 0.3)

    def convolve(self, u, state):
        u = torch.cat([state, u], 1)
        length = u.shape[1] - state.shape[1]
        taps = self.conv.t().contiguous()
        return sum(u[:, k : k + length] * tap for k, tap in enumerate(taps)), u[:, length:]

    def forward(self, x, batch, cosine, sine):
        b, c, x = self.in_proj(x).chunk(3, -1)
        prefix, after = batch.split(b * x)
        prefix = prefix * batch.real.view(batch.groups, batch.before, 1)
        prefix, state = self.convolve(prefix, prefix.new_zeros(batch.groups, self.conv.shape[1] - 1, prefix.shape[2]))
        after, _ = self.convolve(after, state.repeat_interleave(batch.count, 0))
        return self.out_proj(c * batch.join(prefix, after))


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.q_proj = nn.Linear(shape.hidden, shape.heads * shape.head, bias=False)
        self.k_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head, bias=False)
        self.v_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head, bias=False)
        self.out_proj = nn.Linear(shape.heads * shape.head, shape.hidden, bias=False)
        self.q_layernorm = nn.RMSNorm(shape.head, shape.epsilon)
        self.k_layernorm = nn.RMSNorm(shape.head, shape.epsilon)

    def forward(self, x, batch, cosine, sine):
        heads, kv_heads, head = self.shape.heads, self.shape.kv_heads, self.shape.head
        q = rotate(self.q_layernorm(self.q_proj(x).view(-1, heads, head)), cosine, sine)
        k = rotate(self.k_layernorm(self.k_proj(x).view(-1, kv_heads, head)), cosine, sine)
        v = self.v_proj(x).view(-1, kv_heads, head)
        k, v = (each.repeat_interleave(heads // kv_heads, 1) for each in (k, v))
        (q, q_after), (k, k_after), (v, v_after) = ((part.transpose(1, 2) for part in batch.split(each)) for each in (q, k, v))
        prefix = F.scaled_dot_product_attention(q, k, v, attn_mask=batch.prefix_mask)
        k_after = torch.cat([k.repeat_interleave(batch.count, 0), k_after], 2)
        v_after = torch.cat([v.repeat_interleave(batch.count, 0), v_after], 2)
        after = F.scaled_dot_product_attention(q_after, k_after, v_after, attn_mask=batch.after_mask)
        return self.out_proj(batch.join(prefix.transpose(1, 2), after.transpose(1, 2)).flatten(1))


class FeedForward(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.w1 = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.w3 = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.w2 = nn.Linear(shape.feed_forward, shape.hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, shape, kind):
        super().__init__()
        self.operator_norm = nn.RMSNorm(shape.hidden, shape.epsilon)
        self.ffn_norm = nn.RMSNorm(shape.hidden, shape.epsilon)
        self.operator = ShortConv(shape) if kind == "c" else Attention(shape)
        self.feed_forward = FeedForward(shape)

    def forward(self, x, batch, cosine, sine):
        x = x + self.operator(self.operator_norm(x), batch, cosine, sine)
        return x + self.feed_forward(self.ffn_norm(x))


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape, kind) for kind in shape.layers)
        self.embedding_norm = nn.RMSNorm(shape.hidden, shape.epsilon)
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and "conv.conv" not in name and not name.endswith("operator.conv"):
                std = 0.04 if "embed" in name else weight.shape[1] ** -0.5 * 0.6
                nn.init.normal_(weight, std=std * (0.2 if "out_proj" in name or "w2" in name else 1))

    def forward(self, batch, wanted):
        """Logits at the wanted rows of the batch's row list."""
        x = F.embedding(batch.ids, self.embed_tokens.weight)
        device = x.device
        cosine, sine = rotations(self.shape, batch.before + batch.length, device)
        place = torch.cat([
            torch.arange(batch.before, device=device).repeat(batch.groups),
            torch.arange(batch.before, batch.before + batch.length, device=device).repeat(batch.rows),
        ])
        cosine, sine = cosine[place], sine[place]
        for layer in self.layers:
            x = layer(x, batch, cosine, sine)
        return F.linear(self.embedding_norm(x[wanted]), self.embed_tokens.weight)


@torch.no_grad()
def reply(model, prefix, conversations, end, longest=96):
    """Greedy replies to conversations that share a prefix, as lists of ids; the whole text is computed anew for each token."""
    device = model.embed_tokens.weight.device
    prefix = torch.tensor([prefix], device=device)
    texts, replies, open_rows = [list(each) for each in conversations], [[] for _ in conversations], list(range(len(conversations)))
    while open_rows and longest:
        longest -= 1
        length = max(len(texts[row]) for row in open_rows)
        after = torch.tensor([texts[row] + [0] * (length - len(texts[row])) for row in open_rows], device=device)
        wanted = torch.tensor([prefix.numel() + at * length + len(texts[row]) - 1 for at, row in enumerate(open_rows)], device=device)
        for row, token in zip(list(open_rows), model(Batch(prefix, after), wanted).argmax(-1).tolist()):
            texts[row].append(token)
            if token == end:
                open_rows.remove(row)
            else:
                replies[row].append(token)
    return replies
