"""Held-out pictures with questions, in words and phrasings that do not occur in training: `python -m training.sight.held_out --out FILE`.

The cases have the form of `held-out.jsonl`, with the pictures as data URLs, and the functions of `causerie chat`. `--blind` asks as
`asked_blind.py`, also about a thing that the question does not name. Training never asks in these words, see `Asker.asked`.
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


REPORTED = {"alone, colour": "What colour is the shape?", "alone, shape": "Which shape is drawn here?"}  # training has these
SINGLE_SHARE = 0.3  # of the pictures of blind questions, which show one thing


def case(speaker, blind=False):
    """A picture, a question, and what the reply must be."""
    scene = scenes.shapes(speaker, 1) if blind and speaker.chance(SINGLE_SHARE) else questions.scene_of(speaker)
    asker = questions.Asker(speaker, scene, blind)
    kind, exchange = asker.noted() if scene.is_note and speaker.chance(0.7) else asker.question()
    if blind and kind in REPORTED and speaker.chance(0.2):
        kind, exchange.user = f"{kind}, as reported", REPORTED[kind]
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
    parser.add_argument("--blind", action="store_true", help="ask as `asked_blind.py`")
    args = parser.parse_args()
    speaker, made = Speaker(args.seed, held_out=True), collections.defaultdict(list)
    for _ in range((40 if args.blind else 24) * args.each):
        each = case(speaker, args.blind)
        if len(made[each["category"]]) < args.each:
            made[each["category"]].append(each)
    args.out.write_text("".join(json.dumps(each) + "\n" for kind in sorted(made) for each in made[kind]))


if __name__ == "__main__":
    main()
