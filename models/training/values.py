"""Vocabularies of values: numbers, names, cities, things, notes; most can also be invented from syllables."""

import re

from .patterns import every_pattern
from .phrases import is_held_out

SCHEMA_WORDS = (
    "type function name description parameters object properties string number integer boolean enum required expression duration unit label value from to city text "
    "current date time here when not work out arithmetic start timer how long what for running left convert between units wanted write down read back true false list tools"
)

CITIES = tuple(
    "Tokyo|Paris|London|Berlin|Madrid|Rome|Lisbon|Vienna|Prague|Warsaw|Athens|Dublin|Oslo|Stockholm|Helsinki|Copenhagen|"
    "Amsterdam|Brussels|Zurich|Geneva|Milan|Naples|Turin|Venice|Florence|Barcelona|Valencia|Seville|Porto|Lyon|Marseille|"
    "Nice|Bordeaux|Toulouse|Hamburg|Munich|Cologne|Frankfurt|Leipzig|Dresden|Stuttgart|Manchester|Liverpool|Leeds|Glasgow|"
    "Edinburgh|Cardiff|Belfast|Bristol|New York|Los Angeles|San Francisco|Chicago|Boston|Seattle|Denver|Austin|Dallas|"
    "Houston|Miami|Atlanta|Phoenix|Portland|San Diego|Las Vegas|New Orleans|Washington|Philadelphia|Detroit|Toronto|"
    "Montreal|Vancouver|Ottawa|Calgary|Quebec|Mexico City|Havana|Bogota|Lima|Quito|Santiago|Buenos Aires|Montevideo|"
    "São Paulo|Rio de Janeiro|Brasilia|Caracas|Cairo|Lagos|Nairobi|Accra|Dakar|Tunis|Casablanca|Rabat|Algiers|Cape Town|"
    "Johannesburg|Addis Ababa|Kampala|Harare|Luanda|Istanbul|Ankara|Jerusalem|Tel Aviv|Amman|Beirut|Damascus|Baghdad|"
    "Tehran|Dubai|Abu Dhabi|Doha|Riyadh|Kuwait City|Karachi|Lahore|Delhi|New Delhi|Mumbai|Kolkata|Chennai|Bangalore|"
    "Hyderabad|Dhaka|Kathmandu|Colombo|Bangkok|Hanoi|Saigon|Phnom Penh|Kuala Lumpur|Singapore|Jakarta|Manila|Hong Kong|"
    "Taipei|Shanghai|Beijing|Shenzhen|Seoul|Busan|Osaka|Kyoto|Sapporo|Sydney|Melbourne|Brisbane|Perth|Adelaide|Auckland|"
    "Wellington|Honolulu|Anchorage|Reykjavik|Moscow|Saint Petersburg|Kyiv|Lviv|Minsk|Riga|Vilnius|Tallinn|Bucharest|Sofia|"
    "Belgrade|Zagreb|Ljubljana|Sarajevo|Skopje|Tirana|Budapest|Bratislava|Krakow|Gdansk|Tbilisi|Yerevan|Baku|Tashkent|"
    "Almaty|Ulaanbaatar|Kabul|Islamabad|Malmo|Gothenburg|Bergen|Aarhus|Utrecht|Rotterdam|Antwerp|Ghent|Basel|Bern|Graz|"
    "Salzburg|Innsbruck|Bologna|Verona|Palermo|Granada|Bilbao|Malaga|Nantes|Lille|Strasbourg|Oxford|Cambridge|York|Bath|"
    "Memphis|Nashville|Orlando|Tampa|Cleveland|Pittsburgh|Baltimore|Minneapolis|Salt Lake City|Sacramento|Halifax|Winnipeg|"
    "Medellin|Cusco|La Paz|Asuncion|Panama City|San Juan|Kingston|Nassau|Suva|Darwin|Hobart|Canberra|Queenstown|Fukuoka|"
    "Nagoya|Chengdu|Wuhan|Macau|Cebu|Bali|Yangon|Male|Mombasa|Zanzibar|Kigali|Windhoek|Durban|Marrakesh|Alexandria".split("|")
)
PEOPLE = tuple(
    "Ana Ben Carla David Elena Felix Grace Hugo Ines Jonas Karim Laura Marco Nina Omar Paula Quentin Rosa Sam Tara Umar Vera "
    "Walter Xenia Yusuf Zoe Anna Bob Chris Diana Emma Frank George Hannah Ivan Julia Kevin Lena Martin Noah Olivia Peter "
    "Rachel Simon Theo Ursula Victor Wendy Mia Leo Amir Bea Clara Dan Eva Finn Gina Henry Iris Jack Kate Liam Maria Nora "
    "Oscar Pia Robin Sara Tom Lucy Max Amelie Bruno Chloe Dario Esther Fatima Gustav Hassan Ida Joan Klara Luis Mona Nils "
    "mum dad grandma grandpa Mum Dad".split()
)
THINGS = tuple(
    "pasta eggs tea coffee rice bread cake pizza soup chicken potatoes beans roast lasagne cookies muffins oven laundry "
    "washing dryer dishes dishwasher nap break meeting workout plank stretch yoga run walk shower bath meditation homework "
    "reading study session game quiz exam presentation call interview parking meter bus train taxi flight garden sprinkler "
    "plants dog cat baby bottle steak salmon fish noodles dumplings curry stew chili pie brownies dough sauce porridge oats "
    "toast bacon sausages turkey ham quiche risotto paella ramen gnocchi couscous quinoa lentils broccoli carrots corn "
    "asparagus popcorn tart crumble custard jelly pudding pancakes waffles scones bagels croissants macaroons glaze icing "
    "marinade brine pickles yoghurt cheese candle wax paint varnish glue plaster clay kiln print photos battery charger "
    "drone robot vacuum mop iron facemask hair dye nails ice compress medicine pills drops lesson rehearsal speech debate "
    "round break-time recess detention chess puzzle crossword sprint standup retro demo deploy backup download upload build "
    "tests render scan updates alarm grill barbecue smoker fire kettle stove hob microwave freezer fridge milk butter cream "
    "water juice lemonade beer wine tyres car bike boat kayak tent hammock sauna pool aquarium hamster parrot rabbit horse "
    "window heater fan lamp projector radio record vinyl cassette album film show match half-time penalty handstand squats "
    "push-ups rowing cycling skipping boxing swimming lunch dinner breakfast brunch snack picnic party cards letters parcel "
    "books keys wallet phone laptop tablet shoes coat umbrella scarf gloves hat socks jeans shirt jacket curtains sofa desk "
    "chair shelf rug mirror clock vase roses tulips herbs basil tomatoes onions garlic apples pears plums grapes lemons "
    "oranges bananas mangoes flour sugar salt pepper honey jam oil vinegar nappies soap shampoo toothpaste towels candles "
    "stamps envelopes tickets passport visa rent invoice taxes insurance gas electricity internet dentist doctor vet "
    "plumber barber bakery library museum gym school office bank pharmacy market station airport hotel".split()
)
ADJECTIVES = tuple(
    "green red blue yellow white black brown big small old new second first last spare long short blue-grey wooden paper "
    "fresh frozen cheap warm cold quiet loud heavy light round square sharp soft sweet sour salty early late broken clean "
    "dirty empty full fast slow upper lower front back left right weekly daily monthly annual".split()
)
VERBS = tuple(
    "buy|call|email|text|visit|thank|ask|pay for|pick up|drop off|return|order|fix|clean|wash|water|paint|print|sign|post|"
    "book|cancel|renew|check|find|sell|borrow|lend|pack|charge|feed|walk|move|replace|repair|collect|send back|look for|"
    "measure|label|sort|wrap|bring|take out|throw away|try|taste|cook|bake|freeze|defrost|plan|finish|start|read|study|"
    "practise|rehearse|record|download|update|back up|delete|scan|copy|lock|open|close|dust|sweep|mend|sharpen|oil|polish".split("|")
)
MOMENTS = tuple(
    "today|tomorrow|tonight|on Monday|on Tuesday|on Wednesday|on Thursday|on Friday|on Saturday|on Sunday|next week|"
    "this weekend|before noon|after work|after lunch|at 5|at 7 pm|at noon|by Friday|by the end of the month|in the morning|"
    "in the evening|before the trip|before bed|first thing tomorrow|next month|in March|at 9:30|at half past six".split("|")
)
FREQUENT = (
    "time timer note label left long run set full mean first second short number minute hour list write remember take put make give tell show start "
    "day date city unit value name text type string object wait get add convert call use open stop read check find send order pay ask look come "
    "work play need want thank know say down up out in on over under with about after before now then later right small big old new good well "
    "one two three five ten half all some any last next clock calculate water house light door book paper room table phone word line end part"
).split()
LINKING = set("a an the my for in on to of and at with is are it after before by from as per or not no minutes minute hours hour seconds second min named called timer timers note please now then".split())
# All words of phrases and schemas.
KNOWN = tuple(sorted(word for word in {*re.findall(r"[a-z]{2,}", " ".join(every_pattern()).lower()), *re.findall(r"[a-z]{2,}", SCHEMA_WORDS)}))
ONSETS = "b br c ch cl d dr f fl g gl gr h j k kl l m n p pl pr qu r s sh sk sl st t th tr v w z".split()
VOWELS = "a e i o u a e i o ai ea ee ou oa".split()
CODAS = ["", "", "", "l", "m", "n", "r", "s", "t", "nd", "rk", "x", "sh", "st"]
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()


