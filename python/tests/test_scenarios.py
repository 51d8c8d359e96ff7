"""Runs the scenarios that all languages share; see tests/fixtures/scenarios/README.md."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES, REPOSITORY

import causerie
from causerie import ChatMessage, Conversation, FunctionHandlers, ModelRunner, Response, SdkError, SdkFunctionCall
from causerie.embedding import EmbeddingModel
from causerie.testing import load_scripted_model

FILES = sorted((FIXTURES / "scenarios").glob("*.json"))


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 20


@pytest.mark.parametrize("reading", ["for", "async for"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario(file: Path, reading: str, tmp_path: Path) -> None:
    scenario = json.loads(file.read_text())
    Player(scenario, reading, tmp_path).play(scenario["steps"])


class Player:
    def __init__(self, scenario: dict[str, Any], reading: str, folder: Path) -> None:
        self.reading, self.folder = reading, folder
        self.options = scenario.get("options", {})
        self.has_counts = scenario.get("model") != "models/demo.gguf"
        if "script" in scenario:
            self.runner = load_scripted_model(scenario["script"])
        else:
            self.runner = ModelRunner.load(REPOSITORY / scenario["model"])
        if "ranker" in scenario:
            self.runner.set_function_ranker(EmbeddingModel.load(REPOSITORY / scenario["ranker"]))
        self.conversation = self.runner.create_conversation(scenario.get("system", ""))
        self.conversation.register_functions(scenario.get("functions", []))

    def play(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            if "trace" in step:
                assert exact(self.reply(step)) == exact(step["trace"])
            elif "history" in step:
                assert exact([message.to_dict() for message in self.conversation.history]) == exact(step["history"])
            else:
                error = None
                try:
                    self.change(step)
                except SdkError as err:
                    error = type(err).__name__
                assert error == step.get("error")

    def change(self, step: dict[str, Any]) -> None:
        """Runs a step without a reply."""
        match step:
            case {"append": message}:
                self.conversation.append_to_history(message)
            case {"register": tool}:
                self.conversation.register_function(tool)
            case {"unregister": name}:
                self.conversation.unregister_function(name)
            case {"remove_last": True}:
                self.conversation.remove_last_message()
            case {"truncate": count}:
                self.conversation.truncate(count)
            case {"reopen": how}:
                self.conversation = self.reopened(how)
            case _:
                pytest.fail(f"unknown step {step}")

    def reopened(self, how: str) -> Conversation:
        history = self.conversation.history
        match how:
            case "history":
                return self.runner.create_conversation_from_history(history)
            case "json":
                text = causerie.messages_to_json(history)
                return self.runner.create_conversation_from_history(causerie.messages_from_json(text))
            case "fork":
                return self.conversation.fork()
            case "session":
                path = self.folder / str(uuid.uuid4())
                self.conversation.save_session(path)
                return self.runner.restore_session(path)
        pytest.fail(f"cannot reopen from {how}")

    def reply(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        """The events of a reply."""
        options = self.options | step.get("options", {})
        message = ChatMessage.from_dict(step["send"]) if "send" in step else None
        response = self.response(step, message, options)
        trace = Trace(self.has_counts)
        watch = self.watch(step, response, trace)
        try:
            if self.reading == "for":
                self.read(response, trace, watch)
            else:
                asyncio.run(self.read_async(response, trace, watch))
        except SdkError as err:
            trace.events.append({"error": type(err).__name__, "reason": str(err)})
        return trace.events

    def response(self, step: dict[str, Any], message: ChatMessage | None, options: dict[str, Any]) -> Response:
        if "handlers" not in step:
            if message is None:
                return self.conversation.continue_response(**options)
            response: Response = self.conversation.generate_response(message, **options)
            return response
        handlers = FunctionHandlers(**step.get("rounds", {}))
        for name, script in step["handlers"].items():
            handlers.on(name, self.handler(iter(script), lambda: response.cancel()))
        if message is None:
            response = self.conversation.continue_with_functions(handlers, **options)
        else:
            response = self.conversation.respond_with_functions(message, handlers, **options)
        return response

    def handler(self, script: Iterator[dict[str, Any]], cancel: Callable[[], None]) -> Callable[[SdkFunctionCall], Any]:
        """Returns a handler that runs the actions of a script, one for each call."""

        def act(call: SdkFunctionCall) -> Any:
            match next(script):
                case {"returns": value}:
                    return value
                case {"fails": reason}:
                    raise ValueError(reason)
                case {"echoes": True}:
                    return call.arguments
                case {"cancels": True}:
                    return cancel()
                case {"hangs": True}:
                    return asyncio.Event().wait() if self.reading == "async for" else threading.Event().wait()
                case other:
                    pytest.fail(f"unknown action {other}")

        return act

    def read(self, response: Response, trace: Trace, watch: Iterator[bool]) -> None:
        next(watch)
        for event in response:
            trace.add(event)
            if next(watch):
                break

    async def read_async(self, response: Response, trace: Trace, watch: Iterator[bool]) -> None:
        next(watch)
        async for event in response:
            trace.add(event)
            if next(watch):
                break

    def watch(self, step: dict[str, Any], response: Response, trace: Trace) -> Iterator[bool]:
        """Cancels where the step says so, and returns whether to leave. It is called before each event."""
        is_cancelled = "cancel_at" not in step
        while True:
            if not is_cancelled and trace.text == step["cancel_at"]:
                is_cancelled = True
                # Steps in between are not part of this loop, which may be asynchronous.
                inner = Player.__new__(Player)
                inner.__dict__.update(self.__dict__, reading="for")
                inner.play(step.get("meanwhile", []))
                response.cancel()
            yield step.get("leave_at") == trace.text


class Trace:
    """The events of a reply."""

    def __init__(self, has_counts: bool) -> None:
        self.has_counts = has_counts
        self.events: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        return "".join(event.get("text", "") for event in self.events)

    def add(self, event: causerie.MessageResponse) -> None:
        match event:
            case causerie.Chunk(text):
                self.join("text", text)
            case causerie.ReasoningChunk(text):
                self.join("reasoning", text)
            case causerie.FunctionCalls(calls):
                self.events.append({"calls": [call_entry(call) for call in calls]})
            case causerie.FunctionCallsRejected(rejected):
                self.events.append({"rejected": [rejected_entry(call) for call in rejected]})
            case causerie.Logprobs(tokens):
                self.events.append({"logprobs": [logprob_entry(scored) for scored in tokens]})
            case causerie.FunctionResult(call_id, name, text, is_error):
                result = {"result": text, "name": name, "call_id": call_id, "is_error": is_error or None}
                self.events.append({key: value for key, value in result.items() if value is not None})
            case causerie.RoundComplete():
                self.end("round", event)
            case causerie.Complete():
                self.end("complete", event)
            case _:
                pytest.fail(f"unexpected event {event}")

    def end(self, key: str, event: causerie.RoundComplete | causerie.Complete) -> None:
        end: dict[str, Any] = {key: event.finish_reason.value, "message": event.full_message.to_dict()}
        if event.stop_sequence is not None:
            end["stop_sequence"] = event.stop_sequence
        if event.diagnostics:
            end["diagnostics"] = [diagnostic.code for diagnostic in event.diagnostics]
        for count in ("prompt_tokens", "cached_prompt_tokens", "completion_tokens"):
            if self.has_counts:
                end[count] = getattr(event.stats, count)
        self.events.append(end)

    def join(self, key: str, text: str) -> None:
        if self.events and key in self.events[-1]:
            self.events[-1][key] += text
        else:
            self.events.append({key: text})


def call_entry(call: causerie.SdkFunctionCall) -> dict[str, Any]:
    entry = {"name": call.name, "arguments": call.arguments, "call_id": call.call_id, "raw_text": call.raw_text}
    if call.repairs:
        entry["repairs"] = call.repairs
    if call.diagnostics:
        entry["diagnostics"] = [diagnostic.code for diagnostic in call.diagnostics]
    return entry


def logprob_entry(scored: causerie.TokenLogprob) -> dict[str, Any]:
    alternatives = [token.text for token in scored.alternatives]
    place, logprob = scored.place.value, scored.token.logprob
    entry = {"token": scored.token.text, "n_bytes": len(scored.token.bytes), "logprob": logprob, "place": place}
    return entry | {"alternatives": alternatives}


def rejected_entry(call: causerie.RejectedCall) -> dict[str, Any]:
    entry = {"reason": call.reason, "raw_text": call.raw_text}
    return entry if call.name is None else entry | {"name": call.name}


def exact(value: Any) -> str:
    """A string that distinguishes floats from integers, and True from 1."""
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False)
