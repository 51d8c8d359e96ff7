"""Exchanges with the functions of `causerie chat`: request, call, result and answer.

The functions themselves are read from `server/src/chat/`, the only place that defines them.
"""

import json

from . import patterns as training_patterns
from . import values
from .exchange import NO_FUNCTION, Exchange, courteous, failure_reply, is_imperative
from .prompt import HERE

CHAT = HERE.parents[1] / "server" / "src" / "chat"
TOOLS = [entry["function"] for entry in json.loads((CHAT / "functions.json").read_text())]
SYSTEM = (CHAT / "system_prompt.txt").read_text().strip()
SECONDS = {"seconds": 1, "minutes": 60, "hours": 3600}


def get_time(speaker, patterns):
    if speaker.chance(0.6):
        city = values.city(speaker)
        arguments = {"city": city}
        pattern = speaker.pick(patterns.TIME_CITY)
    else:
        city, arguments, pattern = None, {}, speaker.pick(patterns.TIME_HERE)
    core = speaker.phrase(pattern, city=city)
    if city and speaker.chance(0.1):
        result = {"error": speaker.pick(["no city named {}", "unknown city {}", "I do not know the city {}"]).format(city)}
        reply = failure_reply(result)
    else:
        result = {"time": values.clock(speaker), "date": values.date(speaker)} | arguments
        reply = f"It is {result['time']}" + (f" in {city}" if city else "") + f" on {result['date']}."
    return Exchange(courteous(speaker, core, pattern in patterns.QUESTIONS), reply, [("get_time", arguments)], [result], core)


def spoken(speaker, number):
    """A number, mostly in digits, sometimes in words."""
    if isinstance(number, int) and number < 1000 and speaker.chance(0.35):
        return values.number_words(number)
    return str(number)


def arithmetic(speaker, patterns):
    """A request and its expression."""
    a, b, c = values.amount(speaker), values.amount(speaker), values.amount(speaker)
    roll = speaker.random.random()
    if roll < 0.3:  # typed as an expression
        operator = lambda: speaker.pick("+-*/*+^")
        space = speaker.pick(["", " "])
        form = speaker.pick(["{a}o{b}", "{a}o{b}", "{a}o{b}o{c}", "({a}o{b})o{c}", "{a}o({b}o{c})", "sqrt({a})", "sqrt({a})o{b}",
                             "{a}o{b}o{c}o{d}", "({a}o{b})o({c}o{d})", "{a}%o{b}", "-{a}o{b}"])
        text = form.format(a=a, b=b, c=c, d=values.amount(speaker))
        text = "".join(f"{space}{operator()}{space}" if x == "o" else x for x in text)
        return text, text
    return summed(speaker, speaker.pick(patterns.SUMS), a, b, c)


def summed(speaker, pattern, *numbers):
    words, expression = pattern
    slots = dict(zip("abc", numbers))
    request = speaker.phrase(words, **{name: spoken(speaker, number) for name, number in slots.items()})
    return request, expression.format(**slots)


def calculate(speaker, patterns):
    request, expression = arithmetic(speaker, patterns)
    pattern = speaker.pick(patterns.CALCULATE)
    core = speaker.phrase(pattern, sum=request)
    if patterns is training_patterns and speaker.chance(0.12):
        core, expression = summed(speaker, speaker.pick(patterns.SUM_REQUESTS), *(values.amount(speaker) for _ in "abc"))
    if speaker.chance(0.06):
        result = {"error": speaker.pick(["division by zero", "the expression is incomplete", "the number is too large",
                                         "square root of a negative number", "cannot read the expression"])}
        reply = failure_reply(result)
    else:
        result = {"expression": expression, "result": values.amount(speaker, 0.4) * speaker.pick([1, 1, 1, -1])}
        reply = f"{expression} is {json.dumps(result['result'])}."
    return Exchange(courteous(speaker, core, pattern in patterns.QUESTIONS), reply, [("calculate", {"expression": expression})], [result], core)


