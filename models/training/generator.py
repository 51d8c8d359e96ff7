"""Generates training data: a system block, and several conversations that could follow it."""

import functools

from . import everyday, invented, refusals, shipped, styled, talk, values
from . import functions as made_up
from .exchange import NO_FUNCTION, Exchange, is_imperative, negated
from .phrases import Speaker
from .prompt import conversation_pieces, system_block
from .sources import HEAD, Text, names, sources


NEAR_SHIPPED = ("clock", "planning", "health", "laboratory", "money", "travel", "estate", "reckoning", "lookups")  # fields with requests similar to those for timers, notes, sums and conversions
GOING_ON = "[and|And|also|and also|then|and then|and please|now|ok, and|ok, now|next]"  # start of a later request
VOCABULARY_SHARES = [1, 0.15, 0.03]  # share of all words that a group of invented functions and its requests use


def chat_conversation(speaker, tools, name, others=(), turns=None):
    """Exchanges with the shipped functions, or some of them, perhaps with other functions as well."""
    offered = {tool["name"] for tool in tools}
    whole = len(shipped.TOOLS) == len(offered) and not others
    turns = turns or speaker.pick([1, 1, 1, 1, 2, 2, 3])
    exchanges = []
    while len(exchanges) < turns:
        roll = speaker.random.random()
        if others and speaker.chance(0.25):
            exchanges.append(exchange(speaker, speaker.pick(others)))
        elif roll < 0.55:
            absent = shipped.MAKERS.keys() - offered  # a request for a function that is not offered must be declined
            wanted = absent if absent and speaker.chance(0.35) else offered
            exchanges.append(shipped.single(speaker, wanted=wanted))
        elif roll < 0.68:
            pair = shipped.pair(speaker)
            if len(present := [name in offered for name, _ in pair.calls]) == sum(present) or not any(present):
                exchanges.append(pair)
        elif roll < 0.76:
            exchanges += shipped.follow_up(speaker)
        elif roll < 0.81:
            exchanges += shipped.missing(speaker, offered)
        elif roll < 0.88 and not others:
            exchanges.append(talk.unserved(speaker))
        elif roll < 0.92:
            exchanges.append(refused(speaker, others, NEAR_SHIPPED))
        elif roll < 0.94:
            exchanges.append(Exchange(invented.exchange(speaker, made_up.function(speaker)).user, NO_FUNCTION))
        else:
            exchanges.append(talk.small_talk(speaker, name, offered if not others else ()))
    for later in exchanges[1:]:
        if later.core and is_imperative(later.core) and speaker.chance(0.15):
            later.user = f"{speaker.expand(GOING_ON)} {later.core}"
    if not whole:
        exchanges = [shipped.without(exchange, {*offered, *(other.name for other in others)}) for exchange in exchanges]
    return shipped.remembered(speaker, exchanges)


def chat_group(speaker, count):
    """The shipped functions as `causerie chat` offers them."""
    tools = shipped.TOOLS
    return shipped.SYSTEM, tools, [chat_conversation(speaker, tools, "causerie") for _ in range(count)]


def some_group(speaker, count):
    """Some of the shipped functions, or all in another order, or with others, so that the model learns to read the list."""
    tools = speaker.random.sample(shipped.TOOLS, speaker.pick([0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 6, 6, 7]))
    if speaker.chance(0.6):
        tools = [tool for tool in shipped.TOOLS if tool in tools]
    others = []
    if len(tools) < 5 and speaker.chance(0.3):
        several = speaker.number(1, 3)
        others = everyday.family(speaker, several, NEAR_SHIPPED) if speaker.chance(0.5) else made_up.family(speaker, several)
        others = [other for other in others if other.name not in shipped.MAKERS]
    entries = tools + [other.entry() for other in others]
    if others:
        speaker.random.shuffle(entries)
    system = shipped.SYSTEM
    if speaker.chance(0.3):
        system = "" if speaker.chance(0.5) else speaker.phrase(talk.SYSTEM_NAMES, name="causerie", word=values.word(speaker), person=values.person(speaker))
    return system, entries, [chat_conversation(speaker, tools, "causerie", others) for _ in range(count)]


def invented_conversation(speaker, functions, others, name, easy):
    if easy:
        return [invented.exchange(speaker, speaker.pick(functions))]
    exchanges = []
    for _ in range(speaker.pick([1, 1, 1, 1, 2])):
        roll = speaker.random.random()
        if roll < 0.52:
            exchanges.append(invented.exchange(speaker, speaker.pick(functions)))
        elif roll < 0.84:
            exchanges.append(invented.several(speaker, functions, speaker.pick([2, 3])))
        elif roll < 0.87:
            exchanges.append(invented.missing(speaker, speaker.pick(functions)))
        elif roll < 0.94:
            exchanges.append(Exchange(invented.exchange(speaker, speaker.pick(others)).user, NO_FUNCTION))
        elif roll < 0.97:
            exchanges.append(talk.unserved(speaker, talk.GENERAL) if speaker.chance(0.5) else Exchange(shipped.single(speaker).user, NO_FUNCTION))
        else:
            exchanges.append(talk.small_talk(speaker, name))
    return exchanges


