"""Trains the demo model's vision tower on a GPU, and the model with it, on pictures that `scenes.py` draws.

Each step has a batch of conversations about pictures, whose loss is that of the tokens that the model writes. While it reads, some
heads must look at the letters. Every second step, on average, has a batch of conversations without pictures as well, on which the
model must stay what it was: the loss is the divergence from the model at the start.
"""

import argparse
import json
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from .. import warm_start
from ..muon import Muon
from ..phrases import Speaker
from .conversations import IMAGE, TextWriter, Writer
from .export import read_projector
from .network import Text, Tower, TowerShape

WARM_UP, FALL = 200, 0.5  # steps of rising rate; the part of the run in which the rate falls
TEXT_RATE = 0.4  # the model's rate, as a share of the tower's
PATCH_WEIGHT = 0.3  # of the loss of what is on each patch; it falls to a tenth in the first half
LOOK_WEIGHT = 0.1  # of looking elsewhere than at the letters that are read, for each of three attention layers
STAY_WEIGHT, STAY_SHARE = 2.0, 0.5  # of the divergence from the model at the start; the share of the steps that compute it
AVERAGE = 0.998  # decay of the average of the weights, which is the result
# Batches of pictures: functions offered, conversations, their tokens at most, share.
ROOMS = [("any", 208, 700, 0.7), ("chat", 104, 1200, 0.3)]
TEXT_GROUPS, TEXT_ROWS, TEXT_LONGEST = 6, 4, 896
SAVE_SECONDS = 180  # between the states that a run can go on from


class Data(torch.utils.data.IterableDataset):
    """Pairs of a batch with pictures and, now and then, one without; held-out batches have pictures only."""

    def __init__(self, tokenizer, seed, held_out=False):
        self.tokenizer, self.seed, self.held_out = str(tokenizer), seed, held_out

    def __iter__(self):
        torch.set_num_threads(1)
        info = torch.utils.data.get_worker_info()
        seed = self.seed * 1009 + (info.id if info else 0)
        tokenizer = Tokenizer.from_file(self.tokenizer)
        writer = Writer(tokenizer, Speaker(seed, self.held_out))
        texts = None if self.held_out else TextWriter(tokenizer, seed)
        while True:
            room, count, longest, _ = writer.speaker.random.choices(ROOMS, [share for *_, share in ROOMS])[0]
            has_text = texts and writer.speaker.chance(STAY_SHARE)
            yield writer.batch(count, room, longest), texts.batch(TEXT_GROUPS, TEXT_ROWS, TEXT_LONGEST) if has_text else None


def alone(batch):
    return batch[0]


def loader(data, workers):
    made = torch.utils.data.DataLoader(data, batch_size=1, collate_fn=alone, num_workers=workers, pin_memory=torch.cuda.is_available(), prefetch_factor=3 if workers else None)
    return iter(made)


def on(device, batch):
    return {name: value.to(device, non_blocking=True) if torch.is_tensor(value) else value for name, value in batch.items()}