def two_units(speaker):
    """Hours and minutes, or minutes and seconds: the request has two units, the call the smaller one."""
    large, small = speaker.pick([("hour", "minute"), ("hour", "minute"), ("minute", "second")])
    most = 4 if large == "hour" else 9
    many, few = speaker.number(1, speaker.pick([2, 3, 3, most])), speaker.number(1, 59)
    if speaker.chance(0.75):
        few = speaker.pick([5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55])
    words = {"hour": ["hour", "hour", "hr", "h"], "minute": ["minute", "minute", "min"], "second": ["second", "second", "sec"]}
    one, other = speaker.pick(words[large]), speaker.pick(words[small])
    plural = lambda number, name: name + "s" * (1 < number and 1 < len(name) and (3 < len(name) or speaker.chance(0.4)))
    article = "an" if large == "hour" else "a"
    first = article if many == 1 and one == large and speaker.chance(0.4) else spoken(speaker, many) if one == large else str(many)
    said = f"{first} {plural(many, one)} {speaker.pick(['', 'and ', 'and ', 'plus '])}{spoken(speaker, few) if other == small else few} {plural(few, other)}"
    if one == "h" or (one in ("min", "hr") and speaker.chance(0.3)):
        said = said.replace(f"{first} {one}", f"{first}{one}")
    return said, many * 60 + few, small + "s"


def halves(speaker):
    """Durations with halves and quarters."""
    unit = speaker.pick(["hour", "minute"])
    article = "an" if unit == "hour" else "a"
    whole = speaker.number(1, 12)
    word = values.number_words(whole) if speaker.chance(0.7) else str(whole)
    form = speaker.pick(["half", "half", "one and", "one and", "and", "and", "after", "couple", "one", "dozen"])
    if form == "half":
        return f"half {article} {unit}", 0.5, unit + "s"
    if form == "one and":
        return f"{article} {unit} and a half", 1.5, unit + "s"
    if form == "one":
        return f"{article} {unit}", 1, unit + "s"
    if form == "couple":
        return f"a couple of {unit}s", 2, unit + "s"
    if form == "dozen":
        return f"a dozen {unit}s", 12, unit + "s"
    if form == "after" and 1 < whole:
        return f"{word} {unit}s and a half", whole + 0.5, unit + "s"
    return f"{word} and a half {unit}s", whole + 0.5, unit + "s"


def duration(speaker):
    """Text in the request, and arguments."""
    unit = speaker.pick(["seconds", "minutes", "minutes", "minutes", "hours"])
    roll = speaker.random.random()
    if roll < 0.12:
        return halves(speaker)
    if roll < 0.34:
        return two_units(speaker)
    number = speaker.number(1, 12) if unit == "hours" else speaker.number(1, speaker.pick([20, 60, 99, 240]))
    if unit == "minutes" and speaker.chance(0.3):
        number = speaker.pick([5, 10, 15, 20, 25, 30, 40, 45, 50, 60, 90])
    if speaker.chance(0.06):
        number = float(f"{speaker.number(1, 30)}.{speaker.number(1, 9)}")
    name = unit if number != 1 else unit[:-1]
    if speaker.chance(0.2):
        short = {"seconds": ["sec", "secs", "s"], "minutes": ["min", "mins", "m", "min"], "hours": ["hr", "hrs", "h"]}[unit]
        name = speaker.pick(short)
        return f"{number}{speaker.pick(['', ' ', ' '])}{name}", number, unit
    if isinstance(number, float):
        return f"{number} {name}", number, unit
    return f"{spoken(speaker, number)} {name}", number, unit


def ringing(speaker, arguments):
    """The result of `set_timer`."""
    number, unit = arguments["duration"], arguments["unit"]
    text = f"{number} {unit if number != 1 else unit[:-1]}"
    if speaker.chance(0.1):
        text = time_left(speaker)
    label = {"timer": arguments["label"]} if "label" in arguments else {}
    return label | {"duration": text, "rings_at": values.clock(speaker, seconds=True)}


def timer_reply(result):
    name = f"The {result['timer']} timer" if "timer" in result else "The timer"
    return f"{name} is set for {result['duration']} and rings at {result['rings_at']}."


