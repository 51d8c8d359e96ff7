"""Functions, and requests with the calls that they ask for. Alternatives are the arguments that are right, too."""

S = {"type": "string"}


def choice(*values):
    return {"type": "string", "enum": list(values)}


def function(name, description, properties, required):
    return {"name": name, "description": description, "parameters": {"type": "object", "properties": properties, "required": required}}


FUNCTIONS = [
    function("get_weather", "Get the current weather of a city.", {"city": {**S, "description": "Name of the city"}, "unit": choice("celsius", "fahrenheit")}, ["city"]),
    function("set_timer", "Start a timer.", {"minutes": {"type": "integer", "description": "Length in minutes"}, "label": {**S, "description": "What it is for"}}, ["minutes"]),
    function("set_light", "Switch the light of a room on or off.", {"room": choice("kitchen", "bedroom", "office", "bathroom"), "on": {"type": "boolean", "description": "true for on, false for off"}}, ["room", "on"]),
    function("set_temperature", "Set the heating of a room.", {"room": choice("kitchen", "bedroom", "office", "bathroom"), "degrees": {"type": "number", "description": "Degrees Celsius"}}, ["room", "degrees"]),
    function("add_to_list", "Add items to a list.", {"list": choice("shopping", "todo"), "items": {"type": "array", "items": S, "description": "The items"}}, ["list", "items"]),
    function("play_music", "Play music.", {"query": {**S, "description": "Artist, song or genre"}, "volume": {"type": "integer", "description": "0 to 100"}}, ["query"]),
    function("convert_currency", "Convert an amount of money.", {"amount": {"type": "number"}, "source": {**S, "description": "Three-letter code"}, "target": {**S, "description": "Three-letter code"}}, ["amount", "source", "target"]),
]


def weather(request, city, unit=None):
    return request, "get_weather", {"city": city} | ({"unit": unit} if unit else {})


def timer(request, minutes):
    return request, "set_timer", {"minutes": minutes}


def light(request, room, on):
    return request, "set_light", {"room": room, "on": on}


def heat(request, room, degrees):
    return request, "set_temperature", {"room": room, "degrees": degrees}


def add(request, to, *items):
    return request, "add_to_list", {"list": to, "items": list(items)}


def music(request, query, volume=None):
    return request, "play_music", {"query": query} | ({"volume": volume} if volume is not None else {})


def money(request, amount, source, target):
    return request, "convert_currency", {"amount": amount, "source": source, "target": target}


REQUESTS = [
    weather("What's the weather in Lisbon?", "Lisbon"),
    weather("Is it raining in Oslo right now?", "Oslo"),
    weather("How warm is it in Porto, in celsius?", "Porto", "celsius"),
    weather("Tell me the temperature in Boston in fahrenheit.", "Boston", "fahrenheit"),
    weather("weather Nairobi", "Nairobi"),
    weather("Do I need a coat in Reykjavik today?", "Reykjavik"),
    timer("Set a timer for 12 minutes.", 12),
    timer("Remind me in 5 minutes that the pasta is done.", 5),
    timer("timer 45 min", 45),
    timer("Start a timer of an hour and a half.", 90),
    timer("I need a 3 minute timer for my tea.", 3),
    timer("Wake me up in 20 minutes.", 20),
    light("Turn on the light in the kitchen.", "kitchen", True),
    light("Switch the bedroom light off, please.", "bedroom", False),
    light("It's too dark in the office.", "office", True),
    light("Lights out in the bathroom!", "bathroom", False),
    light("office light on", "office", True),
    light("Please turn off the lamp in the kitchen.", "kitchen", False),
    heat("Set the bedroom to 18.5 degrees.", "bedroom", 18.5),
    heat("Make the office 21 degrees warm.", "office", 21),
    heat("I want it 23 degrees in the bathroom.", "bathroom", 23),
    heat("Heat the kitchen to 19.5.", "kitchen", 19.5),
    heat("bedroom heating 17 degrees", "bedroom", 17),
    heat("Could you set the heating in the office to 20.5 degrees?", "office", 20.5),
    add("Add milk and eggs to the shopping list.", "shopping", "milk", "eggs"),
    add("Put bread on my shopping list.", "shopping", "bread"),
    add("Add 'call mum' to my todo list.", "todo", "call mum"),
    add("shopping list: apples, rice, coffee", "shopping", "apples", "rice", "coffee"),
    add("Put butter, salt and flour on the shopping list please.", "shopping", "butter", "salt", "flour"),
    add("I have to water the plants: put 'water the plants' on my todo list.", "todo", "water the plants"),
    music("Play some jazz.", "jazz"),
    music("Play Miles Davis at volume 30.", "Miles Davis", 30),
    music("I'd like to hear Bohemian Rhapsody.", "Bohemian Rhapsody"),
    music("Put on classical music, volume 15.", "classical", 15),
    music("play rock", "rock"),
    music("Play the Beatles with the volume at 60.", "The Beatles", 60),
    money("Convert 100 USD to EUR.", 100, "USD", "EUR"),
    money("How much is 25.5 EUR in JPY?", 25.5, "EUR", "JPY"),
    money("What are 1500 GBP in CHF?", 1500, "GBP", "CHF"),
    money("convert 9.99 CAD to USD", 9.99, "CAD", "USD"),
    money("I have 250 EUR. How many USD is that?", 250, "EUR", "USD"),
    money("Change 80 AUD into NZD for me.", 80, "AUD", "NZD"),
]


def same(found, expected):
    if isinstance(expected, str):
        plain = str(found).lower().strip(" .!").removesuffix(" music").removeprefix("the ")
        return isinstance(found, str) and plain == expected.lower().removeprefix("the ")
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    return type(found) in (type(expected), int, float) and isinstance(found, bool) == isinstance(expected, bool) and found == expected


def is_right(name, arguments, expected_name, expected):
    """Whether a call is the one that was asked for. Optional parameters of which the request says nothing may be there or not."""
    declared = next(function["parameters"] for function in FUNCTIONS if function["name"] == expected_name)
    optional = set(declared["properties"]) - set(declared["required"]) - set(expected)
    return name == expected_name and set(arguments) - optional == set(expected) and all(same(arguments[key], value) for key, value in expected.items())


def is_exact(arguments, expected):
    """Whether a right call has only arguments of which the request speaks."""
    return set(arguments) == set(expected)
