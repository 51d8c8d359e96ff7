"""Held-out requests, whose values, phrasings and invented functions do not occur in training.

Words are split by a hash of each word (`phrases.py`); phrasings are separate lists; numbers, times and units are shared.
The program proves that no training pattern produces one of these phrasings. `--out` writes a set. The committed `held-out.jsonl` does
not change with the generator, so that models can be compared.
"""

import argparse
import collections
import itertools
import json
import re
from pathlib import Path
from unittest import mock

from . import functions as made_up
from . import evaluate, everyday, held_out_patterns, invented, patterns, shipped, talk, values
from .exchange import Exchange
from .phrases import Speaker, expression, parse, readings
from .prompt import HERE


def case(category, exchanges, expect, functions="chat", system=None, until="user"):
    """Messages of a case: earlier exchanges, and the last one up to the reply of the model."""
    messages = [message for exchange in exchanges[:-1] for message in exchange.messages()]
    last = list(exchanges[-1].messages())
    messages += last[:1] if until == "user" else last[:-1]
    made = {"category": category, "functions": functions}
    if system is not None:
        made["system"] = system
    return made | {"messages": messages, "expect": expect}


def calls(exchange):
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in exchange.calls]}


def contained(exchange):
    """The values of the results, in the spelling that an answer must contain."""
    found = []

    def collect(value):
        if isinstance(value, dict):
            for each in value.values():
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)
        else:
            found.append(value if isinstance(value, str) else json.dumps(value))

    for result in exchange.results:
        collect(result.removesuffix(".") if isinstance(result, str) else result)
    return list(dict.fromkeys(found))


def shipped_cases(speaker):
    while True:
        yield case("shipped", [exchange := shipped.single(speaker, held_out_patterns)], calls(exchange))


def shipped_parallel_cases(speaker):
    while True:
        exchange = shipped.pair(speaker, held_out_patterns)
        if len(exchange.calls) == 2:
            yield case("parallel calls, shipped", [exchange], calls(exchange))


def follow_up_cases(speaker):
    while True:
        exchanges = shipped.follow_up(speaker, held_out_patterns)
        if len(exchanges) == 2:
            yield case("shipped, follow-up", exchanges, calls(exchanges[-1]))


def long_cases(until):
    """The last request of nine to eleven, or the answer to it."""
    def cases(speaker):
        while True:
            exchanges = shipped.remembered(speaker, [shipped.single(speaker, held_out_patterns) for _ in range(speaker.number(9, 11))])
            asked = exchanges[-1]
            if until == "user":
                yield case("shipped, after eight exchanges", exchanges, calls(asked))
            elif asked.results[0] not in ({"timers": []}, {"notes": []}):
                yield case("answers after eight exchanges", exchanges, answer_expected(asked, answer_values(asked)), until=until)
    return cases


def tools_of(functions):
    return [{"type": "function", "function": made.entry()} for made in functions]


def unseen_cases(category, sizes, deep=0.0, count=1, bare=0.25):
    """Cases of a category: families of functions, and three requests that call one or several of them."""
    def cases(speaker):
        while True:
            functions = made_up.family(speaker, speaker.number(*sizes), deep=deep)
            wanted = [made for made in functions if not deep or any(each.parts for each in made.parameters)]
            for _ in range(3 if wanted else 0):
                if 1 < count:
                    exchange = invented.several(speaker, functions, speaker.number(2, count))
                else:
                    exchange = invented.exchange(speaker, speaker.pick(wanted), bare)
                yield case(category, [exchange], calls(exchange), tools_of(functions), shipped.SYSTEM)
    return cases


def unseen_phrasing_cases(category, **patterns):
    """Cases whose functions, parameter names and phrasings do not occur in training."""
    def cases(speaker):
        with mock.patch.multiple(invented, **patterns), mock.patch.object(made_up, "KNOWN_SHARE", 0):
            made = list(itertools.islice(unseen_cases(category, (1, 5), bare=0)(speaker), EACH))
        yield from made
    return cases


PHRASED = unseen_phrasing_cases(
    "unseen functions, unseen phrasing",
    HEADS=held_out_patterns.INVENTED_HEADS, NAMED=held_out_patterns.INVENTED_NAMED, YES=held_out_patterns.INVENTED_YES, NO=held_out_patterns.INVENTED_NO,
)
PHRASED_BLINDLY = unseen_phrasing_cases(
    "unseen functions, blind phrasing",
    HEADS=held_out_patterns.BLIND_HEADS, NAMED=held_out_patterns.BLIND_NAMED, YES=held_out_patterns.BLIND_YES, NO=held_out_patterns.BLIND_NO,
)


def answer_expected(exchange, values):
    return {"contains": values, "calls": [], "says": exchange.reply}


def answer_values(exchange):
    """The values of a result that its answer must contain; for a sum, its result only."""
    if exchange.calls[0][0] == "calculate" and "result" in exchange.results[0]:
        return [json.dumps(exchange.results[0]["result"])]
    return contained(exchange)


def shipped_answer_cases(speaker):
    while True:
        exchange = shipped.single(speaker, held_out_patterns)
        if exchange.results[0] in ({"timers": []}, {"notes": []}):
            continue
        yield case("answers from the result", [exchange], answer_expected(exchange, answer_values(exchange)), until="answer")


def unseen_answer_cases(speaker):
    while True:
        functions = made_up.family(speaker, speaker.number(1, 3))
        exchange = invented.exchange(speaker, speaker.pick(functions))
        yield case("answers from the result, unseen functions", [exchange], answer_expected(exchange, contained(exchange)), tools_of(functions), shipped.SYSTEM, until="answer")


