/** The notations of calls. Written by scripts/notations from the table of notations in core/src/notation/mod.rs. */

/**
 * The notation of function calls, by its name or by the specification's. `ModelInfo` has the first one.
 *
 * - `model` or `ModelFunctionCallParser`: The notation that the loaded model writes; the default.
 * - `default` or `python` or `DefaultFunctionCallParser`: Python-style calls between the control tokens `<|tool_call_start|>` and
 *   `<|tool_call_end|>`, as LFM2 writes them.
 * - `json` or `JsonStyleFunctionCallParser`: JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite
 *   4 write them.
 * - `xml` or `XmlFunctionCallParser`: `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3,
 *   Qwen3.5 and Qwen3-Coder write them. Values are raw text, which is read as the type that the function declares.
 * - `gemma` or `GemmaFunctionCallParser`: `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it.
 * - `mistral` or `MistralFunctionCallParser`: Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a
 *   list of JSON objects, or a name and `[ARGS]` before an object.
 * - `llama` or `LlamaFunctionCallParser`: JSON objects with `parameters` as the whole reply, as Llama 3 writes them.
 * - `phi` or `PhiFunctionCallParser`: A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as
 *   Phi-4-mini writes it.
 * - `code` or `CodeFunctionCallParser`: Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes them
 *   for `python_tools`.
 * - `functools` or `FunctoolsFunctionCallParser`: A list of JSON objects after the word `functools`, as Phi-4-mini writes it if
 *   its system message asks for it.
 */
export type FunctionCallParser =
  | "model"
  | "ModelFunctionCallParser"
  | "default"
  | "python"
  | "DefaultFunctionCallParser"
  | "json"
  | "JsonStyleFunctionCallParser"
  | "xml"
  | "XmlFunctionCallParser"
  | "gemma"
  | "GemmaFunctionCallParser"
  | "mistral"
  | "MistralFunctionCallParser"
  | "llama"
  | "LlamaFunctionCallParser"
  | "phi"
  | "PhiFunctionCallParser"
  | "code"
  | "CodeFunctionCallParser"
  | "functools"
  | "FunctoolsFunctionCallParser";
