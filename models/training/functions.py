"""Random functions, and values for them, so that the model learns to choose and to copy instead of memorising."""

from dataclasses import dataclass, field

from . import values

ACTIONS = tuple(dict.fromkeys(
    "book send find open play order track cancel get show start stop add remove create delete update check search reserve schedule "
    "move copy share print lock unlock enable disable set turn read write post buy sell rent hire call ping join leave invite "
    "assign rate review pay refund transfer scan upload download export import archive restore mute dim heat cool water feed "
    "clean paint repair measure count rank sort merge split rename tag publish draft record pause resume skip save load convert "
    "translate describe summarise compare notify alert follow block report register renew inspect calibrate charge drain fill "
    "empty mix bake brew grow plant harvest ship pack label weigh "
    "adjust allocate approve archive arrange attach audit backup balance bind blend boost broadcast build bundle capture change clear click clone close collect combine commit compile complete compress confirm connect copy crop decline decode "
    "defer define deliver deploy deposit detach detect dial discard dispatch display dock dump edit eject encode encrypt end escalate estimate examine expand fetch filter finish flag flash flip forward freeze generate grant group guess guide hide "
    "hold identify ignore illuminate import increase index install introduce invert issue launch lift list locate log look lower maintain map mark match mention migrate mix modify monitor mount narrate navigate nominate normalise obtain open optimise "
    "outline pair park patch pin plan point polish power predict prepare preview process promote propose prune pull purge push query queue quote raise reach rebuild recall receive recommend recycle redeem reduce refill refresh reject release reload "
    "remind replace reply request reset resize resolve restart retry return reveal reverse review revoke ring roll rotate route sample seal select separate serve settle shorten shuffle shut sign simulate sketch skim solve sort spend split stage store "
    "stream stretch submit subscribe suggest supply suspend swap switch sync tag teach test tilt toggle trace train transmit trigger trim tune turn unlink unpack unmute upgrade use validate verify view vote wake warm warn wash watch wipe withdraw wrap zip".split()
))
OBJECTS = tuple(dict.fromkeys(
    "table room flight ticket taxi hotel parcel order invoice contract customer account profile photo video song album playlist "
    "movie book chapter recipe menu meal restaurant reservation appointment meeting event calendar task project ticket issue "
    "message email letter channel group team member contact address phone device lamp light door window garage alarm camera "
    "sensor heater fan oven pump valve engine car bike route trip train bus ship drone robot weather forecast temperature "
    "stock price currency payment card wallet loan budget report document file folder image page site server database backup "
    "key password token user role game player score match league course lesson exam student teacher patient doctor medicine "
    "dose plant garden tree field crop animal dog cat horse house flat office desk chair printer screen volume channel station "
    "news article podcast episode joke poem quote word translation map place museum park beach store product basket coupon "
    "gift card subscription survey vote poll badge label box crate shelf "
    "account agenda agreement allergy aisle anthem apartment apron archive armchair article artwork asset auction audience avatar award axle backpack badger bakery balcony ballot bandage banner barrel basin bathroom beacon bedroom beetle bench bicycle bill "
    "billboard binder biography birthday blanket blender blind block board bonus bookmark border bottle bouquet bracelet branch bracket brake brand bridge brief brochure broker brush bucket buffet bulb bulletin bunker bureau butcher button cabin cabinet cable "
    "cafe cage candidate canal canvas capital caption carpet carriage cart cartoon case castle catalogue cattle ceiling cell census ceremony certificate champion chapel charity chart chat checklist chef chimney choir cinema circuit circle claim class clause client "
    "cliff clinic closet cloud club coach coast collar colony column comment commission committee community companion company compass complaint component computer concert condition conference connection console contest container copier corridor costume cottage counter "
    "country county court cradle craft credential crew cruise cupboard cursor cushion cycle dairy dashboard deadline dealer debt deck delivery department deposit descriptor deck diagram diary diet digest dinner diploma directory discount discussion dispenser display "
    "district dock domain donation donor draft drawer dress drill driver dump duty easel editor election elevator embassy emblem employee endpoint entrance episode equation equipment error essay estate evening exhibit expense expert extension factory faculty farm fault "
    "feature feed fence ferry festival fiction filter finding fireplace firm flag flashlight fleet floor flour flower flute forest fork form formula forum fountain frame freight friend fridge fuel furniture gallery gate gauge generator glacier glass globe goal grant "
    "graph grocery guide guitar habit hall hallway hammer handle hanger harbour hardware harp headline headset hedge helmet herd highway hinge hive hobby hospital hostel hydrant icon identity idea image inbox incident income index industry injury insect instrument "
    "interest interview inventory island itinerary jacket jar jersey jet jewel journal journey judge jungle junction keyboard kiosk kitchen kitten knife label laboratory ladder lake landlord landmark lane language lantern laptop laser lawn lawyer leaf lease lecture ledger "
    "lens letterbox level lever library licence lift limit line liquid list loaf lobby location locker log loop lorry lounge luggage lunch machine magazine magnet mailbox mall manager manual marathon margin mask mast matrix mattress meadow medal member memo "
    "merchant meter metric microphone mill mine mission mixer model module monitor monument mosaic motor mountain mouse mural muscle mystery nail nest network notebook notice novel nurse nursery object oar observatory ocean offer office officer operator opinion option orchard "
    "orchestra organ outage outfit outlet oven owner package packet paddle paint palace palette panel parade parent parking partner passage pasture patch path pattern pavement paycheck pearl pebble pedal pencil penguin permit petition phase phrase piano picnic picture pier "
    "pillow pilot pin pipe pipeline pitch pixel pizza plane planet plank plate platform playground plot plug pocket policy pond pool port porter portrait post poster pot prescription present print prize process program promise prompt property proposal protocol pulley puppet purchase "
    "purse puzzle pyramid quarry query quest queue quilt quiz quota rack radar raft rail rally ranch rank reactor reader rebate receipt record referee refund region register reminder render repair request rescue resource response result resume retailer reward ribbon "
    "ride rifle ring river road rocket roof root rope roster router row ruler runway safe sail sale salon sample sandwich satellite scale scanner scarf scene schedule scholar school scooter screenplay script sculpture seal seat secret section segment seminar sentence series "
    "session setting settlement shadow sheet shield shift shirt shop shovel shuttle sidewalk signal signature silo sink site sketch skill sleeve slide slogan slot snapshot snippet soldier solution speaker spectrum speech spell spindle spoon square squad stable stadium staff stage "
    "stair stall stamp statement statue status stream street string studio style submarine suitcase summary supper supplier surface surgeon switch symbol symptom syllabus system table tailor tank tape target tariff tax teapot telescope temple tenant tent term terminal terrace test textbook "
    "theatre theme thread throne tile timeline timetable title toaster token toll topic torch tournament tower town toy track tractor trade trail trailer transaction transcript transfer treaty trial tribe trigger truck trumpet trunk tube tunnel turbine tutor tyre umbrella uniform union "
    "unit university upgrade urn usage utility vaccine vacancy valley vault vehicle vendor venue version vessel video village violin virus visitor vitamin volcano volunteer voucher wagon waiter wallpaper warehouse warranty watch waterfall wave webhook wedding wheel whistle widget willow "
    "winch window wing winner wire workshop worker wreath wrench yacht yard zebra zone".split()
))


