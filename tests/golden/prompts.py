"""The prompts that Jinja2 renders, through transformers' own code behind apply_chat_template."""

import json
from datetime import datetime

import jinja2
from transformers.utils import chat_template_utils

from vocabulary import BOS, CONTROL, EOS

CLOCK = datetime(2026, 11, 20, 12, 0)


class FixedClock:
    @staticmethod
    def now():
        return CLOCK


def message_view(message):
    """What the template sees of a chat-completions message: content always text, arguments a mapping, no empty keys."""
    view = {"role": message["role"], "content": message["content"] or ""}
    if message.get("reasoning_content"):
        view["thinking"] = message["reasoning_content"]
    if message.get("tool_calls"):
        view["tool_calls"] = [call_view(call["function"]) for call in message["tool_calls"]]
    return view


def call_view(function):
    arguments = json.loads(function["arguments"] or "{}")
    return {"type": "function", "function": {"name": function["name"], "arguments": arguments}}


def tool_view(tool):
    function = tool["function"]
    return {key: function[key] for key in ("name", "description", "parameters")}


def render(template, conversation):
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            conversations=[[message_view(message) for message in conversation["messages"]]],
            tools=[tool_view(tool) for tool in conversation.get("tools", [])] or None,
            chat_template=template, add_generation_prompt=True, bos_token=CONTROL[BOS], eos_token=CONTROL[EOS],
        )
        return {"text": rendered[0]}
    except jinja2.TemplateError as err:
        return {"error": str(err)}


def write_prompts(fixtures, golden, root):
    chat_template_utils.datetime = FixedClock
    conversations = {path.stem: json.loads(path.read_text()) for path in sorted((fixtures / "conversations").glob("*.json"))}
    templates = {path.stem: path for path in sorted((fixtures / "templates").glob("*.jinja"))}
    templates["demo"] = root / "models" / "template.jinja"
    for name, path in templates.items():
        template = path.read_text()
        record = {
            "template": path.relative_to(root).as_posix(),
            "clock": CLOCK.isoformat(),
            "prompts": {stem: render(template, conversation) for stem, conversation in conversations.items()},
        }
        (golden / "prompts").mkdir(exist_ok=True)
        (golden / "prompts" / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