def set_timer(speaker, patterns):
    said, number, unit = duration(speaker)
    arguments = {"duration": number, "unit": unit}
    named = speaker.chance(0.6)
    label = values.thing(speaker)
    if named:
        arguments["label"] = label
    pattern = speaker.pick(patterns.TIMER_LABEL if named else patterns.TIMER)
    if named and speaker.chance(0.12):
        pattern, arguments["label"] = speaker.pick(patterns.TIMER_TASK), values.task(speaker)
        label = arguments["label"]
    core = speaker.phrase(pattern, duration=said, label=label)
    if speaker.chance(0.04):
        result = {"error": speaker.pick(["the duration is too long", "there are too many timers", "a timer named {} is already running"]).format(label)}
        reply = failure_reply(result)
    else:
        result = ringing(speaker, arguments)
        reply = timer_reply(result)
    return Exchange(courteous(speaker, core, pattern in patterns.QUESTIONS), reply, [("set_timer", arguments)], [result], core)


def time_left(speaker):
    units = [(speaker.number(1, 59), unit) for unit in ("hour", "minute", "second")]
    parts = speaker.pick([units[1:], units[1:], units[1:2], units[2:], units[:2], units[:1], units])
    return " ".join(f"{number} {unit}{'s' * (number != 1)}" for number, unit in parts)


def list_timers(speaker, patterns):
    pattern = speaker.pick(patterns.LIST_TIMERS)
    core = speaker.phrase(pattern, label=values.thing(speaker))
    count = speaker.pick([0, 1, 1, 1, 2, 2, 3])
    timers = [{"timer": values.thing(speaker), "left": time_left(speaker)} for _ in range(count)]
    for timer in timers:
        if speaker.chance(0.15):
            timer["timer"] = speaker.pick(["timer", f"timer {speaker.number(1, 9)}", f"{speaker.number(1, 60)} minutes"])
        elif speaker.chance(0.1):
            del timer["timer"]
    return Exchange(courteous(speaker, core, pattern in patterns.QUESTIONS), timers_reply(timers), [("list_timers", {})], [{"timers": timers}], core)


def timers_reply(timers):
    if not timers:
        return "No timers are running."
    lines = [f"the {timer['timer']} timer has {timer['left']} left" if "timer" in timer else f"a timer has {timer['left']} left" for timer in timers]
    reply = " and ".join(lines) + "."
    return reply[0].upper() + reply[1:]


def convert_units(speaker, patterns):
    kind = speaker.pick(patterns.UNITS)
    source, target = speaker.pick(kind), speaker.pick(kind)
    while source == target:
        target = speaker.pick(kind)
    number = values.amount(speaker, 0.25)
    number += number == 1
    said = spoken(speaker, number)
    if speaker.chance(0.1) and source in patterns.SINGULAR:
        number, said, source = 1, speaker.pick(["a", "one", "1"]), patterns.SINGULAR[source]
        said = "an" if said == "a" and source[0] in "aeiou" else said
    arguments = {"value": number, "from_unit": source, "to_unit": target}
    pattern = speaker.pick(patterns.CONVERT)
    joint = "" if said[-1].isdigit() and len(source) < 4 and speaker.chance(0.3) else " "
    core = speaker.phrase(pattern, value=f"{said}{joint}{source}", target=target)
    if speaker.chance(0.08):
        error = speaker.pick(["no unit named {b}", "cannot convert {a} to {b}", "unknown unit {b}", "{a} and {b} measure different things"])
        result = {"error": error.format(a=source, b=target)}
        reply = failure_reply(result)
    else:
        long = speaker.chance(0.6)
        result = {"value": number, "unit": speaker.pick(kind) if long else source, "result": values.amount(speaker, 0.7),
                  "result_unit": speaker.pick(kind) if long else target}
        reply = f"{json.dumps(number)} {result['unit']} is {json.dumps(result['result'])} {result['result_unit']}."
    return Exchange(courteous(speaker, core, pattern in patterns.QUESTIONS), reply, [("convert_units", arguments)], [result], core)


def add_note(speaker, patterns):
    text, task = values.note(speaker)
    pattern = speaker.pick(patterns.NOTE_TASK if task and speaker.chance(0.5) else patterns.NOTE)
    user = speaker.phrase(pattern, note=text)
    if speaker.chance(0.3):
        user = speaker.pick(["please ", "can you ", "could you ", "hey, ", "ok, "]) + user
    core = user
    if speaker.chance(0.55):
        user = user[0].upper() + user[1:]
    if speaker.chance(0.15):
        user += "."
    if speaker.chance(0.03):
        result = {"error": speaker.pick(["the notes cannot be written", "the disk is full", "cannot open the notes file"])}
        reply = failure_reply(result)
    else:
        result = {"saved": text, "notes": speaker.number(1, speaker.pick([9, 40]))}
        reply = f"Noted: {text}. You have {result['notes']} note{'s' * (result['notes'] != 1)}."
    return Exchange(user, reply, [("add_note", {"text": text})], [result], core)


