"""Requests that are said aloud, in a vocabulary that a small encoder can learn, with the calls that they ask for.

A request consists of words as they are said, each with the text that it adds to the request as it is written: "twenty five" is said
in two words and written as 25.
"""

import re
from dataclasses import dataclass, field

from .. import shipped, talk
from ..exchange import NO_FUNCTION
from ..values import DAYS, ONES, TENS

CITIES = (
    "Tokyo|Paris|London|Berlin|Madrid|Rome|Lisbon|Vienna|Prague|Warsaw|Athens|Dublin|Oslo|Stockholm|Helsinki|Amsterdam|Brussels|Barcelona|"
    "New York|Los Angeles|San Francisco|Chicago|Boston|Seattle|Denver|Dallas|Houston|Miami|Toronto|Montreal|Vancouver|Lima|Cairo|Nairobi|"
    "Istanbul|Dubai|Delhi|Mumbai|Bangkok|Singapore|Hong Kong|Seoul|Sydney|Melbourne"
).split("|")
LABELS = (
    "pasta eggs tea coffee rice bread cake pizza soup chicken potatoes cookies oven laundry dishes nap workout run walk bath homework "
    "game meeting parking bus dog cat baby steak fish noodles popcorn pie garden plants break"
).split()
UNITS = [
    "miles kilometers meters feet inches".split(), "pounds kilograms ounces grams".split(), "liters gallons pints cups".split(),
    "Celsius Fahrenheit".split(), "minutes hours days weeks seconds".split(),
]
TASKS = [
    "buy [milk|bread|eggs|coffee|flowers|rice|apples|stamps|tea|some cheese]", "[call|email|visit|thank] [Anna|Tom|Peter|mum|dad|Maria|the doctor|the dentist|the bank|the school]",
    "[clean|fix|wash|sell] the [car|bike|kitchen|window|oven]", "[water|move] the [plants|flowers]", "pay the [rent|bill|taxes]", "[feed|walk] the [dog|cat]",
    "book a [table|hotel|flight|taxi]", "return the [book|keys|shoes]", "pick up the [laundry|parcel|keys|cake]", "charge the [phone|laptop|car]",
]
MOMENTS = ["today", "tomorrow", "tonight", "next week", *(f"on {day}" for day in DAYS)]

TIME_HERE = ["what time is it[| now]", "what's the time[| now]", "what is the time", "tell me the time", "what's the date[| today]", "what day is it[| today]", "what is the date"]
TIME_CITY = [
    "what time is it in {city}", "what's the time in {city}", "what is the time in {city}", "tell me the time in {city}", "what's the date in {city}",
    "what is the local time in {city}",
]
TIMER = [
    "[set|start] a timer for {duration}", "[set|start] a timer for {duration}", "[set|start] a timer of {duration}", "timer for {duration}", "I need a timer for {duration}",
    "wake me [up |]in {duration}", "count down {duration}", "remind me in {duration}", "set the timer to {duration}",
]
TIMER_LABEL = [
    "[set|start] a timer for {duration} for the {label}", "[set|start] a {label} timer for {duration}", "set a timer for the {label} for {duration}",
    "remind me about the {label} in {duration}", "time the {label} for {duration}", "{label} timer for {duration}",
]
LIST_TIMERS = [
    "[which|what] timers are running", "what timers do I have", "how much time is left[| on the timer]", "[show|list|check] my timers", "check the timer",
    "are there any timers[| running]", "how long is left on the timer",
]
SUMS = [  # what is said, and the expression
    ("{a} times {b}", "{a} * {b}"), ("{a} times {b}", "{a} * {b}"), ("{a} plus {b}", "{a} + {b}"), ("{a} plus {b}", "{a} + {b}"), ("{a} minus {b}", "{a} - {b}"),
    ("{a} minus {b}", "{a} - {b}"), ("{a} divided by {b}", "{a} / {b}"), ("{a} divided by {b}", "{a} / {b}"), ("{a} multiplied by {b}", "{a} * {b}"),
    ("the square root of {a}", "sqrt({a})"), ("{a} percent of {b}", "{a}% * {b}"), ("{a} squared", "{a} ^ 2"), ("{a} plus {b} plus {c}", "{a} + {b} + {c}"),
    ("{a} times {b} plus {c}", "{a} * {b} + {c}"), ("half of {a}", "{a} / 2"),
]
CALCULATE = ["what's {sum}", "what is {sum}", "how much is {sum}", "calculate {sum}", "work out {sum}", "tell me what {sum} is", "{sum}"]
CONVERT = [
    "convert {value} to {target}", "convert {value} to {target}", "convert {value} into {target}", "what is {value} in {target}", "what's {value} in {target}",
    "how much is {value} in {target}", "how many {target} is {value}", "how many {target} are {value}", "{value} in {target}",
]
NOTE = [
    "remind me to {note}", "remember to {note}", "make a note to {note}", "add a note to {note}", "don't let me forget to {note}", "note that I have to {note}",
    "write down {note}", "don't forget to {note}", "put {note} on my list",
]
LIST_NOTES = [
    "what are my notes", "[read|show|list] my notes", "read me my notes", "what notes do I have", "what did I write down", "read my notes back to me", "do I have any notes",
    "what's on my list",
]
UNSERVED = [
    "play some [music|jazz]", "turn up the volume", "what's the weather [today|tomorrow|in {city}]", "tell me a [joke|story]", "take a picture", "call {person}",
    "send a message to {person}", "book a table in {city}", "open the camera", "will it rain [today|tomorrow]", "sing a song", "order a pizza", "where is my phone",
]
PEOPLE = "Anna Tom Peter mum dad Maria".split()
SMALL_TALK = [
    ("[hello|good morning|good evening|hi]", talk.GREETING), ("[thank you|thanks|thank you very much|thanks a lot]", talk.WELCOME),
    ("[goodbye|good night|see you later]", talk.FAREWELL),
]
BEFORE, AFTER = ["please", "can you", "could you", "can you please", "okay"], ["please", "thanks"]
COURTEOUS_SHARE = 0.25

