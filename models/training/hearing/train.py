"""Trains the demo model's encoder of sound on requests that espeak-ng says, on one CPU core. The model itself stays as it is.

First the rows must be the embeddings of the tokens of the request, at the times when they are said, and nothing between them. Then the
model reads the rows, and its reply must be the right call.
"""

import argparse
import json
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from .. import warm_start
from ..muon import Muon
from .features import HOP, RATE, features
from .listener import Listener
from .network import Encoder, EncoderShape
from .recordings import read_shard
from .spoken import offers

ROW = 8 * HOP  # samples
FIRST, LAST = "for in to into of about on is are that".split(), "times plus minus by percent".split()  # words that begin and end a phrase
WARM_UP, FALL = 100, 0.5  # steps of rising rate; the part of the run in which the rate falls
IMITATED, LISTENED = 1200, 700  # rows of a batch, without and with the reply of the model
OFFERED = {"chat": 0.7, "timers": 0.1, "some": 0.1, "others": 0.1}  # shares of the prompts that the model has read
LISTENING_RATE = 0.4  # share of the rate while the model reads the rows
NEAR = 0.03  # weight of the imitation while the model reads the rows
NEIGHBOURS = 400  # recordings of similar length, of which a batch has some
AVERAGE = 0.98  # decay of the average of the weights, which is the result
SAVE_SECONDS = 200


