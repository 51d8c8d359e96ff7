/** Options of loading and of replies, and facts about models. Written by scripts/bindgen from the tables in core/src/tables. */

import type { Json } from "./index.js";
import type { FunctionCallParser } from "./lib/notations.js";

/** Options of loading. */
export interface LoadOptions {
  /**
   * The largest number of tokens of a prompt and its reply together, limited to the model's own context size. Default: the
   * model's context size, at most 8,192.
   */
  contextSize?: number | null;
  /** The device that computes. Default: the CPU. */
  device?: "cpu" | "gpu" | "auto" | "metal";
  /**
   * Threads that compute on the CPU, 1 to 1024. No result depends on it. Default: the number of cores; if there are fast and slow
   * ones, the number of fast ones.
   */
  threads?: number | null;
  /** The storage format of keys and values; with the feature `metal` it is always F32 on Metal. Default: F16. */
  cacheType?: "f16" | "f32" | "q8_0";
  /** A chat template that replaces the model's own. */
  chatTemplate?: string | null;
  /**
   * A GGUF file with the projector of a vision model (mmproj). Default: the projector in the model's own files, or a file beside
   * the model's, whose name contains `mmproj` or `projector`.
   */
  projector?: string | null;
  /** Which names functions may have. Default: letters, digits, `_` and `-`. */
  functionNames?: "plain" | "dotted";
  /** Sampling values that replace the ones that the model's files recommend. The options of a reply take precedence. */
  generationDefaults?: SamplingDefaults;
  /**
   * Size limit of the prefix cache in bytes; 0 disables the cache. The entry used last is kept even if it alone is larger. An
   * eighth as much is kept of images that were computed, for pictures that are shown again. Default 512 MiB.
   */
  cacheBytes?: number;
  /**
   * Whether transparent pixels of pictures show the colours that their file has there, as in transformers. Such colours were
   * never meant to be seen: black ink on a transparent ground is often black on black. Default: no, they are put on white.
   */
  ignoresTransparency?: boolean;
  /**
   * A GGUF file with the part of an audio model that writes frames of sound (vocoder). Default: the part in the model's own
   * folder, or a file beside the model's, whose name contains `vocoder` or `audiodecoder`.
   */
  audioDecoder?: string | null;
  /**
   * A GGUF file or folder with the part of an audio model that turns frames into sound. Default: the folder `audio_detokenizer`
   * in the model's own, or a file beside the model's, whose name contains `tokenizer`.
   */
  audioTokenizer?: string | null;
  /**
   * A folder of the app for packed weights. The first load of a model writes its weights there as the kernels read them, and
   * later ones map that file instead of reading the model's: they take a fraction of the time and, with mapped weights, of the
   * memory. No other program may write to the folder. Packed weights are as large as the weights of the model. When new ones are
   * written, older ones are removed: of other releases, of models that are gone, and the oldest above the limit. On a GPU, and
   * for a model in memory, nothing is written. Default: none.
   */
  packedFolder?: string | null;
  /** The limit of all packed weights in that folder in bytes. A larger model is not packed. Default 16 GiB. */
  packedBytes?: number;
  /**
   * How packed weights come into memory. No result depends on it. Default: mapped on iOS and Android, `Auto` elsewhere.
   */
  weightMemory?: "mapped" | "copied" | "auto";
  /**
   * The GPU's name, or a part of it in upper or lower case, as `causerie inspect devices` shows it. A software device is taken
   * only by its name. Default: a card with memory of its own, or else the processor's.
   */
  gpuName?: string | null;
  /**
   * The memory of the GPU that the model and its sequences may take, in bytes. A model that needs more is refused, or goes to the
   * CPU if the device is chosen by `Auto`; where sequences need more, replies go on on the CPU. Default: what the system leaves
   * to the process.
   */
  gpuBytes?: number | null;
}

/** Sampling values that replace the ones that the files of a model recommend. */
export interface SamplingDefaults {
  /** As in `GenerationOptions`. */
  temperature?: number | null;
  /** As in `GenerationOptions`. */
  topP?: number | null;
  /** As in `GenerationOptions`. */
  topK?: number | null;
  /** As in `GenerationOptions`. */
  minP?: number | null;
  /** As in `GenerationOptions`. */
  repetitionPenalty?: number | null;
}

