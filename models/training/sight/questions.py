"""Questions about a scene, with the one right answer of each."""

import functools
import re

from ..exchange import Exchange, courteous
from ..phrases import Speaker, readings
from . import scenes
from .asked import ASKED
from .asked_blind import BLIND
from .widened import NOUN_PHRASES, NOUNS, PLURALS, WIDENED

WIDENED_SHARE = 0.6  # of the training questions that have phrasings of both kinds
PLURAL = {"cross": "crosses"}


def plural(shape):
    return PLURAL.get(shape, shape + "s")


def article(text):
    return ("an " if text[0] in "aeiou" else "a ") + text


def named(shape, colour):
    return " ".join(part for part in (colour, shape) if part)


def counted(count, shape, colour):
    if count == 1:
        return f"{article(named(shape, colour))}"
    return f"{count} {named(plural(shape), colour)}"


def joined(parts):
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]


def kinds_of(scene):
    """The kinds of things, in the order of the names of shapes and colours, with their numbers."""
    kinds = {(thing.shape, thing.colour) for thing in scene.things}
    ordered = sorted(kinds, key=lambda kind: (scenes.SHAPES.index(kind[0]), scenes.NAMES.index(kind[1])))
    return [(scene.count(*kind), *kind) for kind in ordered]


def position(thing):
    """One of nine parts of the picture; `None` near the border of two."""
    parts = []
    for at in (thing.y, thing.x):
        if min(abs(at - 1 / 3), abs(at - 2 / 3)) < 0.04:
            return None
        parts.append(0 if at < 1 / 3 else 1 if at < 2 / 3 else 2)
    row, column = ("top", "", "bottom")[parts[0]], ("left", "", "right")[parts[1]]
    return f"at the {row} {column}".rstrip().replace("  ", " ") if row else f"on the {column}" if column else "in the middle"


def normal(phrase):
    """A phrasing in small letters, with `{w}` for things and for general words for them, so that near-copies are equal."""
    text = re.sub(r"\{(shape|one|noun|these|nouns)\}|\b(geometric )?(shape|figure|thing|object|form|symbol|item|drawing)s?\b", "{w}", phrase.lower())
    return re.sub(r"[ ,.!?]+$", "", text.replace("color", "colour").replace("what's", "what is"))


@functools.cache
def held_out_phrasings():
    """The normal forms of all phrasings of the held-out lists."""
    patterns = [pattern for _, held in ASKED.values() for pattern in held] + [pattern for each in BLIND.values() for pattern in each]
    return frozenset(map(normal, readings(patterns, Speaker(11))))


