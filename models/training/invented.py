"""Functions made up on the spot, and requests for them, so that choosing and copying are learned rather than remembered."""

import json
from dataclasses import dataclass

from . import composed, values
from .exchange import Exchange, courteous, failure_reply

ACTIONS = tuple(
    "book send find open play order track cancel get show start stop add remove create delete update check search reserve schedule "
    "move copy share print lock unlock enable disable set turn read write post buy sell rent hire call ping join leave invite "
    "assign rate review pay refund transfer scan upload download export import archive restore mute dim heat cool water feed "
    "clean paint repair measure count rank sort merge split rename tag publish draft record pause resume skip save load convert "
    "translate describe summarise compare notify alert follow block report register renew inspect calibrate charge drain fill "
    "empty mix bake brew grow plant harvest ship pack label weigh".split()
)
OBJECTS = tuple(
    "table room flight ticket taxi hotel parcel order invoice contract customer account profile photo video song album playlist "
    "movie book chapter recipe menu meal restaurant reservation appointment meeting event calendar task project ticket issue "
    "message email letter channel group team member contact address phone device lamp light door window garage alarm camera "
    "sensor heater fan oven pump valve engine car bike route trip train bus ship drone robot weather forecast temperature "
    "stock price currency payment card wallet loan budget report document file folder image page site server database backup "
    "key password token user role game player score match league course lesson exam student teacher patient doctor medicine "
    "dose plant garden tree field crop animal dog cat horse house flat office desk chair printer screen volume channel station "
    "news article podcast episode joke poem quote word translation map place museum park beach store product basket coupon "
    "gift card subscription survey vote poll badge label box crate shelf".split()
)


@dataclass
class Parameter:
    name: str
    words: str  # the name as one says it
    kind: str  # of value
    schema: dict
    optional: bool
    role: str  # a pattern that mentions the value without the name, or empty


@dataclass
class Function:
    name: str
    action: str
    words: str  # the object as one says it
    parameters: list

    def entry(self, description):
        properties = {parameter.name: parameter.schema for parameter in self.parameters}
        parameters = {"type": "object", "properties": properties}
        required = [parameter.name for parameter in self.parameters if not parameter.optional]
        return {"name": self.name, "description": description, "parameters": parameters | ({"required": required} if required else {})}


# name, kind of value, the phrase that mentions it without its name, description
KNOWN = [
    ("city", "city", "in {v}", "City."), ("location", "city", "in {v}", "Where."), ("place", "city", "in {v}", "Name of the place."),
    ("destination", "city", "to {v}", "Where to go."), ("origin", "city", "from {v}", "Where it starts."), ("from", "city", "from {v}", "Start."),
    ("to", "city", "to {v}", "End."), ("recipient", "person", "to {v}", "Who receives it."), ("name", "person", "[called|named] {v}", "Name."),
    ("person", "person", "for {v}", "Person concerned."), ("contact", "person", "[to|for] {v}", "Name of the contact."), ("guest", "person", "for {v}", "Name of the guest."),
    ("owner", "person", "of {v}", "Who owns it."), ("author", "person", "by {v}", "Who wrote it."), ("artist", "person", "by {v}", "Artist."),
    ("title", "thing", "[called|titled] {v}", "Title."), ("topic", "thing", "about {v}", "Subject."), ("subject", "thing", "about {v}", "Subject line."),
    ("query", "thing", "for {v}", "What to look for."), ("item", "thing", "", "The item."), ("product", "thing", "", "Product wanted."), ("ingredient", "thing", "with {v}", "Main ingredient."),
    ("label", "thing", "labelled {v}", "Label."), ("message", "note", "saying {v}", "Text of the message."), ("text", "note", "saying {v}", "The text."),
    ("date", "date", "on {v}", "Day."), ("day", "weekday", "on {v}", "Day of the week."), ("time", "clock", "at {v}", "Time of day."), ("start", "clock", "from {v}", "Start time."),
    ("amount", "number", "", "Amount."), ("price", "number", "for {v}", "Price."), ("weight", "number", "", "Weight."), ("temperature", "number", "at {v} degrees", "Degrees."),
    ("distance", "number", "", "Distance."), ("count", "integer", "", "How many."), ("quantity", "integer", "", "How many."), ("people", "integer", "for {v} people", "Number of people."),
    ("nights", "integer", "for {v} nights", "Number of nights."), ("minutes", "integer", "for {v} minutes", "Length in minutes."), ("level", "integer", "at level {v}", "Level."),
    ("limit", "integer", "", "At most so many."), ("id", "code", "", "Identifier."), ("code", "code", "", "Code."), ("reference", "code", "", "Reference number."), ("room", "thing", "in the {v}", "Room."),
    ("color", "enum", "in {v}", "Colour."), ("size", "enum", "in {v}", "Size."), ("mode", "enum", "", "Mode."), ("category", "enum", "", "Category."), ("priority", "enum", "", "Priority."), ("unit", "enum", "in {v}", "Unit."),
    ("format", "enum", "as {v}", "Format."), ("language", "enum", "in {v}", "Language."), ("urgent", "boolean", "", "Whether it is urgent."), ("quiet", "boolean", "", "Without sound."), ("public", "boolean", "", "Visible to all."),
]
ENUMS = [
    "red green blue yellow black white", "small medium large", "low normal high", "fast slow eco", "auto manual off", "celsius fahrenheit", "pdf png txt csv", "english french german spanish italian",
    "work home travel family", "one two three", "north south east west", "single double suite", "economy business first", "daily weekly monthly", "open closed pending", "cash card transfer", "hot cold warm", "left right centre",
]
TYPES = {"city": "string", "person": "string", "thing": "string", "note": "string", "date": "string", "weekday": "string", "clock": "string", "code": "string", "enum": "string", "word": "string",
         "number": "number", "integer": "integer", "boolean": "boolean"}


