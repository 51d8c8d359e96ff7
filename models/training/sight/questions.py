"""Questions about a scene, with the one right answer of each.

Each intent has phrasings for training and others that only the held-out set uses.
"""

from ..exchange import Exchange, courteous
from . import scenes

# Phrasings by intent: for training, and held out.
ASKED = {
    "count": (
        ["How many {these} are there?", "how many {these} [do you see|can you see|are in the picture|are there here]", "Count the {these}[.| in the picture| please]",
         "How many {these} does [the|this] [picture|image|photo] [show|have|contain]?", "[Tell me|Say] how many {these} there are", "number of {these}?", "{these}: how many?",
         "How many {these} [|are shown]?", "[can you|please] count the {these} [|for me|here]", "how many {these}", "What is the number of {these}?"],
        ["How many {these} are in this picture?", "Look at the picture: how many {these} does it have?", "I need the number of {these} in this image", "Could you tell me how many {these} you see?",
         "how many {these} are visible?", "Please count all the {these} you can find"],
    ),
    "colour": (
        ["What colour is the {shape}?", "what color is the {shape}", "[Which|What] colour does the {shape} have?", "[Tell me|Say] the colour of the {shape}", "the {shape}: what colour?",
         "In [which|what] colour is the {shape} [drawn|painted|]?", "What is the colour of the {shape}?", "which color is the {shape} [here|in the picture|in this image|]?", "colour of the {shape}?"],
        ["What colour is the {shape} in this picture?", "Look at the {shape}. Which colour is it?", "Could you tell me what color the {shape} is?", "I want to know the colour of the {shape}", "what color would you call the {shape}?"],
    ),
    "shape": (
        ["What shape is the {colour} [one|thing|object|figure]?", "[Which|What] shape is {colour}?", "What is the {colour} [thing|object|shape]?", "[Tell me|Say] the shape of the {colour} [one|thing]",
         "the {colour} one: what shape [is it|]?", "what form does the {colour} [thing|one] have", "which shape has the colour {colour}?", "Is the {colour} thing a circle, a square or something else?"],
        ["What shape does the {colour} object have?", "Which shape is the {colour} thing in the picture?", "Could you name the shape of the {colour} figure?", "the thing in {colour}, what shape is it?"],
    ),
    "exists": (
        ["Is there a {one}?", "is there a {one} in the [picture|image|photo]", "Do you see a {one}?", "[Can you see|Does it show|Does the picture have|Does the image contain] a {one}?", "Any {these}?", "Is a {one} [there|shown|here]?",
         "are there any {these} [|in it|here]?"],
        ["Can you find a {one} in this picture?", "Is there a {one} somewhere in the image?", "Look for a {one}. Is there one?", "do you notice a {one} here?"],
    ),
    "where": (
        ["Where is the {one}?", "where is the {one} [in the picture|in the image|]", "In which [part|corner] [|of the picture] is the {one}?", "[Tell me|Say] where the {one} is", "Where do you see the {one}?", "position of the {one}?",
         "What is the position of the {one}?", "the {one}: where is it?"],
        ["Where in this picture is the {one}?", "Could you tell me where the {one} is?", "Which part of the image has the {one}?", "find the {one} and say where it is"],
    ),
    "describe": (
        ["What is in the [picture|image|photo]?", "What do you see?", "Describe the [picture|image].", "what is this", "what's in this [picture|image|photo]", "What does the [picture|image] show?", "[Tell me|Say] what you see", "Which shapes [are there|do you see]?",
         "describe it", "List what is in the picture", "What can you see [here|in it|]?", "what is shown"],
        ["What can be seen in this picture?", "Please describe what you see in the image", "Could you say what this picture shows?", "what things are in here?"],
    ),
    "word": (
        ["What does it say?", "Read the [word|text|sign].", "what is written [there|here|in the picture|]", "[Which|What] word is [this|in the picture|written there]?", "What does the [sign|picture|text|image] say?", "read it [to me|out|aloud|]", "[Tell me|Say] what it says",
         "What is the word?", "[Can you|Please] read [this|the text|what is written]?", "what text is [there|in the image]", "Which [word|text] do you see?", "Spell out the text"],
        ["What does the text in this picture say?", "Could you read the word for me?", "Which word is written here?", "I cannot read this. What does it say?", "please read out what is written in the image"],
    ),
    "number": (
        ["Which [number|digit] is [this|there|in the picture|shown]?", "What [number|digit] [do you see|is it|is this|is shown]?", "Read the [number|digit].", "what number is [written there|in the image]", "What is the [number|digit]?", "[Tell me|Say] the [number|digit]",
         "which digit do you see", "the [number|digit], please", "what's the number [here|]?"],
        ["Which number is in this picture?", "Could you read the digit for me?", "What number is written here?", "I would like to know the number in the image", "which digit can you see here?"],
    ),
    "tallest": (
        ["Which bar is the [tallest|highest|longest]?", "[What|Which] colour is the [tallest|highest|longest|largest] bar?", "the [highest|tallest] bar?", "Which bar is [largest|biggest]?", "[Tell me|Say] which bar is the [tallest|highest]", "what is the tallest bar"],
        ["Which of the bars is the tallest?", "In this chart, which bar is the highest?", "Could you say which bar is longest?", "what colour has the highest bar?"],
    ),
    "shortest": (
        ["Which bar is the [shortest|lowest|smallest]?", "[What|Which] colour is the [shortest|lowest|smallest] bar?", "the [lowest|shortest] bar?", "[Tell me|Say] which bar is the [shortest|lowest]", "what is the shortest bar"],
        ["Which of the bars is the shortest?", "In this chart, which bar is the lowest?", "Could you say which bar is smallest?", "what colour has the lowest bar?"],
    ),
    "bars": (
        ["How many bars are there?", "how many bars [do you see|does the chart have|are in the chart|]", "Count the bars[.|]", "number of bars?", "[Tell me|Say] how many bars there are"],
        ["How many bars does this chart show?", "Could you count the bars in the picture?", "I need the number of bars"],
    ),
    "which": (
        ["Which [picture|image|photo] [has|shows|contains] a {one}?", "In which [picture|image] is [a|the] {one}?", "[which|what] [picture|image] has the {one}", "Where is the {one}, in the first or the second [picture|image]?", "Is the {one} in the first or the second?"],
        ["Which of the two pictures shows a {one}?", "Could you say which image contains the {one}?", "find the picture with the {one}"],
    ),
    "note": (
        ["[Add|Save|Put] [this|it] [to|in|into] my notes", "Write [this|it|that] down", "[Note|Save] [this|what it says|the text]", "make a note of [this|what is written|the text|it]", "Add the [note|text] [in the picture|in this image|] to my notes", "[Save|Keep] [this|the] note[| for me]",
         "remember [this|what it says]", "please write down what [it says|is written there]", "Take a note of the [picture|text]", "put what it says into my notes", "[Copy|Store] the text [as a note|into a note]", "add a note with this text"],
        ["Please save the note from this picture", "Could you write down what is on this sheet?", "Add what you read here to my notes", "I want this kept in my notes", "note down the text of the image"],
    ),
}
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


class Asker:
    """Asks about one scene. Every question is a pair of a kind, by which answers are counted, and an exchange."""

    def __init__(self, speaker, scene):
        self.speaker, self.scene = speaker, scene

    def asked(self, asks, answer, kind=None, **slots):
        """An exchange, with the kind that it is counted as."""
        patterns = ASKED[asks][self.speaker.held_out]
        text = self.speaker.expand(self.speaker.pick(patterns))
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
        if not speaker.held_out:
            makers += [self.where, self.where]  # the hardest
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
        kinds = kinds_of(self.scene)
        if 4 < len(kinds) or self.scene.text:
            return None
        listed = joined([counted(*kind) for kind in kinds])
        return self.asked("describe", f"{listed[0].upper()}{listed[1:]}.")

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
    "shapes": (0.30, 0.38), "word": (0.16, 0.20), "number": (0.05, 0.08), "note": (0.40, 0.24), "bars": (0.05, 0.06), "shapes and a word": (0.04, 0.04),
}


def scene_of(speaker):
    roll = speaker.random.random()
    for kind, shares in SHARES.items():
        roll -= shares[speaker.held_out]
        if roll < 0:
            break
    if kind == "shapes":
        return scenes.shapes(speaker)
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