@dataclass
class Parameter:
    name: str
    words: str  # the name in a request
    kind: str  # of value
    schema: dict
    optional: bool
    role: str  # a pattern with the value and without the name, or empty
    parts: list = field(default_factory=list)  # of an object; of an array, its element alone


@dataclass
class Function:
    name: str
    action: str  # in a request
    words: str  # the object in a request
    description: str
    parameters: list
    needed: frozenset = frozenset()  # slots without which a request could mean another offered function

    def entry(self):
        parameters = properties(self.parameters)
        return {"name": self.name} | ({"description": self.description} if self.description else {}) | {"parameters": parameters}


def properties(parameters):
    """The schema of an object."""
    required = [parameter.name for parameter in parameters if not parameter.optional]
    schema = {"type": "object", "properties": {parameter.name: parameter.schema for parameter in parameters}}
    return schema | ({"required": required} if required else {})


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
         "address": "string",
         "number": "number", "integer": "integer", "boolean": "boolean"}


LETTERED = tuple(thing for thing in values.THINGS if thing.isalpha())
UNSAID = ("is", "has", "with", "use", "allow")  # words that begin the names of booleans
KNOWN_SHARE = 0.4  # of the parameters are such
STYLES = ["snake", "snake", "snake", "snake", "snake", "camel", "camel", "pascal"]
LONG = ["note", "thing"]  # kinds of several words, which fail first, so they are more frequent
SIMPLE = ["word", "word", "thing", "thing", "person", "city", "number", "integer", "code", "clock"]  # kinds of elements of arrays


def noun(speaker):
    if speaker.chance(0.4):
        return values.invented_word(speaker, (1, 3))
    return speaker.value(OBJECTS if speaker.chance(0.7) else LETTERED)


def nouns(speaker, count, other_than=()):
    """Different nouns, `count` of them."""
    words = []
    while len(words) < count:
        word = noun(speaker)
        if word not in words and word not in other_than:
            words.append(word)
    return words