def unserved_cases(speaker):
    """Requests that the shipped functions do not serve, and requests for functions that are not offered."""
    for index in itertools.count():
        if index % 4:
            pattern = held_out_patterns.UNSERVED[index % len(held_out_patterns.UNSERVED)]
            yield case("no function fits", [talk.unserved(speaker, pattern)], {"refuses": True})
            continue
        functions, others = made_up.family(speaker, speaker.number(1, 5)), made_up.family(speaker, 1)
        if all(made.action != others[0].action and made.words != others[0].words for made in functions):
            yield case("no function fits", [Exchange(invented.exchange(speaker, others[0]).user, "")], {"refuses": True}, tools_of(functions), shipped.SYSTEM)


def withdrawn_cases(speaker):
    while True:
        exchange = shipped.single(speaker, held_out_patterns)
        tools = [{"type": "function", "function": tool} for tool in shipped.TOOLS if tool["name"] != exchange.calls[0][0]]
        yield case("no function fits, function withdrawn", [Exchange(exchange.user, "")], {"refuses": True}, tools, shipped.SYSTEM)


def talk_cases(speaker):
    for text in held_out_patterns.SMALL_TALK:
        for shown in (text, text.capitalize() + "."):
            yield case("small talk and missing values", [Exchange(shown, "")], {"calls": []})
    for _, pattern, question in held_out_patterns.MISSING * 3:
        request = speaker.phrase(pattern, label=values.thing(speaker))
        yield case("small talk and missing values", [Exchange(request, "")], {"contains": [question], "calls": []})


EACH = 300  # number of cases of a category
MAKERS = [
    (shipped_cases, EACH), (shipped_parallel_cases, EACH), (follow_up_cases, 60), (unseen_cases("unseen functions", (1, 5)), EACH), (PHRASED, EACH), (PHRASED_BLINDLY, EACH),
    (unseen_cases("choice among 8", (8, 8)), EACH), (unseen_cases("parallel calls, unseen functions", (2, 5), count=3), EACH), (unseen_cases("nested object or array", (1, 4), deep=0.6), EACH),
    (shipped_answer_cases, EACH), (unseen_answer_cases, EACH), (unserved_cases, EACH), (withdrawn_cases, 30), (talk_cases, 76),
    (long_cases("user"), 60), (long_cases("answer"), 60),
]


def fill(kept, speaker):
    """The existing cases, and new ones up to the number of each category."""
    had = collections.Counter(each["category"] for each in kept)
    yield from kept
    for make, count in MAKERS:
        made = make(speaker)
        first = next(made)
        yield from itertools.islice(itertools.chain([first], made), max(0, count - had[first["category"]]))


def everyday_form(phrase):
    """A regular expression for a pattern whose slots match any slot."""
    written = expression(parse(re.sub(r" ?\{[\w.]+[+-]\}", "", phrase)))
    return re.compile(re.sub(r"\\\{[\w.\\]+?\\\}", r"\\{\\w+\\}", written), re.IGNORECASE)


def check_apart():
    """Proves that no held-out phrasing is a reading of a training pattern, apart from courtesies before and after."""
    trained = [getattr(patterns, name) for name in ("TIME_HERE", "TIME_CITY", "CALCULATE", "TIMER", "TIMER_LABEL", "TIMER_TASK", "LIST_TIMERS", "CONVERT", "NOTE", "NOTE_TASK", "LIST_NOTES")]
    trained += [patterns.AGAIN_CITY, patterns.AGAIN_TIMER, patterns.AGAIN_TIMER_LABEL, patterns.AGAIN_VALUE, [words for words, _ in patterns.AGAIN_SUM], talk.UNSERVED, talk.GENERAL, invented.HEADS, invented.NAMED, invented.YES, invented.NO, invented.BARE, invented.QUESTIONS, [role for *_, role, _ in made_up.KNOWN]]
    trained += [[talk.WHO, talk.WHAT, *(pattern for pattern, _ in talk.SMALL_TALK)], [pattern for _, pattern, _ in patterns.MISSING]]
    forms = [re.compile(expression(parse(pattern)), re.IGNORECASE) for group in trained for pattern in group]
    forms += [everyday_form(phrase) for template in everyday.templates() for phrase in template.phrases]
    held = [value for name, value in vars(held_out_patterns).items() if name.isupper() and name not in ("UNITS", "SINGULAR", "SUMS", "JOINTS", "QUESTIONS", "MISSING", "AGAIN_SUM")]
    held = [phrase for group in held for phrase in readings(group, Speaker(11))]
    held += [words for words, _ in held_out_patterns.AGAIN_SUM] + [pattern for _, pattern, _ in held_out_patterns.MISSING]
    formed = [phrase for phrase in held if any(form.fullmatch(re.sub(r"[ ,.!?]+$", "", phrase)) for form in forms)]
    assert not formed, f"trained on {formed}"
    return len(held)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write a fresh set")
    parser.add_argument("--keep", type=Path, help="a set whose cases are kept; fresh ones fill it up")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--trained", action="store_true", help="words that training has instead, for how well is learned what is seen")
    args = parser.parse_args()
    print(f"{check_apart()} held-out phrasings, none of which the training patterns form")
    if args.out:
        kept = evaluate.read(args.keep) if args.keep else []
        cases = list(fill(kept, Speaker(args.seed, held_out=not args.trained)))
        with args.out.open("w") as out:
            for before, each in zip([{}, *cases], cases):
                shared = {"functions": "same"} if isinstance(each["functions"], list) and each["functions"] == before.get("functions") else {}
                out.write(json.dumps(each | shared, ensure_ascii=False) + "\n")
        print(json.dumps(collections.Counter(each["category"] for each in cases), indent=2))


if __name__ == "__main__":
    main()
