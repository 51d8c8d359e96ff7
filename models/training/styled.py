"""Functions as different people write them: verbs and namespaces in names, and the many ways to write a schema (order of keys, defaults,
limits, formats, hints in descriptions).

A `Style` is one author's: all functions that are offered together have it.
"""

import re

from . import functions, values
from .results import words_of

VERBS = [  # words for the same thing in names
    "get fetch retrieve lookup query read show find load view obtain", "create add new make insert generate register", "update edit modify change set adjust patch", "delete remove clear erase drop discard", "set change update configure put adjust",
    "search find query lookup browse", "send post submit dispatch deliver", "book reserve schedule order", "start begin launch run trigger open", "stop end halt cancel quit close", "play start stream", "calculate compute get determine estimate work_out", "check verify get inspect test is",
    "turn switch toggle set control", "convert translate transform change", "list get fetch show all", "cancel delete remove abort", "track follow trace monitor get", "buy purchase order", "open show launch", "share send forward", "log record track add save", "remind schedule_reminder create_reminder",
]
SYNONYMS = {}
for group in VERBS:
    for verb in group.split():
        SYNONYMS.setdefault(verb, []).extend(other for other in group.split() if other != verb)
SUFFIXES = ["tool", "api", "function", "v2", "action", "request", "now", "data", "info", "details", "service", "handler", "command", "for_user", "by_name"]
PREFIXES = ["do", "app", "my", "api", "user", "assistant", "mcp", "tool", "client", "app_api", "handle", "perform", "request", "execute", "v1"]
PARAMETER_FORMS = ["{w}_name", "{w}_value", "the_{w}", "target_{w}", "{w}_text", "input_{w}", "user_{w}", "{w}_param", "new_{w}", "{w}_input", "selected_{w}", "given_{w}"]
NAME_STYLES = ["snake"] * 9 + ["camel"] * 5 + ["pascal"] * 2 + ["upper", "joined", "spaced"]
FUNCTION_STARTS = ["", "", "", "", "Use this to: ", "Tool: ", "Function. ", "API call. ", "[{t}] ", "{t}: "]
FUNCTION_ENDS = [
    " Returns {a} {w}.", " Returns the {w} as JSON.", " Returns true if it worked.", " Returns a confirmation.", " Use it when the user asks for this.", " Call it once per {w}.", " Only works for {a} {w}s.", " Requires the {w}.", " Does not change the {w}.", " The {w} must exist.", " The result is {a}.", " Needs permission.", " Results are sorted by {w}.",
    " If no {w} is given, the default is used.", " This tool is read-only.", " Not for {w}s.", " The user must confirm it.", " Available on all devices.", " May take a few seconds.", "\n\nReturns: the {w}.", " Args are strings unless noted.", " Note: the {w} is {a}.", " See also {n}.", " For {w}s, use {n}.", " Use {n} for the {w} instead.", " Do not guess values.", " Values are taken as the user said them.", " Ask if something is missing.", " Only call it if the user asks for it.",
]
VALUE_HINTS = [" e.g. {v}", " (e.g. {v})", ", e.g. {v}", ", for example {v}", " Example: {v}", " such as {v}", ", like '{v}'", " (example: \"{v}\")"]
OPTIONAL_HINTS = [" (optional)", " Optional.", ", optional", " Leave out if not given.", " Only if the user says so.", " Not required."]
TYPE_HINTS = {"clock": [" in HH:MM format", " (HH:MM)", " in 24-hour format"], "date": [" in YYYY-MM-DD format", " (ISO 8601)", " as a date"], "integer": [" (whole number)", " as an integer"], "number": [" as a number", " (decimal)", " in the usual unit"], "boolean": [" (true or false)", ". True to enable.", " flag"], "code": [" as printed", " identifier"]}
FORMATS = {"clock": "time", "date": "date"}


