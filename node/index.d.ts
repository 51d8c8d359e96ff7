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
  /** Bytes of the GPU's memory that the model and its conversations may take. Default: what the device has. */
  gpuBytes?: number | null;
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
  /** Names of the functions of the conversation that the prompt lists. Default: all. */
  offeredFunctions?: string[] | null;
  /**
   * The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more, those that
   * fit the user's messages best are chosen, by the model of `setFunctionRanker`. Default: no limit.
   */
  maxOfferedFunctions?: number | null;
  allowedTools?: string[] | null;
  toolCallConstraint?: "off" | "typed";
  /** A JSON Schema, which the text of the reply must fit. With `schema`, the value of the reply is read as well. */
  jsonSchemaConstraint?: string | object | null;
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

/** A function, or an entry of `tools`. One with `run` is run by the replies of its conversation. */
export type OfferedFunction =
  | FunctionDefinition
  | RunnableFunction
  | { type: "function"; function: FunctionDefinition; run?: RunnableFunction["run"] };

/** Options of a reply in a conversation. */
export interface ReplyOptions extends FunctionOptions {
  /** Functions to offer beside the functions of the conversation. Calls of those with `run` are run. They stay offered afterwards. */
  functions?: OfferedFunction[];
  /** A JSON Schema. The reply is constrained to it, and its value is read: `value` of the completion, and `snapshots`. */
  schema?: string | object;
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

/** What is sent: a message, or the text or the parts of a message of the user. */
export type Sent = string | ContentPart[] | ChatMessage;

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
  /**
   * The value of a reply in JSON, again and again while it is being written: strings, arrays and objects grow, and what is not known
   * yet is missing. The last one is complete; for a reply that was cut short, `SdkError` is thrown instead. A reply that was cancelled,
   * or that ends in calls which are left to the app, has no last one. Each reply of a message with calls begins anew.
   */
  readonly snapshots: AsyncIterable<Json>;
  /** Reads the reply to its end, and returns its last event. */
  complete(): Promise<{ type: "complete" } & Completion>;
  /**
   * Stops the reply within one token, and does not wait for functions. Its last event is `complete` with the reason `interrupted`.
   */
  cancel(): void;
}

/** The end of a reply with a schema. It has no value if the reply was cancelled, or ends in calls that are left to the app. */
export type TypedCompletion<T> = { type: "complete"; value?: T } & Completion;

/** The reply to a message with a schema. */
export interface TypedResponse<T> extends Response {
  complete(): Promise<TypedCompletion<T>>;
}

/** A loaded model, which creates conversations. */
export class ModelRunner {
  private constructor();
  /** Loads a GGUF file, a Hugging Face folder, `<namespace>/<name>` in the local cache, or `causerie/demo`. */
  static load(model: string | URL, options?: LoadOptions): Promise<ModelRunner>;
  readonly info: ModelInfo;
  /** Creates a conversation. Every reply runs the functions that have `run`; calls of the others are left to the app. */
  createConversation(systemPrompt?: string | null, functions?: OfferedFunction[]): Conversation;
  createConversationFromHistory(history: ChatMessage[], functions?: OfferedFunction[]): Conversation;
  restoreSession(path: string, functions?: OfferedFunction[]): Conversation;
  tokenize(text: string): number[];
  /** Completes a prompt as it stands. */
  complete(prompt: string, options?: GenerationOptions): Response;
  /**
   * Answers questions about a state, with probabilities, and generates no text. An array of messages is a thread; other values are
   * shown as JSON.
   */
  decide(state: Json | ChatMessage[], questions: DecisionQuestion[], options?: DecisionOptions): Promise<Decisions>;
  /** Sets the model that chooses among the functions of conversations, for replies with `maxOfferedFunctions`. */
  setFunctionRanker(embeddingModel: EmbeddingModel): void;
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
  registerFunction(definition: OfferedFunction): void;
  /** Returns false if no function has this name. */
  unregisterFunction(name: string): boolean;
  /** Adds a message without a reply. */
  append(message: Sent): void;
  removeLastMessage(): ChatMessage | undefined;
  /** Keeps the first messages only. `count` is an integer from 0 on. */
  truncate(count: number): void;
  /** An independent conversation with the same history. */
  fork(): Conversation;
  saveSession(path: string, options?: { includeCache?: boolean }): void;
  /**
   * The stream of the reply to a message, or without one, to the history as it stands. Functions with `run` that the conversation was
   * made with, or that are given here, are run, and the reply goes on with their results.
   */
  generateResponse<T = Json>(
    message: Sent | null | undefined,
    options: ReplyOptions & { schema: string | object },
  ): TypedResponse<T>;
  generateResponse(message?: Sent | null, options?: ReplyOptions): Response;
  /**
   * The same, but calls of functions that have `run` are run, and the reply goes on with their results. `functions` are offered with
   * the message; an object has handlers of registered functions, by name.
   */
  respondWithFunctions(
    message?: Sent | null,
    functions?: OfferedFunction[] | Record<string, RunnableFunction["run"]>,
    options?: FunctionOptions,
  ): Response;
  /** The whole answer: the last event of the reply; with a `schema`, its `value`, which is missing as `TypedCompletion` says. */
  respond<T = Json>(
    message: Sent | null | undefined,
    options: ReplyOptions & { schema: string | object },
  ): Promise<TypedCompletion<T>>;
  respond(message?: Sent | null, options?: ReplyOptions): Promise<{ type: "complete" } & Completion>;
}