def noun(speaker):
    return values.invented_word(speaker, (1, 3)) if speaker.chance(0.35) else speaker.value(OBJECTS)


def parameter(speaker, easy):
    if speaker.chance(0.45):
        name, kind, role, description = speaker.pick(KNOWN)
        words = name
    else:
        kind = speaker.pick(["word", "word", "thing", "person", "number", "integer", "enum", "boolean", "code", "city", "note", "clock"])
        parts = [noun(speaker)] if speaker.chance(0.7) else [speaker.pick([noun(speaker), speaker.value(values.ADJECTIVES).split("-")[0]]), noun(speaker)]
        name, words, role = "_".join(parts), " ".join(parts), ""
        description = speaker.phrase(["The {w}.", "{W}.", "{W} to use.", "Which {w}.", "Value of the {w}.", "{W} of the {n}."], w=words, W=words.capitalize(), n=noun(speaker))
    if easy and kind in ("note", "enum", "boolean", "date"):
        kind, role = "word", ""
    schema = {"type": TYPES[kind], "description": description}
    if kind == "enum":
        options = speaker.pick(ENUMS).split() if speaker.chance(0.4) else [noun(speaker) for _ in range(speaker.number(2, 4))]
        schema["enum"] = list(dict.fromkeys(options))
    return Parameter(name, words, kind, schema, not easy and speaker.chance(0.25), role)


def function(speaker, easy=False):
    action = speaker.value(ACTIONS) if speaker.chance(0.8) else values.invented_word(speaker, (1, 2))
    parts = [noun(speaker)] if speaker.chance(0.75) else [noun(speaker), noun(speaker)]
    name = "_".join([action, *parts])
    style = speaker.random.random()
    if style < 0.1:
        name = action + "".join(part.capitalize() for part in parts)
    elif style < 0.2:
        name = "_".join([*parts, action])
    elif style < 0.25:
        name = "_".join(parts)
    count = 1 if easy else speaker.pick([0, 1, 1, 1, 2, 2, 2, 3, 3])
    parameters = {}
    while len(parameters) < count:
        made = parameter(speaker, easy)
        parameters.setdefault(made.name, made)
    return Function(name, action, " ".join(parts), list(parameters.values()))


def description(speaker, made):
    return speaker.phrase(
        ["{A} a {o}.", "{A} the {o}.", "{A} {o}s.", "{A} one {o}.", "Lets you {a} a {o}.", "{A} a {o} for the user.", "Use this to {a} a {o}."],
        A=made.action.capitalize(), a=made.action, o=made.words,
    )


def value(speaker, made):
    """A value, and how one says it."""
    kind = made.kind
    if kind == "enum":
        chosen = speaker.pick(made.schema["enum"])
        return chosen, chosen
    if kind in ("number", "integer"):
        number = values.amount(speaker, 0.4 if kind == "number" else 0)
        said = values.number_words(number) if isinstance(number, int) and number < 100 and speaker.chance(0.15) else str(number)
        return number, said
    text = {
        "city": values.city, "person": values.person, "thing": values.thing, "word": values.word, "code": values.code, "clock": values.clock,
        "note": lambda speaker: values.note(speaker)[0], "weekday": lambda speaker: speaker.pick(values.DAYS),
        "date": lambda speaker: f"{speaker.number(1, 31)} {speaker.pick(values.MONTHS)}" if speaker.chance(0.5) else f"20{speaker.number(24, 32)}-{speaker.number(1, 12):02}-{speaker.number(1, 28):02}",
    }[kind](speaker)
    return text, text


