"""Functions as in apps, and phrases that ask for them, from the files of the folder `everyday`.

A file is a field of apps ("trade"). A function is a line with its names and its description, then its parameters, then phrases:

    get_weather|weather_in: [Current|Today's] weather in a city.
      city|place: city = [City|Name of the city]
      unit?: enum celsius|fahrenheit
      - [how's|what's] the weather in {city}[| in {unit}]

Names after the first are other spellings, `?` marks an optional parameter, and a slot has the first name. Kinds
are those of `functions.py` and of `TEXTS`, a range of numbers (`1..12`; `number 0..30` has decimals), `enum` or plain choices,
and `list` before any of them. `{quiet+}` and `{quiet-}` have no text and set a boolean. `to.name` and `to.city` are fields of
an object, `to`.

A line of the file `kin` lists functions of different trades: a request for one of them may mean another.
"""

import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from . import functions, invented, values
from .exchange import VERBS, Exchange, courteous
from .results import words_of

INVENTED_SHARE = 0.3  # share of the values listed in a file that are replaced by others
QUESTION_WORDS = set("where where's why when when's how's who's can could should shall will would was were am isn't aren't don't doesn't may".split())
SLOT = re.compile(r"\{([\w.]+)([+-]?)\}")
SAID = re.compile(r"(?:\b(a|on) )?" + SLOT.pattern)
NEAR = ("today", "tomorrow", "tonight", "next ", "this ")  # dates without "on"


@dataclass(frozen=True)
class Slot:
    names: tuple
    kind: str
    description: str
    optional: bool


@dataclass(frozen=True)
class Template:
    trade: str
    names: tuple
    description: str
    slots: tuple
    phrases: tuple


@dataclass
class Function:
    """A template with its names in one conversation."""

    template: Template
    name: str
    text: str
    parameters: dict  # the first name of a slot: the parameter

    def entry(self):
        described = {"description": self.text} if self.text else {}
        return {"name": self.name} | described | {"parameters": functions.properties(gathered(self.parameters.values()))}


def gathered(parameters):
    """The parameters, with the fields of an object as one parameter."""
    whole, fields = {}, {}
    for each in parameters:
        parent, _, name = each.name.rpartition(".")
        if not parent:
            whole[each.name] = each
            continue
        parts = fields.setdefault(parent, [])
        parts.append(replace(each, name=name))
        whole[parent] = functions.Parameter(parent, "", "object", {"type": "object"} | functions.properties(parts), all(part.optional for part in parts), "", parts)
    return whole.values()


def nested(arguments):
    """The arguments, with the fields of an object as one argument."""
    whole = {}
    for name, value in arguments.items():
        parent, _, own = name.rpartition(".")
        (whole.setdefault(parent, {}) if parent else whole)[own] = value
    return whole


@functools.cache
def templates():
    """All functions of all trades."""
    return tuple(template for path in sorted(Path(__file__).with_name("everyday").glob("*.txt")) for template in read(path))


def read(path):
    for block in re.split(r"\n(?=\S)", path.read_text().strip()):
        head, *lines = block.split("\n")
        names, description = head.split(": ", 1)
        phrases = tuple(line.strip().removeprefix("- ") for line in lines if line.strip().startswith("- "))
        slots = tuple(slot(line.strip()) for line in lines if line.strip() and not line.strip().startswith("- "))
        yield Template(path.stem, tuple(names.split("|")), description, slots, phrases)


@functools.cache
def kin():
    """For each function, by trade and first name, the functions of other trades that a request for it may mean."""
    found = {}
    for line in Path(__file__).with_name("everyday").joinpath("kin").read_text().splitlines():
        group = {tuple(each.split(".")) for each in line.split()}
        for each in group:
            found.setdefault(each, set()).update(other for other in group if other[0] != each[0])
    return found


def may_mean(template, other):
    """Whether a request for one of them may mean the other."""
    return (other.trade, other.names[0]) in kin().get((template.trade, template.names[0]), ())


def slot(line):
    names, rest = line.split(": ", 1)
    kind, _, description = rest.partition(" = ")
    return Slot(tuple(names.replace("?", "").split("|")), kind.strip(), description, "?" in names)


