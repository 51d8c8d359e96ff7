"""Writes questions with known answers for decisions.jsonl: 200 of each kind, on states of one to four sentences.

    decision_questions.py > tests/benchmark/decisions.jsonl

Some states are written by hand; others are drawn from tables of names, prices, times and places, with answers that follow from them.
The draws have a fixed seed, so that the file is the same each time.
"""

import collections
import datetime
import json
import random

from decision_texts import MESSAGES, PLACES, PROGRAMS, REVIEWS, STORIES, TEXTS

N_QUESTIONS = 200
NAMES = ["Anna", "Ben", "Chiara", "David", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kofi", "Lena", "Mei", "Nadia", "Omar", "Paula"]
COLOURS = ["red", "blue", "green", "yellow", "black", "white", "grey", "purple"]
THINGS = ["bag", "bicycle", "coat", "umbrella", "scarf", "suitcase", "helmet", "cup"]
GOODS = {"bread": 3, "cheese": 7, "apples": 4, "coffee": 9, "milk": 2, "honey": 8, "rice": 5, "soap": 6, "candles": 11, "tea": 10}
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]

draw = random.Random(55)


def yes_no(instructions, answer):
    return "yes/no", {"type": "noul", "instructions": instructions}, answer


def choice(instructions, right, wrong):
    """A choice among the right label and three wrong ones, in any order."""
    labels = [right, *draw.sample(sorted({label for label in wrong if label != right}), 3)]
    draw.shuffle(labels)
    return "choice", {"type": "choice", "instructions": instructions, "criteria": dict.fromkeys(labels)}, right


def score(instructions, levels, answer):
    return "score", {"type": "score", "instructions": instructions, "criteria": levels}, answer


def numbers_up_to(most, noun):
    return [f"{n} {noun}" if n != 1 else f"1 {noun.removesuffix('s')}" for n in range(most + 1)]


def message():
    for text, topic, wish, urgency, checks in MESSAGES:
        topics = ["billing", "shipping", "technical support", "sales", "recruiting"]
        wishes = [other[2] for other in MESSAGES if other[1] != topic]
        levels = ["can wait for weeks", "should be answered this week", "must be answered today"]
        yield f"Customer: {text}", [
            choice("Which team should answer?", topic, topics),
            choice("What does the customer ask for?", wish, wishes),
            score("How urgent is the message?", levels, urgency),
            *(yes_no(question, answer) for question, answer in checks),
        ]


def review():
    levels = ["very bad: advises against it", "rather bad", "mixed: as much praise as blame", "rather good", "very good: full of praise"]
    for text, thing, stars, checks in REVIEWS:
        yield f"Review: {text}", [
            score("How does the reviewer rate it?", levels, stars),
            choice("What is reviewed?", thing, [other[1] for other in REVIEWS]),
            *(yes_no(question, answer) for question, answer in checks),
        ]


def story():
    for text, choices, checks in STORIES:
        yield text, [
            *(choice(question, right, wrong) for question, right, wrong in choices),
            *(yes_no(question, answer) for question, answer in checks),
        ]


def place():
    for city, country, continent in PLACES:
        name = draw.choice(NAMES)
        other = draw.choice([other for other in PLACES if other[2] != continent])
        asks_right = draw.random() < 0.5
        yield f"{name} sends greetings from {city}, where the weather is fine.", [
            choice(f"In which country is {name}?", country, [other[1] for other in PLACES]),
            yes_no(f"Is {name} in {continent if asks_right else other[2]}?", asks_right),
        ]


def language():
    for text, name in TEXTS:
        yield text, [choice("In which language is the text written?", name, [other[1] for other in TEXTS])]


def program():
    for text, name, printed, wrong in PROGRAMS:
        yield text, [
            choice("In which programming language is this?", name, [other[1] for other in PROGRAMS]),
            choice("What does the program print?", printed, wrong),
        ]


