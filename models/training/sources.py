"""Attention supervision: where in a prompt the words of a call occur (names in the list of functions, values in the request).

A model learns by itself that a call is copied from there, but slowly. With attention supervision it needs far fewer tokens, as in
translation (Mi, Wang and Ittycheriah, 2016).
"""

import copy
import re
from collections import Counter

from .functions import UNSAID
from .prompt import literal


HEAD = 0  # of the heads of an attention layer, the one that looks
CONSTANTS = ("", "True", "False", "None")
UNREAD = "\0"  # neither a letter nor a space
FRAME = set("call calls code data each from given into lets list make more name that their them then this told user wants what when which will with your".split())  # words of descriptions that do not identify a function


class Text:
    """A text with its tokens."""

    def __init__(self, text, encoding):
        self.text = text
        self.ids = encoding.ids
        self.starts = [start for start, _ in encoding.offsets]
        self.token_at = {}
        for token, (start, end) in enumerate(encoding.offsets):
            self.token_at.update(dict.fromkeys(range(start, end), token))
        self.whole = self

    def part(self, start, words):
        """A copy of which only these words can be read. They begin at `start` or later; without words, the whole text."""
        found = self.text.lower().find(words.lower(), start) if words else -1
        if found < 0:
            return self
        part, end = copy.copy(self), found + len(words)
        part.text = UNREAD * found + self.text[found:end] + UNREAD * (len(self.text) - end)
        return part


def words_of(value, before=()):
    """Texts in a value, in the order and spelling of a call. Each comes with the names of the fields that contain it (for a
    field's name, this name is the last), and whether it is the name of a field."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name, (*before, name), True
            yield from words_of(each, (*before, name))
    elif isinstance(value, list):
        for each in value:
            yield from words_of(each, before)
    else:
        text = literal(value)
        yield text.strip('"') if isinstance(value, str) else text, before, False


def occurrences(text, request):
    return [found.span() for found in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", request)]


def name_words(name):
    """The words of a name, with their places in it, without the first word of a boolean's name."""
    words = [(found.group().lower(), found.span()) for found in re.finditer(r"[a-z]+|[A-Z][a-z]*|\d+", name)]
    return words[1:] if 1 < len(words) and words[0][0] in UNSAID else words


def mentioned_at(name, request):
    """Start and end of the only mention of a field in a request; None if there is none, or several."""
    words = [word for word, _ in name_words(name)]
    found = occurrences(" ".join(words), request.lower()) if words else []
    return found[0] if len(found) == 1 else None


def said_at(text, names, request):
    """Start of a value in a request: of its only occurrence, or of the one nearest to the mention of the field; -1 if that is
    ambiguous."""
    found = occurrences(text, request)
    if len(found) == 1:
        return found[0][0]
    mentioned = mentioned_at(names[-1], request) if names else None
    if not mentioned:
        return -1
    gaps = sorted((gap, start) for start, end in found if 0 <= (gap := max(start - mentioned[1], mentioned[0] - end)))
    nearest = {start for gap, start in gaps if gap == gaps[0][0]}
    return nearest.pop() if len(nearest) == 1 else -1


def sources(calls, parts, said, block, asked):
    """Where attention layers should look, as (layer counted from the last, text and token that look, text and token to look at).

    `said` is the message with the calls, `block` the one with the functions, `asked` the request. `parts` are the words of the
    request that ask for each call, if they are known. Layers are counted from the last, which is 0:

    - 0, while a call is written: the same words in `block` or in the request.
    - 1 helps layer 0 to find them. Before a function's name: the end of its description. Before a field's name and its value: what the
      request calls the field, or else the value. Before a call ends: what follows its part of the request.
    - 2, before a function's name: the word of the request that the fewest functions have. In the request: see `joined`.
    - 3, in the request: from what follows that rarest word back to it, so that a value is connected with its function.
    - 4, in the request: the same word in the function that will be called, where layer 5 has found its name, see `names`.
    """
    at, read = 0, 0
    for index, (name, arguments) in enumerate(calls):
        request = asked.part(read, parts[index]) if parts else asked
        read = len(request.text.rstrip(UNREAD))
        entry = block.text.find(f'"name": "{name}"')
        if entry < 0:
            return
        after = block.text.find('"name": "', entry + 1)
        entry_end = len(block.text) if after < 0 else after
        at = said.text.index(name, at)
        described = block.text.find('", "parameters"', entry, entry_end)
        yield from hint(1, said, said.token_at[at] - 1, block, described)
        yield from along(said, at, name, block, entry + len('"name": "'))
        named = list(meant(request, name, block, entry + len('"name": "'), described))
        yield from (seen for _, seen in named)
        if named:  # the last of equally rare words
            _, (_, _, token, *_) = min(named, key=lambda each: (block.text.lower().count(each[0].lower()), -each[1][2]))
            yield 2, said, said.token_at[at] - 1, request, token
            if request is not asked or index == 0:
                yield from ((3, request, later, request, token) for later in range(token + 1, request.token_at[read - 1] + 1))
        at += len(name)
        texts = list(words_of(arguments))
        times = Counter(names for _, names, is_name in texts if not is_name)  # the objects of an array have the same names
        alone = {names: said_at(words, names, request.text) for words, names, is_name in texts if not is_name and times[names] == 1 and words not in CONSTANTS}
        for words, names, is_name in texts:
            constant = words in CONSTANTS  # spelled differently in arrays and objects
            found = said.text.lower().find(words.lower(), at) if constant else said.text.index(words, at)
            if found < 0:
                continue
            at, described, single = found, place_of(names, block.text, entry, entry_end), times[names] < 2
            given = -1 if is_name or constant else alone[names] if single else said_at(words, (), request.text)
            mentioned = mentioned_at(names[-1], request.text) if names else None
            if words and (single or is_name):
                yield from hint(1, said, said.token_at[at] - 1, request, mentioned[1] - 1 if mentioned else alone.get(names, -1))
            if is_name and 0 <= described:
                yield from along(said, at, words, block, described + 1)
                yield from (seen for _, seen in same_words(request, name_words(words), block, described + 1))
            elif 0 <= given:
                yield from along(said, at, words, request, given)
                if mentioned and single:
                    yield from joined(request, mentioned, given, given + len(words))
            elif not is_name and not constant and 0 <= (start := enumerated_at(words, block.text, described)):
                yield from along(said, at, words, block, start + 1)
            at += len(words)
        if request is not asked:
            yield from hint(1, said, said.token_at[said.text.index(")", at)] - 1, asked, read)