def parameter(speaker, made, style):
    kind, many = made.kind.removeprefix("list "), made.kind.startswith("list ")
    described = {"description": speaker.expand(made.description)} if made.description and speaker.chance(0.85) else {}
    if "|" in kind and kind.startswith("enum "):
        schema, kind = {"type": "string", "enum": kind.removeprefix("enum ").split("|")}, "enum"
    elif ".." in kind:
        schema = {"type": "number" if kind.startswith("number ") else "integer"}
    else:
        schema = {"type": functions.TYPES.get(kind, "string")}
    element = functions.Parameter("", "", kind, schema, False, "")
    name = restyled(speaker.pick(made.names), style)
    if many:
        return functions.Parameter(name, "", "array", {"type": "array"} | described | {"items": schema}, made.optional, "", [element])
    return functions.Parameter(name, "", kind, {"type": schema["type"]} | described | schema, made.optional, "")


def restyled(name, style):
    """Converts a name to a style; names in the files are in snake_case or camelCase."""
    return ".".join(functions.spelled([word.lower() for word in re.findall(r"[A-Za-z][a-z]*|\d+", part)], style) for part in name.split("."))


def family(speaker, count, other_than=()):
    """At most `count` functions that an app could offer together, of one trade or of any."""
    offered = [template for template in templates() if template.trade not in other_than]
    if speaker.chance(0.7):
        trade = speaker.pick(offered).trade
        offered = [template for template in offered if template.trade == trade]
    style = speaker.pick(["snake", "snake", "snake", "camel"])
    made = {}
    for template in speaker.random.sample(offered, min(count, len(offered))):
        if any(may_mean(template, each.template) for each in made.values()):
            continue
        each = Function(
            template, restyled(speaker.pick(template.names), style), speaker.expand(template.description) if speaker.chance(0.93) else "",
            {each.names[0]: parameter(speaker, each, style) for each in template.slots},
        )
        made.setdefault(each.name, each)
    return list(made.values())


def value(speaker, made):
    """A value, and its text in a request."""
    if ".." in made.kind:
        low, high = map(int, made.kind.removeprefix("number ").split(".."))
        number = speaker.number(low, high)
        if made.kind.startswith("number ") and speaker.chance(0.5):
            number = float(f"{number}.{speaker.pick([5, 5, 25, 75, 99, speaker.number(1, 9), speaker.number(1, 99)])}")
        said = values.number_words(number) if isinstance(number, int) and 0 <= number < 100 and speaker.chance(0.15) else str(number)
        return number, said
    if "|" in made.kind:
        choices = tuple(made.kind.split("|"))
        if not speaker.chance(INVENTED_SHARE):
            text = speaker.value(choices)
        else:
            text = title(speaker) if choices[0][0].isupper() else thing(speaker)
    elif made.kind in TEXTS:
        text = TEXTS[made.kind](speaker)
    else:
        return functions.value(speaker, made)
    return text, text


def thing(speaker):
    """Sometimes a street, a file, or another thing with a name."""
    if speaker.chance(0.75):
        return values.thing(speaker)
    name = speaker.pick([values.word, values.known_word])(speaker).lower()
    other = values.word(speaker).lower()
    number = speaker.number(1, 250)
    return speaker.pick([
        title(speaker), f"{number} {name.capitalize()} {speaker.pick(['Street', 'Lane', 'Road', 'Avenue', 'Square', 'Hill', 'Way'])}", f"{name}.{speaker.pick(['png', 'jpg', 'pdf', 'txt', 'csv', 'mp3', 'py'])}",
        f"{name}_{number:02}.{speaker.pick(['png', 'jpg', 'tif', 'wav', 'json'])}", f"{name}-{other}", f"{name}_{other}", f"{name}/{other}", f"v{number % 10}.{speaker.number(0, 20)}.{speaker.number(0, 9)}", f"{number % 13}{speaker.pick('ABCDEF')}",
    ])


def title(speaker):
    """A title of a song, a meeting or a place: one to four capitalised words, with some small words between them."""
    words = [speaker.pick([values.word, values.word, values.known_word])(speaker) for _ in range(speaker.pick([1, 1, 2, 2, 2, 3, 4]))]
    words = [word if 0 < at and word in values.LINKING else word[0].upper() + word[1:] for at, word in enumerate(words)]
    return ("The " if speaker.chance(0.1) else "") + " ".join(words)