def invented_group(speaker, count, easy=False):
    """Random functions: one simple function if `easy`, otherwise up to eight."""
    made = made_up.family(speaker, 1 if easy else speaker.pick([1, 2, 2, 3, 3, 4, 5, 6, 8, 8, 8]), easy, 0 if easy else speaker.pick([0, 0.3, 0.5]))
    words = {(each.action, each.words) for each in made}
    others = [other for other in made_up.family(speaker, 3, easy) if (other.action, other.words) not in words]
    tools = [each.entry() for each in made]
    name, system = introduced(speaker)
    conversations = [invented_conversation(speaker, made, others, name, easy) for _ in range(count)]
    return system, tools, conversations


def choice_group(speaker, count):
    """Many similar random functions with few parameters, so that the model mostly learns to choose."""
    made = made_up.family(speaker, speaker.number(5, 8), most=1, silent=0.35, akin=0.5)
    others = [other for other in made_up.family(speaker, 3, most=1) if (other.action, other.words) not in {(each.action, each.words) for each in made}]
    name, system = introduced(speaker)
    conversations = [invented_conversation(speaker, made, others, name, speaker.chance(0.6)) for _ in range(count)]
    return system, [each.entry() for each in made], conversations


def long_group(speaker, count):
    """Conversations of many exchanges, mostly with the shipped functions."""
    turns = speaker.number(6, 13)
    if speaker.chance(0.7):
        return shipped.SYSTEM, shipped.TOOLS, [chat_conversation(speaker, shipped.TOOLS, "causerie", turns=turns) for _ in range(count)]
    return everyday_group(speaker, count, turns)


def exchange(speaker, made):
    """An exchange with an everyday or an invented function."""
    return (everyday if isinstance(made, everyday.Function) else invented).exchange(speaker, made)


def refused(speaker, functions, other_than=()):
    """A declined request for a function of another field and another name, which none of `functions` could serve."""
    offered = [made.template for made in functions if isinstance(made, everyday.Function)]
    names = {name for template in offered for name in template.names}
    while True:
        made = everyday.family(speaker, 1, {*other_than, *(template.trade for template in offered)})[0]
        if names.isdisjoint(made.template.names) and not any(everyday.may_mean(made.template, template) for template in offered):
            return Exchange(everyday.exchange(speaker, made).user, NO_FUNCTION)


def everyday_conversation(speaker, functions, name, turns):
    exchanges, own = [], [made for made in functions if isinstance(made, everyday.Function)]
    for _ in range(turns or speaker.pick([1, 1, 1, 1, 2])):
        roll = speaker.random.random()
        if roll < 0.05 and (refused_call := negated(speaker, exchange(speaker, speaker.pick(functions)))):
            exchanges.append(refused_call)
        elif roll < 0.09 and own and (asking := everyday.missing(speaker, speaker.pick(own))):
            exchanges.append(asking)
        elif roll < 0.55:
            exchanges.append(exchange(speaker, speaker.pick(functions)))
        elif roll < 0.77:
            exchanges.append(everyday.several(speaker, own, speaker.pick([2, 2, 3])))
        elif roll < 0.9:
            exchanges.append(refused(speaker, own))
        elif roll < 0.97:
            exchanges.append(talk.unserved(speaker, talk.GENERAL))
        else:
            exchanges.append(talk.small_talk(speaker, name))
    return exchanges


def everyday_group(speaker, count, turns=None):
    """Everyday functions, perhaps with invented ones."""
    own = everyday.family(speaker, speaker.pick([1, 1, 2, 3, 3, 4, 5, 6, 7, 8]))
    names = {made.name for made in own}
    functions = own + [made for made in made_up.family(speaker, speaker.number(1, 2)) if made.name not in names and speaker.chance(0.2)]
    speaker.random.shuffle(functions)
    name, system = introduced(speaker)
    return system, [made.entry() for made in functions], [everyday_conversation(speaker, functions, name, turns) for _ in range(count)]


def styled_group(speaker, count):
    """Everyday functions and invented ones, as other people write functions."""
    while True:
        own = everyday.family(speaker, speaker.pick([1, 1, 1, 2, 2, 3, 4, 5])) if speaker.chance(0.85) else []
        functions = own + [made for made in made_up.family(speaker, speaker.number(1, 3)) if speaker.chance(0.2 if own else 1)]
        if functions and (style := styled.restyle(speaker, functions)):
            break
    speaker.random.shuffle(functions)
    name, system = introduced(speaker)
    conversations = [everyday_conversation(speaker, functions, name, None) if own else invented_conversation(speaker, functions, made_up.family(speaker, 2), name, False) for _ in range(count)]
    return system, [style.entry(made) for made in functions], conversations


