"""The prompts that Jinja2 renders, with the code that transformers' apply_chat_template calls."""

import copy
import json
import unicodedata
from datetime import datetime

import jinja2
from transformers.utils import chat_template_utils

from vocabulary import BOS, CONTROL, EOS

CLOCK = datetime(2026, 11, 20, 12, 0)


class FixedClock:
    @staticmethod
    def now():
        return CLOCK


# Templates that get functions bare; all others get them in the form of chat completions.
BARE = {"demo", "features", "lfm2-a", "lfm2-b", "lfm2-c", "lfm2-d"}
# Templates that do not print calls: the calls are written into the content, as the model writes them.
WITHOUT_CALLS = {"gemma-2", "gemma-3", "lfm2-b", "lfm2-vl", "llama-2", "phi-4-mini", "smollm-2", "smollm-3"}
# Templates that do not support functions: the functions are listed in the system message.
WITHOUT_TOOLS = {"gemma-2", "gemma-3", "lfm2-vl", "llama-2", "smollm-2"}
# Templates that get functions as JSON text in the system message.
WITH_CARRIED_TOOLS = {"phi-4-mini"}
# Templates that do not print system messages, or only the first one: the text comes before the next question.
WITHOUT_SYSTEM = {"features", "gemma-2"}
WITHOUT_LATER_SYSTEM = WITHOUT_SYSTEM | {
    "functiongemma", "gemma-3", "lfm3", "llama-2", "ministral-3", "mistral", "qwen-3.5", "smollm-3",
}
# Templates that do not print results: these come before the next question, too.
WITHOUT_RESULTS = {"gemma-2", "gemma-3", "llama-2"}
# Templates that need the name of the called function with a result, and print a JSON object in a notation of their own.
WITH_NAMED_RESULTS = {"functiongemma"}
# Templates that put quotes around strings without escapes: strings that need escapes are passed as `Literal`.
WITH_LITERALS = {"lfm2-c", "lfm2-d"}
# Templates that need ids of calls and results.
WITH_IDS = {"mistral"}
# Templates that refuse several calls in a message: each call is a message, followed by its result.
WITH_SINGLE_CALLS = {"llama-3"}


class Literal:
    def __init__(self, text):
        self.text = text

    @staticmethod
    def is_needed(value):
        return isinstance(value, str) and any(c in "'\"\\" or unicodedata.category(c) == "Cc" for c in value)

    def __str__(self):
        named = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
        escaped = (named.get(c, f"\\x{ord(c):02x}" if unicodedata.category(c) == "Cc" else c) for c in self.text)
        return "'" + "".join(escaped) + "'"


def literal(value):
    """Formats a value as in calls: objects and strings as JSON, everything else as Python."""
    if isinstance(value, list):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, dict)) else repr(value)


def written(calls):
    def argument(name, value):
        return f"{name}={literal(value)}" if name.isidentifier() else f"**{literal({name: value})}"

    def call(function):
        return function["name"] + "(" + ", ".join(argument(*entry) for entry in function["arguments"].items()) + ")"

    return "<|tool_call_start|>[" + ", ".join(call(entry["function"]) for entry in calls) + "]<|tool_call_end|>"


def with_tool_list(messages, tools):
    system, rest = ("", messages) if messages[0]["role"] != "system" else (messages[0]["content"], messages[1:])
    entries = ", ".join(json.dumps(tool_view(tool, True), ensure_ascii=False) for tool in tools)
    return [{"role": "system", "content": (system + "\n" if system else "") + f"List of tools: [{entries}]"}, *rest]