class Trainer:
    def __init__(self, args):
        self.args, self.device = args, args.device
        shape, weights, tokenizer = warm_start.read(args.start)
        args.run.mkdir(parents=True, exist_ok=True)
        self.tokenizer = args.run / "tokenizer.json"
        tokenizer.save(str(self.tokenizer))
        torch.manual_seed(args.seed)
        self.text, self.start = Text(weights, shape).to(self.device), Text(weights, shape).to(self.device).requires_grad_(False)
        self.tower = Tower(TowerShape(rows=shape.hidden))
        if args.tower:
            self.tower.load_state_dict(read_projector(args.tower), strict=False)
        self.tower.to(self.device)
        self.step, self.seconds, self.waited = 0, 0.0, 0.0
        groups = {True: [], False: []}
        for part, factor in ((self.tower, 1), (self.text, TEXT_RATE)):
            for name, weight in part.named_parameters():
                is_matrix = weight.dim() == 2 and not any(word in name for word in ("embed", "conv", "position", "objects", "characters"))
                groups[is_matrix].append((weight, factor))
        split = lambda is_matrix: [{"params": [weight for weight, each in groups[is_matrix] if each == factor], "factor": factor} for factor in (1, TEXT_RATE)]
        kind = torch.bfloat16 if self.device == "cuda" else torch.float32
        self.optimisers = [Muon(split(True), lr=args.rate, kind=kind), torch.optim.AdamW(split(False), lr=args.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=self.device == "cuda")]
        self.average = {name: weight.detach().clone() for name, weight in self.named()}
        self.checkpoint = args.run / "checkpoint.pt"
        if self.checkpoint.exists():
            self.load()
        self.batches = loader(Data(self.tokenizer, args.seed + 7 * self.step), args.workers)

    def named(self):
        yield from (("tower." + name, weight) for name, weight in self.tower.named_parameters())
        yield from (("text." + name, weight) for name, weight in self.text.named_parameters())

    def load(self):
        kept = torch.load(self.checkpoint, map_location=self.device, weights_only=True)
        for name, weight in self.named():
            weight.data.copy_(kept["weights"][name])
        self.average = kept["average"]
        for optimiser, state in zip(self.optimisers, kept["optimisers"]):
            optimiser.load_state_dict(state)
        self.step, self.seconds = kept["step"], kept["seconds"]

    def save(self):
        weights = {name: weight.detach() for name, weight in self.named()}
        torch.save({"weights": weights, "average": self.average, "optimisers": [each.state_dict() for each in self.optimisers], "step": self.step, "seconds": self.seconds}, self.checkpoint.with_suffix(".new"))
        self.checkpoint.with_suffix(".new").replace(self.checkpoint)

    def progress(self):
        return min(1, self.seconds / (60 * self.args.minutes))

    def autocast(self):
        return torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda")

    def picture_losses(self, batch):
        with self.autocast():
            rows, objects, characters = self.tower(batch["pixels"])
            now, ahead = ((batch["looking"], batch[place]) for place in ("now", "next"))
            states, missed = self.text(batch["ids"], rows.flatten(0, 1), IMAGE, [now, ahead, ahead])
            wanted = batch["said"][:, 1:]
            logits = self.text.logits(states[:, :-1][wanted])
        said = F.cross_entropy(logits.float(), batch["ids"][:, 1:][wanted])
        on_patches = F.cross_entropy(objects.float().flatten(0, 1), batch["objects"].flatten()) + 2 * F.cross_entropy(characters.float().flatten(0, 1), batch["characters"].flatten())
        return said, on_patches, missed

    def staying_loss(self, batch):
        """The divergence from the model at the start: of what the model writes, and of a part of the rest."""
        real = torch.arange(batch["ids"].shape[1], device=self.device) < batch["lengths"][:, None] - 1
        follows = F.pad(batch["said"][:, 1:], (0, 1))
        wanted = real & (follows | (torch.rand(real.shape, device=self.device) < 0.15))
        with self.autocast():
            with torch.no_grad():
                right = self.start.logits(self.start(batch["ids"])[0][wanted]).float().log_softmax(-1)
            found = self.text.logits(self.text(batch["ids"])[0][wanted])
        return F.kl_div(found.float().log_softmax(-1), right, log_target=True, reduction="batchmean")

    def advance(self):
        progress = self.progress()
        rate = self.args.rate * min(1, (self.step + 1) / WARM_UP) * min(1, max(0.01, (1 - progress) / FALL))
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate * group["factor"]
        begun = time.monotonic()
        seen, text = next(self.batches)
        self.waited += time.monotonic() - begun
        said, on_patches, missed = self.picture_losses(on(self.device, seen))
        staying = self.staying_loss(on(self.device, text)) / STAY_SHARE if text else torch.zeros_like(said)
        (said + PATCH_WEIGHT * max(0.1, 1 - 2 * progress) * on_patches + LOOK_WEIGHT * missed + STAY_WEIGHT * staying).backward()
        torch.nn.utils.clip_grad_norm_([weight for _, weight in self.named()], 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        with torch.no_grad():
            keep = min(AVERAGE, (1 + self.step) / (10 + self.step))
            torch._foreach_lerp_(list(self.average.values()), [weight for _, weight in self.named()], 1 - keep)
        self.step += 1
        return said.detach(), on_patches.detach(), missed.detach(), staying.detach()

    def train(self):
        last = reported = saved = time.monotonic()
        ends, losses = last + 60 * self.args.limit, []
        while self.progress() < 1 and time.monotonic() < ends:
            losses.append(torch.stack(self.advance()))
            if self.step % 20 == 0:
                now = time.monotonic()
                self.seconds, last = self.seconds + now - last, now
            if 15 < time.monotonic() - reported:
                reported = time.monotonic()
                said, on_patches, missed, staying = torch.stack(losses).mean(0).tolist()
                print(json.dumps({"step": self.step, "minutes": round(self.seconds / 60, 2), "said": round(said, 4), "patches": round(on_patches, 4), "missed": round(missed, 4), "staying": round(staying, 5), "waited": round(self.waited)}), flush=True)
                losses = []
                if SAVE_SECONDS < reported - saved:
                    self.save()
                    saved = reported
        self.save()

    @torch.no_grad()
    def measure(self, batches):
        """The share of held-out replies whose every token is the most probable one, by kind."""
        for name, weight in self.named():
            weight.data.copy_(self.average[name])
        found = {}
        held_out = loader(Data(self.tokenizer, 5, held_out=True), min(4, self.args.workers))
        for _ in range(batches):
            batch = on(self.device, next(held_out)[0])
            with self.autocast():
                rows, *_ = self.tower(batch["pixels"])
                best = self.text.logits(self.text(batch["ids"], rows.flatten(0, 1), IMAGE)[0][:, :-1]).argmax(-1)
            wrong = (best != batch["ids"][:, 1:]) & batch["said"][:, 1:]
            owner = batch["owner"][:, 1:]
            for row, kinds in enumerate(batch["kinds"]):
                for index, kind in enumerate(kinds):
                    right, total = found.get(kind, (0, 0))
                    found[kind] = (right + (not bool(wrong[row][owner[row] == index].any())), total + 1)
        for kind, (right, total) in sorted(found.items()):
            print(f"{kind}: {right} of {total} ({100 * right / total:.1f} %)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder that holds the checkpoint")
    parser.add_argument("--from", dest="start", type=Path, required=True, metavar="GGUF", help="the demo model before")
    parser.add_argument("--tower", type=Path, metavar="GGUF", help="the projector file before; without it, the tower starts anew")
    parser.add_argument("--minutes", type=float, default=24)
    parser.add_argument("--limit", type=float, default=1e9, help="minutes after which this process saves and stops; the next one goes on")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=14, help="processes that draw")
    parser.add_argument("--measure", type=int, default=20, help="held-out batches at the end")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    trainer = Trainer(args)
    trainer.train()
    trainer.measure(args.measure)


if __name__ == "__main__":
    main()