def person(speaker):
    """A person, often with a surname."""
    first = values.person(speaker)
    roll = speaker.random.random()
    if roll < 0.6:
        return first
    surname = values.invented_word(speaker, (1, 3)).capitalize()
    return f"{first} {surname}" if roll < 0.9 else f"{speaker.pick(['Dr', 'Mr', 'Mrs', 'Ms', 'Professor'])} {surname}"


def clock(speaker):
    """`19:30`, `8pm`, `7:15 am`."""
    if speaker.chance(0.4):
        return values.clock(speaker)
    minutes = speaker.pick(["", "", f":{speaker.pick([15, 30, 45, speaker.number(10, 59)])}"])
    return speaker.pick(["noon", "midnight"]) if speaker.chance(0.06) else f"{speaker.number(1, 12)}{minutes}{speaker.pick(['', ' '])}{speaker.pick(['am', 'pm', 'pm'])}"


def date(speaker):
    """`14 March`, `June 12`, `2026-03-01`, `next Friday`."""
    day, month = speaker.number(1, 28), speaker.pick(values.MONTHS)
    ending = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}.get(day, "th")
    near = ["today", "tomorrow", "tonight", "next week", "this weekend", *values.DAYS, *(f"{which} {name}" for which in ("next", "this") for name in values.DAYS)]
    return speaker.pick([
        f"{day} {month}", f"{month} {day}", f"20{speaker.number(24, 32)}-{values.MONTHS.index(month) + 1:02}-{day:02}", f"{month} {day}{ending}", f"{day} {month} 20{speaker.number(24, 32)}",
        f"{day}/{values.MONTHS.index(month) + 1}/20{speaker.number(24, 32)}", speaker.pick(near), speaker.pick(near),
    ])