def parts(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def shown_content(message):
    content = [part for part in parts(message["content"] or "") if part.get("text") != ""]
    if message["role"] == "tool":
        content = parts("<tool_response>\n") + content + parts("\n</tool_response>")
    return content


def without_lost_messages(name, messages):
    """Puts the content of messages that the template does not print before the next question."""
    kept, waiting = [], []

    def add(content):
        waiting.extend((parts("\n\n") if waiting and content else []) + content)

    for at, message in enumerate(messages):
        lost_system = message["role"] == "system" and name in (WITHOUT_LATER_SYSTEM if at else WITHOUT_SYSTEM)
        if lost_system or message["role"] == "tool" and name in WITHOUT_RESULTS:
            add(shown_content(message))
            continue
        if message["role"] == "user" and waiting:
            add(parts(message["content"]))
            message = {**message, "content": waiting}
        elif waiting:
            kept.append({"role": "user", "content": waiting})
        waiting = []
        kept.append(message)
    return kept + ([{"role": "user", "content": waiting}] if waiting else [])


def with_merged_questions(messages):
    merged = []
    for message in messages:
        last = merged[-1] if merged else {}
        if last.get("role") == message["role"] == "user" and last.get("name") == message.get("name"):
            content = parts(last["content"]) + parts("\n\n") + parts(message["content"])
            merged[-1] = {**last, "content": content}
        else:
            merged.append(message)
    return merged


def with_spaces(messages):
    """Puts a space in place of no content."""
    may_be_empty = lambda message: message["role"] in ("system", "tool") or message.get("tool_calls")
    return [message if message["content"] or may_be_empty(message) else {**message, "content": " "} for message in messages]


def with_single_calls(messages):
    single, rest = [], list(messages)
    while rest:
        message = rest.pop(0)
        calls = message.get("tool_calls") or [None]
        for i, call in enumerate(calls if len(calls) > 1 else []):
            first = message if i == 0 else {"role": "assistant", "content": ""}
            single.append({**first, "tool_calls": [call]})
            if rest and rest[0]["role"] == "tool":
                single.append(rest.pop(0))
        if len(calls) == 1:
            single.append(message)
    return single


def with_carried_tools(messages, tools):
    """Puts the list of functions into the system message, with one added if there is none."""
    entries = ", ".join(json.dumps(tool_view(tool, True), ensure_ascii=False) for tool in tools)
    if not messages or messages[0]["role"] != "system":
        messages = [{"role": "system", "content": ""}, *messages]
    return [{**messages[0], "tools": f"[{entries}]"}, *messages[1:]]


def result_view(content):
    try:
        value = json.loads(content)
    except ValueError:
        return content
    return value if isinstance(value, dict) else content


def conversation_view(name, conversation, fit=lambda messages: messages):
    """Converts chat-completions messages for the template: arguments become a mapping, empty keys are removed."""
    ids = iter(f"call{n:05}" for n in range(1000))
    unanswered = []
    views = []
    messages, tools = conversation["messages"], conversation.get("tools")
    if tools and name in WITHOUT_TOOLS:
        messages = with_tool_list(messages, tools)
    if tools and name in WITH_CARRIED_TOOLS:
        messages = with_carried_tools(messages, tools)
    messages = without_lost_messages(name, messages)
    if name in WITH_SINGLE_CALLS:
        messages = with_single_calls(messages)
    called = []
    for message in fit(messages):
        content = message["content"] or ""
        if isinstance(content, list) and all(part["type"] == "text" for part in content):
            content = "".join(part["text"] for part in content)
        view = {key: message[key] for key in ("role", "tools") if key in message}
        if message.get("name"):
            view["name"] = message["name"]
        if message.get("tool_calls"):
            called = [call["function"]["name"] for call in message["tool_calls"]]
            calls = [call_view(name, call["function"]) for call in message["tool_calls"]]
            if name in WITH_IDS:
                for call in calls:
                    call["id"] = next(ids)
                    unanswered.append(call["id"])
            if name in WITHOUT_CALLS:
                content = written(calls) + content
            else:
                view["tool_calls"] = calls
        if message["role"] == "tool" and name in WITH_IDS:
            view["tool_call_id"] = unanswered.pop(0) if unanswered else "call00000"
        if message["role"] == "tool" and name in WITH_NAMED_RESULTS:
            view.setdefault("name", called.pop(0) if called else "unknown")
            content = result_view(content)
        if message.get("reasoning_content"):
            view["thinking"] = view["reasoning_content"] = message["reasoning_content"]
        view["content"] = content
        views.append(view)
    return views


def call_view(name, function):
    arguments = json.loads(function["arguments"] or "{}")
    if name in WITH_LITERALS:
        arguments = {key: Literal(value) if Literal.is_needed(value) else value for key, value in arguments.items()}
    return {"type": "function", "function": {"name": function["name"], "arguments": arguments}}


def tool_view(tool, is_bare):
    return tool["function"] if is_bare else tool


def render(name, template, conversation, enable_thinking=False, has_other_form=False):
    """Renders a conversation. If the template refuses it, consecutive questions are merged, and then a space fills empty
    messages, as the engine does."""
    fits = [lambda messages: messages, with_merged_questions, lambda messages: with_spaces(with_merged_questions(messages))]
    results = [render_once(name, template, conversation, enable_thinking, has_other_form, fit) for fit in fits]
    return next((result for result in results if "text" in result), results[0])


def render_once(name, template, conversation, enable_thinking, has_other_form, fit):
    is_bare = (name in BARE) != has_other_form
    has_tools = name not in WITHOUT_TOOLS | WITH_CARRIED_TOOLS
    try:
        rendered, _ = chat_template_utils.render_jinja_template(
            conversations=[conversation_view(name, conversation, fit)],
            tools=[tool_view(tool, is_bare) for tool in conversation.get("tools", []) if has_tools] or None,
            chat_template=template, add_generation_prompt=True, bos_token=CONTROL[BOS], eos_token=CONTROL[EOS],
            enable_thinking=enable_thinking,
        )
        return {"text": rendered[0]}
    except jinja2.TemplateError as err:
        # The message that a template raises is recorded; the messages of other errors differ between engines.
        return {"raised": str(err)} if type(err) is jinja2.TemplateError else {"error": str(err)}
    except (TypeError, AttributeError) as err:
        return {"error": str(err)}


def write_prompts(fixtures, golden, root):
    chat_template_utils.datetime = FixedClock
    chat_template_utils._plain_template_data = copy.deepcopy  # the original does not copy `Literal`
    conversations = {path.stem: json.loads(path.read_text()) for path in sorted((fixtures / "conversations").glob("*.json"))}
    templates = {path.stem: path for path in sorted((fixtures / "templates").glob("*.jinja"))}
    templates["demo"] = root / "models" / "template.jinja"
    for name, path in templates.items():
        template = path.read_text()
        record = {
            "template": path.relative_to(root).as_posix(),
            "clock": CLOCK.isoformat(),
            "prompts": {stem: render(name, template, conversation) for stem, conversation in conversations.items()},
        }
        if "enable_thinking" in template:
            thinking = {stem: render(name, template, conversation, True) for stem, conversation in conversations.items()}
            record["thinking"] = thinking
        if name not in WITHOUT_TOOLS | WITH_CARRIED_TOOLS:
            record["other_form"] = {"tools": render(name, template, conversations["tools"], has_other_form=True)}
        (golden / "prompts").mkdir(exist_ok=True)
        (golden / "prompts" / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
