// Written by scripts/notations from the table of notations in core/src/notation/mod.rs.

/// The notation that the loaded model writes; the default.
public func ModelFunctionCallParser() -> FunctionCallParser { .model }

/// Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`, as LFM2 writes them.
public func DefaultFunctionCallParser() -> FunctionCallParser { .default }

/// JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4 write them.
public func JsonStyleFunctionCallParser() -> FunctionCallParser { .jsonStyle }

/// `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3, Qwen3.5 and Qwen3-Coder
/// write them. Values are raw text, which is read as the type that the function declares.
public func XmlFunctionCallParser() -> FunctionCallParser { .xml }

/// `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it.
public func GemmaFunctionCallParser() -> FunctionCallParser { .gemma }

/// Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of JSON objects, or a name and
/// `[ARGS]` before an object.
public func MistralFunctionCallParser() -> FunctionCallParser { .mistral }

/// JSON objects with `parameters` as the whole reply, as Llama 3 writes them.
public func LlamaFunctionCallParser() -> FunctionCallParser { .llama }

/// A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as Phi-4-mini writes it.
public func PhiFunctionCallParser() -> FunctionCallParser { .phi }

/// Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes them for `python_tools`.
public func CodeFunctionCallParser() -> FunctionCallParser { .code }

/// A list of JSON objects after the word `functools`, as Phi-4-mini writes it if its system message asks for it.
public func FunctoolsFunctionCallParser() -> FunctionCallParser { .functools }
