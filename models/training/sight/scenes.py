"""Pictures that our own generator draws: coloured shapes, words, numbers, notes and bar charts.

A scene says what is in the picture, so that questions about it have one right answer. Drawing adds what has no name: fonts,
backgrounds, rotation, noise. Lengths of a scene are shares of the picture's shorter side.
"""

import functools
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from .. import values
from ..phrases import is_held_out

SHAPES = ["circle", "square", "triangle", "star", "heart", "cross"]
COLOURS = {
    "red": (215, 35, 35), "green": (35, 155, 60), "blue": (40, 75, 215), "yellow": (245, 215, 40), "orange": (245, 135, 25),
    "purple": (135, 50, 175), "pink": (245, 125, 185), "brown": (125, 75, 40), "black": (20, 20, 20), "white": (250, 250, 250), "grey": (130, 130, 130),
}
NAMES = list(COLOURS)
CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-*/.,:'?!"
OBJECT_KINDS, CHARACTER_KINDS = 1 + len(SHAPES) * len(COLOURS), 1 + len(CHARACTERS)
HALF = 0.6  # the part of a picture with shapes and a text that has the shapes
PATCH, UNIT = 16, 32  # pixels of a patch and of a row of the embedding, along each side
SMALLEST, LARGEST = 384 * 384, 448 * 448  # areas in pixels between which the model sees pictures
BACKGROUNDS = [(255, 255, 255)] * 4 + [(240, 240, 240), (250, 245, 230), (225, 235, 250), (225, 245, 225), (60, 60, 65), (25, 25, 30), (200, 200, 205)]
# Fonts of the packages that training/requirements.txt lists. The second list occurs in held-out pictures only.
FONTS = ["SourceSansPro-Regular", "SourceSansPro-Semibold", "SourceSansPro-Bold", "SourceSerifPro-Regular", "SourceSerifPro-Semibold",
         "Caladea-Regular", "Caladea-Bold", "Manrope-Regular", "Manrope-Bold", "FredokaOne-Regular", "Intuitive"]
HELD_OUT_FONTS = ["HankenGrotesk-Regular", "HankenGrotesk-Bold"]


@dataclass
class Thing:
    shape: str
    colour: str
    x: float  # of the centre, as a share of the width
    y: float
    size: float  # half of its height


@dataclass
class Scene:
    things: list = field(default_factory=list)
    text: str = ""  # a word or several, or a number
    is_note: bool = False
    bars: list = field(default_factory=list)  # (colour, height up to 1)

    def count(self, shape=None, colour=None):
        return sum((shape in (None, thing.shape)) and (colour in (None, thing.colour)) for thing in self.things)


def shapes(speaker, most=6, lowest=1.0):
    """Shapes that do not touch, in the picture's part above `lowest`. Often several of one kind, so that there is something to count."""
    scene, count = Scene(), speaker.number(1, most)
    kinds = [(speaker.pick(SHAPES), speaker.pick(NAMES)) for _ in range(speaker.pick([1, 1, 2, 2, 3]))]
    biggest = 0.3 if count < 3 else 0.2 if count < 5 else 0.16
    one_size = speaker.random.uniform(0.08, biggest)
    for _ in range(count):
        shape, colour = speaker.pick(kinds) if speaker.chance(0.8) else (speaker.pick(SHAPES), speaker.pick(NAMES))
        size = one_size if speaker.chance(0.6) else speaker.random.uniform(0.07, biggest)
        for _ in range(40):
            x, y = speaker.random.uniform(size, 1 - size), speaker.random.uniform(size, lowest - size)
            if all(math.hypot(x - other.x, y - other.y) > 1.25 * (size + other.size) for other in scene.things):
                scene.things.append(Thing(shape, colour, x, y, size))
                break
    return scene


