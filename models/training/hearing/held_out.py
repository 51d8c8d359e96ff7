"""Held-out recordings, in voices and at rates that do not occur in training: `python -m training.hearing.held_out --out FILE`.

The cases have the form of `held-out.jsonl`, with the recordings as WAV files in base64, as espeak-ng gives them. Every third one has noise,
20 to 30 dB below the loudest sample.
"""

import argparse
import base64
import collections
import json
from pathlib import Path

import numpy as np

from ..phrases import Speaker
from . import spoken
from .voices import Synthesiser, Voice, wav

NOISY_SHARE = 1 / 3


def noisy(speaker, samples):
    level = np.abs(samples).max() * 10 ** (-speaker.random.uniform(20, 30) / 20)
    noise = np.random.default_rng(speaker.number(0, 2**32)).standard_normal(len(samples)) * level
    return np.clip(np.rint(samples + noise), -32768, 32767).astype(np.int16)


def case(synthesiser, speaker):
    """The kind of a request, and its case."""
    kind, request = spoken.request(speaker)
    voice = Voice.of(speaker)
    samples, _ = synthesiser.speak(request.said(), voice)
    if speaker.chance(NOISY_SHARE):
        samples = noisy(speaker, samples)
    recording = {"data": base64.b64encode(wav(samples, synthesiser.rate)).decode(), "format": "wav"}
    if request.calls:
        expect = {"calls": [{"name": name, "arguments": arguments} for name, arguments in request.calls]}
    else:
        expect = {"calls": [], "contains": [request.reply]}
    messages = [{"role": "user", "content": [{"type": "input_audio", "input_audio": recording}]}]
    described = f"{request.said()} ({voice.name}, {voice.rate} words a minute)"
    return kind, {"category": kind.replace("_", " "), "functions": "chat", "messages": messages, "described": described, "expect": expect}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=60, help="cases of each kind")
    args = parser.parse_args()
    synthesiser, speaker, made = Synthesiser(), Speaker(args.seed, held_out=True), collections.defaultdict(list)
    while sum(map(len, made.values())) < len(spoken.KINDS) * args.each:
        kind, each = case(synthesiser, speaker)
        if len(made[kind]) < args.each:
            made[kind].append(each)
    args.out.write_text("".join(json.dumps(each) + "\n" for kind in sorted(made) for each in made[kind]))


if __name__ == "__main__":
    main()
