// causerie for Node: conversations with language models that run in this process.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { check, isObject, optionsOf, string } from "./lib/arguments.js";
import { cosineSimilarity, EmbeddingModel, nativeEmbeddingModel } from "./lib/embedding.js";
import { handlersOf, joined, offered, offeredOne, toolsJson } from "./lib/functions.js";
import { json } from "./lib/json.js";
import { awaited, call, native, SdkError } from "./lib/native.js";
import { Response } from "./lib/response.js";
import { answer, message, messages, optionsJson, pathOf, requestJson } from "./lib/values.js";

export { cosineSimilarity, EmbeddingModel, Response, SdkError };

/** The demo model of this package: beside this file, or in the checkout. */
function demo() {
  const places = ["./demo.gguf", "../models/demo.gguf"].map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return places.find((place) => existsSync(place)) ?? places[0];
}

const placeOf = (model) => (model === "causerie/demo" ? demo() : pathOf(model));

/** Facts from the headers of a model's files. Nothing is loaded. */
export function readModelInfo(model) {
  return JSON.parse(call(() => native.readModelInfo(placeOf(model))));
}

/** A loaded model, which creates conversations. */
export class ModelRunner {
  #native;

  /** Use `ModelRunner.load`. */
  constructor(loaded) {
    if (!(loaded instanceof native.NativeModel)) throw new TypeError("use ModelRunner.load to load a model");
    this.#native = loaded;
  }

  /** Loads a GGUF file, a Hugging Face folder, `<namespace>/<name>` in the local cache, or `causerie/demo`. */
  static async load(model, options) {
    return new ModelRunner(await awaited(native.loadModel(placeOf(model), optionsJson(optionsOf(options)))));
  }

