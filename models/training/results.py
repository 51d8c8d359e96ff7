"""Results of functions as programmers return them, and the sentence that answers from each: bare strings, numbers, booleans, nothing,
lists, nested objects and errors.

The sentence names what the function reads (`get_phone_number`: "The phone number is 555-0142."), if its name says so.
"""

import json
import re

from . import values

READERS = set("get fetch show check find read lookup look search retrieve query view display current tell compute calculate measure count inspect report track estimate describe request load".split())
ASKERS = set("is has are can does was did should will".split())
SMALL_WORDS = set("a an the of for to in on at by with from and or up all any my".split())
DONE, FAILED, YES, NO, NOTHING, NONE = "That is done.", "That did not work.", "The answer is yes.", "The answer is no.", "There is no result.", "There are no results."


def words_of(name):
    """The words of a name in any style, in small letters."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+", name)]


class Named:
    """What the name of a function says about its result."""

    def __init__(self, name):
        words = words_of(name)
        first = words[0] if words else ""
        self.is_question = first in ASKERS
        self.is_reader = self.is_question or not READERS.isdisjoint(words) or first in ("list", "now")
        rest = words[1:] if first in READERS or first == "list" else []
        if rest and rest[0] == "up":
            rest = rest[1:]
        if not 1 <= len(rest) <= 3 or SMALL_WORDS.intersection(rest):
            rest = []
        is_plural = bool(rest) and rest[-1].endswith("s") and not rest[-1].endswith(("ss", "us", "is"))
        self.one = f"The {' '.join(rest)}" if rest and not is_plural else "The result"
        self.many = f"The {' '.join(rest)}" if is_plural else "The results"


def sentence(text):
    """The text with a capital and a full stop."""
    text = text.strip()
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def joined(parts):
    return ", ".join(parts[:-1]) + " and " + parts[-1] if 1 < len(parts) else parts[0]


def spoken(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def quantity(speaker):
    """`21 C`, `$131.20`, `45%`, `3 km`, `12.5 kg`."""
    number = values.amount(speaker, 0.4)
    unit = speaker.pick(" C| F|°C|°F|%| %| km| kg| m| l| cm| g| miles| minutes| hours| seconds| days| EUR| USD| euros| dollars| percent| degrees|km/h| km/h| MB| GB| W| kWh| points| steps|ms|px| items".split("|"))
    if speaker.chance(0.2):
        return speaker.pick("$€£") + (f"{number:,}" if speaker.chance(0.5) else f"{number}")
    return f"{number:,}{unit}" if speaker.chance(0.2) else f"{number}{unit}"


def text_value(speaker):
    """A value that is not a sentence."""
    word, thing = values.word, values.thing
    return speaker.pick([
        lambda: speaker.value(values.ADJECTIVES), lambda: speaker.value(values.ADJECTIVES), lambda: word(speaker), lambda: thing(speaker), lambda: thing(speaker).capitalize(), lambda: values.person(speaker),
        lambda: values.city(speaker), lambda: values.code(speaker), lambda: values.clock(speaker), lambda: values.date(speaker), lambda: quantity(speaker), lambda: quantity(speaker), lambda: quantity(speaker),
        lambda: f"{speaker.value(values.ADJECTIVES)} with {speaker.value(values.ADJECTIVES)} {word(speaker)}", lambda: f"{values.amount(speaker)} {word(speaker)}", lambda: f"{speaker.value(values.ADJECTIVES)} and {speaker.value(values.ADJECTIVES)}",
        lambda: f"20{speaker.number(20, 39)}-{speaker.number(1, 12):02}-{speaker.number(1, 28):02}" + speaker.pick(["", f"T{values.clock(speaker, seconds=True)}Z", f" {values.clock(speaker)}"]),
        lambda: joined([word(speaker) for _ in range(speaker.number(2, 4))]), lambda: joined([values.clock(speaker) for _ in range(speaker.number(2, 3))]), lambda: f"{speaker.number(100, 999)}-{speaker.number(1000, 9999)}", lambda: f"+{speaker.number(1, 99)} {speaker.number(10, 999)} {speaker.number(100, 9999)} {speaker.number(10, 9999)}",
        lambda: speaker.pick("on off open closed locked unlocked low high medium full empty ready busy free active pending unknown available offline sunny cloudy rainy windy cold warm hot clear snowy foggy good bad late early red green left right north south done won lost even".split()),
    ])()


def string(speaker, named):
    text = text_value(speaker)
    written = json.dumps(text, ensure_ascii=False) if speaker.chance(0.3) else text
    return written, f"{named.one} is {text}{'' if text.endswith('.') else '.'}"


def acknowledged(speaker, named):
    """A word that says that it worked, or an answer with one word."""
    if named.is_question or speaker.chance(0.3):
        word = speaker.pick("yes no Yes No true false True False".split())
        return word, said_boolean(word.lower() in ("yes", "true"), named)
    return speaker.pick(["ok", "OK", "Ok", "done", "Done", "success", "Success", "sent", "saved", "created", "updated", "true", '"ok"', '"done"', '"success"']), DONE


def message(speaker, named):
    """A sentence, which is the answer."""
    text = speaker.phrase([
        "The {w} is {a}", "The {w} [was|has been] [saved|sent|deleted|created|added|updated|moved to the {x}|changed]", "[Found|Added|Removed|Updated|Sent|Created|There are|Deleted] {n} {w}[|s]", "{p} [has|wants|found|likes|is waiting for] the {w}",
        "It is {a}[| and {b}| in {c}| in the {w}]", "[Message|Note|Event|Order|Ticket|Reminder|{W}] [sent|saved|created|cancelled|added|booked|updated] [to|for] {p}", "[Successfully |]{v} the {w}", "{c} is {a} today", "Your {w} [arrives|ends|starts|closes] at {t}", "The {w} costs {n} [euros|dollars]", "{W} set to {n}",
        "The {w} is {a}. The {x} is {b}", "No {w} [was found|found|is running]", "{n} of {m} {w} [left|remain]", "the {w} is now {a}", "{w} {n} [is ready|was booked]",
    ], w=values.word(speaker), W=values.word(speaker).capitalize(), x=values.word(speaker), a=speaker.value(values.ADJECTIVES), b=speaker.value(values.ADJECTIVES), p=values.person(speaker), c=values.city(speaker), n=values.amount(speaker), m=values.amount(speaker), t=values.clock(speaker), v=speaker.pick("Opened Closed Booked Moved Copied Stopped Started Paid Shared".split()))
    written = text if speaker.chance(0.5) else text + "."
    return json.dumps(written, ensure_ascii=False) if speaker.chance(0.15) else written, sentence(text)


def number(speaker, named):
    amount = values.amount(speaker, 0.5) * speaker.pick([1, 1, 1, 1, -1])
    return str(amount), f"{named.one} is {amount}."


def said_boolean(is_true, named):
    if named.is_reader:
        return YES if is_true else NO
    return DONE if is_true else FAILED


def boolean(speaker, named):
    is_true = speaker.chance(0.5)
    return speaker.pick([str(is_true), str(is_true).lower(), str(is_true).lower()]), said_boolean(is_true, named)


def nothing(speaker, named):
    written = speaker.pick(["null", "null", "None", "None", "", "", '""', "[]", "[]", "{}", "undefined", "N/A"])
    if named.is_reader:
        return written, NONE if written == "[]" else NOTHING
    return written, DONE


def item(speaker):
    return speaker.pick([values.thing, values.thing, values.word, values.person, values.clock, values.amount, values.code, values.city, quantity])(speaker)


def listing(speaker, named):
    """A list of values, or of objects of the same fields."""
    count = speaker.pick([1, 2, 2, 3, 3, 4])
    if speaker.chance(0.4):
        keys = speaker.random.sample(KEYS, speaker.pick([1, 2, 2, 3]))
        makers = [speaker.pick([values.word, values.thing, values.person, values.city]), *(speaker.pick([values.amount, values.clock, values.word, quantity]) for _ in keys[1:])]
        rows = [{key: make(speaker) for key, make in zip(keys, makers)} for _ in range(min(count, 3))]
        texts = [row_text(row) for row in rows]
    else:
        make = speaker.pick([item, values.thing, values.person, values.amount, values.clock, values.word])
        rows = [make(speaker) for _ in range(count)]
        texts = [spoken(row) for row in rows]
    written = str(rows) if speaker.chance(0.12) else json.dumps(rows, ensure_ascii=False)
    return written, enumerated(named.many if 1 < len(texts) else named.one, texts)


def row_text(row):
    """`lentil soup with minutes 40`."""
    (_, first), *rest = row.items()
    return spoken(first) + "".join(f" with {key_words(key)} {spoken(value)}" for key, value in rest)


def enumerated(subject, texts):
    return f"{subject} {'are' if 1 < len(texts) else 'is'} {joined(texts)}."


KEYS = (
    "name title id status time date price total count city temperature humidity distance duration unit owner address phone email url level value label code type room balance currency symbol score "
    "author artist genre rating start end line platform gate seat size color weight speed wind sky condition summary description steps calories minutes language country amount quantity stock category"
).split()
LONG_KEYS = "phone_number phoneNumber start_time startTime orderId order_id created_at is_open isOpen max_temp windSpeed total_price arrivalTime unread_count batteryLevel user_name due_date".split()


def key_words(key):
    return " ".join(words_of(key))


def field_value(speaker):
    return speaker.pick([values.word, values.thing, values.person, values.amount, values.amount, values.clock, values.code, text_value])(speaker)


def facts(result, before=""):
    """What each field says, without the verb `is` of the first."""
    for key, value in result.items():
        name = f"{before}{key_words(key)}"
        if isinstance(value, dict):
            yield from facts(value, name + " ")
        elif isinstance(value, list):
            yield f"the {name} are {joined([spoken(each) for each in value])}" if value else f"there are no {name}"
        else:
            yield f"the {name} is {'not known' if value is None else spoken(value)}"


def fields(speaker, named):
    """An object with nested objects, lists, booleans and missing values."""
    result = {}
    for key in speaker.random.sample(KEYS, speaker.pick([1, 1, 2, 2, 3])) + speaker.random.sample(LONG_KEYS, speaker.pick([0, 0, 1])):
        roll = speaker.random.random()
        if roll < 0.1:
            result[key] = {inner: field_value(speaker) for inner in speaker.random.sample(KEYS, 2)}
        elif roll < 0.2:
            result[key.removesuffix("s") + "s"] = [speaker.pick([values.thing, values.word])(speaker) for _ in range(speaker.pick([0, 1, 2, 3]))]
        else:
            result[key] = speaker.pick([True, False, None]) if roll < 0.35 else field_value(speaker)
    written = result
    if speaker.chance(0.2):
        written = {speaker.pick(["success", "ok"]): True} | result
    elif speaker.chance(0.15):
        written = {"status": speaker.pick(["ok", "success"]), speaker.pick(["data", "result"]): result}
    return json.dumps(written, ensure_ascii=False), sentence(joined(list(facts(result))))


def outcome_only(speaker, named):
    """An object that only says whether it worked, or has a message or one result."""
    roll = speaker.random.random()
    if roll < 0.3:
        return json.dumps(speaker.pick([{"success": True}, {"ok": True}, {"status": "ok"}, {"status": "success"}, {"done": True}, {"result": "ok"}, {"status": "done"}, {"result": True}])), DONE
    if roll < 0.42:
        return json.dumps(speaker.pick([{"success": False}, {"ok": False}, {"status": "failed"}, {"status": "failure"}, {"result": False}, {"done": False}])), FAILED
    if roll < 0.6:
        text, reply = message(speaker, named)
        return json.dumps(speaker.pick([{"success": True}, {"status": "ok"}, {}]) | {"message": text.strip('"')}, ensure_ascii=False), reply
    if roll < 0.75:
        texts = [values.thing(speaker) for _ in range(speaker.pick([0, 0, 1, 2, 3]))]
        result = {speaker.pick(["results", "items", "data"]): texts} | speaker.pick([{}, {"total": len(texts)}, {"count": len(texts)}])
        return json.dumps(result, ensure_ascii=False), enumerated("The results" if 1 < len(texts) else "The result", texts) if texts else NONE
    value = field_value(speaker)
    return json.dumps({speaker.pick(["result", "value", "data", "output", "answer"]): value}, ensure_ascii=False), f"The result is {spoken(value)}."


def error(speaker, named):
    word = values.word(speaker)
    text = speaker.phrase([
        "{w} not found", "no such {w}", "the {w} is [offline|not available|closed|unknown|locked|full|too large|missing]", "[permission|access] denied", "[connection|request] [timed out|refused|failed]", "[service|server|{w}] [unavailable|not responding]", "unknown {w}[| '{x}'| {x}]", "invalid {w}[|: {x}]",
        "rate limit exceeded", "could not [open|find|reach|read|send|update] the {w}", "no {w} [named|called] {x}", "[internal server error|bad request|not authorised|out of memory|something went wrong|time-out]", "{w} [must be|should be] [a number|positive|a date|set]", "missing [parameter|field] {w}", "[the|this] {w} [does not exist|already exists|has expired|was not found]",
    ], w=word, x=values.word(speaker))
    code = speaker.pick([400, 401, 403, 404, 409, 429, 500, 503])
    kind = speaker.pick(["Error", "ValueError", "Exception", "RuntimeError", "KeyError", "TimeoutError", "error", "Failed", "HTTPError", "TypeError"])
    shown = text if speaker.chance(0.7) else text[0].upper() + text[1:] + speaker.pick(["", "."])
    result = speaker.pick([
        {"error": shown}, {"error": shown, "code": code}, {"error": {"message": shown}}, {"error": {"code": code, "message": shown}}, {"error": {"type": speaker.pick(["not_found", "invalid_request"]), "message": shown}}, {"success": False, "error": shown}, {"success": False, "message": shown}, {"status": "error", "message": shown}, {"ok": False, "error": shown},
        {"status": code, "error": shown}, {"errors": [shown]}, {"detail": shown}, {"error": shown, speaker.pick(["retry_after", "attempts"]): speaker.number(1, 60)}, {"isError": True, "message": shown},
        f"{kind}: {shown}", f"{kind}: {shown}", f"{kind}: {shown}",
    ])
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False), f"Sorry, {shown.removesuffix('.')}."


MAKERS = {string: 0.26, acknowledged: 0.06, message: 0.1, number: 0.1, boolean: 0.07, nothing: 0.11, listing: 0.1, fields: 0.08, outcome_only: 0.06, error: 0.12}


def outcome(speaker, name):
    """The content of a tool message for a function of this name, and the reply."""
    maker, = speaker.random.choices(list(MAKERS), MAKERS.values())
    return maker(speaker, Named(name))
