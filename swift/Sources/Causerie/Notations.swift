// Written by scripts/notations from the table of notations in core/src/notation/mod.rs.

/// The parser of this notation: The notation that the loaded model writes; the default.
public func ModelFunctionCallParser() -> FunctionCallParser { .model }

/// The parser of this notation: Python-style calls between the control tokens `<|tool_call_start|>` and
/// `<|tool_call_end|>`, as LFM2 writes them.
public func DefaultFunctionCallParser() -> FunctionCallParser { .default }

/// The parser of this notation: JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4
/// write them.
public func JsonStyleFunctionCallParser() -> FunctionCallParser { .jsonStyle }

/// The parser of this notation: `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as
/// LFM3, Qwen3.5 and Qwen3-Coder write them. Values are raw text, which is read as the type that the function declares.
public func XmlFunctionCallParser() -> FunctionCallParser { .xml }

/// The parser of this notation: `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it.
public func GemmaFunctionCallParser() -> FunctionCallParser { .gemma }

/// The parser of this notation: Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of
/// JSON objects, or a name and `[ARGS]` before an object.
public func MistralFunctionCallParser() -> FunctionCallParser { .mistral }

/// The parser of this notation: JSON objects with `parameters` as the whole reply, as Llama 3 writes them.
public func LlamaFunctionCallParser() -> FunctionCallParser { .llama }

/// The parser of this notation: A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`,
/// as Phi-4-mini writes it.
public func PhiFunctionCallParser() -> FunctionCallParser { .phi }

/// The parser of this notation: Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes
/// them for `python_tools`.
public func CodeFunctionCallParser() -> FunctionCallParser { .code }

/// The parser of this notation: A list of JSON objects after the word `functools`, as Phi-4-mini writes it if its
/// system message asks for it.
public func FunctoolsFunctionCallParser() -> FunctionCallParser { .functools }
