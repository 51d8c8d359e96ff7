"""Trains the demo model: resumable, seeded, on the CPU or a GPU.

The learning rate rises over the first steps, stays constant, and falls to a hundredth over the last part. The progress of a run is
measured in steps (`--steps`) or in training time (`--minutes`): on a CPU the processor time of each process, so that other work on
the machine makes a run longer, but not shorter in steps. A finished run can be continued (`--again`): then the rate starts at
half of its peak and falls linearly to the new end.
"""

import argparse
import copy
import ctypes
import json
import os
import random
import tempfile
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import distributed, multiprocessing
from tokenizers import Tokenizer

from . import tokenizer as byte_pairs
from . import warm_start
from .generator import Generator, chat_group, invented_group
from .model import Batch, Model, Shape
from .muon import Muon
from .phrases import Speaker
from .prompt import conversation_pieces, system_block
from .sight.export import read_projector
from .sight.groups import PictureGroups, picture_batch
from .sight.network import Tower, TowerShape
from .sources import HEAD
from .tokenizer import IMAGE

WARM_UP, FALL = 60, 0.6  # steps of rising rate; the part of the run in which the rate falls
OTHER_SHARE, OTHER_WEIGHT = 0.08, 0.3  # share and weight in the loss of tokens that the model only reads
RESTART = 0.5  # initial share of the rate when a finished run is continued
AVERAGE = 0.98  # decay of the average of the weights, which is the result: about 50 steps
SUPERVISED_LAYERS = 6  # attention layers that `sources.py` supervises, counted from the last
STAY_WEIGHT = 1.0  # of the divergence from the model of `--stay-near`, where its most probable token is right
SUPERVISION_WEIGHT = 0.2  # weight of a supervised place, relative to a token of the loss
# Small batches of a cycle of steps, in each process, by kind: their number, their groups, conversations of each, and the maximum tokens
# of one. `chat` has all shipped functions, `some` a part of them; conversations of `choice` are too short for an answer. Only a run
# with a vision tower has those of `SEEN`.
SMALL = {"chat": (3, 1, 10, 208), "some": (3, 1, 8, 208), "long": (1, 1, 2, 1000), "choice": (4, 1, 16, 112), "answers": (2, 3, 6, 320), "refused": (3, 1, 16, 208)}
SEEN = {"seen": (5, 5, 8, 200), "seen, chat": (3, 2, 8, 200), "read": (4, 5, 8, 200), "read, chat": (4, 2, 8, 200)}
GROUPS, ROWS, LONGEST = 2, 8, 320  # the other batch of a step: groups of functions, conversations of each, maximum tokens of one
LIBC = ctypes.CDLL(None)
TRIM_EVERY = 40  # steps; tensors of changing sizes fragment the heap, which grew to 12 GB in half an hour
LONGEST_STEP = 30  # seconds; a longer step means that the machine did something else


def make_tokenizer(seed):
    """Trains the tokenizer on the text of conversations, and on some system blocks."""
    speaker, texts = Speaker(seed), []
    for turn in range(4000):
        system, tools, conversations = chat_group(speaker, 4) if turn % 2 else invented_group(speaker, 4, turn % 10 == 0)
        texts += ["".join(text for text, _ in conversation_pieces(message for exchange in each for message in exchange.messages())) for each in conversations]
        if turn % 16 < 2:
            texts.append(system_block(system, tools))
    return byte_pairs.train(texts)


def mixture(progress):
    """Kinds of groups of other functions: simple invented ones first."""
    if progress < 0.12:
        return ["easy", "easy" if progress < 0.04 else "invented"]
    return ["invented", "invented", "everyday", "styled", "styled", "answers"]


def mean(losses):
    return round(sum(losses) / len(losses), 4)


class Batches:
    """Makes two batches per step: a small one, of the shipped functions or pictures, and one of two groups of other functions.

    Groups are made for several steps ahead and batched by length, so that there is little padding. `random` is the same in all
    processes, so that they have their long batches in the same steps and do not wait for each other.
    """

    def __init__(self, generator, random, knows_calls, pictures=None):
        self.generator, self.random, self.knows_calls, self.pictures = generator, random, knows_calls, pictures
        self.small, self.others = [], []

    def step(self, progress):
        """The kind of the small batch, and both batches."""
        if not self.small:
            self.fill(mixture(1 if self.knows_calls else progress))
        kind, small = self.small.pop()
        return kind, [small, self.others.pop()]

    def fill(self, kinds):
        self.small = [(kind, batch) for kind, (count, *size) in SMALL.items() for batch in self.groups([kind] * count, *size)]
        if self.pictures:
            self.small += [(kind, self.seen(kind, *size)) for kind, (count, *size) in SEEN.items() for _ in range(count)]
        kinds = (kinds * len(self.small))[: len(self.small)]
        self.others = self.groups(kinds, GROUPS, ROWS, LONGEST)
        self.random.shuffle(self.small)
        self.random.shuffle(self.others)

    def groups(self, kinds, count, rows, longest):
        """Batches of `count` groups, one for each kind; groups of similar length are in the same batch."""
        groups = [self.generator.group(kind, rows, longest) for kind in kinds for _ in range(count)]
        groups.sort(key=lambda group: len(group[0]))
        return [batch_of(groups[at : at + count]) for at in range(0, len(groups), count)]


    def seen(self, kind, count, rows, longest):
        """A batch of conversations about pictures."""
        groups, pixels = picture_batch([self.pictures.group(kind, rows, longest) for _ in range(count)])
        batch, said = batch_of(groups)
        batch.pixels = pixels
        return batch, said


