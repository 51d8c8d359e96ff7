"""Held-out pictures with questions, in words and phrasings that do not occur in training: `python -m training.sight.held_out --out FILE`.

The cases have the form of `held-out.jsonl`, with the pictures as data URLs, and the functions of `causerie chat`.
"""

import argparse
import base64
import collections
import io
import json
from pathlib import Path

from ..phrases import Speaker
from . import questions, scenes

SIZES = [(256, 256), (320, 256), (256, 320), (384, 256), (320, 320), (448, 320), (512, 384)]


def data_url(image):
    file = io.BytesIO()
    image.save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def case(speaker):
    """A picture, a question, and what the reply must be."""
    scene = questions.scene_of(speaker)
    asker = questions.Asker(speaker, scene)
    kind, exchange = asker.noted() if scene.is_note and speaker.chance(0.7) else asker.question()
    picture = scenes.Canvas(speaker, *speaker.pick(SIZES), scenes.scale_of(speaker)).draw(scene)
    parts = [{"type": "image_url", "image_url": {"url": data_url(picture)}}, {"type": "text", "text": exchange.user}]
    if exchange.calls:
        expect = {"calls": [{"name": name, "arguments": arguments} for name, arguments in exchange.calls]}
    else:
        expect = {"calls": [], "contains": [exchange.reply]}
    return {"category": kind, "functions": "chat", "messages": [{"role": "user", "content": parts}], "expect": expect}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=60, help="cases of each kind; some kinds are rarer")
    args = parser.parse_args()
    speaker, made = Speaker(args.seed, held_out=True), collections.defaultdict(list)
    for _ in range(12 * args.each * 2):
        each = case(speaker)
        if len(made[each["category"]]) < args.each:
            made[each["category"]].append(each)
    args.out.write_text("".join(json.dumps(each) + "\n" for kind in sorted(made) for each in made[kind]))


if __name__ == "__main__":
    main()