def meant(request, name, block, start, described):
    """Words of a request that occur in a function's description or name, and their hints. The name begins at `start`, the
    description ends at `described`."""
    if len(found := occurrences(name, request.text)) == 1:
        yield from ((name, seen) for seen in hint(4, request, request.token_at[found[0][1] - 1], block, start + len(name) - 1))
    words = name_words(name)
    begin, known = start + len(name), {word for word, _ in words} | FRAME
    others = [(found.group().lower(), found.span()) for found in re.finditer(r"\w{4,}", block.text[begin : max(begin, described)])]
    yield from same_words(request, [(word, span) for word, span in others if word not in known], block, begin)
    yield from same_words(request, words, block, start)


def same_words(request, words, block, start):
    """Words that occur once in the request, and hints from the end of each to the end of the same word in the block. Places of
    `words` are relative to `start`."""
    text = request.text.lower()
    for word, (_, end) in words:
        if len(found := occurrences(word, text)) == 1:
            for seen in hint(4, request, request.token_at[found[0][1] - 1], block, start + end - 1):
                yield word, seen


def names(block):
    """Pairs of tokens in the list of functions, for layer 5: from each token of a function to the start of its name, so that a
    word found there is connected with its function."""
    starts = [found.end() for found in re.finditer('"name": "', block.text)]
    for start, end in zip(starts, [*starts[1:], len(block.text)]):
        first = block.token_at[start]
        yield from ((token, first) for token in range(first, block.token_at[end - 1]))


def joined(request, mentioned, start, end):
    """Hints from both ends of a value to the end of an earlier mention of its field, or from a later mention to the start of the value."""
    if mentioned[1] <= start:
        for token in {request.token_at[start], request.token_at[end - 1]}:
            yield from hint(2, request, token, request, mentioned[1] - 1)
    elif end <= mentioned[0]:
        yield from hint(2, request, request.token_at[mentioned[1] - 1], request, start)


def place_of(names, text, start, end):
    """Start of a field in the schema, by the path of its names; -1 if it is not there."""
    for name in names:
        start = text.find(f'"{name}": {{', start, end)
        if start < 0:
            return -1
    return start


def enumerated_at(words, text, described):
    """Start of this value in an enum that is described here; -1 if it is not there."""
    return text.find(f'"{words}"', described, text.find("}", described)) if 0 <= described else -1


def hint(from_last, text, token, source, place):
    """Yields where a layer looks from a token of `text`; nothing if `place` is -1."""
    if 0 <= place and (there := source.token_at.get(place)) is not None:
        yield from_last, text, token, source, there


def along(said, at, words, source, start):
    """Hints of layer 0 for the tokens of `words`, which begin at `at`, and at `start` in the source, and for the token after them,
    which shows whether they are complete."""
    for token in dict.fromkeys(said.token_at[at + offset] for offset in range(len(words) + 1) if at + offset in said.token_at):
        place = start + max(0, said.starts[token] - at)
        if place == start + len(words) and source.whole.text[place : place + 1] == " ":
            place += 1
        there = source.token_at.get(place)
        if there is not None:
            yield 0, said, token - 1, source, there
