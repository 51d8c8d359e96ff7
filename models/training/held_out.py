"""Held-out requests: their values, phrasings and invented functions never occur in training.

Words are split by a hash of each word (`phrases.py`); phrasings are separate lists; numbers, times and units are shared.
Proves that no training pattern forms one of those phrasings. `--out` writes a set of fresh cases; the committed
`held-out.jsonl` was made so once, and stays as it is when the generator grows, so that models can be compared.
"""

import argparse
import collections
import json
import re
from pathlib import Path

from . import held_out_patterns, invented, patterns, shipped, talk, values
from .exchange import Exchange
from .phrases import BEGINNINGS, ENDINGS, MIDDLES, OTHER_WORDS, Speaker, parse
from .prompt import HERE


def case(category, exchanges, expect, functions="chat", system=None, until="user"):
    """Earlier exchanges are given whole; of the last one, what comes before the model speaks."""
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
    """The values of the results, in the spelling an answer must hold."""
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
    return {"contains": list(dict.fromkeys(found)), "calls": []}


def shipped_cases(speaker):
    for _ in range(240):
        yield case("shipped", [exchange := shipped.single(speaker, held_out_patterns)], calls(exchange))
    made = 0
    while made < 60:
        exchange = shipped.pair(speaker, held_out_patterns)
        if len(exchange.calls) == 2:
            made += 1
            yield case("shipped, two calls", [exchange], calls(exchange))
    made = 0
    while made < 60:
        exchanges = shipped.follow_up(speaker, held_out_patterns)
        if len(exchanges) == 2:
            made += 1
            yield case("shipped, follow-up", exchanges, calls(exchanges[-1]))


def invented_cases(speaker):
    original = invented.HEADS, invented.NAMED
    for category, count in (("unseen functions", 120), ("unseen functions, unseen phrasing", 60)):
        if "phrasing" in category:
            invented.HEADS, invented.NAMED = held_out_patterns.INVENTED_HEADS, held_out_patterns.INVENTED_NAMED
        for _ in range(count):
            functions = list({made.name: made for made in (invented.function(speaker) for _ in range(speaker.number(1, 5)))}.values())
            tools = [{"type": "function", "function": made.entry(invented.description(speaker, made))} for made in functions]
            exchange = invented.exchange(speaker, speaker.pick(functions))
            yield case(category, [exchange], calls(exchange), tools, shipped.SYSTEM)
    invented.HEADS, invented.NAMED = original


def answer_cases(speaker):
    for _ in range(80):
        exchange = shipped.single(speaker, held_out_patterns)
        if exchange.results[0] in ({"timers": []}, {"notes": []}):
            continue
        expect = contained(exchange)
        if exchange.calls[0][0] == "calculate" and "result" in exchange.results[0]:
            expect["contains"] = [json.dumps(exchange.results[0]["result"])]
        yield case("answers from the result", [exchange], expect, until="answer")
    for _ in range(40):
        made = invented.function(speaker)
        tools = [{"type": "function", "function": made.entry(invented.description(speaker, made))}]
        exchange = invented.exchange(speaker, made)
        yield case("answers from the result, unseen functions", [exchange], contained(exchange), tools, shipped.SYSTEM, until="answer")


def talk_cases(speaker):
    for index in range(80):
        yield case("no function fits", [talk.unserved(speaker, held_out_patterns.UNSERVED[index % len(held_out_patterns.UNSERVED)])], {"refuses": True})
    for _ in range(30):
        exchange = shipped.single(speaker, held_out_patterns)
        tools = [{"type": "function", "function": tool} for tool in shipped.TOOLS if tool["name"] != exchange.calls[0][0]]
        yield case("no function fits, function withdrawn", [Exchange(exchange.user, "")], {"refuses": True}, tools, shipped.SYSTEM)
    for text in held_out_patterns.SMALL_TALK:
        for shown in (text, text.capitalize() + "."):
            yield case("small talk and missing values", [Exchange(shown, "")], {"calls": []})
    for _, pattern, question in held_out_patterns.MISSING * 3:
        request = speaker.phrase(pattern, label=values.thing(speaker))
        yield case("small talk and missing values", [Exchange(request, "")], {"contains": [question], "calls": []})


SPACE = "(?: |(?<= )|$)"  # beside an empty choice a pattern has one space too many
STRANGER = f"(?=[a-z]{{4}})(?:{'|'.join(OTHER_WORDS)}|(?:(?:{'|'.join(BEGINNINGS)})(?:{'|'.join(MIDDLES)})){{1,2}}(?:{'|'.join(ENDINGS)}))"


def expression(parts):
    """The readings of a parsed pattern as a regular expression."""
    written = ""
    for part in parts:
        if isinstance(part, str):
            written += SPACE.join(map(re.escape, part.split(" "))).replace(re.escape("{odd}"), STRANGER)
        else:
            written += "(?:" + "|".join(expression(option) for option in part) + ")"
    return written


def readings(patterns, speaker, count=100):
    return {speaker.expand(pattern) for pattern in patterns for _ in range(count)}


def check_apart():
    """No held-out phrasing is a reading of a training pattern, whatever its courtesies."""
    trained = [getattr(patterns, name) for name in ("TIME_HERE", "TIME_CITY", "CALCULATE", "TIMER", "TIMER_LABEL", "TIMER_TASK", "LIST_TIMERS", "CONVERT", "NOTE", "NOTE_TASK", "LIST_NOTES")]
    trained += [patterns.AGAIN_CITY, patterns.AGAIN_TIMER, patterns.AGAIN_TIMER_LABEL, patterns.AGAIN_VALUE, [words for words, _ in patterns.AGAIN_SUM], talk.UNSERVED, invented.HEADS, invented.NAMED, [role for *_, role, _ in invented.KNOWN]]
    trained += [[talk.WHO, talk.WHAT, *(pattern for pattern, _ in talk.SMALL_TALK)], [pattern for _, pattern, _ in patterns.MISSING]]
    forms = [re.compile(expression(parse(pattern)), re.IGNORECASE) for group in trained for pattern in group]
    held = [value for name, value in vars(held_out_patterns).items() if name.isupper() and name not in ("UNITS", "SINGULAR", "SUMS", "JOINTS", "QUESTIONS", "MISSING", "AGAIN_SUM")]
    held = [phrase for group in held for phrase in readings(group, Speaker(11))]
    held += [words for words, _ in held_out_patterns.AGAIN_SUM] + [pattern for _, pattern, _ in held_out_patterns.MISSING]
    formed = [phrase for phrase in held if any(form.fullmatch(re.sub(r"[ ,.!?]+$", "", phrase)) for form in forms)]
    assert not formed, f"trained on {formed}"
    return len(held)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write a fresh set")
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    print(f"{check_apart()} held-out phrasings, none of which the training patterns form")
    if args.out:
        speaker = Speaker(args.seed, held_out=True)
        cases = [each for make in (shipped_cases, invented_cases, answer_cases, talk_cases) for each in make(speaker)]
        args.out.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in cases))
        print(json.dumps(collections.Counter(each["category"] for each in cases), indent=2))


if __name__ == "__main__":
    main()
