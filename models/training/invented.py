"""Requests for random functions, with the calls and the answers."""

import itertools
import json

from . import composed, results, values
from .exchange import Exchange, courteous, failure_reply
from .functions import noun, value

NAMED = ["{w} {v}", "{w} {v}", "with {w} {v}", "with the {w} {v}", "{w}: {v}", "{w} is {v}", "the {w} is {v}", "{w} = {v}", "and {w} {v}", "for {w} {v}", "using {w} {v}", "where {w} is {v}", "{v} as {w}", "{v} as the {w}",
         "{w} at {v}", "{w} to {v}", "{w} of {v}", "{v} for {w}", "{v} for the {w}", "{w} - {v}", "({w} {v})", "take {v} as {w}", "my {w} is {v}", "{w}={v}", "use {v} for the {w}", "choose {w} {v}", "{w} \"{v}\"", "with {w} \"{v}\"", "{w}: \"{v}\"", "\"{v}\" as {w}", "with \"{v}\" as the {w}"]
YES = ["with {w}", "{w}", "{w} on", "{w}: yes", "{w} true", "and {w} yes"]
NO = ["without {w}", "not {w}", "{w} off", "{w}: no", "{w} false", "no {w}"]
HEADS = ["{a} [the|a|the|my|] {o}", "{a} {o}", "{a} [a|the] {o}", "I [want|need|would like] to {a} [a|the] {o}", "I'd like to {a} the {o}", "let us {a} the {o}", "{o} {a}", "[time to|we must] {a} the {o}", "use {n}", "run {n}", "call {n}",
         "help me {a} the {o}", "can we {a} the {o}", "{a} that {o}", "go and {a} [the|a] {o}", "try to {a} a {o}", "I have to {a} a {o}", "{a} {o} now", "do {n}", "we want to {a} [a|the] {o}", "{a} another {o}"]
HEADS += composed.INVENTED_HEADS * 3
NAMED += composed.INVENTED_NAMED * 4 + composed.GLUED * 6
YES += composed.YES
NO += composed.NO
BARE = ["{a} {o} {v}", "{a} the {o} {v}", "{a} {v}", "{o}: {v}", "{a} the {v} {o}"]  # one value, without its name
OWN_NAME = ("word", "thing", "person", "code", "city", "number", "integer", "address")
READING = ["get", "show", "check", "find", "search", "read", "inspect", "measure", "count", "describe", "compare", "report", "track"]
QUESTIONS = [
    "[what is|what's|how is|what about|where is|show me|tell me|look up|give me|I need to know|I'd like to see|do you know] [the|my|a] {o}", "any {o}", "[which|what] {o} [is it|do we have|is there|do I get]", "is there [a|any] {o}", "[find out|see] about the {o}",
    "[got|have you] [a|any] {o}", "how [many|much] {o}", "{o}", "{o} please", "what does the {o} say",
]
RETURNED_SHARE = 0.5  # of the results, those of `results.py`; the others are objects of words and numbers
LIST_ENDS = [" and ", " and ", " and ", ", and ", ", ", " plus "]


def phrased(speaker, patterns, made, **slots):
    """A pattern for this function that cannot mean another offered function."""
    fitting = [pattern for pattern in patterns if "{n}" in pattern or all(slot in pattern for slot in made.needed)]
    return speaker.phrase(fitting or ["{a} {o} {v}" if "v" in slots else "{a} the {o}"], a=made.action, o=made.words, n=made.name, **slots)


def mention(speaker, each):
    """A value of a parameter, and its mention in a request."""
    if each.kind == "boolean":
        chosen = speaker.chance(0.5)
        return chosen, speaker.phrase(YES if chosen else NO, w=each.words)
    if each.kind == "object":
        return fields(speaker, each)
    if each.kind == "objects":
        return rows(speaker, each)
    if each.kind == "array":
        chosen, said = listed(speaker, each.parts[0])
        return chosen, speaker.phrase(unquoted(), w=each.words, v=said)
    chosen, said = value(speaker, each)
    return chosen, speaker.phrase([each.role] if each.role and speaker.chance(0.6) else NAMED, w=each.words, v=said)


