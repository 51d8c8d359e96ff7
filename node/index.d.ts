/** causerie for Node: conversations with language models that run in this process. */

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What can go wrong. */
export class SdkError extends Error {
  readonly code: ErrorCode;
}

export type ErrorCode =
  | "model_not_found" | "model_load" | "out_of_memory" | "load_cancelled" | "model_unloaded" | "busy"
  | "prompt_exceeds_context" | "invalid_option" | "invalid_message" | "invalid_function" | "invalid_argument"
  | "function_calling_unsupported" | "unsupported_content" | "generation" | "serialization" | "session" | "download"
  | "stream_already_consumed" | "internal";

/** Options of loading. */
export interface LoadOptions {
  /** In tokens, for a prompt and its reply together. Default: that of the model, at most 8,192. */
  contextSize?: number | null;
  /** `gpu` and `auto` need a library that was built with the feature `gpu` (docs/gpu.md). Default `cpu`. */
  device?: "cpu" | "gpu" | "auto" | "metal";
  /** The GPU's name, or a part of it. Default: the first that is not software. */
  gpuName?: string | null;
  /** Computing threads. Results do not depend on it. Default: the number of fast cores. */
  threads?: number | null;
  /** The storage format of keys and values. Default `f16`. */
  cacheType?: "f16" | "f32" | "q8_0";
  /** Replaces the model's own chat template. */
  chatTemplate?: string | null;
  /** The file of a vision or audio part. Default: a file beside the model's. */
  projector?: string | null;
  audioDecoder?: string | null;
  audioTokenizer?: string | null;
  ignoresTransparency?: boolean;
  functionNames?: "plain" | "dotted";
  /** Size of the prefix cache in bytes. Default 512 MiB. */
  cacheBytes?: number;
  /** A folder of the app for packed weights (docs/packed-weights.md). */
  packedFolder?: string | null;
  packedBytes?: number;
  weightMemory?: "mapped" | "copied" | "auto";
}

/** Options of a reply. What is left out has the default of the model or of causerie. */
export interface GenerationOptions {
  temperature?: number | null;
  topP?: number | null;
  topK?: number | null;
  minP?: number | null;
  repetitionPenalty?: number | null;
  presencePenalty?: number | null;
  frequencyPenalty?: number | null;
  /** Values added to logits, by token id. */
  logitBias?: Record<string, number>;
  /** Reports log-probabilities, with this many alternatives, 0 to 20. */
  logprobs?: number | null;
  seed?: number | null;
  maxTokens?: number | null;
  ignoreEnd?: boolean;
  stopOnRepetition?: boolean | null;
  stopSequences?: string | string[];
  /** The notation of calls; null delivers them as text. Default: what the model writes. */
  functionCallParser?: string | null;
  parserStrictness?: "recover" | "strict";
  toolChoice?: "auto" | "none" | "required" | { function: string };
  parallelToolCalls?: boolean;
  allowedTools?: string[] | null;
  toolCallConstraint?: "off" | "typed";
  /** A JSON Schema as a string, which the text of the reply must fit. */
  jsonSchemaConstraint?: string | null;
  injectSchemaIntoPrompt?: boolean;
  continueFinalMessage?: boolean;
  enableThinking?: boolean;
  inlineThinkingTags?: boolean;
  templateVariables?: { [name: string]: Json };
  stopAfterToolCalls?: boolean;
  speechMode?: "auto" | "off" | "sequential" | "interleaved";
  speechTemperature?: number | null;
  speechTopK?: number | null;
  onCancel?: "keep_partial" | "drop_partial" | "drop_turn";
  onBusy?: "error" | "queue" | "replace";
  contextPolicy?: "error" | "slide" | "shrink";
  /** Cancels the reply after this many seconds. */
  timeout?: number | null;
  /** Cancels the reply. */
  signal?: AbortSignal;
}