def number_words(number):
    """Numbers below a thousand, in English."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + ("-" + ONES[number % 10] if number % 10 else "")
    rest = number % 100
    return f"{ONES[number // 100]} hundred" + (f" and {number_words(rest)}" if rest else "")


def invented_word(speaker, syllables=(1, 3)):
    """An invented word, from the speaker's part of the split."""
    while True:
        count = speaker.number(*syllables)
        word = "".join(speaker.pick(ONSETS) + speaker.pick(VOWELS) for _ in range(count)) + speaker.pick(CODAS)
        if len(word) > 2 and is_held_out(word) == speaker.held_out:
            return word


def compound(speaker):
    """Two frequent words joined to one, so that their tokens, which also occur in requests and schemas, are copied like others."""
    while True:
        joined = speaker.pick(FREQUENT) + speaker.pick(FREQUENT)
        if is_held_out(joined) == speaker.held_out:
            return joined


def known_word(speaker):
    """A word of phrases and schemas, so that the model copies whatever is in a slot."""
    return speaker.value(KNOWN) if speaker.chance(0.7) else speaker.value(tuple(FREQUENT))


def jumble(speaker, most):
    """A sequence of random words, with a maximum length."""
    kinds = [known_word, known_word, known_word, word, word, compound, person]
    words = [speaker.pick(kinds)(speaker) for _ in range(speaker.number(1, most))]
    if 1 < most and speaker.chance(0.15):
        words.insert(speaker.number(0, len(words)), speaker.pick([code(speaker), str(speaker.number(1, 99))]))
    return " ".join(words)


