"""Functions from types, which are run during the reply. weather.py does the same by hand.

    pip install causerie-*.whl
    python functions.py
"""

from __future__ import annotations

from typing import Annotated, Any

from causerie import Chunk, FunctionHandlers, FunctionResult, ModelRunner


def check_weather(city: Annotated[str, "City."]) -> dict[str, Any]:
    """Check the weather in a city."""
    return {"city": city, "sky": "sunny", "temperature": 21}


def main() -> None:
    handlers = FunctionHandlers(check_weather, time_limit=10)
    conversation = ModelRunner.load("causerie/demo").create_conversation("You are a small assistant on this device.")
    question = "Check the weather in Oslo"
    print(f"> {question}")
    for event in conversation.respond_with_functions(question, handlers, temperature=0, max_tokens=100):
        match event:
            case Chunk(text):
                print(text, end="", flush=True)
            case FunctionResult(name=name, text=text):
                print(f"{name} -> {text}")
    print()


if __name__ == "__main__":
    main()