def batch_of(groups):
    """A batch, and which of its tokens the model writes itself."""
    supervised, said = [], [False] * sum(len(block) for block, *_ in groups)
    for block, names, conversations in groups:
        supervised.append([(SUPERVISED_LAYERS - 1, HEAD, token, there) for token, there in names])
    for block, _, conversations in groups:
        for _, marks, looks in conversations:
            said += marks
            supervised.append([(from_last, head, token, there if in_block else len(block) + there) for from_last, head, token, in_block, there in looks])
    return Batch([(block, [tokens for tokens, *_ in conversations]) for block, _, conversations in groups], supervised), torch.tensor(said)


def targets(batch, said, random):
    """Indexes of tokens whose next token is learned, that next token, and its weight."""
    goes_on = torch.ones(len(said), dtype=torch.bool)
    goes_on[batch.ends] = False
    goes_on[:-1] &= batch.ids[1 : len(said)] != IMAGE
    other = torch.rand(len(said), generator=random) < torch.where(torch.arange(len(said)) < batch.cut, OTHER_SHARE / 2, OTHER_SHARE)
    at = (goes_on[:-1] & (said[1:] | other[1:])).nonzero()[:, 0]
    return at, batch.ids[at + 1], torch.where(said[at + 1], 1.0, OTHER_WEIGHT)


def divergence(found, near, is_right):
    """Of each row of logits, from the logarithms `near`; 0 where those are wrong."""
    return F.kl_div(found.log_softmax(-1), near, log_target=True, reduction="none").sum(-1) * is_right