def random_word(speaker, longest):
    """A word of the speaker's part of the split: a known one, an invented one, or random letters."""
    while True:
        kind = speaker.random.random()
        if kind < 0.4:
            word = speaker.pick([values.known_word, values.word, values.person])(speaker)
        elif kind < 0.7:
            word = values.invented_word(speaker)
        else:
            word = "".join(speaker.pick("abcdefghijklmnopqrstuvwxyz") for _ in range(speaker.number(2, longest)))
        if word.isascii() and word.isalpha() and 2 <= len(word) <= longest and is_held_out(word) == speaker.held_out:
            break
    return speaker.pick([str.lower, str.upper, str.title])(word)


def number(speaker, digits=None):
    return str(speaker.number(0, 10 ** (digits or speaker.number(1, 4)) - 1))


def note(speaker):
    """The text of a note that fits on a small sheet."""
    while True:
        text = values.note(speaker)[0] if speaker.chance(0.6) else " ".join(random_word(speaker, 7).lower() for _ in range(speaker.number(1, 3)))
        if len(text) <= 26 and set(text) <= set(CHARACTERS + " ") and len(text.split()) <= 5:
            return text


def bars(speaker):
    colours = speaker.random.sample([name for name in NAMES if name != "white"], speaker.number(2, 5))
    heights = speaker.random.sample([step / 10 for step in range(1, 11)], len(colours))
    return Scene(bars=list(zip(colours, heights)))


@functools.cache
def font_file(name):
    """The file of a font among the installed packages."""
    for folder in map(Path, sys.path):
        found = [path for kind in ("ttf", "otf") for path in folder.glob(f"font_*/files/{name}.{kind}")]
        if found:
            return str(found[0])
    raise FileNotFoundError(f"font {name}: install training/requirements.txt")


@functools.cache
def font(name, size):
    return ImageFont.truetype(font_file(name), size)


def corners(thing, centre, size, angle):
    """The outline of a shape, in pixels."""
    if thing.shape == "square":
        points = [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)]
    elif thing.shape == "triangle":
        points = [(0, -1), (0.95, 0.75), (-0.95, 0.75)]
    elif thing.shape == "star":
        turn = [(math.pi * step / 5, 1 if step % 2 == 0 else 0.42) for step in range(10)]
        points = [(length * math.sin(at), -length * math.cos(at)) for at, length in turn]
    elif thing.shape == "cross":
        a, b = 0.32, 0.95
        points = [(-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a), (a, b), (-a, b), (-a, a), (-b, a), (-b, -a), (-a, -a)]
    elif thing.shape == "heart":
        turn = [2 * math.pi * step / 40 for step in range(40)]
        points = [(math.sin(t) ** 3 * 1.0, -(13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)) / 15) for t in turn]
    else:
        turn = [2 * math.pi * step / 48 for step in range(48)]
        points = [(math.sin(t), math.cos(t)) for t in turn]
    cosine, sine = math.cos(angle), math.sin(angle)
    return [(centre[0] + size * (x * cosine - y * sine), centre[1] + size * (x * sine + y * cosine)) for x, y in points]


def apart(colour, other):
    return sum(abs(a - b) for a, b in zip(colour, other))


def scale_of(speaker):
    """Pictures come in other sizes than those in which scenes are laid out."""
    return speaker.pick([1, 1, 1, 1.4, 2, speaker.random.uniform(0.7, 1.6)])


def view_of(width, height):
    """The size in which the model sees a picture, by the rule of LFM2-VL's processor."""
    rounded = [max(1, round(side / UNIT)) * UNIT for side in (width, height)]
    area = rounded[0] * rounded[1]
    if area > LARGEST:
        shrink = math.sqrt(width * height / LARGEST)
        return tuple(max(1, math.floor(side / shrink / UNIT)) * UNIT for side in (width, height))
    if area < SMALLEST:
        grow = math.sqrt(SMALLEST / (width * height))
        return tuple(math.ceil(side * grow / UNIT) * UNIT for side in (width, height))
    return tuple(rounded)