def spelled(words, style):
    """Joins words to a name."""
    if style == "snake":
        return "_".join(words)
    first = words[0].capitalize() if style == "pascal" else words[0]
    return first + "".join(word.capitalize() for word in words[1:])


def options(speaker):
    """The values of an enum; some are spelled differently in requests."""
    chosen = speaker.pick(ENUMS).split() if speaker.chance(0.3) else [noun(speaker) for _ in range(speaker.number(2, 5))]
    roll = speaker.random.random()
    if roll < 0.1:
        chosen = [word.upper() for word in chosen]
    elif roll < 0.2:
        chosen = [f"{word}_{noun(speaker)}" for word in chosen]
    return list(dict.fromkeys(chosen))


def described(speaker, words):
    return speaker.phrase(
        ["The {w}.", "{W}.", "{W} to use.", "Which {w}.", "Value of the {w}.", "{W} of the {n}.", "The {w} of the {n}, as given by the user.", "{W}, for the {n}"],
        w=words, W=words.capitalize(), n=noun(speaker),
    )


def parameter(speaker, easy=False, style="snake", known=KNOWN_SHARE):
    """A parameter; `known` is the probability of one that many functions have."""
    if speaker.chance(known):
        name, kind, role, description = speaker.pick(KNOWN)
        words = name
    else:
        kind = speaker.pick(["word", "word", "thing", "person", "number", "integer", "enum", "boolean", "boolean", "code", "city", "note", "clock", "address", *LONG[: 0 if speaker.held_out else 2]])
        parts = nouns(speaker, speaker.pick([1, 1, 1, 1, 1, 2, 2, 3]))
        if speaker.chance(0.15):
            parts.insert(0, speaker.value(values.ADJECTIVES).split("-")[0])
        if kind == "boolean" and speaker.chance(0.3):
            parts.insert(0, speaker.pick(UNSAID))
        name, words, role = spelled(parts, style), " ".join(parts), ""
        if kind == "boolean" and parts[0] in UNSAID:
            words = " ".join(parts[1:])
        description = described(speaker, words)
    if easy and kind in ("note", "enum", "boolean", "date"):
        kind, role = "word", ""
    schema = {"type": TYPES[kind]}
    if speaker.chance(0.9):
        schema["description"] = description
    if kind == "enum":
        schema["enum"] = options(speaker)
    return Parameter(name, words, kind, schema, not easy and speaker.chance(0.25), role)


def deep_parameter(speaker, style, known):
    """An array of values, an object of values, or an array of objects."""
    parts = nouns(speaker, speaker.pick([1, 1, 2]))
    roll = speaker.random.random()
    arrays, objects = (0.5, 0.4) if speaker.held_out else (0.35, 0.45)  # several fields are harder, so they are more frequent
    kind = "array" if roll < arrays else "object" if roll < arrays + objects else "objects"
    if kind == "array":
        parts[-1] += "" if parts[-1].endswith("s") else "s"
    words = " ".join(parts)
    schema = {"type": "object" if kind == "object" else "array"} | ({"description": described(speaker, words)} if speaker.chance(0.8) else {})
    if kind == "array":
        item = speaker.pick([*SIMPLE, "enum"])
        element = {"type": TYPES[item]} | ({"enum": options(speaker)} if item == "enum" else {})
        return Parameter(spelled(parts, style), words, kind, schema | {"items": element}, False, "", [Parameter("", "", item, element, False, "")])
    fields = {}
    wanted = [2] if kind == "objects" else [1, 2, 2, 3]
    count = speaker.pick(wanted if speaker.held_out else [2, 2, 3])
    while len(fields) < count:
        made = parameter(speaker, style=style, known=known)
        if kind == "object" or made.kind in ("word", "thing", "integer", "person", "enum"):
            fields.setdefault(made.name, made)
    fields = list(fields.values())
    if kind == "objects":
        for made in fields:
            made.optional = False
    inner = properties(fields)
    return Parameter(spelled(parts, style), words, kind, schema | ({"items": inner} if kind == "objects" else inner), False, "", fields)