def shopping():
    while True:
        goods = draw.sample(sorted(GOODS), draw.randint(2, 4))
        prices = {good: GOODS[good] + draw.randint(0, 2) for good in goods}
        if len(set(prices.values())) < len(prices):
            continue
        name, total = draw.choice(NAMES), sum(prices.values())
        *first, last = [f"{good} for {price} euros" for good, price in prices.items()]
        limit = draw.choice([total - 4, total + 4])
        absent = draw.choice([good for good in GOODS if good not in goods])
        asked = draw.choice([absent, draw.choice(goods)])
        yield f"{name} buys {', '.join(first)} and {last}.", [
            yes_no(f"Does {name} buy {asked}?", asked in goods),
            yes_no(f"Does {name} pay more than {limit} euros in all?", total > limit),
            choice(f"Which of these does {name} buy?", draw.choice(goods), [good for good in GOODS if good not in goods]),
            choice("How much is it in all?", f"{total} euros", [f"{total + by} euros" for by in (-5, -3, 2, 6, 8)]),
            score(f"How many different things does {name} buy?", numbers_up_to(5, "things"), len(goods)),
        ]


def owners():
    while True:
        people, colours = draw.sample(NAMES, 3), draw.sample(COLOURS, 3)
        thing = draw.choice(THINGS)
        claims = [f"{name} has a {colour} {thing}" for name, colour in zip(people, colours)]
        asked, colour = draw.randrange(3), draw.randrange(3)
        yield f"{claims[0]}, {claims[1]}, and {claims[2]}.", [
            yes_no(f"Is {people[asked]}'s {thing} {colours[colour]}?", asked == colour),
            choice(f"What colour is the {thing} of {people[0]}?", colours[0], COLOURS),
            choice(f"Who has the {colours[1]} {thing}?", people[1], NAMES[:8] + people),
        ]


def calendar():
    while True:
        today = datetime.date(2026, draw.randint(1, 12), draw.randint(1, 28))
        n_days = draw.randint(1, 5)
        then = today + datetime.timedelta(n_days)
        event = draw.choice(["The concert", "The exam", "The meeting", "The flight", "The visit"])
        day = lambda date: DAYS[date.weekday()]
        yield f"Today is {day(today)}, {today.day} {MONTHS[today.month - 1]}. {event} is on {day(then)}.", [
            yes_no(f"Is {event.lower()} on a weekend?", 5 <= then.weekday()),
            yes_no(f"Is {event.lower()} tomorrow?", n_days == 1),
            choice("What day is tomorrow?", day(today + datetime.timedelta(1)), DAYS),
            choice("Which month is it?", MONTHS[today.month - 1], MONTHS),
            score(f"In how many days is {event.lower()}?", numbers_up_to(5, "days"), n_days),
        ]


def departure():
    while True:
        hour, minute, platform = draw.randint(6, 21), draw.choice([5, 12, 20, 35, 48]), draw.randint(1, 9)
        late = draw.choice([0, 0, 10, 25])
        city = draw.choice(PLACES)[0]
        delay = f"It is {late} minutes late." if late else "It is on time."
        levels = ["on time", "up to 15 minutes late", "more than 15 minutes late"]
        yield f"The train to {city} leaves at {hour}:{minute:02} from platform {platform}. {delay}", [
            yes_no("Is the train late?", late > 0),
            yes_no("Does the train leave in the morning?", hour < 12),
            choice("From which platform does it leave?", str(platform), map(str, range(1, 10))),
            choice("Where does the train go?", city, [place[0] for place in PLACES]),
            score("How late is the train?", levels, 0 if late == 0 else 1 if late <= 15 else 2),
        ]