class Style:
    """How one author writes functions."""

    def __init__(self, speaker):
        self.speaker, chance = speaker, speaker.chance
        self.names = speaker.pick(NAME_STYLES)
        self.prefix = values.word(speaker).split()[0] if chance(0.12) else speaker.pick(PREFIXES) if chance(0.08) else ""
        self.joint = speaker.pick(["_", "_", "__"])
        self.swaps, self.suffixes, self.renames = speaker.pick([0, 0.4, 0.7]), speaker.pick([0, 0, 0.3]), speaker.pick([0, 0, 0.3])
        self.description_first, self.enum_early, self.required_first = chance(0.35), chance(0.3), chance(0.2)
        self.keeps_empty, self.closes, self.titles, self.nullable = chance(0.25), chance(0.2), chance(0.08), chance(0.05)
        self.others = ["another function"]  # the names of all functions
        self.starts = speaker.pick(FUNCTION_STARTS)
        self.ends, self.hints, self.optional, self.defaults, self.limits, self.formats = (speaker.pick([0, 0, 0.4, 0.8]) for _ in range(6))

    def spelled(self, words):
        if self.names == "upper":
            return "_".join(words).upper()
        if self.names == "joined":
            return "".join(words)
        return functions.spelled(words, "snake" if self.names == "spaced" else self.names)

    def name(self, name):
        """A function's name in this style."""
        speaker = self.speaker
        words = words_of(name)
        if words[0] in SYNONYMS and speaker.chance(self.swaps):
            words[:1] = speaker.pick(SYNONYMS[words[0]]).split("_")
        if self.names == "spaced" and 1 < len(words):  # the object first: `light_turn_on`
            words = words[-1:] + words[:-1]
        if speaker.chance(self.suffixes):
            words += speaker.pick(SUFFIXES).split("_")
        spelled = self.spelled(words)
        return f"{self.prefix}{self.joint}{spelled}" if self.prefix and self.names in ("snake", "spaced") else spelled

    def parameter_name(self, name):
        parts = [words_of(part) for part in name.split(".")]
        if self.speaker.chance(self.renames) and len(parts) == 1:
            parts = [words_of(self.speaker.pick(PARAMETER_FORMS).replace("{w}", "_".join(parts[0])))]
        spelled = ["_".join(words) if self.names in ("upper", "joined", "spaced") else functions.spelled(words, "snake" if self.names == "pascal" else self.names) for words in parts]
        return ".".join(spelled)

    def entry(self, made):
        """The entry of a function, as this author writes it."""
        entry, speaker = made.entry(), self.speaker
        text = entry.get("description", "")
        if text:
            slots = lambda pattern: pattern.replace("{n}", speaker.pick(self.others)).replace("{w}", values.word(speaker)).replace("{a}", speaker.value(values.ADJECTIVES)).replace("{t}", self.prefix or "user")
            text = slots(self.starts) + text + "".join(slots(speaker.pick(FUNCTION_ENDS)) for _ in range(speaker.pick([1, 1, 2])) if speaker.chance(self.ends))
        return {"name": entry["name"]} | ({"description": text} if text else {}) | {"parameters": self.schema(entry["parameters"], made)}

    def schema(self, schema, made=None):
        """An object's schema."""
        required = schema.get("required", [])
        kinds = {each.name: each for each in (made.parameters.values() if isinstance(made.parameters, dict) else made.parameters)} if made else {}
        properties = {name: self.property(each, name, name in required, kinds.get(name)) for name, each in schema["properties"].items()}
        parts = {"type": "object", "properties": properties}
        needed = {"required": required} if required or self.keeps_empty else {}
        if self.required_first:
            parts = {"type": "object"} | needed | {"properties": properties}
        else:
            parts |= needed
        return parts | ({"additionalProperties": False} if self.closes else {})

    def property(self, schema, name, is_required, parameter):
        speaker, kind = self.speaker, parameter.kind if parameter else ""
        schema = dict(schema)
        if "properties" in schema:
            inner = self.schema({"properties": schema.pop("properties"), "required": schema.pop("required", [])})
            schema |= {key: value for key, value in inner.items() if key != "type"}
        text = schema.get("description", "")
        if text:
            hints = [speaker.pick(VALUE_HINTS).replace("{v}", str(sample(speaker, kind, schema)))] if speaker.chance(self.hints / 2) else []
            hints += [speaker.pick(TYPE_HINTS[kind])] if kind in TYPE_HINTS and speaker.chance(self.formats) else []
            hints += [speaker.pick(OPTIONAL_HINTS)] if not is_required and speaker.chance(self.optional) else []
            for hint in hints:
                text = (text if hint[1].isupper() else text.removesuffix(".")) + hint
            schema["description"] = text
        if not is_required and kind != "array" and "properties" not in schema and speaker.chance(self.defaults / 2):
            schema["default"] = sample(speaker, kind, schema)
            if text and speaker.chance(0.4):
                schema["description"] = text.removesuffix(".") + speaker.pick([f". Defaults to {schema['default']}.", f" (default: {schema['default']})", f", default {schema['default']}"])
        if schema.get("type") in ("integer", "number") and speaker.chance(self.limits / 2):
            schema |= speaker.pick([{"minimum": 0}, {"minimum": 1}, {"minimum": 0, "maximum": 100000}, {"exclusiveMinimum": 0}])
        if kind in FORMATS and speaker.chance(self.formats / 2):
            schema["format"] = FORMATS[kind]
        if self.titles:
            schema = {"title": " ".join(words_of(name)).title()} | schema
        if self.nullable and not is_required and set(schema) <= {"type", "description", "title"}:
            schema["anyOf"] = [{"type": schema.pop("type")}, {"type": "null"}]
        return self.ordered(schema)

    def ordered(self, schema):
        first = (["description"] if self.description_first else []) + ["type"] + (["enum"] if self.enum_early else [])
        return {key: schema[key] for key in first if key in schema} | schema


def sample(speaker, kind, schema):
    """A value that a schema may name as an example or a default."""
    if "enum" in schema:
        return speaker.pick(schema["enum"])
    if schema.get("type") in ("integer", "number"):
        return speaker.pick([0, 1, 5, 10, 20, 100, values.amount(speaker)])
    if schema.get("type") == "boolean":
        return speaker.chance(0.5)
    makers = {"city": values.city, "person": values.person, "clock": values.clock, "code": values.code, "date": lambda speaker: f"20{speaker.number(24, 32)}-{speaker.number(1, 12):02}-{speaker.number(1, 28):02}"}
    return makers.get(kind, values.word)(speaker)


def restyle(speaker, made):
    """Gives all functions and parameters names in one style, in place. Returns the style, or None if two names became the same."""
    style = Style(speaker)
    for each in made:
        each.name = style.name(each.name)
        for parameter in each.parameters.values() if isinstance(each.parameters, dict) else each.parameters:
            parameter.name = style.parameter_name(parameter.name)
        named = [parameter.name for parameter in (each.parameters.values() if isinstance(each.parameters, dict) else each.parameters)]
        if len(set(named)) < len(named) or not re.fullmatch(r"[A-Za-z_]\w*", each.name):
            return None
    style.others = [each.name for each in made]
    return style if len(set(style.others)) == len(made) else None