# What is offered in a prompt: its system text and functions. The first one is measured.
OFFERS = {
    "chat": (shipped.SYSTEM, shipped.TOOLS), "timers": (shipped.SYSTEM, [tool for tool in shipped.TOOLS if "timer" in tool["name"]]),
    "some": ("You are an assistant.", [shipped.TOOLS[at] for at in (4, 1, 2, 5)]), "others": ("", [shipped.TOOLS[at] for at in (6, 3, 5, 0)]),
}


@dataclass
class Request:
    words: list  # (said, written), in order
    calls: list = field(default_factory=list)  # (name, arguments)
    reply: str = ""  # if nothing is called

    def said(self):
        return " ".join(said for said, _ in self.words)

    def written(self):
        return "".join(written for _, written in self.words).strip()

    def places(self):
        """For each word, where its text begins in `written`, and where its sound begins in `said`."""
        in_written, in_said, places = 0, 0, []
        for said, written in self.words:
            places.append((in_written, in_said))
            in_written += len(written) if in_written else len(written.lstrip())
            in_said += len(said) + 1
        return places


def plain(text):
    return [(word, " " + word) for word in text.split()]


def number(speaker, value):
    """A number below a thousand, perhaps with one decimal."""
    if isinstance(value, float):
        whole, decimal = str(value).split(".")
        return [*number(speaker, int(whole)), ("point", "."), (ONES[int(decimal)], decimal)]
    if value < 20:
        return [(ONES[value], f" {value}")]
    if value < 100:
        tens, ones = divmod(value, 10)
        return [(TENS[tens], f" {tens}"), (ONES[ones], str(ones))] if ones else [(TENS[tens], f" {value}")]
    hundreds, rest = divmod(value, 100)
    first = ("a", f" {hundreds}") if hundreds == 1 and speaker.chance(0.3) else (ONES[hundreds], f" {hundreds}")
    words = [first, ("hundred", "" if 10 <= rest else "0" if rest else "00")]
    if rest:
        words += [("and", "")] if speaker.chance(0.6) else []
        words += [(said, written.strip()) for said, written in number(speaker, rest)]
    return words


def phrase(speaker, patterns, **slots):
    """The words of one pattern; the values of its slots are words."""
    pattern = speaker.expand(speaker.pick(patterns))
    words = []
    for part in re.split(r"(\{\w+\})", pattern):
        words += slots[part[1:-1]] if part.startswith("{") else plain(part)
    return words


