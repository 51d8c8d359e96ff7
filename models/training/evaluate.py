"""Evaluates the PyTorch model on the held-out cases, greedily, to watch a run while it trains.

The published figures come from causerie and the quantised file (`scripts/eval-demo`).
"""

import argparse
import json
import random
import re
from pathlib import Path

import torch

from . import shipped
from .export import load_checkpoint
from .model import Model, reply
from .prompt import HERE, TURN, call_text, conversation_pieces, system_block
from .tokenizer import END_OF_TURN


def read(path):
    """The cases of a file. If `functions` is `same`, they are those of the case before."""
    cases = []
    for line in path.read_text().splitlines():
        case = json.loads(line)
        cases.append(case | {"functions": cases[-1]["functions"]} if case["functions"] == "same" else case)
    return cases


def prompt(case):
    """The system block, and the rest of the prompt."""
    tools = shipped.TOOLS if case["functions"] == "chat" else [tool["function"] for tool in case["functions"]]
    texts = [text for text, _ in conversation_pieces(case["messages"])]
    return system_block(case.get("system", shipped.SYSTEM), tools), "".join(texts) + f"{TURN}assistant\n"


def passes(expect, text):
    """Whether a reply is right. Calls are compared as text: names, order, values and types; arguments have the order of the definition."""
    called = "<|tool_call_start|>" in text
    if "refuses" in expect:
        return not called and "no function" in text
    if expect["calls"]:
        calls = ", ".join(call_text(call) for call in expect["calls"])
        return text == f"<|tool_call_start|>[{calls}]<|tool_call_end|>"
    return not called and all(each in text for each in expect.get("contains", [])) and ("says" not in expect or words(text) <= words(expect["says"]))


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def replies(model, tokenizer, cases, batch=32):
    """Pairs of case and reply; cases that share a system block are answered together."""
    groups = {}
    for case in cases:
        system, rest = prompt(case)
        groups.setdefault(system, []).append((case, tokenizer.encode(rest).ids))
    for system, rows in groups.items():
        rows.sort(key=lambda row: len(row[1]))
        for at in range(0, len(rows), batch):
            some = rows[at : at + batch]
            said = reply(model, tokenizer.encode(system).ids, [ids for _, ids in some], END_OF_TURN)
            yield from zip([case for case, _ in some], [tokenizer.decode(ids, skip_special_tokens=False) for ids in said])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--cases", type=Path, default=HERE.parent / "held-out.jsonl")
    parser.add_argument("--sample", type=int, default=24, help="cases of each category; 0 for all")
    parser.add_argument("--category", default="", help="only categories that contain this")
    parser.add_argument("--failures", type=int, default=5, help="failures of each category to print")
    parser.add_argument("--ask", nargs="*", help="requests of your own, for the shipped functions")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    checkpoint, shape, tokenizer = load_checkpoint(args.run)
    model = Model(shape)
    model.load_state_dict(checkpoint["average"])
    print(f"step {checkpoint['step']}, {checkpoint['seconds'] / 60:.1f} minutes")
    if args.ask:
        cases = [{"functions": "chat", "messages": [{"role": "user", "content": text}]} for text in args.ask]
        for case, text in replies(model, tokenizer, cases):
            print(f"{case['messages'][0]['content']}\n    {text}")
        return
    categories = {}
    for case in read(args.cases):
        if args.category in case["category"]:
            categories.setdefault(case["category"], []).append(case)
    for category, cases in categories.items():
        if args.sample:
            cases = random.Random(1).sample(cases, min(args.sample, len(cases)))
        passed, shown = 0, 0
        for case, text in replies(model, tokenizer, cases):
            if passes(case["expect"], text):
                passed += 1
            elif shown < args.failures:
                shown += 1
                print(f"  {case['messages'][-1]['content']!r}\n    wanted {json.dumps(case['expect'], ensure_ascii=False)}\n    said   {text}")
        print(f"{category}: {passed} of {len(cases)}")


if __name__ == "__main__":
    main()