def function(speaker, easy=False, style=None, deep=0.0, kin=None, known=KNOWN_SHARE, most=4, silent=None):
    """A function. `deep` is the probability of an array or object among its parameters, `kin` a function that it resembles, `known`
    that of `parameter`, `most` the maximum of parameters, and `silent` the probability of a name without meaning."""
    style = style or speaker.pick(STYLES)
    action = [speaker.value(ACTIONS) if speaker.chance(0.8) else values.invented_word(speaker, (1, 2))]
    count = 1 if easy else speaker.pick([1, 1, 1, 1, 2, 2, 2, 3])
    parts = nouns(speaker, count, action)
    if kin and speaker.chance(0.5):
        parts = kin.words.split()
    elif kin:
        action = kin.action.split()
    roll = speaker.random.random()
    whole, often = (0.92, 0.1) if speaker.held_out else (0.86, 0.22)  # harder to choose, so they are more frequent
    named = [*action, *parts] if roll < whole - 0.07 else [*parts, *action] if roll < whole else parts
    hidden = not easy and speaker.chance(often if silent is None else silent)  # only the description says what it does
    name = spelled(nouns(speaker, 2) if hidden else named, style)
    count = 1 if easy else min(most, speaker.pick([0, 1, 1, 1, 2, 2, 2, 3, 3, 4]))
    parameters = {}
    if speaker.chance(deep):
        made = deep_parameter(speaker, style, known)
        parameters[made.name] = made
        count = min(count, 2)
    if kin and kin.parameters and speaker.chance(0.3):
        made = speaker.pick(kin.parameters)
        parameters[made.name] = made
    while len(parameters) < count:
        made = parameter(speaker, easy, style, known)
        if made.words not in {other.words for other in parameters.values()}:
            parameters.setdefault(made.name, made)
    parameters = list(parameters.values())
    speaker.random.shuffle(parameters)
    text = description(speaker, " ".join(action), " ".join(parts))
    return Function(name, " ".join(action), " ".join(parts), text if hidden or easy or speaker.chance(0.93) else "", parameters)


def family(speaker, count, easy=False, deep=0.0, most=4, silent=None, akin=0.4):
    """Functions that are offered together. A share of `akin` resemble each other, and most have the same style of names."""
    style, made = speaker.pick(STYLES), {}
    known = KNOWN_SHARE if speaker.held_out or speaker.chance(0.65) else 0
    while len(made) < count:
        kin = speaker.pick(list(made.values())) if made and not easy and speaker.chance(akin) else None
        each = function(speaker, easy, style if speaker.chance(0.9) else None, deep, kin, known, most, silent)
        if (each.action, each.words) not in {(other.action, other.words) for other in made.values()}:
            made.setdefault(each.name, each)
    functions = list(made.values())
    for each in functions:
        others = [other for other in functions if other is not each]
        shared = {"{a}": any(other.words == each.words for other in others), "{o}": any(other.action == each.action for other in others)}
        each.needed = frozenset(slot for slot, needed in shared.items() if needed)
    return functions


def description(speaker, action, words):
    return speaker.phrase(
        ["{A} a {o}.", "{A} the {o}.", "{A} {o}s.", "{A} one {o}.", "Lets you {a} a {o}.", "{A} a {o} for the user.", "Use this to {a} a {o}.", "{A} a {o} with the given {n}.", "{A} the {o} of a {n}", "Call this when the user wants to {a} a {o}."],
        A=action.capitalize(), a=action, o=words, n=noun(speaker),
    )


def value(speaker, made):
    """A value of a plain kind, and its text in a request."""
    kind = made.kind
    if kind == "enum":
        chosen = speaker.pick(made.schema["enum"])
        said = chosen.replace("_", " ") if speaker.chance(0.7) else chosen
        return chosen, said.lower() if said.isupper() and speaker.chance(0.7) else said
    if kind in ("number", "integer"):
        number = values.amount(speaker, 0.4 if kind == "number" else 0)
        if speaker.chance(0.05):
            number = -number
        said = values.number_words(number) if isinstance(number, int) and 0 <= number < 100 and speaker.chance(0.2) else str(number)
        return number, said
    text = {
        "city": values.city, "person": values.person, "thing": values.thing, "word": values.word, "code": values.code, "clock": values.clock, "address": address,
        "note": lambda speaker: values.note(speaker)[0], "weekday": lambda speaker: speaker.pick(values.DAYS),
        "date": lambda speaker: f"{speaker.number(1, 31)} {speaker.pick(values.MONTHS)}" if speaker.chance(0.5) else f"20{speaker.number(24, 32)}-{speaker.number(1, 12):02}-{speaker.number(1, 28):02}",
    }[kind](speaker)
    return text, text


def address(speaker):
    """The name of a mailbox, a page or a file."""
    first, second = (speaker.pick([values.invented_word(speaker), values.word(speaker)]).lower().replace(" ", "") for _ in "ab")
    return speaker.pick([f"{first}@{second}.com", f"{first}.{second}@mail.org", f"https://{first}.com/{second}", f"/{first}/{second}.txt", f"{second}.pdf", f"www.{first}.org"])
