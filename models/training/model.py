"""LFM2 in PyTorch, for training: short convolutions and a few attention layers, tied embedding.

A batch is groups of conversations that share a system block. The block is computed once for its group, and its keys,
values and convolution state serve all conversations after it. Tensors of a layer hold all tokens in one list, without
padding: first those of the blocks, then those of the conversations.
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import nn

from .tokenizer import IMAGE


@dataclass
class Shape:
    vocabulary: int = 2048
    hidden: int = 256
    feed_forward: int = 640
    heads: int = 4
    kv_heads: int = 2
    layers: str = "ccacaaaaacaa"  # c: short convolution, a: attention
    window: int = 3
    theta: float = 1e6
    epsilon: float = 1e-5

    @property
    def head(self):
        return self.hidden // self.heads

    as_dict = asdict


UNSEEN = -1e4
# Lengths are padded to multiples of these, so that products have few shapes: the library sets up each new shape, which takes longer
# than the product.
FILL_BATCH, FILL_QUERIES, FILL_KEYS = 256, 32, 64
PIECE = 256  # tokens of a block whose attention is computed at a time


class Span:
    """Tokens whose attention is computed together: a conversation, or a piece of a block. Their keys are the part of the block
    before them, padded in front, and their own, padded at the end."""

    def __init__(self, own, before):
        self.own, self.before = own, before
        self.blank = -(before.stop - before.start) % FILL_KEYS  # padding before the keys of the block
        self.first = self.blank + before.stop - before.start  # index of the span's own keys
        self.fill = -(own.stop - own.start) % FILL_QUERIES  # padding after the span's own tokens
        self.n_queries = own.stop - own.start + self.fill

    def queries_of(self, q, kv_heads):
        """Queries, (kv_heads, heads per key head * queries, head): heads that share keys are one product."""
        q = F.pad(q[self.own], (0, 0, 0, 0, 0, self.fill))
        return q.view(self.n_queries, kv_heads, -1, q.shape[2]).permute(1, 2, 0, 3).reshape(kv_heads, -1, q.shape[2])

    def keys_of(self, k):
        """Keys or values, (kv_heads, keys, head)."""
        blank, fill = (k.new_zeros(count, *k.shape[1:]) for count in (self.blank, self.fill))
        return torch.cat([blank, k[self.before], k[self.own], fill]).transpose(0, 1)

    def outputs_of(self, x, heads):
        """Reshapes a tensor of the shape of `queries_of` to (tokens, heads, head)."""
        return x.view(heads, self.n_queries, -1)[:, : self.n_queries - self.fill].transpose(0, 1)

    def add_to(self, sums, part):
        """Adds a tensor of the shape of `keys_of` to the sums of its tokens."""
        sums[self.before] += part[:, self.blank : self.first].transpose(0, 1)
        sums[self.own] += part[:, self.first : part.shape[1] - self.fill].transpose(0, 1)


class Batch:
    """The tokens of groups. A group is a pair: the ids of a block, and a list of conversations after it, which are lists of ids.

    `supervised` has an entry for each block, and then for each conversation: the places where a head of an attention layer should
    look, as (layer, head, token, key). Layers are counted from the last, which is 0. Keys are counted from the start
    of the block, and those of the conversation follow.
    """

    def __init__(self, groups, supervised=()):
        ids, place, blocks, conversations = [], [], [], []
        for block, _ in groups:
            blocks.append(slice(len(ids), len(ids) + len(block)))
            ids += block
            place += range(len(block))
        self.cut = len(ids)
        for block, (_, texts) in zip(blocks, groups):
            for text in texts:
                conversations.append(Span(slice(len(ids), len(ids) + len(text)), block))
                place += range(block.stop - block.start, block.stop - block.start + len(text))
                ids += text
        pieces = [
            Span(slice(at, min(at + PIECE, block.stop)), slice(block.start, at))
            for block in blocks for at in range(block.start, block.stop, PIECE)
        ]
        self.spans = pieces + conversations
        self.ends = [block.stop - 1 for block in blocks] + [span.own.stop - 1 for span in conversations]  # last tokens of all texts
        self.supervised = {}  # heads, queries and keys, by attention layer and span
        in_pieces = [
            [(layer, head, token - at, key) for layer, head, token, key in places if at <= token < at + PIECE]
            for block, places in zip(blocks, supervised) for at in range(0, block.stop - block.start, PIECE)
        ]
        for span, places in enumerate([*in_pieces, *supervised[len(blocks) :]]):
            for from_last in {layer for layer, *_ in places}:
                points = [point for layer, *point in places if layer == from_last]
                self.supervised.setdefault(from_last, {})[span] = torch.tensor(points).unbind(1)
        self.pixels = []  # of its pictures, in the order of `rows`
        self.rows = None  # embeddings of the pictures, in the place of the tokens `<image>`, in order: (tokens, hidden)
        self.seen = {}  # after the model ran: the attention of the supervised heads at each of those places, by layer
        self.count = len(ids)  # real tokens; padding follows, which no token sees
        filling = [0] * (-len(ids) % FILL_BATCH)
        self.ids, self.place = torch.tensor(ids + filling), torch.tensor(place + filling)
        self.known = {}

    def earlier(self, distance):
        """Index of the token at `distance` before each token in its text; one past the last index if there is none."""
        if distance not in self.known:
            there = torch.arange(len(self.place)) - distance
            for span in self.spans:
                for at in range(span.own.start, min(span.own.start + distance, span.own.stop)):
                    before = span.before.stop - distance + at - span.own.start
                    there[at] = before if span.before.start <= before else len(self.place)
            self.known[distance] = there.to(self.place.device)
        return self.known[distance]

    def to(self, device, kind):
        """Moves the batch to a device and makes the causal mask, in a floating-point type."""
        self.ids, self.place = self.ids.to(device), self.place.to(device)
        longest = max(span.n_queries for span in self.spans)
        self.unseen = (UNSEEN * torch.ones(longest, longest, device=device).triu(1)).to(kind)
        return self


def rotations(shape, length, device):
    """Cosine and sine of RoPE, (length, 1, head), for a head whose halves are rotated."""
    frequency = shape.theta ** (-torch.arange(0, shape.head, 2, device=device).float() / shape.head)
    angle = torch.arange(length, device=device).float()[:, None] * frequency
    angle = torch.cat([angle, angle], 1)[:, None]
    return angle.cos(), angle.sin()


def rotate(x, cosine, sine):
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


class Scale(torch.autograd.Function):
    """RMS normalisation with few passes over the memory, because memory bandwidth limits training on a CPU."""

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
        # Gradient of x / rms(x): a change along x does not change the result.
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

    def forward(self, x, batch, cosine, sine):
        b, c, x = self.in_proj(x).chunk(3, -1)
        u = b * x
        taps, ended = self.conv.t(), torch.cat([u, u.new_zeros(1, u.shape[1])])
        mixed = u * taps[-1]
        for distance in range(1, len(taps)):
            mixed = mixed + ended.index_select(0, batch.earlier(distance)) * taps[-1 - distance]
        return self.out_proj(c * mixed)


class Attend(torch.autograd.Function):
    """Softmax attention of q (tokens, heads, head) to k and v (tokens, kv_heads, head), one span of a batch at a time.

    The second result is the attention at the places of `supervised` (heads, queries and keys, by span).
    """

    @staticmethod
    def forward(ctx, q, k, v, batch, supervised):
        ctx.batch, ctx.supervised, kv_heads = batch, supervised, k.shape[1]
        after, kept, seen = torch.zeros_like(q), [], [q.new_zeros(0)]
        for index, span in enumerate(batch.spans):
            scores = torch.bmm(span.queries_of(q, kv_heads), span.keys_of(k).transpose(1, 2))
            by_head = scores.view(q.shape[1], span.n_queries, -1)
            by_head[..., : span.blank] = UNSEEN
            by_head[..., span.first :] += batch.unseen[: span.n_queries, : span.n_queries]
            weights = torch.softmax(scores, -1)
            after[span.own] = span.outputs_of(torch.bmm(weights, span.keys_of(v)), q.shape[1])
            kept.append(weights)
            if index in supervised:
                head, query, key = supervised[index]
                seen.append(weights.view(by_head.shape)[head, query, span.blank + key])
        ctx.save_for_backward(q, k, v, *kept)
        return after, torch.cat(seen)

    @staticmethod
    def backward(ctx, given, given_seen):
        q, k, v, *kept = ctx.saved_tensors
        kv_heads, at = k.shape[1], 0
        for_q = torch.zeros_like(q)
        for_k, for_v = (torch.zeros_like(each, dtype=torch.float32) for each in (k, v))
        for index, (span, weights) in enumerate(zip(ctx.batch.spans, kept)):
            given_here = span.queries_of(given, kv_heads)
            for_weights = torch.bmm(given_here, span.keys_of(v).transpose(1, 2))
            if index in ctx.supervised:
                head, query, key = ctx.supervised[index]
                by_head = for_weights.view(q.shape[1], span.n_queries, -1)
                by_head.index_put_((head, query, span.blank + key), given_seen[at : at + len(query)], accumulate=True)
                at += len(query)
            for_scores = torch.ops.aten._softmax_backward_data(for_weights, weights, -1, q.dtype)
            for_q[span.own] = span.outputs_of(torch.bmm(for_scores, span.keys_of(k)), q.shape[1])
            span.add_to(for_k, torch.bmm(for_scores.transpose(1, 2), span.queries_of(q, kv_heads)))
            span.add_to(for_v, torch.bmm(weights.transpose(1, 2), given_here))
        return for_q, for_k.to(k.dtype), for_v.to(v.dtype), None, None


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
        q = rotate(self.q_layernorm(self.q_proj(x).view(-1, heads, head)), cosine * head**-0.5, sine * head**-0.5)
        k = rotate(self.k_layernorm(self.k_proj(x).view(-1, kv_heads, head)), cosine, sine)
        v = self.v_proj(x).view(-1, kv_heads, head)
        after, batch.seen[self.from_last] = Attend.apply(q, k, v, batch, batch.supervised.get(self.from_last, {}))
        return self.out_proj(after.flatten(1))


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
        """Logits at the wanted tokens of the batch. Attention layers store the attention at supervised places in `batch.seen`."""
        x = F.embedding(batch.ids, self.embed_tokens.weight)
        if batch.rows is not None:
            x = x.masked_scatter((batch.ids == IMAGE)[:, None], batch.rows.to(x.dtype))
        cosine, sine = (part[batch.place].to(x.dtype) for part in rotations(self.shape, int(batch.place.max()) + 1, x.device))
        for layer in self.layers:
            x = layer(x, batch, cosine, sine)
        return F.linear(self.embedding_norm(x[wanted]), self.embed_tokens.weight)


@torch.no_grad()
def reply(model, block, conversations, end, longest=96):
    """Greedy replies to conversations that share a block, as lists of ids. Each token computes the whole text again, without a cache."""
    device = model.embed_tokens.weight.device
    texts, replies, open_rows = [list(each) for each in conversations], [[] for _ in conversations], list(range(len(conversations)))
    while open_rows and longest:
        longest -= 1
        batch = Batch([(block, [texts[row] for row in open_rows])]).to(device, model.embed_tokens.weight.dtype)
        wanted = torch.tensor(batch.ends[-len(open_rows) :], device=device)
        for row, token in zip(list(open_rows), model(batch, wanted).argmax(-1).tolist()):
            texts[row].append(token)
            if token == end:
                open_rows.remove(row)
            else:
                replies[row].append(token)
    return replies
