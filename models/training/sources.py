"""Where in a prompt the words of a call stand: names in the list of functions, values in the request.

A model finds out by itself that a call is copied from there, but slowly; told where to look, it learns with far fewer
tokens (as supervised attention does for translation: Mi, Wang and Ittycheriah, 2016).
"""

import re

from .prompt import literal


class Text:
    """A text with its tokens."""

    def __init__(self, text, encoding):
        self.text = text
        self.ids = encoding.ids
        self.starts = [start for start, _ in encoding.offsets]
        self.token_at = {}
        for token, (start, end) in enumerate(encoding.offsets):
            self.token_at.update(dict.fromkeys(range(start, end), token))


def words_of(value):
    """Pairs of a text inside of a value, as a call has it, and whether it is the name of a field; in their order."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield name, True
            yield from words_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from words_of(each)
    elif value is not None and not isinstance(value, bool):
        yield literal(value).strip('"'), False


def said_once(text, request):
    """Where a request says this, if it does so once."""
    found = list(re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", request))
    return found[0].start() if len(found) == 1 else -1


def sources(calls, said, block, request):
    """Triples: a token of `said`, the text that holds what it says, and the token there.

    `said` is the message with the calls, `block` the one with the functions.
    """
    at = 0
    for name, arguments in calls:
        entry = block.text.find(f'"name": "{name}"')
        if entry < 0:
            return
        at = said.text.index(name, at)
        yield from along(said, at, name, block, entry + len('"name": "'))
        at += len(name)
        described = entry
        for words, is_name in words_of(arguments):
            at = said.text.index(words, at)
            if is_name:
                described = max(described, block.text.find(f'"{words}": {{', described))
                yield from along(said, at, words, block, described + 1)
            elif words and 0 <= (start := said_once(words, request.text)):
                yield from along(said, at, words, request, start)
            elif 0 <= (start := block.text.find(f'"{words}"', described, block.text.find("}", described))):  # of an enum
                yield from along(said, at, words, block, start + 1)
            at += len(words)


def along(said, at, words, source, start):
    """The tokens of `words`, which begin at `at` and, in the source, at `start`."""
    for token in dict.fromkeys(said.token_at[at + offset] for offset in range(len(words)) if at + offset in said.token_at):
        there = source.token_at.get(start + max(0, said.starts[token] - at))
        if there is not None:
            yield token, source, there