def weight():
    while True:
        kilograms = draw.choice([0.5, 1.5, 2, 2.5, 4, 12])
        limit = draw.choice([1000, 1800, 3000, 5000])
        thing = draw.choice(["parcel", "suitcase", "box", "cat", "melon"])
        levels = ["less than 1 kg", "1 to 3 kg", "more than 3 kg"]
        yield f"The {thing} weighs {kilograms} kg.", [
            yes_no(f"Does the {thing} weigh more than {limit} g?", kilograms * 1000 > limit),
            choice(f"How much does the {thing} weigh in grams?", f"{int(kilograms * 1000)} g", [f"{int(kilograms * by)} g" for by in (1, 10, 100, 10_000)]),
            score(f"How heavy is the {thing}?", levels, 0 if kilograms < 1 else 1 if kilograms <= 3 else 2),
        ]


def weather():
    while True:
        degrees = draw.choice([-12, -4, 3, 8, 14, 17, 22, 25, 31, 36])
        sky = draw.choice(["It rains.", "The sun shines.", "It is foggy.", "A storm is coming."])
        city = draw.choice(PLACES)[0]
        levels = ["freezing, below 0 degrees", "cold, 0 to 9 degrees", "mild, 10 to 19 degrees", "warm, 20 to 29 degrees", "hot, 30 degrees or more"]
        yield f"In {city} it is {degrees} degrees at noon. {sky}", [
            yes_no("Is an umbrella useful?", sky in ("It rains.", "A storm is coming.")) if sky != "It is foggy." else yes_no("Is the view clear?", False),
            yes_no("Is it below the freezing point of water?", degrees < 0),
            score("How warm is it?", levels, 0 if degrees < 0 else min(1 + degrees // 10, 4)),
        ]


def progress():
    while True:
        n_all = draw.choice([8, 12, 20])
        n_done = draw.choice([0, n_all // 4, n_all // 2, n_all * 3 // 4, n_all])
        name, work = draw.choice(NAMES), draw.choice([("chairs", "painted"), ("letters", "answered"), ("windows", "cleaned"), ("pages", "read")])
        levels = ["nothing", "less than half", "half", "more than half", "everything"]
        share = n_done * 4 // n_all
        yield f"{name} has {work[1]} {n_done} of {n_all} {work[0]}.", [
            yes_no("Is the work finished?", n_done == n_all),
            score("How much of the work is done?", levels, share),
            choice(f"How many {work[0]} are left?", str(n_all - n_done), map(str, [n_all - n_done + by for by in (1, 2, 3, 5)])),
        ]


def incident():
    kinds = [
        ("nothing to do: for information", ["the nightly backup has finished", "a user has signed in", "the cache has been cleared"]),
        ("a warning: look at it soon", ["the disk is 88 % full", "a certificate expires in ten days", "a request took nine seconds"]),
        ("an outage: act at once", ["the database does not answer and all orders fail", "the payment service is down for everybody", "the data centre has lost power"]),
    ]
    for level, (_, lines) in enumerate(kinds):
        for line in lines:
            hour = draw.randint(0, 23)
            yield f"{hour:02}:{draw.randint(10, 59)} {line}", [
                score("How severe is this?", [name for name, _ in kinds], level),
                yes_no("Must somebody act at once?", level == 2),
                yes_no("Is this message from the afternoon?", 12 <= hour < 18),
            ]


def main():
    left = {kind: N_QUESTIONS for kind in ("yes/no", "choice", "score")}
    answers = collections.Counter()
    written = set()
    sources = [message(), review(), story(), place(), language(), program(), incident(), *(
        source() for source in (shopping, owners, calendar, departure, weight, weather, progress)
    )]
    at = 0
    while any(left.values()):
        state, questions = next(sources[at % len(sources)], (None, []))
        if state is None:
            del sources[at % len(sources)]
            continue
        at += 1
        for kind, question, answer in questions:
            # As many questions whose answer is yes as no.
            is_enough = left[kind] == 0 or kind == "yes/no" and answers[answer] == N_QUESTIONS // 2
            if is_enough or (state, question["instructions"]) in written:
                continue
            left[kind] -= 1
            answers[answer] += kind == "yes/no"
            written.add((state, question["instructions"]))
            print(json.dumps({"state": state, "question": question, "answer": answer}, ensure_ascii=False))


main()