def get_time(speaker):
    if speaker.chance(0.3):
        return Request(phrase(speaker, TIME_HERE), [("get_time", {})])
    city = speaker.pick(CITIES)
    return Request(phrase(speaker, TIME_CITY, city=plain(city)), [("get_time", {"city": city})])


def duration(speaker):
    unit = speaker.pick(["seconds", "minutes", "minutes", "minutes", "hours"])
    count = speaker.number(1, 12) if unit == "hours" else speaker.number(1, speaker.pick([20, 60, 99]))
    if unit != "hours" and speaker.chance(0.4):
        count = speaker.pick([5, 10, 15, 20, 25, 30, 40, 45, 50, 60, 90])
    if count == 1 and speaker.chance(0.5):
        return plain(f"{'an' if unit == 'hours' else 'a'} {unit[:-1]}"), 1, unit
    if unit == "hours" and speaker.chance(0.1):
        return plain("half an hour"), 0.5, unit
    return [*number(speaker, count), *plain(unit if count != 1 else unit[:-1])], count, unit


def set_timer(speaker):
    said, count, unit = duration(speaker)
    arguments = {"duration": count, "unit": unit}
    if speaker.chance(0.6):
        return Request(phrase(speaker, TIMER, duration=said), [("set_timer", arguments)])
    label = speaker.pick(LABELS)
    return Request(phrase(speaker, TIMER_LABEL, duration=said, label=plain(label)), [("set_timer", arguments | {"label": label})])


def list_timers(speaker):
    return Request(phrase(speaker, LIST_TIMERS), [("list_timers", {})])


def operand(speaker):
    return speaker.number(0, speaker.pick([12, 20, 99, 99, 999]))


def calculate(speaker):
    pattern, expression = speaker.pick(SUMS)
    values = {name: operand(speaker) for name in "abc"}
    words = phrase(speaker, [pattern], **{name: number(speaker, value) for name, value in values.items()})
    return Request(phrase(speaker, CALCULATE, sum=words), [("calculate", {"expression": expression.format(**values)})])


def convert_units(speaker):
    source, target = speaker.random.sample(speaker.pick(UNITS), 2)
    value = max(2, operand(speaker))
    if speaker.chance(0.15):
        value = speaker.number(1, 20) + speaker.pick([0.5, 0.5, 0.2, 0.8])
    words = [*number(speaker, value), *plain(source)]
    arguments = {"value": value, "from_unit": source, "to_unit": target}
    return Request(phrase(speaker, CONVERT, value=words, target=plain(target)), [("convert_units", arguments)])


def add_note(speaker):
    text = speaker.expand(speaker.pick(TASKS))
    if speaker.chance(0.3):
        text += " " + speaker.pick(MOMENTS)
    return Request(phrase(speaker, NOTE, note=plain(text)), [("add_note", {"text": text})])


def list_notes(speaker):
    return Request(phrase(speaker, LIST_NOTES), [("list_notes", {})])


def unserved(speaker):
    return Request(phrase(speaker, UNSERVED, city=plain(speaker.pick(CITIES)), person=plain(speaker.pick(PEOPLE))), reply=NO_FUNCTION)


def small_talk(speaker):
    pattern, reply = speaker.pick(SMALL_TALK)
    return Request(phrase(speaker, [pattern]), reply=reply)


KINDS = {
    get_time: 0.15, set_timer: 0.28, list_timers: 0.07, calculate: 0.17, convert_units: 0.14, add_note: 0.12, list_notes: 0.06, unserved: 0.04,
    small_talk: 0.02,
}


def offers(name, kind):
    """Whether a request of a kind is served by the functions, or declined as by those of `causerie chat`."""
    return any(tool["name"] == kind for tool in OFFERS[name][1]) or (name == "chat" and kind in ("unserved", "small_talk"))


def request(speaker):
    """The kind of a request, and the request."""
    kind = speaker.random.choices(list(KINDS), KINDS.values())[0]
    made = kind(speaker)
    if kind not in (small_talk, unserved) and speaker.chance(COURTEOUS_SHARE):
        first = made.words[0][0]
        if first not in ("what", "what's", "how", "which", "are", "do", "I") and speaker.chance(0.6):
            made.words = plain(speaker.pick(BEFORE)) + made.words
        else:
            made.words = made.words + plain(speaker.pick(AFTER))
    return kind.__name__, made
