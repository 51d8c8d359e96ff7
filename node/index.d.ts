/** causerie for Node: conversations with language models that run in this process. */

import type { GenerationOptions, LoadOptions, ModelInfo, RoundOptions } from "./options.js";

export type { FunctionCallParser } from "./lib/notations.js";
export type { GenerationOptions, LoadOptions, ModelInfo, RoundOptions, SamplingDefaults } from "./options.js";

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What can go wrong. An argument of a wrong type is a `TypeError` instead, which names it. */
export class SdkError extends Error {
  readonly code: ErrorCode;
}

export type ErrorCode =
  | "model_not_found" | "model_load" | "out_of_memory" | "load_cancelled" | "model_unloaded" | "busy"
  | "prompt_exceeds_context" | "invalid_option" | "invalid_message" | "invalid_function" | "invalid_argument"
  | "function_calling_unsupported" | "unsupported_content" | "generation" | "serialization" | "session" | "download"
  | "stream_already_consumed" | "internal";

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
export interface FunctionOptions extends GenerationOptions, RoundOptions {}

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
 * A function that is run, as a method of its object. What it returns is the result: a string as it is, other values as JSON, in which
 * undefined, functions and symbols are null, and bigints are integers. `{ type: "image", data }` and `{ type: "audio", data }`, or an array
 * of parts with one, are parts of the result, for models that read such parts. The model reads the message of what it throws. It also reads an
 * error in place of a result that JSON would lose, such as a map, a promise, bytes or NaN, or that is nested more than 127 deep.
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
 * The reply to a message. Nothing is computed before its first event is requested. The model runs at most about sixteen events ahead
 * of the reader: after one that leaves, the history may have a little more text than it has read. The reply can be read once; leaving
 * the loop stops the model.
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
  /**
   * Why the model is not computed on the GPU that its options ask for: there is none, its memory is too small, or it failed meanwhile.
   * `null` if it is computed as asked for.
   */
  readonly deviceNote: string | null;
  /** Creates a conversation. Every reply runs the functions that have `run`; calls of the others are left to the app. */
  createConversation(systemPrompt?: string | null, functions?: OfferedFunction[]): Conversation;
  createConversationFromHistory(history: Sent[], functions?: OfferedFunction[]): Conversation;
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