class Batches:
    """Recordings of similar length, with silence around them, noise, and other distortions."""

    def __init__(self, recordings, bounds, seed):
        self.bounds = bounds  # of phrases
        recordings = sorted(recordings, key=lambda each: len(each.samples))
        self.pools = {name: [each for each in recordings if offers(name, each.kind)] for name in OFFERED} | {None: recordings}
        self.random = random.Random(seed)
        self.noise = torch.Generator().manual_seed(seed)

    def batch(self, rows, offered=None):
        """Features (recordings, frames, bins), the recordings, and the rows of their tokens."""
        pool = self.pools[offered]
        centre = self.random.randrange(len(pool))
        near = pool[max(0, centre - NEIGHBOURS) : centre + NEIGHBOURS]
        count = max(4, rows // (len(pool[centre].samples) // ROW + 6))
        chosen = self.random.sample(near, min(count, len(near)))
        sounds, rates = zip(*map(self.said, chosen))
        length = max(map(len, sounds)) + int(self.random.uniform(0.03, 0.7) * RATE)
        samples, places = torch.zeros(len(chosen), length), []
        for index, (recording, sound, rate) in enumerate(zip(chosen, sounds, rates)):
            start = self.random.randrange(length - len(sound))
            samples[index, start : start + len(sound)] = sound
            times = [[start / RATE + time / rate for _, time in phrase] for phrase in phrases(recording.tokens, *self.bounds)]
            places.append(token_rows(times, (length // HOP + 8) // 8))
        return self.masked(features(self.noisy(samples))), chosen, places

    def said(self, recording):
        """The sound of a recording, perhaps faster or slower, and how much faster."""
        sound = recording.samples.float() / 32768
        rate = self.random.uniform(0.9, 1.1) if self.random.random() < 0.5 else 1.0
        if rate != 1.0:
            sound = F.interpolate(sound[None, None], scale_factor=1 / rate, mode="linear", align_corners=False)[0, 0]
        if self.random.random() < 0.4:
            tilt = self.random.uniform(-0.7, 0.7)
            sound = sound + tilt * F.pad(sound, (1, 0))[:-1]
        return sound * (self.random.uniform(0.1, 1.0) / sound.abs().max().clamp_min(1e-3)), rate

    def noisy(self, samples):
        """The samples with noise, as loud as that of a room or of a street, or none."""
        level = 10 ** (torch.empty(len(samples), 1).uniform_(-80, -15, generator=self.noise) / 20)
        level *= torch.rand(len(samples), 1, generator=self.noise) < 0.6
        noise = torch.randn(samples.shape, generator=self.noise)
        tilt = torch.empty(len(samples), 1).uniform_(-0.9, 0.9, generator=self.noise)
        noise = noise + tilt * F.pad(noise, (1, 0))[:, :-1]
        return ((samples + noise * level * samples.abs().amax(1, keepdim=True)) * 32768).round() / 32768

    def masked(self, found):
        """The features without a band of frequencies in some recordings."""
        for each in found:
            if self.random.random() < 0.4:
                first, wide = self.random.randrange(112), self.random.randrange(4, 17)
                each[:, first : first + wide] = 0
        return found


def phrases(tokens, first, last):
    """The tokens in groups, by the tokens that are the first or the last one of a group."""
    found = [[]]
    for token, when in tokens:
        if found[-1] and (token in first or found[-1][-1][0] in last):
            found.append([])
        found[-1].append((token, when))
    return found


def token_rows(times, count):
    """Rows for the tokens of phrases, by their times in seconds: side by side, the last one when it is said. None if there are more tokens
    than rows.

    The model does not know empty rows between words, and what it copies is lost there. Read like this, 92 % of requests lead to the
    right call without training; with each token at its own time, 33 %.
    """
    rows, total = [], sum(map(len, times))
    for phrase in times:
        last = round(phrase[-1] * RATE / ROW)
        for after in reversed(range(len(phrase))):
            row = max(last - after, rows[-1] + 1 if rows else 0)
            rows.append(min(row, count - total + len(rows)))
    return rows if total <= count else None


class Trainer:
    def __init__(self, args):
        self.args = args
        shape, weights, tokenizer = warm_start.read(args.model)
        torch.manual_seed(args.seed)
        self.encoder = Encoder(EncoderShape(rows=shape.hidden))
        self.sharpness = torch.nn.Parameter(torch.tensor(1.0))  # of the choice between embeddings by distance
        self.listener = Listener(shape, weights, tokenizer, torch.bfloat16)
        self.bounds = [{token for word in words for token in self.listener.ids(f" {word}")} for words in (FIRST, LAST)]
        self.filler = torch.zeros(shape.hidden)
        named = list(self.encoder.named_parameters())
        is_matrix = lambda name, weight: weight.dim() == 2 and "pos_bias" not in name
        matrices, rest = ([weight for name, weight in named if is_matrix(name, weight) == wanted] for wanted in (True, False))
        self.optimisers = [
            Muon(matrices, lr=args.rate, kind=torch.bfloat16),
            torch.optim.AdamW([{"params": rest}, {"params": [self.sharpness]}], lr=args.rate, betas=(0.9, 0.98), weight_decay=0.0),
        ]
        self.average = {name: weight.detach().clone() for name, weight in named}
        self.step, self.seconds = 0, 0.0
        self.checkpoint = args.run / "checkpoint.pt"
        if self.checkpoint.exists():
            self.load()
        self.shards, self.batches = 0, None
        self.look_for_shards()

    def look_for_shards(self):
        """Takes up recordings that were written since the last time. The last shard is for measuring."""
        paths = sorted(self.args.run.glob("shard-*.pt"))
        if len(paths) != self.shards:
            self.shards = len(paths)
            held_out = read_shard(paths[0])
            self.batches = Batches([each for path in paths[1:] for each in read_shard(path)], self.bounds, self.args.seed * 1000 + self.step)
            self.known = Batches(held_out, self.bounds, 1)

    def load(self):
        kept = torch.load(self.checkpoint, weights_only=True)
        self.encoder.load_state_dict(kept["weights"])
        self.sharpness.data.copy_(kept["sharpness"])
        self.average = kept["average"]
        for optimiser, state in zip(self.optimisers, kept["optimisers"]):
            optimiser.load_state_dict(state)
        self.step, self.seconds = kept["step"], kept["seconds"]

    def save(self):
        kept = {
            "weights": self.encoder.state_dict(), "sharpness": self.sharpness.detach(), "average": self.average, "shape": self.encoder.shape.as_dict(),
            "optimisers": [each.state_dict() for each in self.optimisers], "step": self.step, "seconds": self.seconds,
        }
        torch.save(kept, self.checkpoint.with_suffix(".new"))
        self.checkpoint.with_suffix(".new").replace(self.checkpoint)

    def imitation_loss(self, rows, recordings, places):
        """The loss of choosing the embedding of the token at each row by its distance, and the distance itself."""
        table = torch.cat([self.listener.embedding, self.filler[None]])
        wanted = torch.full(rows.shape[:2], len(table) - 1)
        for index, (recording, own) in enumerate(zip(recordings, places)):
            for (token, _), row in zip(recording.tokens, own or ()):
                wanted[index, row] = token
        rows = rows.float()
        logits = self.sharpness * (rows @ table.T - 0.5 * table.square().sum(1))
        chosen = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        distance = (rows - table[wanted]).square().sum(-1).mean()
        return chosen, distance

    def listening_loss(self, offered, rows, recordings):
        logits, ids, _ = self.listener.replies(offered, rows, [each.reply for each in recordings])
        return F.cross_entropy(logits, ids)

    def advance(self):
        progress = self.seconds / 60 / self.args.minutes
        listens = self.args.imitate <= self.seconds / 60
        offered = self.batches.random.choices(list(OFFERED), OFFERED.values())[0] if listens else None
        found, recordings, places = self.batches.batch(LISTENED if listens else IMITATED, offered)
        with torch.autocast("cpu", torch.bfloat16):
            rows = self.encoder(found)
        chosen, distance = self.imitation_loss(rows, recordings, places)
        loss, heard = chosen + distance, torch.zeros(())
        if listens:
            heard = self.listening_loss(offered, rows, recordings)
            loss = heard + NEAR * loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.encoder.parameters(), 1.0)
        fall = max(0.01, min(1, (1 - progress) / FALL))
        rate = self.args.rate * min(1, (self.step + 1) / WARM_UP) * fall * (LISTENING_RATE if listens else 1)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        with torch.no_grad():
            keep = min(AVERAGE, (1 + self.step) / (10 + self.step))
            torch._foreach_lerp_(list(self.average.values()), list(self.encoder.parameters()), 1 - keep)
        self.step += 1
        return torch.stack([chosen.detach(), distance.detach(), heard.detach()]), len(recordings)

    def train(self):
        reported = saved = time.monotonic()
        losses, count = [], 0
        while self.seconds < 60 * self.args.minutes:
            begun = time.process_time()
            loss, heard = self.advance()
            self.seconds += time.process_time() - begun
            losses.append(loss)
            count += heard
            now = time.monotonic()
            if 20 < now - reported:
                chosen, distance, heard = torch.stack(losses).mean(0).tolist()
                print(json.dumps({
                    "step": self.step, "minutes": round(self.seconds / 60, 2), "chosen": round(chosen, 4), "distance": round(distance, 4),
                    "heard": round(heard, 4), "recordings per second": round(count / (now - reported), 1), "sharpness": round(self.sharpness.item(), 3),
                }), flush=True)
                reported, losses, count = now, [], 0
                if SAVE_SECONDS < now - saved:
                    self.save()
                    self.measure(3)
                    self.look_for_shards()
                    reported = saved = time.monotonic()
        self.save()
        self.measure(40)

    @torch.no_grad()
    def measure(self, count):
        """Prints the share of recordings that training does not have, in the voices of training, whose every next token is the most probable one."""
        own = {name: weight.detach().clone() for name, weight in self.encoder.named_parameters()}
        self.encoder.load_state_dict(self.average)
        found = {}
        for _ in range(count):
            batch, recordings, _ = self.known.batch(LISTENED, "chat")
            logits, ids, real = self.listener.replies("chat", self.encoder(batch), [each.reply for each in recordings])
            wrong = torch.zeros(real.shape, dtype=torch.bool)
            wrong[real] = logits.argmax(-1) != ids
            for recording, is_wrong in zip(recordings, wrong.any(1).tolist()):
                right, total = found.get(recording.kind, (0, 0))
                found[recording.kind] = right + (not is_wrong), total + 1
        self.encoder.load_state_dict(own)
        print(json.dumps({"minutes": round(self.seconds / 60, 2)} | {kind: f"{right}/{total}" for kind, (right, total) in sorted(found.items())}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder with the recordings, which will hold the checkpoint")
    parser.add_argument("--model", type=Path, required=True, metavar="GGUF", help="the demo model")
    parser.add_argument("--minutes", type=float, default=70, help="processor time")
    parser.add_argument("--imitate", type=float, default=20, help="minutes in which the rows only imitate embeddings")
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    Trainer(args).train()


if __name__ == "__main__":
    main()
