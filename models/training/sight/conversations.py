"""Conversations about pictures, as token ids with places for the rows of the pictures, and batches of them."""

from dataclasses import dataclass

import numpy as np
import torch

from .. import generator, shipped, talk
from ..phrases import Speaker
from ..prompt import conversation_pieces, system_block
from ..tokenizer import IMAGE, IMAGE_END, IMAGE_START
from . import questions, scenes

PICTURE = "<image>"  # as the template prints it
# Sizes in which scenes are laid out, in pixels, and their shares.
SIZES = {(256, 256): 40, (320, 256): 14, (256, 320): 8, (352, 224): 5, (384, 256): 10, (320, 320): 8, (448, 320): 8, (512, 384): 4, (512, 512): 3}
PHOTOGRAPH = {"name": "take_photo", "description": "Take a picture.", "parameters": {"type": "object", "properties": {}}}


@dataclass
class Seen:
    """A conversation with pictures: messages, with `<image>` for each picture, and the kind of each exchange."""

    system: str
    tools: list
    exchanges: list
    kinds: list
    pictures: list  # scenes


def conversation(speaker, room="any", scene=None, offers=None):
    """A conversation about one picture or two: about `scene` or a new one. `room` is `chat` for all functions of `causerie chat`,
    else `any`; `offers` are the functions and the system message, if they are given."""
    scene = scene or questions.scene_of(speaker)
    asker = questions.Asker(speaker, scene)
    pictures, exchanges, kinds = [scene], [], []
    tools, system = offers or offered(speaker, room, scene)
    if not scene.is_note and not scene.text and speaker.chance(0.05):
        return of_two(speaker, system, tools)
    for turn in range(speaker.pick([1, 1, 2, 2, 3]) if not speaker.held_out else 1):
        can_note = scene.text and not scene.text.isdigit() and any(tool["name"] == "add_note" for tool in tools)
        kind, exchange = asker.noted() if can_note and speaker.chance(0.7 if scene.is_note else 0.15) else asker.question()
        exchanges.append(exchange)
        kinds.append(kind)
        if kind == "note":
            break
    first = exchanges[0]
    if not first.calls and not speaker.held_out and (PHOTOGRAPH in tools if offers else speaker.chance(0.03)):
        first.calls, first.results = [("take_photo", {})], [PICTURE]
        tools = tools if PHOTOGRAPH in tools else [*tools, PHOTOGRAPH]
    else:
        first.user = PICTURE + first.user if speaker.chance(0.85) or speaker.held_out else f"{first.user}{PICTURE}"
    if not speaker.held_out:
        around(speaker, tools, exchanges, kinds)
        if len(exchanges) < 3 and speaker.chance(0.08):  # another picture
            scene = questions.scene_of(speaker)
            kind, exchange = questions.Asker(speaker, scene).question()
            exchange.user = PICTURE + exchange.user
            pictures.append(scene)
            exchanges.append(exchange)
            kinds.append(kind)
    return Seen(system, tools, exchanges, kinds, pictures)


def offered(speaker, room, scene):
    """The functions and the system message."""
    if room == "chat":
        return shipped.TOOLS, shipped.SYSTEM
    if scene.is_note and speaker.chance(0.8):
        note = [tool for tool in shipped.TOOLS if tool["name"] == "add_note"]
        others = speaker.random.sample([tool for tool in shipped.TOOLS if tool not in note], speaker.pick([0, 0, 1, 2]))
        tools = note + others
        speaker.random.shuffle(tools)
    else:
        tools = speaker.random.sample(shipped.TOOLS, speaker.pick([0, 0, 0, 0, 0, 1, 2]))
    system = speaker.pick(["", "", shipped.SYSTEM, shipped.SYSTEM, "You are a helpful assistant.", "Answer questions about pictures.", "You see pictures."])
    return tools, system


def around(speaker, tools, exchanges, kinds):
    """Other requests before or after the picture, so that it changes nothing about them."""
    if speaker.chance(0.2):
        shipped_tools = [tool for tool in tools if tool in shipped.TOOLS]
        if shipped_tools:
            others = generator.chat_conversation(speaker, shipped_tools, "causerie", turns=1)[:1]
        else:
            others = [talk.small_talk(speaker, "causerie", ())]
        at = 0 if speaker.chance(0.3) else len(exchanges)
        exchanges[at:at] = others
        kinds[at:at] = ["text"] * len(others)


def of_two(speaker, system, tools):
    """Two pictures in one message, and which of them has a thing."""
    pictures = [scenes.shapes(speaker, 3), scenes.shapes(speaker, 3)]
    which = speaker.number(0, 1)
    kinds = [kind for kind in {(thing.shape, thing.colour) for thing in pictures[which].things} if not pictures[1 - which].count(*kind)]
    if not kinds:
        return of_two(speaker, system, tools)
    shape, colour = speaker.pick(sorted(kinds))
    name = questions.named(shape, colour)
    if not pictures[1 - which].count(shape) and speaker.chance(0.5):
        name = shape
    kind, exchange = questions.Asker(speaker, pictures[0]).asked("which", f"The {('first', 'second')[which]} picture has {questions.article(name)}.", one=name)
    exchange.user = PICTURE * 2 + exchange.user
    return Seen(system, tools, [exchange], [kind], pictures)


