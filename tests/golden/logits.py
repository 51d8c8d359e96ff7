"""The logits that transformers computes for a tiny model, and its greedy reply."""

import json

import numpy as np
import torch

from vocabulary import BOS, CONTROL, SIZE

N_PROMPT, N_GREEDY = 37, 64


def kept(n_prompt):
    """Returns the positions whose whole rows are stored: two at the start, one mid-prompt, two around the first reply token, and
    the last."""
    return [0, 2, n_prompt // 2, n_prompt - 1, n_prompt, n_prompt + N_GREEDY - 1]


def prompt(seed):
    random = np.random.default_rng(seed)
    return [BOS] + [int(id) for id in random.integers(len(CONTROL), SIZE, N_PROMPT - 1)]


@torch.no_grad()
def greedy(model, prompt):
    """Generates the reply token by token with a cache; returns it, the margin of each choice, and the logits of all positions."""
    reply, margins, rows = [], [], []
    output = model(torch.tensor([prompt]), use_cache=True)
    for _ in range(N_GREEDY):
        rows.append(output.logits[0])
        best, second = output.logits[0, -1].topk(2).values
        margins.append(float(best - second))
        reply.append(int(output.logits[0, -1].argmax()))
        output = model(torch.tensor([reply[-1:]]), past_key_values=output.past_key_values, use_cache=True)
    rows.append(output.logits[0])
    return reply, margins, torch.cat(rows)


@torch.no_grad()
def reference(name, model, ids):
    """Returns the golden record of a model. One pass over the whole sequence must agree with decoding token by token."""
    reply, margins, cached = greedy(model, ids)
    logits = model(torch.tensor([ids + reply]), use_cache=False).logits[0]
    deviation = float((logits - cached).abs().max())
    assert deviation < 3e-5, f"{name}: both computations must agree, found a deviation of {deviation}"
    assert min(margins) > 1e-3 and min(reply) >= len(CONTROL), f"{name}: choose another seed"
    print(f"{name:16} self {deviation:.1e}, smallest margin {min(margins):.4f}, spread {logits.std():.2f}, distinct {len(set(reply))}")
    rows = logits.double().numpy()
    return {
        "model": name,
        "prompt": ids,
        "greedy": reply,
        "smallest_margin": round(min(margins), 6),
        "best": rows.argmax(1).tolist(),
        "largest": [round(value, 6) for value in rows.max(1).tolist()],
        "sum": [round(value, 4) for value in rows.sum(1).tolist()],
        "rows": [{"position": at, "logits": [round(value, 6) for value in rows[at].tolist()]} for at in kept(len(ids))],
    }


def write(path, record):
    """Writes a record with one key, or one row, per line."""
    rows = ",\n    ".join(json.dumps(row) for row in record["rows"])
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items() if key != "rows"]
    path.write_text("{\n" + ",\n".join([*lines, f'  "rows": [\n    {rows}\n  ]']) + "\n}\n")