def answers_group(speaker, count):
    """Few functions, whose results are answered."""
    made = everyday.family(speaker, speaker.pick([1, 1, 2])) + made_up.family(speaker, speaker.pick([0, 1, 1]))
    style = styled.restyle(speaker, made) if speaker.chance(0.5) else None
    if len({each.name for each in made}) < len(made):
        return answers_group(speaker, count)
    name, system = introduced(speaker)
    conversations = [[exchange(speaker, speaker.pick(made)) for _ in range(speaker.pick([1, 1, 1, 2]))] for _ in range(count)]
    return system, [style.entry(each) if style else each.entry() for each in made], conversations


def refused_group(speaker, count):
    """Requests far from any function, among some that one serves, which may end a long story."""
    is_chat = speaker.chance(0.7)
    made = [] if is_chat else made_up.family(speaker, speaker.number(1, 4))
    name, system = ("causerie", shipped.SYSTEM) if is_chat else introduced(speaker)
    conversations = []
    for _ in range(count):
        if speaker.chance(0.08) and (unwanted := negated(speaker, shipped.single(speaker) if is_chat else invented.exchange(speaker, speaker.pick(made)))):
            conversations.append([unwanted])
            continue
        if speaker.chance(0.75):
            conversations.append([Exchange(refusals.request(speaker), NO_FUNCTION) for _ in range(speaker.pick([1, 1, 1, 2]))])
            continue
        served = shipped.single(speaker) if is_chat else invented.exchange(speaker, speaker.pick(made))
        if speaker.chance(0.6):
            served.user = refusals.cased(speaker, refusals.story(speaker, served.core))
        conversations.append([served])
    return system, shipped.TOOLS if is_chat else [each.entry() for each in made], conversations


def introduced(speaker):
    """A name for the assistant, and the system message."""
    roll = speaker.random.random()
    if roll < 0.5:
        return "causerie", "" if roll < 0.25 else shipped.SYSTEM
    name = values.invented_word(speaker, (1, 2)).capitalize()
    return name, speaker.phrase(talk.SYSTEM_NAMES, name=name, word=values.word(speaker), person=values.person(speaker))


MAKERS = {
    "chat": chat_group, "some": some_group, "long": long_group, "everyday": everyday_group,
    "styled": styled_group, "answers": answers_group, "refused": refused_group, "choice": choice_group, "invented": invented_group, "easy": functools.partial(invented_group, easy=True),
}
ENDING_SHARE = 0.7  # of the conversations end with a call
NARROW = ("choice", "invented", "easy")  # kinds that sometimes use few words


class Generator:
    """Endless training groups: the tokens of a system block, pairs of its tokens (the first should look at the second), and
    conversations that could follow it.

    A conversation has its tokens, whether the model writes each of them, and the supervised places of attention: the layer, counted
    from the last, its head, the token that looks, whether it looks into the block, and the token to look at.
    """

    def __init__(self, tokenizer, seed):
        self.tokenizer = tokenizer
        self.speaker = Speaker(seed)

    def group(self, kind, count, longest):
        """`kind` is one of MAKERS."""
        while True:  # until every conversation has an exchange that fits
            self.speaker.narrow(self.speaker.pick(VOCABULARY_SHARES) if kind in NARROW else 1)
            system, tools, conversations = MAKERS[kind](self.speaker, count)
            text = system_block(system, tools)
            block = Text(text, self.tokenizer.encode(text))
            ends_early = 0 if kind == "answers" else ENDING_SHARE
            encoded = [self.encode(exchanges, block, longest, ends_early) for exchanges in conversations]
            encoded = [row for row in encoded if row[0]]
            if 0.8 * count < len(encoded):
                encoded += encoded[: count - len(encoded)]
                return block.ids, list(names(block)), encoded

    def encode(self, exchanges, block, longest, ends_early):
        """Encodes as many exchanges as fit. A share of `ends_early` of the conversations end with the call, which is harder than the
        answer, and all whose answer does not fit, as with requests for many things."""
        tokens, marks, looks, ended = [], [], [], False
        for index, exchange in enumerate(exchanges):
            pieces = conversation_pieces(exchange.messages())
            texts = [Text(text, encoding) for (text, _), encoding in zip(pieces, self.tokenizer.encode_batch([text for text, _ in pieces]))]
            room = longest - len(tokens)
            ended = exchange.calls and (index + 1 == len(exchanges) and self.speaker.chance(ends_early) or room < sum(len(text.ids) for text in texts))
            if ended:
                texts = texts[:6]  # three pieces of each message
            if room < sum(len(text.ids) for text in texts):
                break
            starts = {}
            for text, (_, said) in zip(texts, pieces):
                starts[text] = len(tokens)
                tokens += text.ids
                marks += [said] * len(text.ids)
            if exchange.calls:
                request, call = texts[1], texts[4]  # the contents of the first two messages; each message is a header, its content and a line end
                for from_last, looking, token, source, there in sources(exchange.calls, exchange.asking(), call, block, request):
                    looks.append((from_last, HEAD, starts[looking.whole] + token, source is block, there if source is block else starts[source.whole] + there))
            if ended:
                break
        return tokens, marks, looks