def unquoted():
    """Patterns for several values, without quotes, which would make them one value."""
    return [pattern for pattern in NAMED if '"' not in pattern]


def enumerated(speaker, texts):
    """`a, b and c`."""
    return ", ".join(texts[:-1]) + speaker.pick(LIST_ENDS) + texts[-1] if 1 < len(texts) else texts[0]


def listed(speaker, element, value=value):
    pairs = dict(value(speaker, element) for _ in range(speaker.pick([1, 2, 2, 3, 3, 4])))
    return list(pairs), enumerated(speaker, list(pairs.values()))


def fields(speaker, each):
    """`with the address city Rome and street Lapuk`."""
    chosen, said = {}, []
    for part in each.parts:
        if not part.optional or speaker.chance(0.5):
            chosen[part.name], text = mention(speaker, part)
            said.append(text)
    if not said:
        return fields(speaker, each)
    joint = speaker.pick([" and ", ", ", ", ", " "])
    return chosen, speaker.phrase(["with [the |a |]{w}", "{w}:", "[the |]{w} with", "with [the |a |]{w} of", "for the {w}", "{w} is", "the {w} has", "[use|take] the {w}"], w=each.words) + " " + joint.join(said)


def rows(speaker, each):
    """`boxes: label tea, count 3 and label ink, count 5`; a first number may stand before what it counts."""
    chosen, said = [], []
    counted = speaker.chance(0.5) and sorted(part.kind for part in each.parts) in (["integer", "thing"], ["integer", "word"])
    for _ in range(speaker.pick([1, 2, 2, 3])):
        row = {part.name: value(speaker, part) for part in each.parts}
        chosen.append({name: given for name, (given, _) in row.items()})
        if counted:
            said.append(" ".join(text for _, text in sorted((part.kind != "integer", row[part.name][1]) for part in each.parts)))
        else:
            said.append(speaker.pick([" ", ", "]).join(f"{part.words} {row[part.name][1]}" for part in each.parts))
    return chosen, speaker.phrase(["with [the |]{w}", "{w}:", "the {w} are", "{w}", "with {w}:"], w=each.words) + " " + enumerated(speaker, said)


def request(speaker, made, bare=0.25):
    """A request for one function, and its arguments, in the order of the definition."""
    given = [each for each in made.parameters if not each.optional or speaker.chance(0.5)]
    said = [mention(speaker, each) for each in given]
    arguments = {each.name: chosen for each, (chosen, _) in zip(given, said)}
    mentions = [text for _, text in said]
    if speaker.chance(0.4):
        speaker.random.shuffle(mentions)
    patterns = QUESTIONS if made.action in READING and speaker.chance(0.4) and not speaker.held_out else HEADS
    head = phrased(speaker, patterns, made)
    if len(given) == 1 and given[0].kind in OWN_NAME and speaker.chance(bare):
        arguments[given[0].name], text = value(speaker, given[0])
        return phrased(speaker, BARE, made, v=text), arguments
    joint = speaker.pick([" ", " ", " ", ", ", " and "])
    parts = [head, joint.join(mentions)]
    if mentions and not speaker.held_out and speaker.chance(0.06):
        return f"{parts[1]}, {head}", arguments
    return " ".join(parts).strip(), arguments


