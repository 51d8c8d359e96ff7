// The notations of calls. Written by scripts/notations from the table of notations in core/src/notation/mod.rs.

/** The specification's names of parsers, with the names that the engine's options have. */
export const PARSERS = new Map([
  ["ModelFunctionCallParser", "model"],
  ["DefaultFunctionCallParser", "default"],
  ["JsonStyleFunctionCallParser", "json"],
  ["XmlFunctionCallParser", "xml"],
  ["GemmaFunctionCallParser", "gemma"],
  ["MistralFunctionCallParser", "mistral"],
  ["LlamaFunctionCallParser", "llama"],
  ["PhiFunctionCallParser", "phi"],
  ["CodeFunctionCallParser", "code"],
  ["FunctoolsFunctionCallParser", "functools"],
]);