def code(speaker):
    """`JD0146600045`, `SKU-7781`, `QX7LMP`, `A12`, `#4412`."""
    if speaker.chance(0.3):
        return values.code(speaker)
    letters = "".join(speaker.pick("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(speaker.number(1, 4)))
    digits = "".join(speaker.pick("0123456789") for _ in range(speaker.number(1, 9)))
    mixed = "".join(speaker.pick("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789") for _ in range(speaker.number(5, 8)))
    return speaker.pick([letters + digits, f"{letters}-{digits}", mixed + speaker.pick("0123456789"), f"#{digits}", digits, f"{letters.lower()}-{digits}", f"{letters}-{digits}-{speaker.number(1, 99)}"])


def note(speaker):
    """A text message."""
    subject = speaker.pick(["I", "we", "the " + values.thing(speaker), values.person(speaker), "it", "they", "dinner", "everything"])
    state = speaker.expand(
        "['m|'ll be|'d like to be] [running late|on my way|here|there soon|home by eight|in a meeting|almost done|at the door|stuck in traffic|so happy]" if subject == "I" else
        "[is|was|will be|has been] [ready|here|late|cancelled|moved to Friday|done|on the way|delayed|waiting|fine|great|broken|sold out|delicious|a success]"
    )
    roll = speaker.random.random()
    if roll < 0.4:
        text = re.sub(r"^(we|they) (is|was|has)", lambda found: f"{found[1]} {({'is': 'are', 'was': 'were', 'has': 'have'})[found[2]]}", f"{subject} {state}").replace(" '", "'")
    elif roll < 0.7:
        text = values.note(speaker)[0]
    else:
        text = speaker.phrase(
            ["see you [at {clock}|{moment}|soon|there]", "happy birthday[| {person}]", "[don't forget|remember] the {thing}", "[can|could|will] you [bring|buy|send me|find] the {thing}", "where are you", "call me [back|{moment}|when you can]",
             "[thanks|thank you] for the {thing}", "good [luck|morning|job]", "how [are you|was the {thing}|is {person}]", "the {thing} [costs|needs|takes] {number}", "meet me at the {thing} at {clock}", "no problem", "I love you", "what time is the {thing}"],
            clock=clock(speaker), moment=speaker.value(values.MOMENTS), person=values.person(speaker), thing=values.thing(speaker), number=speaker.number(1, 99),
        )
    return text[0].upper() + text[1:] if speaker.chance(0.3) else text


TEXTS = {"title": title, "thing": thing, "person": person, "clock": clock, "date": date, "code": code, "note": note}


def request(speaker, made):
    """A request for a function, without courtesies, and its arguments in the order of the definition."""
    phrase = speaker.expand(speaker.pick(made.template.phrases))
    given, said = {}, {}
    for name, sign in SLOT.findall(phrase):
        each = made.parameters[name]
        if sign:
            given[name], said[name + sign] = sign == "+", ""
        elif each.kind == "array":
            given[name], said[name] = invented.listed(speaker, each.parts[0], value)
        else:
            given[name], said[name] = value(speaker, each)
            if each.kind in ("note", "title", "thing"):
                said[name] = quoted(speaker, said[name], phrase)
    return filled(phrase, said), nested({each.name: given[name] for name, each in made.parameters.items() if name in given})


def filled(phrase, said):
    """Fills the slots of a phrase, with corrections such as `an Italian word`, and never `on tomorrow`."""

    def words(found):
        before, name, sign = found.groups()
        text = said[name + sign]
        if before == "on" and text.startswith(NEAR):
            return text
        if before == "a" and text[:1].lower() in tuple("aeio"):
            before = "an"
        return f"{before} {text}" if before else text

    return " ".join(SAID.sub(words, phrase).split())


def quoted(speaker, text, phrase):
    """Sometimes adds quotes, if the phrase has none."""
    return text if '"' in phrase or speaker.chance(0.9) else speaker.pick(["'{}'", '"{}"', "“{}”"]).format(text)


def exchange(speaker, made):
    core, arguments = request(speaker, made)
    result, reply = invented.outcome(speaker, made)
    question = core.split(" ", 1)[0].lower() in QUESTION_WORDS
    return Exchange(courteous(speaker, core, question), reply, [(made.name, arguments)], [result], core)


def missing(speaker, made):
    """A request by the name of a function, without its required values, and the question for them; None if the name does not read as a request."""
    verb, *rest = words_of(made.name)
    wanted = [each for each in made.parameters.values() if not each.optional]
    if verb not in VERBS or not 1 <= len(rest) <= 3 or not 1 <= len(wanted) <= 2:
        return None
    text = f"{verb} {speaker.pick(['a', 'the', 'my', 'some', 'another', ''])} {' '.join(rest)}".replace("  ", " ")
    named = " and the ".join(" ".join(words_of(each.name.rpartition(".")[2])) for each in wanted)
    return Exchange(courteous(speaker, text), f"What is the {named}?")


def several(speaker, made, count=2):
    """One request for several things. If possible, one in three is one phrase with several values, with a call for each."""
    if speaker.chance(0.35):
        for function in speaker.random.sample(made, len(made)):
            for phrase in map(speaker.expand, speaker.random.sample(function.template.phrases, len(function.template.phrases))):
                if (found := repeated(speaker, function, phrase, count)) is not None:
                    return found
    return invented.together(speaker, [exchange(speaker, speaker.pick(made)) for _ in range(count)])


def repeated(speaker, made, phrase, count):
    """A request such as `lights on in the hall and the kitchen`; None unless the phrase has exactly one value."""
    slots = SLOT.findall(phrase)
    if len(slots) != 1 or '"' in phrase or slots[0][1] or "." in slots[0][0]:
        return None
    name, said = slots[0][0], {}
    kind = made.parameters[name].kind
    if kind in ("array", "note", "enum", "number", "integer") or ".." in kind:
        return None
    for _ in range(4 * count):
        said.update([value(speaker, made.parameters[name])])
        if len(said) == count:
            core = filled(phrase, {name: invented.enumerated(speaker, list(said.values()))})
            answers = [invented.outcome(speaker, made) for _ in said]
            calls = [(made.name, {made.parameters[name].name: chosen}) for chosen in said]
            return Exchange(courteous(speaker, core), " ".join(reply for _, reply in answers), calls, [result for result, _ in answers], core)
    return None