class Canvas:
    """Draws one scene, laid out in a width and height in pixels and drawn `scale` times as large. Keeps what lies on each patch of
    the model's view (width and height in pixels; the layout's if not given), which helps the tower at the start, and where the
    letters are."""

    def __init__(self, speaker, width, height, scale, view=None):
        self.speaker, self.width, self.height = speaker, width, height
        view = view or (width, height)
        self.view = np.array(view) / (width, height)  # pixels of the view for one of the layout
        self.objects = np.zeros((view[1] // PATCH, view[0] // PATCH), np.int16)
        self.characters = np.zeros_like(self.objects)
        self.letters = []  # the cell of the model's rows in which each letter of the text lies, without the spaces
        self.scale = scale
        self.side = min(width, height)

    def shade(self, name):
        light = self.speaker.number(-12, 12)
        return tuple(min(255, max(0, level + light + self.speaker.number(-6, 6))) for level in COLOURS[name])

    def draw(self, scene):
        speaker = self.speaker
        used = [COLOURS[thing.colour] for thing in scene.things] + [COLOURS[name] for name, _ in scene.bars]
        fitting = [each for each in BACKGROUNDS if all(apart(each, other) > 110 for other in used)] or [(180, 205, 190), (90, 60, 90), (120, 170, 200)]
        self.background = max(fitting, key=lambda each: min((apart(each, other) for other in used), default=0)) if len(fitting) < 2 else speaker.pick(fitting)
        size = (round(self.width * self.scale), round(self.height * self.scale))
        self.image = Image.new("RGB", size, self.background)
        self.pen = ImageDraw.Draw(self.image)
        for thing in scene.things:
            self.thing(thing)
        if scene.bars:
            self.bars(scene.bars)
        if scene.text:
            self.text(scene.text, scene.is_note, scene.things)
        return self.image

    def thing(self, thing):
        centre = (thing.x * self.width, thing.y * self.height)
        size = thing.size * self.side
        angle = self.speaker.random.uniform(-0.25, 0.25)
        outline = None if self.speaker.chance(0.8) else (0, 0, 0) if thing.colour != "black" else (255, 255, 255)
        points = [(x * self.scale, y * self.scale) for x, y in corners(thing, centre, size, angle)]
        self.pen.polygon(points, fill=self.shade(thing.colour), outline=outline)
        kind = 1 + SHAPES.index(thing.shape) * len(COLOURS) + NAMES.index(thing.colour)
        rows, columns = np.indices(self.objects.shape)
        near = np.hypot((columns + 0.5) * PATCH / self.view[0] - centre[0], (rows + 0.5) * PATCH / self.view[1] - centre[1])
        self.objects[near < max(0.6 * size, 0.8 * PATCH)] = kind

    def bars(self, bars):
        left, right = 0.12 * self.width, 0.92 * self.width
        top, bottom = 0.1 * self.height, 0.88 * self.height
        step = (right - left) / len(bars)
        ink = (0, 0, 0) if sum(self.background) > 380 else (255, 255, 255)
        place = lambda *numbers: [number * self.scale for number in numbers]
        for index, (colour, height) in enumerate(bars):
            x = left + (index + 0.15) * step
            self.pen.rectangle(place(x, bottom - height * (bottom - top), x + 0.7 * step, bottom), fill=self.shade(colour))
        self.pen.line(place(left, bottom, right, bottom), fill=ink, width=max(1, round(2 * self.scale)))
        if self.speaker.chance(0.7):
            self.pen.line(place(left, top, left, bottom), fill=ink, width=max(1, round(2 * self.scale)))

    def text(self, text, is_note, things):
        speaker = self.speaker
        lines = wrapped(speaker, text) if " " in text else [text]
        name = speaker.pick(HELD_OUT_FONTS if speaker.held_out and speaker.chance(0.25) else FONTS)
        longest = max(len(line) for line in lines)
        width = self.width * speaker.random.uniform(0.55, 0.9)
        room = (1 - HALF if things else 1) * self.height
        size = min(width / longest / 0.55, room * 0.75 / len(lines) / 1.25)
        size = max(16, size if speaker.chance(0.5) else size * speaker.random.uniform(0.5, 1))
        face = font(name, max(8, round(size * self.scale)))
        lengths = [face.getlength(line) / self.scale for line in lines]
        if max(lengths) > 0.94 * self.width:  # a wide font
            size *= 0.94 * self.width / max(lengths)
            face = font(name, max(8, round(size * self.scale)))
            lengths = [face.getlength(line) / self.scale for line in lines]
        block_width, line_height = max(lengths), 1.25 * size
        block_height = line_height * len(lines)
        spare_x, spare_y = max(0, self.width - block_width), max(0, room - block_height)
        x, y = spare_x * speaker.random.uniform(0.1, 0.9), self.height - room + spare_y * speaker.random.uniform(0.1, 0.9)
        paper = self.background
        angle = 0 if things or speaker.chance(0.7) else speaker.random.uniform(-7, 7)
        layer = Image.new("RGBA", self.image.size, (0, 0, 0, 0))
        pen = ImageDraw.Draw(layer)
        if is_note or things:
            paper = speaker.pick([(255, 250, 170), (255, 255, 255), (250, 220, 230), (215, 240, 255), (240, 240, 225)])
            edge = [each * self.scale for each in (max(0, x - 14), max(0, y - 12), min(self.width, x + block_width + 14), min(self.height, y + block_height + 12))]
            pen.rectangle(edge, fill=paper)
            if speaker.chance(0.4):
                pen.rectangle(edge, outline=(90, 90, 90), width=max(1, round(self.scale)))
        inks = [self.shade(colour) for colour in NAMES if apart(COLOURS[colour], paper) > 260] or [(0, 0, 0)]
        dark = (15, 15, 20) if sum(paper) > 380 else (245, 245, 245)
        ink = dark if speaker.chance(0.6) else speaker.pick(inks)
        turn, centre = math.radians(-angle), (self.width / 2, self.height / 2)
        for at, line in enumerate(lines):
            begin = x + (0 if speaker.chance(0.5) else (block_width - lengths[at]) / 2)
            pen.text((begin * self.scale, (y + at * line_height) * self.scale), line, font=face, fill=ink)
            for index, character in enumerate(line):
                if character != " ":
                    middle = begin + (face.getlength(line[:index]) + face.getlength(line[: index + 1])) / 2 / self.scale
                    dx, dy = middle - centre[0], y + (at + 0.55) * line_height - centre[1]
                    self.mark(centre[0] + dx * math.cos(turn) - dy * math.sin(turn), centre[1] + dx * math.sin(turn) + dy * math.cos(turn), character)
        if angle:
            layer = layer.rotate(angle, Image.Resampling.BILINEAR)
        self.image.paste(layer, (0, 0), layer)

    def mark(self, x, y, character):
        """Keeps where the centre of a letter lies."""
        x, y = min(max(x, 0), self.width - 1) * self.view[0], min(max(y, 0), self.height - 1) * self.view[1]
        self.characters[int(y // PATCH), int(x // PATCH)] = 1 + CHARACTERS.index(character)
        self.letters.append(int(y // UNIT) * (self.characters.shape[1] * PATCH // UNIT) + int(x // UNIT))


def for_model(speaker, image, size):
    """The pixels that the model sees: resized as the processor does, sometimes blurred or noisy; (height, width, 3) bytes."""
    image = image if image.size == size else image.resize(size, Image.Resampling.BILINEAR)
    if speaker.chance(0.08):
        image = image.filter(ImageFilter.GaussianBlur(speaker.random.uniform(0.3, 0.8)))
    pixels = np.asarray(image)
    if speaker.chance(0.25):
        noise = np.random.default_rng(speaker.number(0, 1 << 30)).integers(-12, 13, pixels.shape, np.int16)
        pixels = np.clip(pixels.astype(np.int16) + noise, 0, 255).astype(np.uint8)
    return pixels


def wrapped(speaker, text):
    """The text in lines, as long as each other as words allow."""
    words = text.split()
    lines = speaker.number(1, len(words))
    target = len(text) / lines
    made = [words[0]]
    for word in words[1:]:
        if len(made[-1]) + len(word) / 2 < target:
            made[-1] += " " + word
        else:
            made.append(word)
    return made