class Asker:
    """Asks about one scene. Every question is a pair of a kind, by which answers are counted, and an exchange."""

    def __init__(self, speaker, scene, blind=False):
        self.speaker, self.scene, self.blind = speaker, scene, blind

    def phrasings(self, asks):
        if self.blind and asks in BLIND:
            return BLIND[asks]
        if self.speaker.held_out:
            return ASKED[asks][1]
        is_widened = asks not in ASKED or asks in WIDENED and self.speaker.chance(WIDENED_SHARE)
        return WIDENED[asks] if is_widened else ASKED[asks][0]

    def asked(self, asks, answer, kind=None, **slots):
        """An exchange, with the kind that it is counted as."""
        text = self.speaker.expand(self.speaker.pick(self.phrasings(asks)))
        while not self.speaker.held_out and normal(text) in held_out_phrasings():
            text = self.speaker.expand(self.speaker.pick(self.phrasings(asks)))
        if "{noun" in text:
            noun = self.speaker.pick(NOUNS if self.speaker.chance(0.8) else NOUN_PHRASES)
            text = text.replace("a {noun}", article(noun)).replace("{noun}", noun).replace("{nouns}", self.speaker.pick(PLURALS))
        if not self.speaker.held_out and self.speaker.chance(0.6):
            text = text[0].upper() + text[1:]
        if "one" in slots:
            text = text.replace("a {one}", article(slots["one"]))
        for name, value in slots.items():
            text = text.replace("{" + name + "}", value)
        if not self.speaker.held_out and self.speaker.chance(0.3):
            text = text.lower() if self.speaker.chance(0.5) else text.rstrip("?.")
        if not self.speaker.held_out and self.speaker.chance(0.1):
            text = courteous(self.speaker, text)
        return kind or asks, Exchange(text, answer)

    def question(self):
        """A question that fits the scene, or, now and then, one about something that is not there."""
        scene, speaker = self.scene, self.speaker
        if speaker.chance(0.14):
            return self.absent()
        if scene.text and (not scene.things or speaker.chance(0.5)):
            return self.read()
        if scene.bars:
            return self.chart()
        makers = [self.count, self.count, self.count, self.colour, self.shape, self.exists, self.where, self.describe]
        general = [self.alone_colour, self.alone_colour, self.alone_shape, self.alone_shape, self.alone_where, self.things, self.is_colour, self.is_shape]
        if not speaker.held_out:
            makers += [self.count, self.where, self.describe, self.describe, *general]  # the first are the hardest
        elif self.blind and speaker.chance(0.5):
            makers = general
        while True:
            if (made := speaker.pick(makers)()) is not None:
                return made

    def kind(self):
        """A shape, a colour or both: mostly of something that is there."""
        thing = self.speaker.pick(self.scene.things)
        roll = self.speaker.random.random()
        if roll < 0.2:
            return self.speaker.pick(scenes.SHAPES), self.speaker.pick(scenes.NAMES)
        shape, colour = (thing.shape, thing.colour)
        return (shape, None) if roll < 0.5 else (shape, colour)

    def count(self):
        shape, colour = (None, None) if self.speaker.chance(0.12) else self.kind()
        count = self.scene.count(shape, colour)
        if 6 < count:
            return None
        if shape is None:
            name, one = self.speaker.pick(["shapes", "things", "objects"]), "shape"
            many = "shapes"
        else:
            name, one, many = named(plural(shape), colour), named(shape, colour), named(plural(shape), colour)
        answer = f"There is 1 {one}." if count == 1 else f"There are {count or 'no'} {many}."
        return self.asked("count", answer, "count" if count else "absent", these=name)

    def things(self):
        """How many things there are, by a general word for them."""
        count = len(self.scene.things)
        return self.asked("things", f"There {'is 1 shape' if count == 1 else f'are {count} shapes'}.", these=self.speaker.pick(PLURALS))

    def subject(self):
        """The words for all things in an answer: `circle is`, `circles are`, or `shapes are` if their shapes differ."""
        shapes = {thing.shape for thing in self.scene.things}
        if 1 == len(self.scene.things):
            return f"{shapes.pop()} is"
        return f"{plural(shapes.pop()) if len(shapes) == 1 else 'shapes'} are"

    def alone_colour(self):
        """The colour of the only thing, which the question does not name; of several things if they have one colour."""
        colours = {thing.colour for thing in self.scene.things}
        if 1 < len(colours):
            return self.everything("alone, colour")
        return self.asked("alone, colour", f"The {self.subject()} {colours.pop()}.")

    def alone_shape(self):
        """The shape of the only thing, or of several things if they have one shape."""
        shapes = {thing.shape for thing in self.scene.things}
        if 1 < len(shapes):
            return self.everything("alone, shape")
        shape = shapes.pop()
        return self.asked("alone, shape", f"The shape is {article(shape)}." if len(self.scene.things) == 1 else f"The shapes are {plural(shape)}.")

    def everything(self, asks):
        """A question for one of several things that does not say which: the answer is all of them. Rare, as it is in life."""
        if self.speaker.held_out or self.speaker.chance(0.5) or 3 < len(kinds_of(self.scene)) or self.scene.text:
            return None
        return self.asked(asks, self.description())

    def alone_where(self):
        if len(self.scene.things) != 1 or (place := position(self.scene.things[0])) is None:
            return None
        return self.asked("alone, where", f"The {self.scene.things[0].shape} is {place}.")

    def is_colour(self):
        if (thing := self.only("shape")) is None:
            return None
        colour = thing.colour if self.speaker.chance(0.5) else self.speaker.pick(scenes.NAMES)
        answer = f"{'Yes' if colour == thing.colour else 'No'}, the {thing.shape} is {thing.colour}."
        return self.asked("is it, colour", answer, shape=thing.shape, colour=colour)

    def is_shape(self):
        if (thing := self.only("colour")) is None:
            return None
        shape = thing.shape if self.speaker.chance(0.5) else self.speaker.pick(scenes.SHAPES)
        answer = f"{'Yes' if shape == thing.shape else 'No'}, the {thing.colour} one is {article(thing.shape)}."
        return self.asked("is it, shape", answer, one=shape, colour=thing.colour)

    def nothing(self, asks, answer, **slots):
        """A question whose answer is that something is not there."""
        return self.asked(asks, answer, "absent", **slots)

    def only(self, attribute):
        """A thing that nothing else shares a shape or a colour with."""
        values = [getattr(thing, attribute) for thing in self.scene.things]
        single = [thing for thing in self.scene.things if values.count(getattr(thing, attribute)) == 1]
        return self.speaker.pick(single) if single else None

    def colour(self):
        if (thing := self.only("shape")) is None:
            return None
        return self.asked("colour", f"The {thing.shape} is {thing.colour}.", shape=thing.shape)

    def shape(self):
        if (thing := self.only("colour")) is None:
            return None
        return self.asked("shape", f"The {thing.colour} one is {article(thing.shape)}.", colour=thing.colour)

    def exists(self):
        shape, colour = self.kind()
        name, many = named(shape, colour), named(plural(shape), colour)
        count = self.scene.count(shape, colour)
        if count:
            answer = f"Yes, there is {counted(1, shape, colour)}." if count == 1 else f"Yes, there are {count} {many}."
            return self.asked("exists", answer, one=name, these=many)
        return self.nothing("exists", f"No, there is no {name}.", one=name, these=many)

    def where(self):
        thing = self.speaker.pick(self.scene.things)
        place = position(thing)
        if place is None or self.scene.count(thing.shape, thing.colour) != 1:
            return None
        alone = self.scene.count(thing.shape) == 1 and self.speaker.chance(0.5)
        name = thing.shape if alone else named(thing.shape, thing.colour)
        return self.asked("where", f"The {name} is {place}.", one=name)

    def describe(self):
        if 4 < len(kinds_of(self.scene)) or self.scene.text:
            return None
        return self.asked("describe", self.description())

    def description(self):
        listed = joined([counted(*kind) for kind in kinds_of(self.scene)])
        return f"{listed[0].upper()}{listed[1:]}."

    def read(self):
        text = self.scene.text
        if text.isdigit():
            kind = "digit" if len(text) == 1 else "number"
            return self.asked("number", f"The {kind} is {text}.", kind)
        kind = "note, read" if self.scene.is_note else "word" if len(text) <= 6 else "long word"
        return self.asked("word", f'It says "{text}".', kind)

    def chart(self):
        bars = self.scene.bars
        tallest, shortest = max(bars, key=lambda bar: bar[1])[0], min(bars, key=lambda bar: bar[1])[0]
        return self.speaker.pick([
            lambda: self.asked("tallest", f"The {tallest} bar is the tallest."),
            lambda: self.asked("shortest", f"The {shortest} bar is the shortest."),
            lambda: self.asked("bars", f"There are {len(bars)} bars."),
        ])()

    def absent(self):
        """A question about something that the picture does not show."""
        scene, speaker = self.scene, self.speaker
        missing = [shape for shape in scenes.SHAPES if not scene.count(shape)]
        colours = [colour for colour in scenes.NAMES if not scene.count(None, colour)]
        shape, colour = speaker.pick(missing or scenes.SHAPES), speaker.pick(colours)
        roll = speaker.random.random()
        if not speaker.held_out and not scene.things and not scene.bars and speaker.chance(0.25):
            return self.nothing(speaker.pick(["alone, colour", "alone, shape", "alone, where"]), "There is no shape in the picture.")
        if not scene.text and roll < 0.3:
            if speaker.chance(0.5):
                return self.nothing("word", "There is no text in the picture.")
            return self.nothing("number", "There is no number in the picture.")
        if not scene.bars and roll < 0.4:
            return self.nothing(speaker.pick(["tallest", "shortest", "bars"]), "There are no bars in the picture.")
        if not missing or roll < 0.5:
            return self.nothing("shape", f"There is nothing {colour} in the picture.", colour=colour) if not scene.bars else self.nothing("word", "There is no text in the picture.")
        if roll < 0.65:
            return self.nothing("colour", f"There is no {shape} in the picture.", shape=shape)
        if roll < 0.75:
            name = shape if speaker.chance(0.5) else named(shape, colour)
            return self.nothing("where", f"There is no {name} in the picture.", one=name)
        if roll < 0.88:
            name = shape if speaker.chance(0.3) else named(shape, colour)
            many = name.replace(shape, plural(shape))
            return self.nothing("exists", f"No, there is no {name}.", one=name, these=many)
        return self.nothing("count", f"There are no {named(plural(shape), colour)}.", these=named(plural(shape), colour))

    def noted(self):
        """A request to write down the text of the picture: a call."""
        text, total = self.scene.text, self.speaker.number(1, 12)
        user = self.asked("note", "")[1].user
        reply = f"Noted: {text}. You have {total} note{'s' * (total != 1)}."
        return "note", Exchange(user, reply, [("add_note", {"text": text})], [{"saved": text, "notes": total}])