/** Options of a reply with functions. */
export interface FunctionOptions extends GenerationOptions {
  /** Replies whose calls are run. Default 8. */
  maxRounds?: number;
  /** Seconds that a function may take. Above 24 days, there is no limit. */
  timeLimit?: number | null;
  /** Whether all calls of a reply are run at once. */
  inParallel?: boolean;
}

/** Facts about a model. */
export interface ModelInfo {
  name: string | null;
  architecture: string;
  parameters: number;
  layers: number;
  contextSize: number;
  trainedContextSize: number;
  vocabularySize: number;
  quantisation: string[];
  supportsFunctionCalling: boolean;
  functionCallParser: string;
  supportsReasoning: boolean;
  supportsImages: boolean;
  supportsAudio: boolean;
  supportsSpeech: boolean;
  /** In bytes. */
  memoryEstimate: number;
  unusedTensors: string[];
  problems: string[];
}

/** A part of a message's content: a string, the bytes of an image or sound file, or a part in the form of chat completions. */
export type ContentPart =
  | string
  | { type: "text"; text: string }
  | { type: "image"; data: Uint8Array }
  | { type: "audio"; data: Uint8Array }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format?: string } };

/** A message in the form of chat completions. */
export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string | null | ContentPart[];
  name?: string;
  tool_call_id?: string;
  reasoning_content?: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string | { [name: string]: Json } } }[];
  incomplete?: boolean;
  [field: string]: unknown;
}

/** A function. `parameters` is the JSON Schema of an object. */
export interface FunctionDefinition {
  name: string;
  description?: string;
  parameters?: object;
}

/**
 * A function that is run. What it returns is the result, as JSON: undefined, functions and symbols are null. What it throws is told
 * to the model, and so is a result that JSON cannot represent, or that is nested more than 127 deep.
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export interface RunnableFunction<Arguments = any> extends FunctionDefinition {
  run(given: Arguments): unknown;
}

export interface Diagnostic {
  code: string;
  /** The argument or a part of it. */
  path: string;
  message: string;
}

export interface FunctionCall {
  name: string;
  arguments: { [name: string]: Json };
  /** The arguments as JSON, in which integers of any size are exact. */
  argumentsText: string;
  callId: string;
  rawText: string;
  repairs: string[];
  diagnostics: Diagnostic[];
}

export interface RejectedCall {
  reason: string;
  name: string | null;
  message: string;
  rawText: string;
}

export interface ScoredToken {
  id: number;
  text: string;
  bytes: number[];
  logprob: number;
}

export interface TokenLogprob {
  token: ScoredToken;
  place: "text" | "reasoning" | "calls";
  alternatives: ScoredToken[];
}

/** Counts and times of one generation. Times are in seconds. */
export interface GenerationStats {
  promptTokens: number;
  cachedPromptTokens: number;
  completionTokens: number;
  reasoningTokens: number;
  callTokens: number;
  queueTime: number;
  timeToFirstToken: number;
  prefillTime: number;
  decodeTime: number;
  tokensPerSecond: number;
  seed: string;
  contextSize: number;
  peakMemory: number | null;
}

export type FinishReason = "stop" | "tool_calls" | "max_tokens" | "exceed_context" | "interrupted" | "constraint";

/** The end of a reply. */
export interface Completion {
  text: string;
  message: ChatMessage;
  finishReason: FinishReason;
  stopSequence: string | null;
  stats: GenerationStats;
  earlierRounds: GenerationStats[];
  /** What the prompt left out of the history, by the index of messages. */
  prompt: { droppedMessages: number[]; shrunkMessages: number[]; miscountedResults: number[] };
  unconstrained: string | null;
  diagnostics: Diagnostic[];
}