class Writer:
    """Makes conversations into ids."""

    def __init__(self, tokenizer, speaker):
        self.tokenizer, self.speaker = tokenizer, speaker

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def ids(self, seen, rows):
        """Token ids of a conversation, which of them the model writes, the index of each one's exchange (-1 before the first),
        and what is read: pairs of the index of a picture and that of the token before its text.

        What is read from a picture is spelled, a token for each letter: a model this small reads letters long before it knows the
        letters of every piece of a word."""
        ids = self.encode(system_block(seen.system, seen.tools))
        said, owner, readings = [False] * len(ids), [-1] * len(ids), []
        for index, exchange in enumerate(seen.exchanges):
            for text, writes in conversation_pieces(exchange.messages()):
                for at, part in enumerate(text.split(PICTURE)):
                    if at:
                        ids += [IMAGE_START, *[IMAGE] * rows, IMAGE_END]
                    read = [number for number, scene in enumerate(seen.pictures) if scene.text and f'"{scene.text}"' in part]
                    if writes and read:
                        written = seen.pictures[read[-1]].text
                        before, after = part.split(f'"{written}"', 1)
                        ids += self.encode(before + '"')
                        readings.append((read[-1], len(ids) - 1))
                        ids += [id for letter in written for id in self.encode(letter)]
                        part = '"' + after
                    ids += self.encode(part)
                said += [writes] * (len(ids) - len(said))
                owner += [index] * (len(ids) - len(owner))
        return ids, said, owner, readings

    def picture(self, scene, width, height, scale, view):
        """The canvas of a scene, and the pixels that the model sees."""
        canvas = scenes.Canvas(self.speaker, width, height, scale, view)
        return canvas, scenes.for_model(self.speaker, canvas.draw(scene), view)

    def batch(self, count, room, longest):
        """A batch of conversations whose pictures have one size. Two at a time are about the same picture, so that only the
        question tells the model what to answer."""
        width, height = self.speaker.random.choices(list(SIZES), SIZES.values())[0]
        scale = scenes.scale_of(self.speaker)
        view = scenes.view_of(round(width * scale), round(height * scale))
        rows = view[0] // scenes.UNIT * (view[1] // scenes.UNIT)
        texts, kinds, looks, pixels, objects, characters = [], [], [], [], [], []
        again = drawn = None  # a scene that another conversation asks about, and its picture
        while len(texts) < count:
            seen = conversation(self.speaker, room, again)
            made = self.ids(seen, rows)
            if longest < len(made[0]):
                again = None
                continue
            *text, readings = made
            texts.append(text)
            kinds.append(seen.kinds)
            pictures = [drawn if scene is again else self.picture(scene, width, height, scale, view) for scene in seen.pictures]
            for canvas, shown in pictures:
                pixels.append(shown)
                objects.append(canvas.objects)
                characters.append(canvas.characters)
            looks.append([look for picture, at in readings for look in letters_of(text[0], seen.pictures[picture].text, pictures[picture][0].letters, picture, at)])
            again, drawn = (None, None) if again else (seen.pictures[0], pictures[0])
        return padded(texts) | padded_looks(looks) | {
            "pixels": torch.from_numpy(np.stack(pixels)), "objects": torch.from_numpy(np.stack(objects)).long(),
            "characters": torch.from_numpy(np.stack(characters)).long(), "kinds": kinds,
        }


def letters_of(ids, text, cells, picture, at):
    """Where to look while a text is read: (token, the picture's row with the letter of that token, the row with the next one).
    Tokens are those from `at`, the one before the text."""
    starts = [index + 1 for index, id in enumerate(ids) if id == IMAGE_START]
    rows = [starts[picture] + cell for cell in cells]
    letter = 0  # the next one
    for index in range(len(text) + 1):
        yield at + index, rows[max(0, letter - 1)], rows[min(letter, len(rows) - 1)]
        letter += index < len(text) and text[index] != " "


def padded_looks(looks):
    """Tokens and rows of `letters_of`, (texts, most); what is missing looks at -1."""
    made = torch.full((3, len(looks), max(1, *map(len, looks))), -1)
    for row, each in enumerate(looks):
        if each:
            made[:, row, : len(each)] = torch.tensor(each).T
    return dict(zip(("looking", "now", "next"), made))


def padded(texts):
    """Ids, which of them the model writes, and the exchanges they belong to, (texts, longest); what follows a text is never seen."""
    longest = -(-max(len(ids) for ids, *_ in texts) // 32) * 32
    ids, said, owner = torch.zeros(len(texts), longest, dtype=torch.long), torch.zeros(len(texts), longest, dtype=torch.bool), torch.full((len(texts), longest), -1)
    for row, (each, writes, owners) in enumerate(texts):
        ids[row, : len(each)], said[row, : len(each)], owner[row, : len(each)] = torch.tensor(each), torch.tensor(writes), torch.tensor(owners)
    return {"ids": ids, "said": said, "owner": owner, "lengths": torch.tensor([len(each) for each, *_ in texts])}


class TextWriter:
    """Batches of conversations without pictures, as the demo model was trained with."""

    KINDS = ["chat", "some", "some", "invented", "invented", "everyday", "everyday", "choice", "long"]

    def __init__(self, tokenizer, seed):
        self.generator, self.random = generator.Generator(tokenizer, seed), Speaker(seed).random

    def batch(self, groups, rows, longest):
        texts = []
        for _ in range(groups):
            block, _, conversations = self.generator.group(self.random.choice(self.KINDS), rows, 1000)
            for tokens, marks, _ in conversations:
                ids = (list(block) + list(tokens))[:longest]
                said = ([False] * len(block) + list(marks))[:longest]
                texts.append((ids, said, [0] * len(ids)))
        return padded(texts)