# Shares of the kinds of scenes, in training and in the held-out set.
SHARES = {
    "shapes": (0.38, 0.38), "one shape": (0.14, 0.0), "word": (0.12, 0.20), "number": (0.05, 0.08), "note": (0.20, 0.24), "bars": (0.07, 0.06), "shapes and a word": (0.04, 0.04),
}
READ_SHARES = {"word": 0.3, "number": 0.05, "note": 0.6, "shapes and a word": 0.05}  # if the scene must have text


def scene_of(speaker, has_text=False):
    roll = speaker.random.random()
    shares = READ_SHARES if has_text else {kind: shares[speaker.held_out] for kind, shares in SHARES.items()}
    for kind, share in shares.items():
        roll -= share
        if roll < 0:
            break
    if kind == "shapes":
        return scenes.shapes(speaker)
    if kind == "one shape":
        return scenes.shapes(speaker, 1)
    if kind == "word":
        return scenes.Scene(text=scenes.random_word(speaker, 8))
    if kind == "number":
        return scenes.Scene(text=scenes.number(speaker, 1 if speaker.chance(0.4) else None))
    if kind == "note":
        return scenes.Scene(text=scenes.note(speaker), is_note=True)
    if kind == "bars":
        return scenes.bars(speaker)
    scene = scenes.shapes(speaker, 2, lowest=scenes.HALF)  # shapes, and a word on paper below them
    scene.text = scenes.random_word(speaker, 6)
    return scene
