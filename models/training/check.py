"""Checks model, rendering and tokenizer against other implementations before a long training.

- The logits of `model.py` equal those of transformers with the exported folder.
- `prompt.py` writes the same bytes as Jinja2 with `template.jinja`.
- A conversation encoded piece by piece has the tokens of the whole text.
- The phrases of everyday functions have a slot for each required parameter.
- Answers from results are whole sentences, and no request to decline asks for a function of the chat.
"""

import argparse
import re
import tempfile
from pathlib import Path

import jinja2.sandbox
import torch
from transformers import Lfm2ForCausalLM
from tokenizers import Tokenizer

from . import everyday, functions, patterns, refusals, results, shipped
from .export import load_checkpoint, transformers_tensors, write_folder
from .generator import MAKERS
from .model import Batch, Model, Shape
from .phrases import Speaker, expression, parse
from .prompt import BOS, TEMPLATE, conversation_pieces, system_block, to_json


def jinja_template():
    """The template, in an environment like that of transformers."""
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = to_json
    return environment.from_string(TEMPLATE.read_text())


def check_rendering(speaker, tokenizer, count=400):
    template = jinja_template()
    makers = list(MAKERS.values())
    for index in range(count):
        make = makers[index % len(makers)]
        system, tools, conversations = make(speaker, 1)
        messages = [message for exchange in conversations[0] for message in exchange.messages()]
        whole = [{"role": "system", "content": system}] * bool(system) + messages
        rendered = template.render(messages=whole, tools=tools, bos_token=BOS, add_generation_prompt=False)
        pieces = [system_block(system, tools)] + [piece for piece, _ in conversation_pieces(messages)]
        assert rendered == "".join(pieces), f"Jinja2:\n{rendered}\nours:\n{''.join(pieces)}"
        parts = [token for encoding in tokenizer.encode_batch(pieces) for token in encoding.ids]
        assert tokenizer.encode(rendered).ids == parts, rendered
    print(f"{count} conversations: rendering and tokens equal")


def check_everyday(speaker, readings=60):
    for template in everyday.templates():
        known = {slot.names[0] for slot in template.slots}
        kinds = {slot.kind.removeprefix("list ") for slot in template.slots}
        assert all("|" in kind or ".." in kind or kind in {*functions.TYPES, *everyday.TEXTS} for kind in kinds), f"{template.trade}, {template.names[0]}: {kinds}"
        needed = {slot.names[0] for slot in template.slots if not slot.optional}
        for phrase in template.phrases:
            for _ in range(readings):
                slots = [name for name, _ in everyday.SLOT.findall(speaker.expand(phrase))]
                assert needed <= set(slots) <= known and len(set(slots)) == len(slots), f"{template.trade}, {template.names[0]}: {phrase}"
    functions_there = {(template.trade, template.names[0]) for template in everyday.templates()}
    assert everyday.kin().keys() <= functions_there, f"each entry of `kin` must be a function, found {everyday.kin().keys() - functions_there}"
    print(f"{len(everyday.templates())} functions of everyday, {sum(len(template.phrases) for template in everyday.templates())} phrases")


def check_results(speaker, count=4000):
    for name in ("get_weather", "sendMessage", "list_items", "is_open", "count_steps", "turn_on_lamp"):
        for _ in range(count // 6):
            content, reply = results.outcome(speaker, name)
            assert isinstance(content, str) and re.fullmatch(r"[^a-z\s].*[.!?]", reply) and ".." not in reply, f"{name}, {content!r}: {reply!r}"
    print(f"{count} answers are sentences")


def check_refusals(speaker, count=6000):
    served = [pattern for name in ("TIME_HERE", "LIST_TIMERS", "LIST_NOTES") for pattern in getattr(patterns, name)]
    forms = [re.compile(expression(parse(pattern.replace("{odd}", "{}"))), re.IGNORECASE) for pattern in served]
    for _ in range(count):
        text = re.sub(r"[ ,.!?]+$", "", refusals.request(speaker))
        assert not any(form.fullmatch(text) for form in forms), text
    print(f"{count} requests to decline")


@torch.no_grad()
def check_logits(weights, shape, tokenizer):
    ours = Model(shape)
    ours.load_state_dict(weights)
    with tempfile.TemporaryDirectory() as folder:
        write_folder(Path(folder), transformers_tensors(weights, shape), shape, tokenizer)
        theirs = Lfm2ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids, block = torch.randint(14, shape.vocabulary, (3, 340), generator=torch.Generator().manual_seed(1)), 300  # in two pieces
    ids[:, :block] = ids[0, :block]
    batch = Batch([(ids[0, :block].tolist(), ids[:, block:].tolist())]).to("cpu", torch.float32)
    logits = ours(batch, torch.arange(block, batch.count)).view(3, 40, -1)
    difference = (logits - theirs(ids).logits[:, block:]).abs().max().item()
    print(f"logits differ by at most {difference:.1e}, their spread is {logits.std().item():.2f}")
    assert difference < 2e-4 * max(1, logits.abs().max().item())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the training run; without a checkpoint, random weights")
    args = parser.parse_args()
    if (args.run / "checkpoint.pt").exists():
        checkpoint, shape, tokenizer = load_checkpoint(args.run)
        weights = checkpoint["average"]
    else:
        shape, tokenizer = Shape(), Tokenizer.from_file(str(args.run / "tokenizer.json"))
        weights = {name: weight + 0.1 * torch.randn_like(weight) for name, weight in Model(shape).state_dict().items()}
    check_rendering(Speaker(5), tokenizer)
    check_everyday(Speaker(5))
    check_results(Speaker(5))
    check_refusals(Speaker(5))
    check_logits(weights, shape, tokenizer)


if __name__ == "__main__":
    main()
