"""What templates get besides messages, as transformers hands it over: special tokens by name, and functions as they were given."""

import json
import pathlib
import shutil
import tempfile

from transformers import AutoTokenizer

QUESTION = [{"role": "user", "content": "Hello there"}]
NAMES = ["bos", "eos", "unk", "pad", "sep", "cls", "mask", "image", "audio"]
ALL = "|".join(f"{{{{ {name}_token }}}}{{{{ {name}_token is defined }}}}" for name in NAMES)
ADDED = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}

TOKENS = [
    ("usual", {}, None),
    ("pad", {"pad_token": "<|im_end|>"}, None),
    ("extra", {"extra_special_tokens": {"image_token": "<|im_start|>", "audio_token": "<unused>"}}, None),
    ("extra list", {"extra_special_tokens": ["<a>", "<b>"], "additional_special_tokens": ["<c>"]}, None),
    ("own", {"image_token": "<|im_start|>", "audio_token": "<audio>", "add_image_token": True}, None),
    ("extra before own", {"image_token": "<own>", "extra_special_tokens": {"image_token": "<extra>"}}, None),
    ("object", {"pad_token": {"__type": "AddedToken", "content": "</s>", **ADDED}}, None),
    ("objects", {"extra_special_tokens": {"image_token": {"__type": "AddedToken", "content": "<img>", **ADDED}}}, None),
    ("no bos", {"bos_token": None}, None),
    ("map", {}, {"pad_token": "<pad>", "mask_token": {"content": "<mask>", **ADDED}, "unk_token": "<u>", "image_token": "<i>"}),
    ("map and added tokens", {"added_tokens_decoder": {}}, {"pad_token": "<pad>", "unk_token": "<u>"}),
    ("extra in map", {}, {"extra_special_tokens": {"image_token": "<i>"}}),
]

PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
PRINTED = "{{ tools | tojson }}"


def function(**members):
    return {"type": "function", "function": members}


FUNCTIONS = [
    ("no description", PRINTED, function(name="f", parameters=PARAMETERS)),
    ("no parameters", PRINTED, function(name="f", description="F.")),
    ("name only", PRINTED, function(name="f")),
    ("empty description", PRINTED, function(name="f", description="", parameters=PARAMETERS)),
    ("null", PRINTED, function(name="f", description=None, parameters=PARAMETERS)),
    ("order", PRINTED, {"function": {"parameters": PARAMETERS, "description": "F.", "name": "f"}, "type": "function"}),
    ("further members", PRINTED, {**function(name="f", strict=True, parameters=PARAMETERS, returns={"type": "string"}), "cache": None}),
    ("order of keywords", PRINTED, function(name="f", parameters={
        "required": ["b"], "properties": {"b": {"description": "B.", "type": "string", "minLength": 1}, "a": {"enum": ["x"], "type": "string"}},
        "type": "object", "additionalProperties": False, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "F",
    })),
    ("definitions", PRINTED, function(name="f", parameters={
        "$defs": {"P": {"properties": {"x": {"type": "integer", "title": "X"}}, "type": "object"}},
        "properties": {"at": {"$ref": "#/$defs/P"}, "to": {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}], "default": None}},
        "type": "object",
    })),
    ("values", PRINTED, function(name="f", description="Größe \U0001f600 \u00a0 \"q\"", parameters={
        "type": "object", "properties": {"a": {"type": "number", "default": 1.0, "minimum": 1e2, "maximum": 1e22, "multipleOf": 0.1},
                                         "b": {"type": "integer", "default": 18446744073709551615, "enum": [-1, 2]}},
    })),
    ("python", "{{ tools }}", function(name="f", description="it's \u00a0", strict=False, parameters=PARAMETERS)),
    ("is defined", "{% for t in tools %}{{ t.function.description is defined }}{{ t.function.strict }}{{ t.function.name }}{% endfor %}",
     function(strict=True, name="f", parameters=PARAMETERS)),
    ("bare", "List of tools: [{% for tool in tools %}{{ tool | tojson }}{% endfor %}]{{ messages[0].content }}",
     {"name": "f", "parameters": PARAMETERS, "strict": True}),
]


def cases():
    for name, config, special_map in TOKENS:
        yield {"name": name, "template": ALL, "tokenizer_config": config, "special_tokens_map": special_map, "tools": None}
    for name, template, tool in FUNCTIONS:
        yield {"name": name, "template": template, "tokenizer_config": {}, "special_tokens_map": None, "tools": [tool]}


def rendered(model, case):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for file in ["config.json", "tokenizer.json"]:
            shutil.copy(model / file, folder)
        config = json.loads((model / "tokenizer_config.json").read_text()) | case["tokenizer_config"]
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        if case["special_tokens_map"]:
            (folder / "special_tokens_map.json").write_text(json.dumps(case["special_tokens_map"]))
        (folder / "chat_template.jinja").write_text(case["template"])
        tokenizer = AutoTokenizer.from_pretrained(folder)
        return tokenizer.apply_chat_template(QUESTION, tools=case["tools"], tokenize=False)


def write_template_inputs(fixtures, golden):
    model = fixtures / "models" / "llama2"
    lines = [json.dumps(case | {"messages": QUESTION, "expected": rendered(model, case)}) for case in cases()]
    (golden / "template_inputs.json").write_text("[\n  " + ",\n  ".join(lines) + "\n]\n")
