"""Groups of conversations about pictures, for batches of `model.py`: the joint training with conversations of text.

The questions about one picture share a block, which has the functions and the picture. So they cost little more than their own tokens.
"""

import random

from ..phrases import Speaker
from ..prompt import system_block
from ..tokenizer import IMAGE_END
from . import questions, scenes
from .conversations import PHOTOGRAPH, SIZES, Writer, conversation, letters_of, offered
from .network import LOOKING_HEAD

FIRST_SHARE = 0.85  # of the groups, in which the picture comes first and is in the block
PHOTOGRAPH_SHARE = 0.2  # of the other groups, in which the picture is the result of a function


class PictureGroups:
    def __init__(self, tokenizer, seed):
        self.writer = Writer(tokenizer, Speaker(seed))
        self.random = random.Random(seed)

    def group(self, kind, count, longest):
        """A group as of `Generator`, with the pixels of the pictures in its block and in its conversations. Supervised are the places of
        letters, while they are read. Kinds that begin with "read" are about pictures with text."""
        speaker = self.writer.speaker
        width, height = speaker.random.choices(list(SIZES), SIZES.values())[0]
        scale = scenes.scale_of(speaker)
        view = scenes.view_of(round(width * scale), round(height * scale))
        rows = view[0] // scenes.UNIT * (view[1] // scenes.UNIT)
        draw = lambda scene: self.writer.picture(scene, width, height, scale, view)
        reads = kind.startswith("read")
        scene, is_first = questions.scene_of(speaker, reads), speaker.chance(FIRST_SHARE)
        tools, system = offered(speaker, "chat" if kind.endswith("chat") else "any", scene)
        if not is_first:
            count //= 3  # each has the rows of its picture
            if speaker.chance(PHOTOGRAPH_SHARE):
                tools = [*tools, PHOTOGRAPH]
        block, shared, conversations, pixels = None, [], [], []
        if not is_first:
            block = self.writer.encode(system_block(system, tools))
        while len(conversations) < count:
            seen = conversation(speaker, scene=scene, offers=(tools, system))
            ids, said, _, readings = self.writer.ids(seen, rows)
            if is_first and (len(seen.pictures) > 1 or seen.kinds[0] == "text" or seen.exchanges[0].user.find("<image>")):
                continue
            if block is None:
                block, shared = ids[: ids.index(IMAGE_END) + 1], [draw(scene)]
            assert ids[: len(block)] == block
            if longest + (0 if is_first else rows * len(seen.pictures)) < len(ids) - len(block):
                continue
            drawn = shared or [draw(each) for each in seen.pictures]
            looks = [look for picture, at in readings for look in letters_of(ids, seen.pictures[picture].text, drawn[picture][0].letters, picture, at)]
            conversations.append((ids[len(block) :], said[len(block) :], list(places(looks, len(block), is_first))))
            if not is_first:
                pixels += [shown for _, shown in drawn]
        return (block, [], conversations), ([shown for _, shown in shared], pixels)


def places(looks, start, in_block):
    """Places of `Generator` for what `letters_of` yields: in the last two attention layers, the next letter; in the third, the one
    before. A conversation begins at `start`."""
    for token, now, ahead in looks:
        for from_last, row in enumerate((ahead, ahead, now)):
            yield from_last, LOOKING_HEAD, token - start, in_block, row - (0 if in_block else start)


def picture_batch(groups):
    """The groups, and all pixels in the order of a batch: first those of the blocks, then those of the conversations."""
    made, pixels = zip(*groups)
    return list(made), [each for part in zip(*pixels) for pictures in part for each in pictures]
