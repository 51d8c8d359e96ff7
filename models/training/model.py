"""LFM2 in PyTorch, for training: short convolutions and a few attention layers, tied embedding.

A batch is groups of conversations that share a system block. The block is computed once for its group, and its keys,
values and convolution state serve all conversations after it. Tensors of a layer hold all tokens in one row list: first
those of the blocks, then those of the conversations. Where tokens meet, in convolutions and attention, they are spread
out to blocks (groups, prefix), padded on the left, and conversations (rows, length), padded on the right.
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


UNSEEN = -1e4


class Batch:
    """Where each token stands. `prefix` is (groups, P), `after` is (groups * count, T); 0 is padding.

    `told` are places (points, 4) where the told heads must look: an attention layer, counted from the last, which is 0; a
    conversation, a token of it, and what it must see there, counted from the start of the padded block.
    """

    def __init__(self, prefix, after, told=None):
        self.groups, self.before = prefix.shape
        self.rows, self.length = after.shape
        self.count = self.rows // self.groups
        self.cut = prefix.numel()
        padded = torch.cat([prefix.reshape(-1), after.reshape(-1)])
        self.order = padded.nonzero()[:, 0]  # where the tokens of the row list stand among the padded
        self.ids = padded[self.order]
        self.place = torch.cat([torch.arange(self.before).repeat(self.groups), torch.arange(self.before, self.before + self.length).repeat(self.rows)])[self.order]
        self.told = torch.zeros(0, 4, dtype=torch.long) if told is None else told
        self.seen = {}  # by attention layer, how much of its told head's attention each of those places had, once a model has run
        real = prefix != 0
        # What attention adds to its scores, with axes for (groups, kv_heads, heads of one, queries, keys).
        causal = torch.ones(self.before, self.before, dtype=torch.bool).tril()
        own = torch.eye(self.before, dtype=torch.bool)  # padding sees itself, so that softmax stays finite
        self.within_prefix = UNSEEN * ~(causal & real[:, None, :] | own)[:, None, None]
        self.to_prefix = UNSEEN * ~real[:, None, None, None, :]
        self.within_after = UNSEEN * torch.ones(self.length, self.length).triu(1)

    def to(self, device, kind):
        """Onto a device, and the masks to a floating-point type."""
        for name in ("ids", "order", "place", "told", "within_prefix", "to_prefix", "within_after"):
            tensor = getattr(self, name).to(device)
            setattr(self, name, tensor.to(kind) if tensor.is_floating_point() else tensor)
        return self

    def find(self, padded):
        """Where in the row list the tokens at these places among the padded stand."""
        return torch.searchsorted(self.order, padded)

    def spread(self, x):
        """The row list as padded blocks and padded conversations, zero where no token is."""
        padded = x.new_zeros(self.cut + self.rows * self.length, *x.shape[1:]).index_copy(0, self.order, x)
        return padded[: self.cut].view(self.groups, self.before, *x.shape[1:]), padded[self.cut :].view(self.rows, self.length, *x.shape[1:])

    def join(self, prefix, after):
        return torch.cat([prefix.flatten(0, 1), after.flatten(0, 1)]).index_select(0, self.order)


def rotations(shape, length, device):
    """Cosine and sine, (length, 1, head), for rotating halves."""
    frequency = shape.theta ** (-torch.arange(0, shape.head, 2, device=device).float() / shape.head)
    angle = torch.arange(length, device=device).float()[:, None] * frequency
    angle = torch.cat([angle, angle], 1)[:, None]
    return angle.cos(), angle.sin()


def rotate(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


class Scale(torch.autograd.Function):
    """Root-mean-square scaling with few passes over the memory, which is what training on a CPU waits for."""

    @staticmethod
    def forward(ctx, x, weight, epsilon):
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        rate = torch.rsqrt(norm.square() / x.shape[-1] + epsilon).to(x.dtype)
        scaled = x * rate
        ctx.save_for_backward(scaled, rate, weight)
        return scaled * weight

    @staticmethod
    def backward(ctx, given):
        scaled, rate, weight = ctx.saved_tensors
        for_weight = (given * scaled).flatten(0, -2)
        along = (for_weight @ weight / scaled.shape[-1]).view(rate.shape)
        # Of x / rms(x): the part along x does not change the result.
        return (given * weight).sub_(scaled * along).mul_(rate), for_weight.sum(0, dtype=torch.float32).to(weight.dtype), None


class RMSNorm(nn.Module):
    def __init__(self, size, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(size)), epsilon

    def forward(self, x):
        return Scale.apply(x, self.weight, self.epsilon)


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
        prefix, after = batch.spread(b * x)
        prefix, state = self.convolve(prefix, prefix.new_zeros(batch.groups, self.conv.shape[1] - 1, prefix.shape[2]))
        after, _ = self.convolve(after, state.repeat_interleave(batch.count, 0))
        return self.out_proj(c * batch.join(prefix, after))


class Attention(nn.Module):
    def __init__(self, shape, from_last):
        super().__init__()
        self.shape, self.from_last = shape, from_last
        self.q_proj = nn.Linear(shape.hidden, shape.heads * shape.head, bias=False)
        self.k_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head, bias=False)
        self.v_proj = nn.Linear(shape.hidden, shape.kv_heads * shape.head, bias=False)
        self.out_proj = nn.Linear(shape.heads * shape.head, shape.hidden, bias=False)
        self.q_layernorm = RMSNorm(shape.head, shape.epsilon)
        self.k_layernorm = RMSNorm(shape.head, shape.epsilon)

    def forward(self, x, batch, cosine, sine):
        heads, kv_heads, head = self.shape.heads, self.shape.kv_heads, self.shape.head
        each = heads // kv_heads
        groups, count, before, length = batch.groups, batch.count, batch.before, batch.length
        q = rotate(self.q_layernorm(self.q_proj(x).view(-1, heads, head)), cosine * head**-0.5, sine * head**-0.5)
        k = rotate(self.k_layernorm(self.k_proj(x).view(-1, kv_heads, head)), cosine, sine)
        (block_q, q), (block_k, k), (block_v, v) = (batch.spread(part) for part in (q, k, self.v_proj(x).view(-1, kv_heads, head)))

        # The block: (groups, kv_heads, queries of all heads of one, head).
        block_q = block_q.view(groups, before, kv_heads, each, head).permute(0, 2, 3, 1, 4).reshape(groups, kv_heads, each * before, head)
        block_k, block_v = block_k.transpose(1, 2), block_v.transpose(1, 2)
        scores = (block_q @ block_k.transpose(-1, -2)).view(groups, kv_heads, each, before, before) + batch.within_prefix
        block = torch.softmax(scores, -1).view(groups, kv_heads, each * before, before) @ block_v
        block = block.view(groups, kv_heads, each, before, head).permute(0, 3, 1, 2, 4).reshape(groups, before, heads * head)

        # The conversations: those of a group see its block through one large product.
        q = q.view(groups, count, length, kv_heads, each, head).permute(0, 3, 1, 4, 2, 5).contiguous()
        k, v = (part.view(groups, count, length, kv_heads, head).permute(0, 3, 1, 2, 4).reshape(-1, length, head) for part in (k, v))
        far = (q.view(groups, kv_heads, -1, head) @ block_k.transpose(-1, -2)).view(groups, kv_heads, -1, length, before) + batch.to_prefix
        near = (q.view(-1, each * length, head) @ k.transpose(-1, -2)).view(groups, kv_heads, -1, length, length) + batch.within_after
        attention = torch.softmax(torch.cat([far, near], -1), -1)
        row, query, key = batch.told[batch.told[:, 0] == self.from_last, 1:].unbind(1)
        batch.seen[self.from_last] = attention[row // count, 0, row % count * each, query, key]  # of the first head
        far, near = attention.split([before, length], -1)
        after = (far.reshape(groups, kv_heads, -1, before) @ block_v).view(q.shape) + (near.reshape(-1, each * length, length) @ v).view(q.shape)
        after = after.permute(0, 2, 4, 1, 3, 5).reshape(batch.rows, length, heads * head)
        return self.out_proj(batch.join(block, after))


class FeedForward(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.w1 = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.w3 = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.w2 = nn.Linear(shape.feed_forward, shape.hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, shape, kind, attention_after):
        super().__init__()
        self.operator_norm = RMSNorm(shape.hidden, shape.epsilon)
        self.ffn_norm = RMSNorm(shape.hidden, shape.epsilon)
        self.operator = ShortConv(shape) if kind == "c" else Attention(shape, attention_after)
        self.feed_forward = FeedForward(shape)

    def forward(self, x, batch, cosine, sine):
        x = x + self.operator(self.operator_norm(x), batch, cosine, sine)
        return x + self.feed_forward(self.ffn_norm(x))


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape, kind, shape.layers.count("a", index + 1)) for index, kind in enumerate(shape.layers))
        self.embedding_norm = RMSNorm(shape.hidden, shape.epsilon)
        for name, weight in self.named_parameters():
            if weight.dim() == 2 and "conv.conv" not in name and not name.endswith("operator.conv"):
                std = 0.04 if "embed" in name else weight.shape[1] ** -0.5 * 0.6
                nn.init.normal_(weight, std=std * (0.2 if "out_proj" in name or "w2" in name else 1))

    def forward(self, batch, wanted):
        """Logits at the wanted rows of the batch's row list. Attention layers leave what they have `seen` in the batch."""
        x = F.embedding(batch.ids, self.embed_tokens.weight)
        cosine, sine = (part[batch.place].to(x.dtype) for part in rotations(self.shape, batch.before + batch.length, x.device))
        for layer in self.layers:
            x = layer(x, batch, cosine, sine)
        return F.linear(self.embedding_norm(x[wanted]), self.embed_tokens.weight)


@torch.no_grad()
def reply(model, prefix, conversations, end, longest=96):
    """Greedy replies to conversations that share a prefix, as lists of ids; the whole text is computed anew for each token."""
    device = model.embed_tokens.weight.device
    prefix = torch.tensor([prefix])
    texts, replies, open_rows = [list(each) for each in conversations], [[] for _ in conversations], list(range(len(conversations)))
    while open_rows and longest:
        longest -= 1
        length = max(len(texts[row]) for row in open_rows)
        after = torch.tensor([texts[row] + [0] * (length - len(texts[row])) for row in open_rows])
        batch = Batch(prefix, after).to(device, model.embed_tokens.weight.dtype)
        wanted = batch.find(torch.tensor([prefix.numel() + at * length + len(texts[row]) - 1 for at, row in enumerate(open_rows)], device=device))
        for row, token in zip(list(open_rows), model(batch, wanted).argmax(-1).tolist()):
            texts[row].append(token)
            if token == end:
                open_rows.remove(row)
            else:
                replies[row].append(token)
    return replies