/** Options of a reply. What is left out has the default of the model or of causerie. */
export interface GenerationOptions {
  /**
   * The notation of calls in the reply. Without one, parsing is off, and calls arrive as chunks of text. Default: the notation
   * that the model writes.
   */
  functionCallParser?: FunctionCallParser | null;
  /** How calls are handled that can be read only after a repair. Default: they are delivered. */
  parserStrictness?: "recover" | "strict";
  /** Randomness of the choice of tokens; 0 always picks the most probable token. Default 1.0. */
  temperature?: number | null;
  /**
   * Nucleus sampling: keeps the most probable tokens up to this cumulative probability, between 0 and 1; 0 keeps the most
   * probable token only. Default 1.0.
   */
  topP?: number | null;
  /** Keeps the k most probable tokens; 0 keeps all. Default 50. */
  topK?: number | null;
  /** Keeps tokens with at least this fraction of the most probable token's probability, between 0 and 1. Default 0. */
  minP?: number | null;
  /** Values above 1.0 make tokens that occur in the prompt or the reply less probable. Default 1.0. */
  repetitionPenalty?: number | null;
  /**
   * Subtracted once from the logit of each token that occurs in the reply, between -2 and 2. Values above 0 favour new topics.
   * Default 0.
   */
  presencePenalty?: number | null;
  /** Subtracted from the logit of a token for each of its occurrences in the reply, between -2 and 2. Default 0. */
  frequencyPenalty?: number | null;
  /**
   * Values added to the logits of tokens, by id, between -100 and 100; -100 practically excludes a token. Default: none.
   */
  logitBias?: Record<string, number>;
  /**
   * Reports each token's log-probability in `Logprobs` events, with this many of the likeliest alternatives, 0 to 20. Default: no
   * such events.
   */
  logprobs?: number | null;
  /**
   * Seed of the random choices. On the CPU, the same seed, model, build and prompt give the same reply, whatever else is
   * generated at the same time or is cached (docs/adr/0015). On Metal, the last bits of logits may differ if part of the prompt
   * comes from the cache. Default: a random seed, which is reported with the reply.
   */
  seed?: number | bigint | null;
  /** The largest number of tokens of the reply. Default: no limit but the context. */
  maxTokens?: number | null;
  /**
   * Continues after tokens that end a reply, until `maxTokens` or the end of the context. For benchmarks, which need replies of
   * equal length. Default: no.
   */
  ignoreEnd?: boolean;
  /** Strings that end the reply. They are not part of it. */
  stopSequences?: string | string[];
  /** Whether the model may or must call functions. Default: the model decides. */
  toolChoice?: "auto" | "none" | "required" | { function: string };
  /**
   * Whether a reply may contain several calls. If not, a constraint prevents further calls; without a constraint they are
   * delivered with the diagnostic `parallel_limit`. Default: yes.
   */
  parallelToolCalls?: boolean;
  /**
   * Names of the functions of the conversation that the prompt lists, in the order in which they were registered. The others stay
   * in the history and may not be called; `allowedTools` may not name them. With many functions, a small model makes more right
   * calls if the few that fit the message are offered alone; an embedding model chooses them. A prompt that lists the same
   * functions as the one before goes on from the prefix cache. Default: all.
   */
  offeredFunctions?: string[] | null;
  /**
   * The largest number of functions that the prompt lists, besides those that the conversation has called. If there are more,
   * those that fit the user's messages best are chosen, by the embedding model that the runner's `set_function_ranker` sets,
   * without which this option is an error. The better half for the last message is always listed. Functions that were listed
   * before keep their places, so that messages about the same things have the same list, and their prompts go on from the prefix
   * cache (docs/functions.md). With `offeredFunctions` or `allowedTools` the choice is among these. Default: no limit.
   */
  maxOfferedFunctions?: number | null;
  /**
   * Names of the functions that may be called, out of the ones that the prompt offers. A constraint prevents calls of other
   * functions; without a constraint they are delivered with the diagnostic `tool_not_allowed`. Default: all.
   */
  allowedTools?: string[] | null;
  /** Whether calls are constrained to the declared functions during generation. Default: they are not. */
  toolCallConstraint?: "off" | "typed";
  /**
   * A JSON Schema, as JSON text, that constrains the text of the reply. Functions can still be called: a reply is either an
   * answer that fits the schema or a block of calls. Reasoning is not constrained. Default: none.
   */
  jsonSchemaConstraint?: string | object | null;
  /**
   * Whether the prompt states that schema, at the end of the system message. The history does not change. Default: yes.
   */
  injectSchemaIntoPrompt?: boolean;
  /**
   * Continues the last message of the history, which must be a reply without calls: the prompt ends with its text, and the new
   * text is added to it. The events report the new text only. Default: no.
   */
  continueFinalMessage?: boolean;
  /**
   * Requests reasoning from templates that have the variable `enableThinking`, and delivers reasoning in `ReasoningChunk` events.
   * Otherwise, reasoning that a model writes all the same is only kept in the message. Default: no.
   */
  enableThinking?: boolean;
  /** Delivers reasoning as part of the text, between `<think>` and `</think>`. Default: no. */
  inlineThinkingTags?: boolean;
  /**
   * Further variables for the chat template, such as `{"style": "brief"}`. Variables that causerie sets itself are an error.
   * Default: none.
   */
  templateVariables?: { [name: string]: Json };
  /** Ends the reply after its first block of calls. Some models regularly write text after calls. Default: no. */
  stopAfterToolCalls?: boolean;
  /**
   * Ends a reply whose end only repeats itself, with the diagnostic `repeated_tail`: the same words over three kilobytes and 128
   * times, or the same paragraph over eight kilobytes. Data, code and drawings may repeat a part 1,024 times. Text that is held
   * to a schema and calls never end so. Default: on for the demo model, and off for others.
   */
  stopOnRepetition?: boolean | null;
  /** Whether, and in which order, a model that speaks gives text and sound. Default: as the system prompt asks. */
  speechMode?: "auto" | "off" | "sequential" | "interleaved";
  /**
   * Randomness of the choice of sounds; 0 always picks the most probable. Default 1.0 in interleaved replies, 0.8 in others.
   */
  speechTemperature?: number | null;
  /** Keeps the k most probable sounds; 0 keeps all. Default 4 in interleaved replies, 64 in others. */
  speechTopK?: number | null;
  /** What remains of a cancelled reply in the history. Default: the text so far. */
  onCancel?: "keep_partial" | "drop_partial" | "drop_turn";
  /** How a request is handled while the conversation is generating another reply. Default: an error. */
  onBusy?: "error" | "queue" | "replace";
  /** How a history that does not fit the context is handled. Default: an error. */
  contextPolicy?: "error" | "slide" | "shrink";
  /** Cancels the reply after this time, which includes the time in the request queue. Default: no limit. In seconds. */
  timeout?: number | null;
  /** Cancels the reply. */
  signal?: AbortSignal;
}