/** An event of a reply. Later versions may add types: ignore unknown ones. */
export type MessageResponse =
  | { type: "chunk"; text: string }
  | { type: "reasoningChunk"; text: string }
  | { type: "audioSample"; samples: Float32Array; sampleRate: number }
  | { type: "functionCalls"; calls: FunctionCall[] }
  | { type: "functionCallsRejected"; rejected: RejectedCall[] }
  | { type: "logprobs"; tokens: TokenLogprob[] }
  | { type: "functionResult"; name: string | null; callId: string | null; text: string; isError: boolean; error?: unknown }
  | ({ type: "roundComplete" } & Completion)
  | ({ type: "complete" } & Completion);

/**
 * The reply to a message. Nothing is computed before its first event is requested, and the model waits for the reader. It can be
 * read once; leaving the loop stops the model.
 */
export class Response implements AsyncIterable<MessageResponse> {
  private constructor();
  [Symbol.asyncIterator](): AsyncGenerator<MessageResponse, void, void>;
  /** The text alone. */
  readonly text: AsyncIterable<string>;
  /** Reads the reply to its end, and returns its last event. */
  complete(): Promise<{ type: "complete" } & Completion>;
  /**
   * Stops the reply within one token, and does not wait for functions. Its last event is `complete` with the reason `interrupted`.
   */
  cancel(): void;
}

/** A loaded model, which creates conversations. */
export class ModelRunner {
  private constructor();
  /** Loads a GGUF file, a Hugging Face folder, `<namespace>/<name>` in the local cache, or `causerie/demo`. */
  static load(model: string | URL, options?: LoadOptions): Promise<ModelRunner>;
  readonly info: ModelInfo;
  createConversation(systemPrompt?: string): Conversation;
  createConversationFromHistory(history: ChatMessage[]): Conversation;
  restoreSession(path: string): Conversation;
  tokenize(text: string): number[];
  /** Completes a prompt as it stands. */
  complete(prompt: string, options?: GenerationOptions): Response;
  /** Cancels all replies and frees the memory. Conversations can still be read. */
  unload(): Promise<void>;
}

/** A conversation: a history that grows by messages and replies. */
export class Conversation {
  private constructor();
  readonly history: ChatMessage[];
  readonly isGenerating: boolean;
  /** The registered functions, as entries of chat completions' `tools`. */
  readonly functions: { type: "function"; function: FunctionDefinition }[];
  /** Tokens of the prompt for the history as it stands. */
  readonly promptTokenCount: number;
  /** Offers a function to the model. If it has `run`, `respondWithFunctions` runs it. */
  registerFunction(definition: FunctionDefinition | RunnableFunction | { type: "function"; function: FunctionDefinition }): void;
  /** Returns false if no function has this name. */
  unregisterFunction(name: string): boolean;
  /** Adds a message without a reply. */
  append(message: string | ChatMessage): void;
  removeLastMessage(): ChatMessage | undefined;
  /** Keeps the first messages only. `count` is an integer from 0 on. */
  truncate(count: number): void;
  /** An independent conversation with the same history. */
  fork(): Conversation;
  saveSession(path: string, options?: { includeCache?: boolean }): void;
  /** The stream of the reply to a message, or without one, to the history as it stands. */
  generateResponse(message?: string | ChatMessage | null, options?: GenerationOptions): Response;
  /**
   * The same, but calls of functions that have `run` are run, and the reply goes on with their results. `functions` are offered with
   * the message; an object has handlers of registered functions, by name.
   */
  respondWithFunctions(
    message?: string | ChatMessage | null,
    functions?: RunnableFunction[] | Record<string, RunnableFunction["run"]>,
    options?: FunctionOptions,
  ): Response;
  /** The whole answer: the last event of the reply. */
  respond(message?: string | ChatMessage | null, options?: GenerationOptions): Promise<{ type: "complete" } & Completion>;
}

/** Facts from the headers of a model's files. Nothing is loaded. */
export function readModelInfo(model: string | URL): ModelInfo;

/** Loads a model that follows a script, so that apps can be tested without a real one: `{"replies": [["Hel", "lo"]]}`. */
export function loadScriptedModel(script: { replies: unknown[][]; context_size?: number }): ModelRunner;
