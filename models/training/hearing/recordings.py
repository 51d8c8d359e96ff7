"""Recordings for training: requests that espeak-ng says, with the times of their tokens."""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from .. import warm_start
from ..phrases import Speaker
from . import spoken
from .listener import reply_ids
from .voices import RATE, Synthesiser, Voice

SHARD = 1000  # recordings of a file
LONGEST_WORD = 0.7  # seconds; a longer one has a pause after it
QUIET = 60  # samples below this, of 16 bits, are silence at the ends


@dataclass
class Recording:
    samples: torch.Tensor  # of 16 bits, without silence at the ends
    kind: str
    text: str  # the request as it is written
    tokens: list  # of the text: pairs of an id and a time in seconds
    reply: list  # ids of the tokens that the model should write


def token_times(tokenizer, request, words, end):
    """The tokens of the request as it is written, each with a time near the end of its part of a word."""
    starts = dict(words)  # seconds, by the place of the first letter
    places, times = request.places(), []
    for _, in_said in places:
        times.append(starts.get(in_said, None if times else 0.0))
    known = [at for at, time in enumerate(times) if time is not None] + [len(times)]
    for at, following in zip(known, known[1:]):  # words that espeak-ng joins share their time
        until = times[following] if following < len(times) else end
        for inner in range(at, following):
            times[inner] = times[at] + (until - times[at]) * (inner - at) / (following - at) if inner > at else times[at]
    encoding = tokenizer.encode(request.written(), add_special_tokens=False)
    begins = [in_written for in_written, _ in places]
    owners = [max(at for at, begin in enumerate(begins) if begin <= first) for first, _ in encoding.offsets]
    found = []
    for at, (token, owner) in enumerate(zip(encoding.ids, owners)):
        count, index = owners.count(owner), owners[:at].count(owner)
        until = min(times[owner + 1] if owner + 1 < len(times) else end, times[owner] + LONGEST_WORD)
        found.append((token, float(times[owner] + (until - times[owner]) * (index + 0.7) / count)))
    return found


def trimmed(samples):
    """The samples without silence at the ends, and the number of those left out at the start."""
    loud = np.flatnonzero(np.abs(samples) > QUIET)
    return (samples[loud[0] : loud[-1] + 1], loud[0]) if len(loud) else (samples, 0)


def recording(synthesiser, tokenizer, speaker):
    kind, request = spoken.request(speaker)
    samples, words = synthesiser.heard(request.said(), Voice.of(speaker))
    samples, before = trimmed(samples)
    words = [(place, max(0.0, time - before / RATE)) for place, time in words]
    tokens = token_times(tokenizer, request, words, len(samples) / RATE)
    return Recording(torch.from_numpy(samples.copy()), kind, request.written(), tokens, reply_ids(tokenizer, request))


def write_shard(path, recordings):
    lengths = [len(each.samples) for each in recordings]
    facts = [(each.kind, each.text, each.tokens, each.reply) for each in recordings]
    torch.save({"samples": torch.cat([each.samples for each in recordings]), "lengths": lengths, "facts": facts}, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def read_shard(path):
    shard = torch.load(path, weights_only=True)
    return [Recording(samples, *facts) for samples, facts in zip(shard["samples"].split(shard["lengths"]), shard["facts"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("--model", type=Path, required=True, metavar="GGUF", help="the demo model, for its tokenizer")
    parser.add_argument("--first", type=int, default=0, help="the first file, whose number is also its seed")
    parser.add_argument("--files", type=int, default=40, help=f"files of {SHARD} recordings")
    args = parser.parse_args()
    torch.set_num_threads(1)
    (_, _, tokenizer), synthesiser = warm_start.read(args.model), Synthesiser()
    args.run.mkdir(parents=True, exist_ok=True)
    for shard in range(args.first, args.first + args.files):
        path = args.run / f"shard-{shard:03}.pt"
        if not path.exists():
            speaker = Speaker(shard)
            write_shard(path, [recording(synthesiser, tokenizer, speaker) for _ in range(SHARD)])


if __name__ == "__main__":
    main()
