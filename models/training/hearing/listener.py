"""The demo model, frozen: it reads rows of sound after a prompt that it has read once, and passes on the gradient to the rows."""

import torch
import torch.nn.functional as F

from ..model import rotate, rotations
from ..prompt import conversation_pieces, system_block
from .spoken import OFFERS

BEFORE, AFTER = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"  # a recording's rows stand between them


def reply_ids(tokenizer, request):
    """The tokens that the model should write for a request."""
    calls = [{"type": "function", "function": {"name": name, "arguments": given}} for name, given in request.calls]
    _, (text, _), _ = conversation_pieces([{"role": "assistant", "content": request.reply, "tool_calls": calls}])
    return tokenizer.encode(text, add_special_tokens=False).ids


class Listener:
    def __init__(self, shape, weights, tokenizer, kind=torch.float32):
        self.shape, self.tokenizer, self.kind = shape, tokenizer, kind
        self.embedding = weights["embed_tokens.weight"].float()
        self.weights = {name: weight.to(kind) for name, weight in weights.items()}
        self.read = {}  # of each prompt, its length and the states after it
        with torch.no_grad():
            for name, (system, tools) in OFFERS.items():
                ids = self.ids(system_block(system, tools) + BEFORE)
                empty = [None] * len(shape.layers)
                self.read[name] = len(ids), self.advance(self.embedding[ids][None], (0, empty))[1]
        self.after = self.ids(AFTER)

    def ids(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def norm(self, x, name):
        return F.rms_norm(x, (x.shape[-1],), self.weights[name], self.shape.epsilon)

    def linear(self, x, name):
        return F.linear(x, self.weights[name])

    def convolution(self, x, at, before):
        b, c, x = self.linear(x, f"{at}.in_proj.weight").chunk(3, -1)
        taps, count = self.weights[f"{at}.conv"], x.shape[1]
        u = b * x
        u = torch.cat([before.expand(len(u), -1, -1), u], 1) if before is not None else F.pad(u, (0, 0, taps.shape[1] - 1, 0))
        mixed = sum(u[:, tap : tap + count] * taps[:, tap] for tap in range(taps.shape[1]))
        return self.linear(c * mixed, f"{at}.out_proj.weight"), u[:, 1 - taps.shape[1] :]

    def attention(self, x, at, before, cosine, sine):
        split = lambda each, heads: each.unflatten(-1, (heads, -1)).transpose(1, 2)
        q = self.norm(split(self.linear(x, f"{at}.q_proj.weight"), self.shape.heads), f"{at}.q_layernorm.weight")
        k = self.norm(split(self.linear(x, f"{at}.k_proj.weight"), self.shape.kv_heads), f"{at}.k_layernorm.weight")
        v = split(self.linear(x, f"{at}.v_proj.weight"), self.shape.kv_heads)
        q, k = rotate(q, cosine, sine) * q.shape[-1] ** -0.5, rotate(k, cosine, sine)
        texts, _, count, head = q.shape
        if before is None:
            before = k.new_zeros(2, self.shape.kv_heads, 0, head)
        # All texts share the keys before them, so that these scores are one product for each head of keys.
        grouped = q.view(texts, self.shape.kv_heads, -1, head).transpose(0, 1)  # (kv_heads, texts, heads per key head * tokens, head)
        flat = grouped.flatten(1, 2)
        earlier = (flat @ before[0].transpose(1, 2)).unflatten(1, (texts, -1))
        own = grouped @ k.transpose(0, 1).transpose(2, 3)
        unseen = torch.ones(count, count, dtype=torch.bool).triu(1).repeat(own.shape[2] // count, 1)
        weights = torch.cat([earlier, own.masked_fill(unseen, -torch.inf)], -1).softmax(-1)
        earlier, own = weights.split([before[0].shape[1], count], -1)
        after = (earlier.flatten(1, 2) @ before[1]).view_as(grouped) + own @ v.transpose(0, 1)
        after = after.transpose(0, 1).reshape(q.shape)
        return self.linear(after.transpose(1, 2).flatten(2), f"{at}.out_proj.weight"), (k[0], v[0])

    def advance(self, rows, known):
        """Hidden states for rows after what is known, and the state of each layer after them."""
        start, before = known
        x, states = rows.to(self.kind), []
        cosine, sine = (part[start:, 0].to(self.kind) for part in rotations(self.shape, start + rows.shape[1], rows.device))
        for index, kind in enumerate(self.shape.layers):
            at = f"layers.{index}"
            normed = self.norm(x, f"{at}.operator_norm.weight")
            if kind == "c":
                mixed, state = self.convolution(normed, f"{at}.operator", before[index])
            else:
                mixed, state = self.attention(normed, f"{at}.operator", before[index], cosine, sine)
            states.append(state)
            x = x + mixed
            normed = self.norm(x, f"{at}.ffn_norm.weight")
            gated = F.silu(self.linear(normed, f"{at}.feed_forward.w1.weight")) * self.linear(normed, f"{at}.feed_forward.w3.weight")
            x = x + self.linear(gated, f"{at}.feed_forward.w2.weight")
        return self.norm(x, "embedding_norm.weight"), states

    def replies(self, offered, rows, wanted):
        """The logits of the tokens that follow recordings of the same length, and the tokens that should follow: a list of ids for each."""
        longest = max(map(len, wanted))
        ids = torch.tensor([each + [0] * (longest - len(each)) for each in wanted])
        real = torch.arange(longest) < torch.tensor([[len(each)] for each in wanted])
        after = self.embedding[self.after].expand(len(rows), -1, -1)
        x = torch.cat([rows, after.to(rows.dtype), self.embedding[ids[:, :-1]].to(rows.dtype)], 1)
        states, _ = self.advance(x, self.read[offered])
        states = states[:, rows.shape[1] + len(self.after) - 1 :]
        return F.linear(states[real], self.weights["embed_tokens.weight"]).float(), ids[real], real