/** A label of a question. A string is one without a description. */
export type DecisionLabel = string | { label: string; description?: string };

/** A question about a state. */
export type DecisionQuestion =
  | { type: "predicate"; instructions: string; name?: string; yes?: string; no?: string }
  | { type: "choice"; instructions: string; name?: string; choices: DecisionLabel[] }
  | { type: "score"; instructions: string; name?: string; levels: DecisionLabel[] };

/** Options of decisions: docs/decisions.md. */
export interface DecisionOptions {
  temperature?: number | { predicate?: number; choice?: number; score?: number };
  rotations?: number;
  minLabelProbability?: number;
}

/** An answer. Probabilities are the ones among the labels: their sum is 1. */
export type DecisionAnswer = {
  name: string | null;
  /** The probability of all labels together. */
  labelProbability: number;
  /** Whether that reaches the limit. If not, the answer says next to nothing. */
  isAnswered: boolean;
} & (
  | { type: "predicate"; probability: number }
  | { type: "choice"; choice: string; index: number; confidence: number; probabilities: LabelProbability[] }
  | { type: "score"; score: number; confidence: number; probabilities: LabelProbability[] }
);

export interface LabelProbability {
  label: string;
  probability: number;
}

/** Answers in the order of the questions. */
export interface Decisions {
  answers: DecisionAnswer[];
  usage: { inputTokens: number; cachedTokens: number };
}

/** Options of embeddings: docs/embeddings.md. */
export interface EmbedOptions {
  textUse?: "unspecified" | "query" | "document";
  prompt?: string;
  dimensions?: number;
  normalises?: boolean;
  truncates?: boolean;
}

/** A model in memory that embeds texts, or ranks documents. It computes one call at a time. */
export class EmbeddingModel {
  private constructor();
  /** Loads a GGUF file, a Hugging Face folder, or `<namespace>/<name>` in the local cache. */
  static load(model: string | URL, options?: { threads?: number; contextSize?: number }): Promise<EmbeddingModel>;
  readonly info: {
    architecture: string;
    dimensions: number;
    maxTokens: number;
    embeds: boolean;
    embedsTokens: boolean;
    ranks: boolean;
    prompts: string[];
  };
  /** The vectors of texts, in their order. `truncated` are the texts that were cut, as indices. */
  embed(texts: string[], options?: EmbedOptions): Promise<{ vectors: Float32Array[]; tokenCount: number; truncated: number[] }>;
  /** The documents that fit a query best, the best first. */
  rerank(
    query: string,
    documents: string[],
    options?: { topN?: number; instruction?: string },
  ): Promise<{ results: { index: number; relevance: number }[]; tokenCount: number; truncated: number[] }>;
}

/** The cosine of the angle between two vectors, from -1 to 1. */
export function cosineSimilarity(one: ArrayLike<number>, other: ArrayLike<number>): number;

/** Facts from the headers of a model's files. Nothing is loaded. */
export function readModelInfo(model: string | URL): ModelInfo;

/** Loads a model that follows a script, so that apps can be tested without a real one: `{"replies": [["Hel", "lo"]]}`. */
export function loadScriptedModel(script: { replies: unknown[][]; context_size?: number }): ModelRunner;