/** Limits on the functions that a reply runs. */
export interface RoundOptions {
  /**
   * Maximum number of replies whose calls are run. The calls of the next reply are left to the app, which finds them in its
   * `Complete`. Default 8.
   */
  maxRounds?: number;
  /**
   * How long a function may take. After that the model reads that the function took too long. Default: no limit. In seconds.
   */
  timeLimit?: number | null;
  /**
   * Whether all calls of a reply are run at once. Default: one after the other. Results come in the order of the calls.
   */
  inParallel?: boolean;
}

/** Facts about a model. */
export interface ModelInfo {
  /** The name that its files give it. */
  name: string | null;
  /** The family, by the name in its files. */
  architecture: string;
  /** Number of weights, each counted once. */
  parameters: number;
  /** Number of layers of any kind. */
  layers: number;
  /** The size of the context that it was or would be loaded with, in tokens. */
  contextSize: number;
  /** Context size that the model was trained for, in tokens. */
  trainedContextSize: number;
  /** Number of tokens in its vocabulary. */
  vocabularySize: number;
  /** Storage formats of the weights, the one with the most bytes first. */
  quantisation: string[];
  /** Whether the chat template supports functions. */
  supportsFunctionCalling: boolean;
  /** The notation in which the model writes calls, found from its chat template. It is the default of the options of a reply. */
  functionCallParser: FunctionCallParser;
  /** Whether the chat template supports reasoning. */
  supportsReasoning: boolean;
  /** Whether messages can contain images. */
  supportsImages: boolean;
  /** Whether messages can contain sound. */
  supportsAudio: boolean;
  /** Whether the model speaks: its replies may have sound. */
  supportsSpeech: boolean;
  /** Estimated memory in bytes, with the context size that it was or would be loaded with. */
  memoryEstimate: number;
  /** The part of it that the vision tower and its projector take; 0 if the model takes no images. */
  visionMemory: number;
  /** The part of it that the encoder of sound and its adapter take; 0 if the model has no audio input. */
  hearingMemory: number;
  /** The part of it that the parts which speak take; 0 if the model does not speak. */
  speechMemory: number;
  /** Names in the files of tensors that nothing reads, in order. */
  unusedTensors: string[];
  /** Problems with the tokenizer or chat template that prevent loading, one per entry; empty once loaded. */
  problems: string[];
  /** The name of the GPU that computes the loaded model; none on the CPU, and before it is loaded. */
  gpu: string | null;
  /** How the GPU's results may differ from the CPU's, one per entry; empty if they have the same bits. */
  gpuDifferences: string[];
}
