// Written by scripts/notations from the table of notations in core/src/notation/mod.rs.
@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/**
 * The notation that the loaded model writes; the default.
 */
@JvmSynthetic
public fun ModelFunctionCallParser(): FunctionCallParser = FunctionCallParser.MODEL

/**
 * Python-style calls between the control tokens `<|tool_call_start|>` and `<|tool_call_end|>`, as LFM2 writes them.
 */
@JvmSynthetic
public fun DefaultFunctionCallParser(): FunctionCallParser = FunctionCallParser.DEFAULT

/**
 * JSON objects between `<tool_call>` and `</tool_call>`, as Qwen2.5, Qwen3 and Granite 4 write them.
 */
@JvmSynthetic
public fun JsonStyleFunctionCallParser(): FunctionCallParser = FunctionCallParser.JSON_STYLE

/**
 * `<function=…>` with `<parameter=…>` tags between `<tool_call>` and `</tool_call>`, as LFM3, Qwen3.5 and Qwen3-Coder
 * write them. Values are raw text, which is read as the type that the function declares.
 */
@JvmSynthetic
public fun XmlFunctionCallParser(): FunctionCallParser = FunctionCallParser.XML

/**
 * `call:name{…}` between control tokens, as FunctionGemma and Gemma 4 write it.
 */
@JvmSynthetic
public fun GemmaFunctionCallParser(): FunctionCallParser = FunctionCallParser.GEMMA

/**
 * Calls after the control token `[TOOL_CALLS]`, as Mistral's models write them: a list of JSON objects, or a name and
 * `[ARGS]` before an object.
 */
@JvmSynthetic
public fun MistralFunctionCallParser(): FunctionCallParser = FunctionCallParser.MISTRAL

/**
 * JSON objects with `parameters` as the whole reply, as Llama 3 writes them.
 */
@JvmSynthetic
public fun LlamaFunctionCallParser(): FunctionCallParser = FunctionCallParser.LLAMA

/**
 * A list of JSON objects between the control tokens `<|tool_call|>` and `<|/tool_call|>`, as Phi-4-mini writes it.
 */
@JvmSynthetic
public fun PhiFunctionCallParser(): FunctionCallParser = FunctionCallParser.PHI

/**
 * Python-style calls between `<code>` and `</code>`, one in a line, as SmolLM3 writes them for `python_tools`.
 */
@JvmSynthetic
public fun CodeFunctionCallParser(): FunctionCallParser = FunctionCallParser.CODE

/**
 * A list of JSON objects after the word `functools`, as Phi-4-mini writes it if its system message asks for it.
 */
@JvmSynthetic
public fun FunctoolsFunctionCallParser(): FunctionCallParser = FunctionCallParser.FUNCTOOLS
