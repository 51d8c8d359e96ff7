"""Renders conversations like `template.jinja`, and marks what the model writes itself.

This is the template in plain Python, because training renders thousands of conversations per minute. `check.py` proves that both
produce the same bytes.
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPLATE = HERE.parent / "template.jinja"
BOS, TURN, TURN_END = "<|startoftext|>", "<|im_start|>", "<|im_end|>"


def to_json(value):
    return json.dumps(value, ensure_ascii=False)


def literal(value):
    """An argument of a call: constants in Python's spelling, everything else as JSON."""
    if value is None or isinstance(value, bool):
        return str(value)
    return to_json(value)


def call_text(call):
    arguments = ", ".join(f"{name}={literal(value)}" for name, value in call["arguments"].items())
    return f"{call['name']}({arguments})"


def system_block(system, tools):
    """The start of every prompt. `tools` are bare entries, without `type` and `function`."""
    text = system
    if tools:
        entries = ", ".join(to_json(tool) for tool in tools)
        text += ("\n" if system else "") + f"List of tools: <|tool_list_start|>[{entries}]<|tool_list_end|>"
    return BOS + (f"{TURN}system\n{text}{TURN_END}\n" if text else "")


def message_pieces(message):
    """Pairs of a text and whether the model writes it."""
    said = message["role"] == "assistant"
    content = message["content"]
    if message["role"] == "tool":
        content = f"<|tool_response_start|>{content}<|tool_response_end|>"
    if message.get("tool_calls"):
        calls = ", ".join(call_text(call["function"]) for call in message["tool_calls"])
        content += f"<|tool_call_start|>[{calls}]<|tool_call_end|>"
    return [(f"{TURN}{message['role']}\n", False), (content + TURN_END, said), ("\n", False)]


def conversation_pieces(messages):
    """The messages after the system message."""
    return [piece for message in messages for piece in message_pieces(message)]