def outcome(speaker, made):
    """A result, and the sentence that answers from it."""
    if not speaker.held_out and speaker.chance(RETURNED_SHARE):
        return results.outcome(speaker, made.name)
    roll = speaker.random.random()
    if roll < 0.08:
        error = speaker.phrase(["no {w} named {v}", "the {w} is not available", "unknown {w}", "access denied", "the {w} {v} was not found"], w=noun(speaker), v=values.word(speaker))
        result = {"error": error}
        return result, failure_reply(result)
    if roll < 0.2:
        text = speaker.phrase(["The {w} is {v}.", "Done.", "{v} is ready.", "The {w} costs {n}.", "{n} {w}s were found.", "{p} has the {w}."], w=noun(speaker), v=values.thing(speaker), n=values.amount(speaker), p=values.person(speaker))
        return text, text
    result = {}
    for _ in range(speaker.pick([1, 1, 2, 2, 3])):
        key = "_".join(noun(speaker) for _ in range(speaker.pick([1, 1, 1, 2]))) if speaker.chance(0.6) else speaker.pick(["status", "name", "result", "time", "price", "total", "state", "count", "message", "date", "value"])
        result[key] = speaker.pick([values.word, values.thing, values.person, values.amount, values.amount, values.clock, values.code])(speaker)
    said = [f"the {key.replace('_', ' ')} is {each if isinstance(each, str) else json.dumps(each)}" for key, each in result.items()]
    reply = " and ".join(said) + "."
    return result, reply[0].upper() + reply[1:]


def exchange(speaker, made, bare=0.25):
    core, arguments = request(speaker, made, bare)
    result, reply = outcome(speaker, made)
    return Exchange(courteous(speaker, core), reply, [(made.name, arguments)], [result], core)


def several(speaker, functions, count=2):
    """One request for two or more things."""
    again = [made for made in functions if sum(not each.optional for each in made.parameters) == 1]
    if again and speaker.chance(0.25):
        return repeated(speaker, speaker.pick(again), count)
    different = count <= len(functions) and not speaker.held_out and speaker.chance(0.5)
    wanted = speaker.random.sample(functions, count) if different else [speaker.pick(functions) for _ in range(count)]
    made = [exchange(speaker, each) for each in wanted]
    if not speaker.held_out and any(each.calls == other.calls for each, other in itertools.combinations(made, 2)):
        return made[0]  # a request does not contain the same call twice
    return together(speaker, made)


def together(speaker, made):
    """Joins the requests of several exchanges to one."""
    last = speaker.pick([" and ", " and then ", ", then ", " and also ", ", and "])
    between = speaker.pick([last, ", ", ", ", " and "])
    user = courteous(speaker, between.join(each.core for each in made[:-1]) + last + made[-1].core)
    return joined(user, made)


def joined(user, made):
    calls, results = ([each for exchange in made for each in getattr(exchange, name)] for name in ("calls", "results"))
    return Exchange(user, " ".join(exchange.reply for exchange in made), calls, results, user, [exchange.core for exchange in made])


def repeated(speaker, made, count):
    """A request for several calls of one function: `weigh the box for Ana, Ben and Tom`."""
    wanted = [each for each in made.parameters if not each.optional]
    if wanted[0].kind not in OWN_NAME:
        return several(speaker, [made], count)
    said, exchanges = {}, []
    while len(said) < count:
        said.update([value(speaker, wanted[0])])
    texts = list(said.values())
    for chosen in said:
        result, reply = outcome(speaker, made)
        exchanges.append(Exchange("", reply, [(made.name, {wanted[0].name: chosen})], [result]))
    if speaker.chance(0.5):
        core = phrased(speaker, BARE, made, v=enumerated(speaker, texts))
    else:
        core = f"{phrased(speaker, HEADS, made)} {speaker.phrase([wanted[0].role] if wanted[0].role else unquoted(), w=wanted[0].words, v=enumerated(speaker, texts))}"
    return joined(courteous(speaker, core), exchanges)


def missing(speaker, made):
    """A request without a required value, and the question for it."""
    wanted = [each for each in made.parameters if not each.optional]
    if not wanted:
        return exchange(speaker, made)
    head = phrased(speaker, ["{a} [the|a] {o}", "{a} {o}", "I want to {a} a {o}"], made)
    question = "What is the " + " and the ".join(each.words for each in wanted) + "?"
    return Exchange(courteous(speaker, head), question)
