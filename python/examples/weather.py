"""The tool flow: the model calls a function, the app runs it, and the model answers with its result.

    pip install causerie-*.whl
    python weather.py [MODEL]

Without a model, it uses the demo model, which is part of the package.
"""

from __future__ import annotations

import json
import sys

from causerie import (
    ChatMessage,
    ChatMessageRole,
    Chunk,
    FunctionCalls,
    ModelRunner,
    SdkFunction,
    SdkFunctionCall,
    SdkFunctionParameter,
    SdkStr,
    validate,
)

CHECK_WEATHER = SdkFunction(
    name="check_weather",
    description="Check the weather in a city.",
    parameters=[SdkFunctionParameter(name="city", type=SdkStr(), description="City.")],
)


def check_weather(city: str) -> str:
    """A real app would query a service."""
    return json.dumps({"city": city, "sky": "sunny", "temperature": 21})


def run(call: SdkFunctionCall) -> str:
    """Runs a call. The arguments come from a model, so they are validated first."""
    validation = validate(call, [CHECK_WEATHER])
    return check_weather(**validation.arguments) if validation.is_ok else validation.errors_as_tool_text


def main() -> None:
    runner = ModelRunner.load(sys.argv[1] if len(sys.argv) > 1 else "causerie/demo")

    # 1. Create a conversation and register functions.
    conversation = runner.create_conversation("You are a small assistant on this device.")
    conversation.register_function(CHECK_WEATHER)

    # 2. Generate, and read the responses.
    question = "Check the weather in Oslo"
    print(f"> {question}")
    results: list[ChatMessage] = []
    for event in conversation.generate_response(question, temperature=0, max_tokens=100):
        match event:
            case Chunk(text):
                print(text, end="", flush=True)
            case FunctionCalls(calls):
                # 3. Run the functions. 4. Their results are messages.
                for call in calls:
                    result = run(call)
                    print(f"{call.name}({call.arguments}) -> {result}")
                    results.append(ChatMessage(ChatMessageRole.TOOL, result))

    # 5. Continue in a conversation created from the history and the results.
    answer = runner.create_conversation_from_history([*conversation.history, *results])
    for event in answer.continue_response(temperature=0, max_tokens=100):
        if isinstance(event, Chunk):
            print(event.text, end="", flush=True)
    print()


if __name__ == "__main__":
    main()