  get info() {
    return JSON.parse(this.#native.info());
  }

  get deviceNote() {
    return this.#native.deviceNote();
  }

  /** Creates a conversation. Every reply runs the functions that have `run`; calls of the others are left to the app. */
  createConversation(systemPrompt, functions = []) {
    return new Conversation(this.#native.createConversation(string("systemPrompt", systemPrompt ?? "")), functions);
  }

  createConversationFromHistory(history, functions = []) {
    const text = json(messages(history, "history"), "history");
    return new Conversation(call(() => this.#native.createConversationFromHistory(text)), functions);
  }

  restoreSession(path, functions = []) {
    return new Conversation(call(() => this.#native.restoreSession(string("path", path))), functions);
  }

  tokenize(text) {
    return call(() => this.#native.tokenize(string("text", text)));
  }

  /** Completes a prompt as it stands. */
  complete(prompt, options) {
    const [text, chosen] = [string("prompt", prompt), optionsOf(options)];
    return new Response(() => this.#native.complete(text, optionsJson(chosen)), chosen);
  }

  /** Answers questions about a state, with probabilities, and generates no text. */
  async decide(state, questions, options) {
    const isThread = Array.isArray(state) && state.length && state.every((item) => item?.role);
    const about = isThread ? { messages: messages(state, "state") } : { state };
    return answer(await awaited(this.#native.decide(requestJson({ ...optionsOf(options), ...about, questions }))));
  }

  /** Sets the model that chooses among the functions of conversations, for replies with `maxOfferedFunctions`. */
  setFunctionRanker(embeddingModel) {
    call(() => this.#native.setFunctionRanker(nativeEmbeddingModel(embeddingModel)));
  }

  /** Cancels all replies and frees the memory. Conversations can still be read. */
  async unload() {
    await awaited(this.#native.unload());
  }
}

/** A conversation: a history that grows by messages and replies. */
export class Conversation {
  #native;
  /** What runs functions by their names, for replies that run them. */
  #handlers = new Map();
  /** The names of functions that every reply runs. */
  #run = new Set();

  /** Use the methods of `ModelRunner`. */
  constructor(created, functions = []) {
    if (!(created instanceof native.NativeConversation)) throw new TypeError("use ModelRunner to create a conversation");
    this.#native = created;
    const given = offered(functions);
    if (given.length) call(() => created.registerFunctions(toolsJson(given)));
    this.#handlers = joined([], given);
    this.#run = new Set(this.#handlers.keys());
  }

  get history() {
    return JSON.parse(this.#native.history());
  }

  get isGenerating() {
    return this.#native.isGenerating();
  }

  /** The registered functions, as entries of `tools`. */
  get functions() {
    return JSON.parse(this.#native.functions());
  }

  get promptTokenCount() {
    return call(() => this.#native.promptTokenCount());
  }

  /** Offers a function to the model. If it has `run`, `respondWithFunctions` runs it. */
  registerFunction(definition) {
    const given = offeredOne(definition);
    call(() => this.#native.registerFunctions(toolsJson([given])));
    this.#handlers = joined(this.#handlers, [given]);
    this.#run.delete(given.name);
  }

  unregisterFunction(name) {
    const wasOffered = call(() => this.#native.unregisterFunction(string("name", name)));
    this.#handlers.delete(name);
    this.#run.delete(name);
    return wasOffered;
  }

  append(added) {
    call(() => this.#native.append(json(message(added), "message")));
  }

  removeLastMessage() {
    return JSON.parse(call(() => this.#native.removeLast()))[0];
  }

  truncate(count) {
    // The native part would take 1.5 and -1 as other numbers.
    if (!Number.isInteger(count) || count < 0) {
      throw new SdkError("invalid_argument", `count must be an integer from 0 on, found ${String(count)}`);
    }
    call(() => this.#native.truncate(Math.min(count, 2 ** 32 - 1)));
  }

  fork() {
    const fork = new Conversation(this.#native.fork());
    fork.#handlers = new Map(this.#handlers);
    fork.#run = new Set(this.#run);
    return fork;
  }

  saveSession(path, options) {
    const { includeCache = false } = optionsOf(options);
    check("includeCache", typeof includeCache === "boolean", "true or false", includeCache);
    call(() => this.#native.saveSession(string("path", path), includeCache));
  }

  /**
   * The stream of the reply to a message, or without one, to the history as it stands. The option `functions` offers some beside the
   * functions of the conversation, and runs those that have `run`. With `schema`, the reply is JSON of this schema.
   */
  generateResponse(sent, options) {
    const { functions, ...others } = optionsOf(options);
    const given = offered(functions ?? []);
    if (!functions && !this.#run.size) return this.#response(sent, others);
    const own = [...this.#handlers].filter(([name]) => this.#run.has(name));
    return this.#response(sent, others, joined(own, given), given);
  }

  /**
   * The same, but calls of functions that have `run` are run, and the reply goes on with their results. `functions` are offered with
   * the message; an object has handlers of registered functions, by name.
   */
  respondWithFunctions(sent, functions = [], options) {
    const [named, given] = Array.isArray(functions) ? [[], offered(functions)] : [handlersOf(functions), []];
    return this.#response(sent, optionsOf(options), joined([...this.#handlers, ...named], given), given);
  }

  /** The whole answer: the last event of the reply, with its `value` if there is a `schema`. */
  async respond(sent, options) {
    return this.generateResponse(sent, options).complete();
  }

  #response(sent, options, handlers, given) {
    const text = sent === undefined || sent === null ? undefined : json(message(sent), "message");
    const [names, tools] = handlers ? [[...handlers.keys()], toolsJson(given)] : [];
    return new Response(() => this.#native.start(text, optionsJson(options), names, tools), { ...options, handlers });
  }
}

/** Loads a model that follows a script, so that apps can be tested without a real one. */
export function loadScriptedModel(script) {
  const text = json(check("script", isObject(script), "an object", script), "script");
  return new ModelRunner(call(() => native.loadScriptedModel(text)));
}