def word(speaker):
    """A thing, often an invented one, so that the model learns to copy."""
    if not speaker.held_out and speaker.chance(0.12):
        return compound(speaker)
    return invented_word(speaker) if speaker.chance(0.35) else speaker.value(THINGS)


def jumble_between(speaker, most):
    """Random words that do not begin or end like a part of the sentence around them."""
    while True:
        text = jumble(speaker, most)
        first, last = text.split()[0], text.split()[-1]
        if first not in LINKING and last not in LINKING and not first[0].isdigit() and not last[-1].isdigit():
            return text


def thing(speaker):
    """One to three words that name something."""
    if not speaker.held_out and speaker.chance(0.14):
        return jumble_between(speaker, speaker.pick([1, 1, 2, 3]))
    roll = speaker.random.random()
    if roll < 0.6:
        return word(speaker)
    if roll < 0.8:
        return f"{word(speaker)} {word(speaker)}"
    if roll < 0.95:
        return f"{speaker.value(ADJECTIVES)} {word(speaker)}"
    return f"{speaker.value(ADJECTIVES)} {word(speaker)} {word(speaker)}"


def person(speaker):
    return invented_word(speaker, (1, 2)).capitalize() if speaker.chance(0.3) else speaker.value(PEOPLE)


def city(speaker):
    if speaker.chance(0.3):
        name = invented_word(speaker, (2, 3)).capitalize()
        return name if speaker.chance(0.7) else f"{name} {invented_word(speaker, (1, 2)).capitalize()}"
    return speaker.value(CITIES)