def list_notes(speaker, patterns):
    pattern = speaker.pick(patterns.LIST_NOTES)
    core = speaker.phrase(pattern)
    notes = [values.note(speaker)[0] for _ in range(speaker.pick([0, 1, 1, 2, 2, 3]))]
    return Exchange(courteous(speaker, core, pattern in patterns.QUESTIONS), notes_reply(notes), [("list_notes", {})], [{"notes": notes}], core)


def notes_reply(notes):
    return f"Your notes: {', '.join(notes)}." if notes else "You have no notes."


def remembered(speaker, exchanges):
    """A conversation whose lists of notes and timers contain what was added before, at most four entries."""
    notes, timers = [], []
    for exchange in exchanges:
        for (name, arguments), result in zip(exchange.calls, exchange.results):
            if "error" in result:
                continue
            if name == "add_note":
                notes.append(arguments["text"])
            elif name == "set_timer":
                timers.append({"timer": arguments["label"]} if "label" in arguments else {})
            elif name == "list_notes" and notes and len(exchange.calls) == 1:
                listed = notes[-speaker.number(1, 4) :]
                exchange.results, exchange.reply = [{"notes": listed}], notes_reply(listed)
            elif name == "list_timers" and timers and len(exchange.calls) == 1:
                listed = [timer | {"left": time_left(speaker)} for timer in timers[-speaker.number(1, 4) :]]
                exchange.results, exchange.reply = [{"timers": listed}], timers_reply(listed)
    return exchanges


MAKERS = {
    "get_time": (get_time, 0.15), "calculate": (calculate, 0.2), "set_timer": (set_timer, 0.25), "list_timers": (list_timers, 0.08),
    "convert_units": (convert_units, 0.17), "add_note": (add_note, 0.15), "list_notes": (list_notes, 0.07),
}


def single(speaker, patterns=training_patterns, wanted=None):
    """A request for one of the functions, or one of `wanted`."""
    makers, weights = zip(*(made for name, made in MAKERS.items() if not wanted or name in wanted))
    exchange = speaker.random.choices(makers, weights)[0](speaker, patterns)
    if patterns is training_patterns and exchange.calls[0][0] != "add_note" and is_imperative(exchange.core) and speaker.chance(0.06):
        first, *rest = exchange.core.split(" ", 1)  # an unknown verb: the rest must identify the function
        if 3 < len(rest[0].split() if rest else []):
            exchange.core = f"{values.invented_word(speaker)} {rest[0]}"
            exchange.user = courteous(speaker, exchange.core)
    return exchange


def pair(speaker, patterns=training_patterns):
    """One request that asks for two things, or a few of a kind."""
    if patterns is training_patterns and speaker.chance(0.25):
        return again_and_again(speaker, speaker.pick([2, 2, 3]))
    first, second = single(speaker, patterns), single(speaker, patterns)
    joint = speaker.pick(patterns.JOINTS)
    if "add_note" in first.calls[0][0]:  # a note would include what follows, so it is last
        first, second = second, first
    if "add_note" in first.calls[0][0]:
        return first
    user = courteous(speaker, first.core + joint + second.core)
    return Exchange(user.rstrip("."), f"{first.reply} {second.reply}", first.calls + second.calls, first.results + second.results, parts=[first.core, second.core])


