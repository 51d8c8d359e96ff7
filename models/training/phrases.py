"""Writes varied phrases from patterns, and keeps the held-out values apart from the training values."""

import functools
import random
import re
import zlib

HELD_OUT_SHARE = 8  # one value in eight is excluded from training
BLURRED_SHARE = 0.2  # share of requests in which an irrelevant word is replaced by an unknown one
UNDECIDING = set(
    "set start begin run make create put open launch give show tell check look find get need want please know say work figure let use take "
    "kick get me i i'd like could can you would start track up off out going do have count measure hold keep new read call see hear name "
    "might be is does that what's makes equals think wonder mean means result answer comes turn change switch express number much many add "
    "going lost over there here now right current".split()
)
DECIDING = ("{duration}", "{sum}", "{value}", "timer", "countdown", "time", "clock", "hour", "date", "note", "remind", "list", "write", "remember")

OTHER_WORDS = (  # texts around a request that no pattern uses
    "prepare arrange organise spin crank whip hand throw drop pop stick lay draft schedule trigger activate initiate establish "
    "fetch grab reveal present proclaim confirm determine discover estimate guess assume suppose imagine believe hope wish desire require demand "
    "kindly simply maybe perhaps somehow already soon again once twice still even also instead anyway actually really possibly certainly totally "
    "squeeze flick knock tap push pull drag slide stretch bend fold press kick bump dial hook lock pin plug roll rock shake shoot snap spark stir "
    "swing tack tune twist warm wind wire zip heat light fuel blow burn bang beat boot cast carve chalk chop clap dish ferry float hurry kindle knit "
    "load mix mould plant pour rush serve shape stamp steer stoke sweep tick toss weave iron mop fan comb ship plant brush film grill park train paint glue wax dump shove yank chuck stash haul lift rustle bash "
    "machine helper friend buddy mate boss sir madam folks everyone somebody nobody anything".split()
)

BEGINNINGS = "b c d f g h j k l m n p r s t v w z br st pl gr".split()
MIDDLES = "a e i o u ee ou".split()
ENDINGS = "n p sh ck t".split()


def is_held_out(value):
    return zlib.crc32(value.lower().encode()) % HELD_OUT_SHARE == 0


@functools.cache
def side(values, held_out):
    """The part of a vocabulary for training or for the held-out set."""
    return [value for value in values if is_held_out(value) == held_out]


@functools.cache
def parse(pattern):
    """`a [b|c|]` as nested lists: a sequence of texts and of choices between sequences."""
    stack = [[[]]]  # open choices: lists of options, of which the last is incomplete
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
    """A source of phrases and values, for the held-out set or for training."""

    def __init__(self, seed, held_out=False):
        self.random = random.Random(seed)
        self.held_out = held_out
        self.narrow(1)

    def narrow(self, share):
        """Restricts each vocabulary to this share of its words, at least four, until the next call. A word that remains in one
        vocabulary is likely to remain in the others. So names and values share words, and only the place of a word shows its
        meaning."""
        self.share, self.ranks, self.left = share, {}, {}

    def chance(self, share):
        return self.random.random() < share

    def pick(self, options):
        return options[int(self.random.random() * len(options))]

    def value(self, values):
        """One of a tuple of strings, from this speaker's part of the split."""
        words = side(values, self.held_out)
        if self.share < 1:
            if values not in self.left:
                ranked = sorted(words, key=lambda word: self.ranks.setdefault(word, self.random.random()))
                self.left[values] = ranked[: max(4, round(self.share * len(words)))]
            words = self.left[values]
        return self.pick(words)

    def number(self, low, high):
        return self.random.randint(low, high)

    def expand(self, pattern):
        """One reading of a pattern; slots in braces remain."""
        return self._write(parse(pattern)).rstrip()

    def _write(self, parts):
        return "".join(part if isinstance(part, str) else self._write(self.pick(part)) for part in parts)

    def phrase(self, patterns, **slots):
        pattern = self.pick(patterns) if isinstance(patterns, (list, tuple)) else patterns
        text = self.expand(pattern)
        if not self.held_out and self.chance(BLURRED_SHARE) and any(word in text for word in DECIDING):
            text = self._blur(text)
        while "{odd}" in text:
            text = text.replace("{odd}", self.stranger(), 1)
        for name, value in slots.items():
            text = text.replace("{" + name + "}", str(value))
        return " ".join(text.split())

    def _blur(self, text):
        """Replaces one or two irrelevant words, so that the model learns which words matter."""
        words = text.split(" ")
        free = [at for at, word in enumerate(words) if word.lower().strip(",:") in UNDECIDING]
        for at in self.random.sample(free, min(len(free), self.number(1, 2))):
            words[at] = self.stranger()
        return " ".join(words)

    def stranger(self):
        """A word without meaning, or a word of another context."""
        if self.chance(0.5):
            return self.pick(OTHER_WORDS)
        while True:
            word = "".join(self.pick(BEGINNINGS) + self.pick(MIDDLES) for _ in range(self.number(1, 2))) + self.pick(ENDINGS)
            if 3 < len(word) and word not in UNDECIDING:
                return word


SPACE = "(?: |(?<= )|$)"  # next to an empty choice, a pattern has an extra space
STRANGER = f"(?=[a-z]{{4}})(?:{'|'.join(OTHER_WORDS)}|(?:(?:{'|'.join(BEGINNINGS)})(?:{'|'.join(MIDDLES)})){{1,2}}(?:{'|'.join(ENDINGS)}))"


def expression(parts):
    """A regular expression for all readings of a parsed pattern."""
    written = ""
    for part in parts:
        if isinstance(part, str):
            written += SPACE.join(map(re.escape, part.split(" "))).replace(re.escape("{odd}"), STRANGER)
        else:
            written += "(?:" + "|".join(expression(option) for option in part) + ")"
    return written


def readings(patterns, speaker, count=100):
    return {speaker.expand(pattern) for pattern in patterns for _ in range(count)}
