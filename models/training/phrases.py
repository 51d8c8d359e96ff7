"""Writes varied phrases from patterns, and keeps the held-out values apart from the training values."""

import functools
import random
import zlib

HELD_OUT_SHARE = 8  # one value in eight is never used in training


def is_held_out(value):
    return zlib.crc32(value.lower().encode()) % HELD_OUT_SHARE == 0


@functools.cache
def side(values, held_out):
    """The part of a vocabulary that training, or the held-out set, may use."""
    return [value for value in values if is_held_out(value) == held_out]


@functools.cache
def parse(pattern):
    """`a [b|c|]` as nested lists: a sequence of texts and of choices between sequences."""
    stack = [[[]]]  # choices; each is a list of options; the last option is being written
    for character in pattern:
        if character == "[":
            stack.append([[]])
        elif character == "|" and len(stack) > 1:
            stack[-1].append([])
        elif character == "]":
            choice = stack.pop()
            stack[-1][-1].append(choice)
        else:
            option = stack[-1][-1]
            if option and isinstance(option[-1], str):
                option[-1] += character
            else:
                option.append(character)
    return stack[0][0]


class Speaker:
    """A source of phrases and values; `held_out` says from which side of the split the values come."""

    def __init__(self, seed, held_out=False):
        self.random = random.Random(seed)
        self.held_out = held_out

    def chance(self, share):
        return self.random.random() < share

    def pick(self, options):
        return options[int(self.random.random() * len(options))]

    def value(self, values):
        """One of a tuple of strings, from this speaker's side of the split."""
        return self.pick(side(values, self.held_out))

    def number(self, low, high):
        return self.random.randint(low, high)

    def expand(self, pattern):
        """One reading of a pattern; slots in braces stay."""
        return self._write(parse(pattern)).rstrip()

    def _write(self, parts):
        return "".join(part if isinstance(part, str) else self._write(self.pick(part)) for part in parts)

    def phrase(self, patterns, **slots):
        pattern = self.pick(patterns) if isinstance(patterns, (list, tuple)) else patterns
        text = self.expand(pattern)
        for name, value in slots.items():
            text = text.replace("{" + name + "}", str(value))
        return " ".join(text.split())