def again_and_again(speaker, count):
    """A request for the time in several cities, or for several timers."""
    if speaker.chance(0.6):
        cities = [values.city(speaker) for _ in range(count)]
        pattern = speaker.pick(training_patterns.TIME_CITY)
        core = speaker.phrase(pattern, city=", ".join(cities[:-1]) + speaker.pick([" and ", " and in ", " and "]) + cities[-1])
        results = [{"time": values.clock(speaker), "date": values.date(speaker), "city": city} for city in cities]
        reply = " ".join(f"It is {result['time']} in {result['city']} on {result['date']}." for result in results)
        return Exchange(courteous(speaker, core, pattern in training_patterns.QUESTIONS), reply, [("get_time", {"city": city}) for city in cities], results, core)
    times = [duration(speaker) for _ in range(count)]
    core = speaker.phrase(["[set|start|make|add|{odd}] timers [for|of] {t}", "timers for {t}", "[one|a] timer for {t}", "set {n} timers, {t}", "set a timer for {t}"],
                          n=values.number_words(count), t=", ".join(said for said, *_ in times[:-1]) + speaker.pick([" and ", " and one for ", " and for "]) + times[-1][0])
    calls = [("set_timer", {"duration": number, "unit": unit}) for _, number, unit in times]
    results = [ringing(speaker, arguments) for _, arguments in calls]
    return Exchange(courteous(speaker, core), " ".join(map(timer_reply, results)), calls, results, core)


def follow_up(speaker, patterns=training_patterns):
    """Two exchanges, the second of which refers to the first."""
    maker = speaker.pick([get_time, set_timer, calculate, convert_units])
    first = maker(speaker, patterns)
    name, arguments = first.calls[0]
    if name == "get_time":
        city = values.city(speaker)
        again = get_time(speaker, patterns)
        while "city" not in again.calls[0][1]:
            again = get_time(speaker, patterns)
        city = again.calls[0][1]["city"]
        again.user = speaker.phrase(patterns.AGAIN_CITY, city=city)
    elif name == "set_timer":
        again = set_timer(speaker, patterns)
        said, number, unit = duration(speaker)
        given = {"duration": number, "unit": unit} | ({"label": again.calls[0][1]["label"]} if "label" in again.calls[0][1] else {})
        result = ringing(speaker, given)
        pattern = patterns.AGAIN_TIMER_LABEL if "label" in given else patterns.AGAIN_TIMER
        again = Exchange(speaker.phrase(pattern, duration=said, label=given.get("label")), timer_reply(result), [(name, given)], [result])
    elif name == "calculate" and "result" in first.results[0]:
        words, operator = speaker.pick(patterns.AGAIN_SUM)
        number = values.amount(speaker)
        expression = f"{json.dumps(first.results[0]['result'])} {operator} {number}"
        result = {"expression": expression, "result": values.amount(speaker, 0.4)}
        again = Exchange(words.format(spoken(speaker, number)), f"{expression} is {json.dumps(result['result'])}.", [(name, {"expression": expression})], [result])
    elif name == "convert_units":
        number = values.amount(speaker, 0.25)
        given = arguments | {"value": number}
        result = {"value": number, "unit": given["from_unit"], "result": values.amount(speaker, 0.7), "result_unit": given["to_unit"]}
        reply = f"{json.dumps(number)} {result['unit']} is {json.dumps(result['result'])} {result['result_unit']}."
        again = Exchange(speaker.phrase(patterns.AGAIN_VALUE, value=spoken(speaker, number)), reply, [(name, given)], [result])
    else:
        return [first]
    return [first, again]


def missing(speaker, offered, patterns=training_patterns):
    """A request without a required value, the question for it, and perhaps the value."""
    name, request, question = speaker.pick(patterns.MISSING)
    asking = Exchange(courteous(speaker, speaker.phrase(request, label=values.thing(speaker))), question)
    if name not in offered:
        return [Exchange(asking.user, NO_FUNCTION)]
    if name == "set_timer" and "{label}" not in request and speaker.chance(0.6):
        said, number, unit = duration(speaker)
        given = {"duration": number, "unit": unit}
        result = ringing(speaker, given)
        return [asking, Exchange(speaker.pick(["{}", "{} please", "For {}"]).format(said), timer_reply(result), [(name, given)], [result])]
    if name == "calculate" and speaker.chance(0.6):
        answer = calculate(speaker, patterns)
        answer.user = answer.calls[0][1]["expression"]
        return [asking, answer]
    if name == "add_note" and speaker.chance(0.6):
        answer = add_note(speaker, patterns)
        answer.user = answer.calls[0][1]["text"]
        return [asking, answer]
    return [asking]


def without(exchange, offered):
    """The exchange, or a refusal if one of its functions is not offered."""
    if all(name in offered for name, _ in exchange.calls):
        return exchange
    return Exchange(exchange.user, NO_FUNCTION)