def optimisers(model, rate, kind):
    matrices = [weight for name, weight in model.layers.named_parameters() if weight.dim() == 2 and not name.endswith("operator.conv")]
    inside = {id(weight) for weight in matrices}
    others = [weight for weight in model.parameters() if id(weight) not in inside]
    return [
        Muon(matrices, lr=rate, kind=kind),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def tower_of(args, shape):
    """The vision tower of a projector file, which stays as it is."""
    tower = Tower(TowerShape(rows=shape.hidden))
    tower.load_state_dict(read_projector(args.tower), strict=False)
    return tower.requires_grad_(False).to(args.device)


def faster_kind():
    """The type that this processor multiplies faster. Instructions for bfloat16 do not prove that it is faster: it is with AMX, but an
    Intel without AMX had 90 GFLOP/s per core with bfloat16 and 150 with f32."""
    seconds = {}
    for kind in (torch.bfloat16, torch.float32):
        left, right = torch.ones(2048, 256, dtype=kind), torch.ones(256, 640, dtype=kind)
        times = []
        for _ in range(8):
            start = time.perf_counter()
            left @ right
            times.append(time.perf_counter() - start)
        seconds[kind] = min(times)
    return min(seconds, key=seconds.get)


def rate_factor(step, progress, again=None):
    """Factor of the rate. `again` is the progress at which a finished run was continued."""
    if again is not None:
        return RESTART * max(0.01, (1 - progress) / (1 - again))
    return min(1, (step + 1) / WARM_UP) * min(1, max(0.01, (1 - progress) / FALL))


class Run:
    """One of the processes that train together: each has its own data, and all have the same weights."""

    def __init__(self, args, rank=0):
        self.args, self.rank = args, rank
        torch.manual_seed(args.seed)
        kept = args.run / "tokenizer.json"
        shape = Shape(layers=args.layers or Shape.layers, hidden=args.hidden, feed_forward=args.feed_forward, heads=args.hidden // 64)
        if args.start:
            shape, weights, tokenizer = warm_start.read(args.start)
            shape, weights = warm_start.grow(shape, weights, args.layers or shape.layers)
        if not kept.exists():  # the other processes wait for it and read it
            (tokenizer if args.start else make_tokenizer(args.seed)).save(str(kept))
        self.tokenizer = Tokenizer.from_file(str(kept))
        self.model = Model(shape)
        if args.start:
            self.model.load_state_dict(weights)
        self.model.to(args.device)
        # If the machine multiplies bfloat16 faster, a bfloat16 copy computes; the weights that are trained stay in f32.
        self.worker = self.model if args.kind == torch.float32 else copy.deepcopy(self.model).to(args.kind)
        self.near = None
        if args.stay_near:
            near_shape, near, _ = warm_start.read(args.stay_near)
            self.near = Model(near_shape).requires_grad_(False)
            self.near.load_state_dict(near)
            self.near.to(args.device, args.kind)
        self.average = {name: weight.detach().clone() for name, weight in self.model.named_parameters()}
        self.optimisers = optimisers(self.model, args.rate, args.kind)
        self.step, self.tokens, self.spoken, self.seconds = 0, 0, 0, 0.0
        self.path = args.run / "checkpoint.pt"
        if self.path.exists():
            self.load()
        self.renew()
        self.clock = time.process_time if torch.device(args.device).type == "cpu" else time.monotonic
        self.last = self.clock()
        seed = args.seed * 1_000_003 + self.step  # a resumed run continues with new data
        own = seed + rank * 500_009
        self.generator = Generator(self.tokenizer, own)
        self.random = torch.Generator().manual_seed(own)
        self.tower = tower_of(args, shape) if args.tower else None
        pictures = PictureGroups(self.tokenizer, own) if args.tower else None
        self.batches = Batches(self.generator, random.Random(seed), knows_calls=args.start is not None, pictures=pictures)
        if rank == 0:
            parameters = sum(weight.numel() for weight in self.model.parameters())
            print(f"{parameters:,} parameters, from step {self.step}", flush=True)

    def load(self):
        kept = torch.load(self.path, map_location=self.args.device, weights_only=True)
        self.model.load_state_dict(kept["weights"])
        self.average = kept["average"]
        for optimiser, state in zip(self.optimisers, kept["optimisers"]):
            optimiser.load_state_dict(state)
        self.step, self.tokens, self.spoken, self.seconds = kept["step"], kept["tokens"], kept["spoken"], kept["seconds"]

    def save(self):
        kept = {
            "shape": self.model.shape.as_dict(), "weights": self.model.state_dict(), "average": self.average, "step": self.step,
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers], "tokens": self.tokens, "spoken": self.spoken, "seconds": self.seconds,
        }
        fresh = self.path.with_suffix(".new")
        torch.save(kept, fresh)
        os.replace(fresh, self.path)

    def progress(self):
        return self.step / self.args.steps if self.args.steps else self.seconds / (self.args.minutes * 60)

    def collect(self):
        """Adds the worker's gradients to the model's, which are f32."""
        for weight, working in zip(self.model.parameters(), self.worker.parameters()):
            if working is not weight:
                weight.grad = working.grad.float() if weight.grad is None else weight.grad.add_(working.grad)
                working.grad = None

    @torch.no_grad()
    def renew(self):
        """Copies the model's weights to the worker."""
        for weight, working in zip(self.model.parameters(), self.worker.parameters()):
            if working is not weight:
                working.copy_(weight)

    @torch.no_grad()
    def rows_of(self, pixels):
        """The rows of pictures, (rows, hidden). The tower is not trained."""
        with torch.autocast(self.args.device, torch.bfloat16, enabled=self.args.kind == torch.bfloat16):
            return torch.cat([self.tower(torch.tensor(each)[None].to(self.args.device))[0][0] for each in pixels])

    @torch.no_grad()
    def near_to(self, batch, rows, following):
        """What the model of `--stay-near` says, as logarithms, and where it is right."""
        if not self.near:
            return None
        said = self.near(batch, rows).float().log_softmax(-1)
        return said, said.argmax(-1) == following

    def share(self, *numbers):
        """Averages the gradients of all processes, and some numbers as well."""
        if self.args.workers == 1:
            return numbers
        gradients = [weight.grad for weight in self.model.parameters()]
        flat = torch.cat([*(gradient.view(-1) for gradient in gradients), torch.tensor(numbers)])
        distributed.all_reduce(flat)
        flat /= self.args.workers
        for gradient, mean in zip(gradients, flat.split([gradient.numel() for gradient in gradients] + [len(numbers)])):
            gradient.copy_(mean.view(gradient.shape))
        return flat[-len(numbers) :].tolist()

    def advance(self):
        """Runs one step. Returns the kind of its small batch, and losses: per target token of both batches, and per supervised place of
        each attention layer, from the last."""
        progress, tokens, spoken, losses, supervised = self.progress(), 0, 0, [], []
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = self.args.rate * rate_factor(self.step, progress, self.args.again and self.args.again / self.args.minutes)
        kind, batches = self.batches.step(progress)
        made = [(batch, *targets(batch, said, self.random)) for batch, said in batches]
        total = sum(weights.sum() for *_, weights in made)
        for batch, rows, following, weights in made:
            batch.to(self.args.device, self.args.kind)
            if batch.pixels:
                batch.rows = self.rows_of(batch.pixels)
            rows, following, weights = (each.to(self.args.device) for each in (rows, following, weights))
            near = self.near_to(batch, rows, following)
            found = self.worker(batch, rows).float()
            loss = F.cross_entropy(found, following, reduction="none")
            staying = STAY_WEIGHT * divergence(found, *near) if near else 0
            unseen = [-(batch.seen[from_last].float() + 1e-6).log() for from_last in range(SUPERVISED_LAYERS)]
            ((((loss + staying) * weights).sum() + SUPERVISION_WEIGHT * torch.cat(unseen).sum()) / total).backward()
            self.collect()
            losses.append(loss[weights == 1].mean().item())
            supervised.append([each.detach() for each in unseen])
            tokens += batch.count
            spoken += int((weights == 1).sum())
        now = self.clock()
        losses += [torch.cat(each).mean().item() for each in zip(*supervised)]
        seconds, tokens, spoken, *losses = self.share(now - self.last, tokens, spoken, *losses)
        self.last = now
        self.tokens += round(tokens * self.args.workers)
        self.spoken += round(spoken * self.args.workers)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.renew()
        with torch.no_grad():
            keep = min(AVERAGE, (1 + self.step) / (10 + self.step))
            for name, weight in self.model.named_parameters():
                self.average[name].lerp_(weight, 1 - keep)
        self.step += 1
        self.seconds += min(seconds, LONGEST_STEP)
        return kind, losses

    def train(self):
        shown, saved = [], time.monotonic()
        while self.progress() < 1:
            shown.append(self.advance())
            if self.step % TRIM_EVERY == 0 and hasattr(LIBC, "malloc_trim"):
                LIBC.malloc_trim(0)
            if self.rank:
                continue
            if self.step % 20 == 0:
                small, other, *supervised = zip(*(losses for _, losses in shown))
                small = {kind: mean([loss for (each, _), loss in zip(shown, small) if each == kind]) for kind in sorted({kind for kind, _ in shown})}
                shown = []
                report = {"step": self.step, "minutes": round(self.seconds / 60, 2), "tokens": self.tokens, "spoken": self.spoken, **small, "other": mean(other), "supervised": [mean(each) for each in supervised]}
                print(json.dumps(report), flush=True)
                with (self.args.run / "log.jsonl").open("a") as log:
                    log.write(json.dumps(report) + "\n")
            if 120 < time.monotonic() - saved:
                self.save()
                saved = time.monotonic()
        if self.rank == 0:
            self.save()


def work(rank, args):
    """One process of a run."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if 1 < args.workers:
        distributed.init_process_group("gloo", init_method=f"file://{args.meeting}", rank=rank, world_size=args.workers)
    Run(args, rank).train()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder that holds the tokenizer, the checkpoint and the log")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="length of the run, instead of --minutes")
    parser.add_argument("--minutes", type=float, default=112)
    parser.add_argument("--again", type=float, help="the minute at which a finished run is continued; with --minutes")
    parser.add_argument("--from", dest="start", type=Path, metavar="GGUF", help="start from the weights, the shape and the tokenizer of this model")
    parser.add_argument("--tower", type=Path, metavar="GGUF", help="train with pictures as well, which this projector file sees; its weights do not change")
    parser.add_argument("--stay-near", type=Path, metavar="GGUF", help="a model of the same tokenizer, whose replies the trained one keeps where they are right")
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--layers", help="c: convolution, a: attention; with --from, capitals are layers to add")
    parser.add_argument("--hidden", type=int, default=Shape.hidden)
    parser.add_argument("--feed-forward", type=int, default=Shape.feed_forward)
    parser.add_argument("--workers", type=int, default=1 if torch.cuda.is_available() else os.cpu_count(), help="processes that train together, with one thread each")
    parser.add_argument("--prepare", action="store_true", help="make the tokenizer and stop")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    if args.layers and not args.start and set(args.layers) - set("ca"):
        parser.error("--layers must consist of c and a; capitals, which are layers to add, need --from")
    if args.layers and args.layers.lower().count("a") < SUPERVISED_LAYERS:
        parser.error(f"--layers must have at least {SUPERVISED_LAYERS} attention layers, because their first heads are supervised")
    torch.set_num_threads(1)
    args.kind = faster_kind() if args.device == "cpu" else torch.bfloat16  # the type for computing, the same in all processes
    args.run.mkdir(parents=True, exist_ok=True)
    if args.prepare:
        Run(args)
        return
    with tempfile.TemporaryDirectory() as meeting:
        args.meeting = f"{meeting}/place"
        multiprocessing.start_processes(work, (args,), args.workers)


if __name__ == "__main__":
    main()