def code(speaker):
    """A code of letters and digits, such as a reference."""
    digits = "".join(str(speaker.number(0, 9)) for _ in range(speaker.number(2, 6)))
    letters = "".join(speaker.pick("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(2))
    return speaker.pick([digits, f"{letters}{digits}", f"{letters}-{digits}", f"{digits[:2]}-{digits[2:]}x"])


def amount(speaker, decimals=0.2):
    """A written number: mostly small, sometimes large or with decimals."""
    number = speaker.number(0, speaker.pick([12, 100, 100, 1000, 10000, 100000]))
    if speaker.chance(decimals):
        return float(f"{number % 1000}.{speaker.number(1, 99)}")
    return number


def task(speaker):
    """A task, without a time."""
    if not speaker.held_out and speaker.chance(0.12):
        return f"{known_word(speaker)} {speaker.pick(['the ', 'my ', ''])}{thing(speaker)}"
    return f"{speaker.value(VERBS)} {speaker.pick(['the ', 'the ', 'my ', ''])}{thing(speaker)}"


def note(speaker):
    """The text of a note after the command: a task or a fact."""
    if not speaker.held_out and speaker.chance(0.3):
        if speaker.chance(0.5):
            return f"{speaker.pick([known_word(speaker), speaker.value(VERBS)])} {jumble(speaker, 5)}", True
        return jumble(speaker, speaker.pick([2, 4, 7, 10])), False
    if speaker.chance(0.65):
        text = f"{speaker.value(VERBS)} {speaker.pick(['', '', 'the ', 'the ', 'my ', 'some ', 'a '])}{thing(speaker)}"
        if speaker.chance(0.2):
            text = f"{speaker.pick(['call', 'email', 'text', 'visit', 'thank', 'ask', 'tell', 'pay', 'meet'])} {person(speaker)}"
            if speaker.chance(0.4):
                text += f" about the {thing(speaker)}"
        elif speaker.chance(0.2):
            text += f" and {speaker.pick(['', 'the ', 'some '])}{thing(speaker)}"
        if speaker.chance(0.15):
            text += f" for {person(speaker)}"
        if speaker.chance(0.25):
            text += f" {speaker.value(MOMENTS)}"
        return text, True
    return speaker.phrase(
        [
            "the {thing} is in the {word}", "the {thing} [costs|cost] {amount} [euros|dollars|pounds|]",
            "the {thing} code is {code}", "{person}'s [birthday|party|flight|appointment] is {moment}",
            "{person} [likes|wants|needs|lost|found|owes me] [a|the|some|] {thing}", "my {thing} number is {code}",
            "the {word} [closes|opens|starts|ends] {moment}", "{person} is [coming|leaving|away|in town] {moment}",
            "{thing} [with {person} |]{moment}[| at {clock}]", "{person}'s {thing} {moment}",
            "we are out of {thing}", "there are {amount} {word} left",
        ],
        thing=thing(speaker), word=word(speaker), amount=amount(speaker), code=code(speaker), person=person(speaker), clock=clock(speaker),
        moment=speaker.value(MOMENTS),
    ), False


def clock(speaker, seconds=False):
    return f"{speaker.number(0, 23):02}:{speaker.number(0, 59):02}" + (f":{speaker.number(0, 59):02}" if seconds else "")


def date(speaker):
    return f"{speaker.pick(DAYS)}, {speaker.number(1, 31)} {speaker.pick(MONTHS)} {speaker.number(2024, 2032)}"
