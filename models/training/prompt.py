"""Renders conversations as `template.jinja` does, marking what the model must learn to say.

A plain-Python twin of the template, because training renders thousands of conversations a minute; `check.py` proves the
two equal, byte for byte.
"""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPLATE = HERE.parent / "template.jinja"
BOS, TURN, TURN_END = "<|startoftext|>", "<|im_start|>", "<|im_end|>"


def to_json(value):
    return json.dumps(value, ensure_ascii=False)


def literal(value):
    """A call's argument: Python's spelling of the constants, JSON for the rest."""
    if value is None or isinstance(value, bool):
        return str(value)
    return to_json(value)


def call_text(call):
    arguments = ", ".join(f"{name}={literal(value)}" for name, value in call["arguments"].items())
    return f"{call['name']}({arguments})"


def system_block(system, tools):
    """The start of every prompt: `tools` are bare entries."""
    text = system
    if tools:
        entries = ", ".join(to_json(tool) for tool in tools)
        text += ("\n" if system else "") + f"List of tools: <|tool_list_start|>[{entries}]<|tool_list_end|>"
    return BOS + (f"{TURN}system\n{text}{TURN_END}\n" if text else "")


def message_pieces(message):
    """Pairs of text and whether the model says it."""
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