NAMED = ["{w} {v}", "{w} {v}", "with {w} {v}", "with the {w} {v}", "{w}: {v}", "{w} is {v}", "the {w} is {v}", "{w} = {v}", "and {w} {v}", "for {w} {v}", "using {w} {v}", "where {w} is {v}", "{v} as {w}", "{v} as the {w}",
         "{w} at {v}", "{w} to {v}", "{w} of {v}", "{v} for {w}", "{v} for the {w}", "{w} - {v}", "({w} {v})", "take {v} as {w}", "my {w} is {v}", "{w}={v}", "use {v} for the {w}", "choose {w} {v}"]
YES = ["with {w}", "{w}", "{w} on", "{w}: yes", "{w} true", "and {w} yes"]
NO = ["without {w}", "not {w}", "{w} off", "{w}: no", "{w} false", "no {w}"]
HEADS = ["{a} [the|a|the|my|] {o}", "{a} {o}", "{a} [a|the] {o}", "I [want|need|would like] to {a} [a|the] {o}", "I'd like to {a} the {o}", "let us {a} the {o}", "{o} {a}", "[time to|we must] {a} the {o}", "use {n}", "run {n}", "call {n}",
         "help me {a} the {o}", "can we {a} the {o}", "{a} that {o}", "go and {a} [the|a] {o}", "try to {a} a {o}", "I have to {a} a {o}", "{a} {o} now", "do {n}", "we want to {a} [a|the] {o}", "{a} another {o}"]
HEADS += composed.INVENTED_HEADS * 3
NAMED += composed.INVENTED_NAMED * 4
YES += composed.YES
NO += composed.NO


def request(speaker, made):
    """A request for one function, and its arguments, in the order of the definition."""
    arguments, mentions = {}, []
    for each in made.parameters:
        if each.optional and speaker.chance(0.5):
            continue
        if each.kind == "boolean":
            arguments[each.name] = speaker.chance(0.5)
            mentions.append(speaker.phrase(YES if arguments[each.name] else NO, w=each.words))
            continue
        arguments[each.name], said = value(speaker, each)
        patterns = [each.role] if each.role and speaker.chance(0.6) else NAMED
        mentions.append(speaker.phrase(patterns, w=each.words, v=said))
    if speaker.chance(0.3):
        speaker.random.shuffle(mentions)
    head = speaker.phrase(HEADS, a=made.action, o=made.words, n=made.name)
    if len(mentions) == 1 and speaker.chance(0.25) and made.parameters[0].kind in ("word", "thing", "person", "code", "city", "number", "integer"):
        said = str(next(iter(arguments.values())))
        head, mentions = speaker.phrase(["{a} {o} {v}", "{a} the {o} {v}", "{a} {v}", "{o}: {v}", "{a} the {v} {o}"], a=made.action, o=made.words, v=said), []
    joint = speaker.pick([" ", " ", " ", ", ", " and "])
    return " ".join([head, joint.join(mentions)]).strip(), arguments


def outcome(speaker, made):
    """A result, and the sentence that answers from it."""
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


def exchange(speaker, made):
    core, arguments = request(speaker, made)
    result, reply = outcome(speaker, made)
    return Exchange(courteous(speaker, core), reply, [(made.name, arguments)], [result], core)


def pair(speaker, functions):
    """One request for two things."""
    first, second = (exchange(speaker, speaker.pick(functions)) for _ in range(2))
    user = courteous(speaker, first.core + speaker.pick([" and ", " and then ", ", then ", " and also "]) + second.core)
    return Exchange(user, f"{first.reply} {second.reply}", first.calls + second.calls, first.results + second.results)


def missing(speaker, made):
    """A request that leaves a required value out, and the question for it."""
    wanted = [each for each in made.parameters if not each.optional]
    if not wanted:
        return exchange(speaker, made)
    head = speaker.phrase(["{a} [the|a] {o}", "{a} {o}", "I want to {a} a {o}"], a=made.action, o=made.words)
    question = "What is the " + " and the ".join(each.words for each in wanted) + "?"
    return Exchange(courteous(speaker, head), question)
