"""The notations of calls.

Written by scripts/notations from the table of notations in core/src/notation/mod.rs.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from causerie._border import adopted


@adopted
class FunctionCallParser(str, Enum):
    """The notation of function calls."""

    MODEL = "model"
    """The notation that the loaded model writes; the default."""
    DEFAULT = "default"
    """Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`, as LFM2 writes
    them."""
    JSON_STYLE = "json"
    """JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4 write them."""
    XML = "xml"
    """`<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3, Qwen3.5 and
    Qwen3-Coder write them. Values are raw text, which is read as the type that the function declares."""
    GEMMA = "gemma"
    """`call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it."""
    MISTRAL = "mistral"
    """Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of JSON objects, or a
    name and `[ARGS]` before an object."""
    LLAMA = "llama"
    """JSON objects with `parameters` as the whole reply, as Llama 3 writes them."""
    PHI = "phi"
    """A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as Phi-4-mini writes
    it."""
    CODE = "code"
    """Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes them for `python_tools`."""
    FUNCTOOLS = "functools"
    """A list of JSON objects after the word `functools`, as Phi-4-mini writes it if its system message asks for it."""

    def __call__(self) -> FunctionCallParser:
        """The parser itself: the specification calls parsers."""
        return self


ModelFunctionCallParser: Final = FunctionCallParser.MODEL
DefaultFunctionCallParser: Final = FunctionCallParser.DEFAULT
JsonStyleFunctionCallParser: Final = FunctionCallParser.JSON_STYLE
XmlFunctionCallParser: Final = FunctionCallParser.XML
GemmaFunctionCallParser: Final = FunctionCallParser.GEMMA
MistralFunctionCallParser: Final = FunctionCallParser.MISTRAL
LlamaFunctionCallParser: Final = FunctionCallParser.LLAMA
PhiFunctionCallParser: Final = FunctionCallParser.PHI
CodeFunctionCallParser: Final = FunctionCallParser.CODE
FunctoolsFunctionCallParser: Final = FunctionCallParser.FUNCTOOLS
