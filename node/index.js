// causerie for Node: conversations with language models that run in this process.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { cosineSimilarity, EmbeddingModel, nativeEmbeddingModel } from "./lib/embedding.js";
import { awaited, call, native, SdkError } from "./lib/native.js";
import { Response } from "./lib/response.js";
import { answer, message, nameOf, optionsJson, requestJson, tool } from "./lib/values.js";

export { cosineSimilarity, EmbeddingModel, Response, SdkError };

/** The demo model of this package: beside this file, or in the checkout. */
function demo() {
  const places = ["./demo.gguf", "../models/demo.gguf"].map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return places.find((place) => existsSync(place)) ?? places[0];
}

const pathOf = (model) => (model === "causerie/demo" ? demo() : model instanceof URL ? fileURLToPath(model) : model);

/** Facts from the headers of a model's files. Nothing is loaded. */
export function readModelInfo(model) {
  return JSON.parse(call(() => native.readModelInfo(pathOf(model))));
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
    return new ModelRunner(await awaited(native.loadModel(pathOf(model), call(() => optionsJson(options)))));
  }

  get info() {
    return JSON.parse(this.#native.info());
  }

  /** Creates a conversation. Every reply runs the functions that have `run`; calls of the others are left to the app. */
  createConversation(systemPrompt = "", functions = []) {
    return new Conversation(this.#native.createConversation(systemPrompt ?? ""), functions);
  }

  createConversationFromHistory(history, functions = []) {
    const json = JSON.stringify(history.map(message));
    return new Conversation(call(() => this.#native.createConversationFromHistory(json)), functions);
  }

  restoreSession(path, functions = []) {
    return new Conversation(call(() => this.#native.restoreSession(path)), functions);
  }

  tokenize(text) {
    return call(() => this.#native.tokenize(text));
  }

  /** Completes a prompt as it stands. */
  complete(prompt, options = {}) {
    const chosen = { ...options };
    return new Response(() => this.#native.complete(prompt, optionsJson(chosen)), chosen);
  }

  /** Answers questions about a state, with probabilities, and generates no text. */
  async decide(state, questions, options = {}) {
    const about = Array.isArray(state) && state.length && state.every((item) => item?.role) ? { messages: state.map(message) } : { state };
    return answer(await awaited(this.#native.decide(requestJson({ ...options, ...about, questions }))));
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

/** Handlers with the ones of offered functions. Calls of those without `run` are left to the app. */
function joined(handlers, offered) {
  const all = new Map(handlers);
  for (const definition of offered) {
    if (definition.run) all.set(nameOf(definition), definition.run);
    else all.delete(nameOf(definition));
  }
  return all;
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
    if (!Array.isArray(functions)) throw new TypeError("functions must be an array of functions");
    if (functions.length) call(() => created.registerFunctions(JSON.stringify(functions.map(tool))));
    for (const definition of functions.filter(({ run }) => run)) {
      this.#handlers.set(nameOf(definition), definition.run);
      this.#run.add(nameOf(definition));
    }
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
    call(() => this.#native.registerFunctions(JSON.stringify([tool(definition)])));
    const name = nameOf(definition);
    this.#handlers.delete(name);
    this.#run.delete(name);
    if (definition.run) this.#handlers.set(name, definition.run);
  }

  unregisterFunction(name) {
    this.#handlers.delete(name);
    this.#run.delete(name);
    return call(() => this.#native.unregisterFunction(name));
  }

  append(added) {
    call(() => this.#native.append(JSON.stringify(message(added))));
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

  saveSession(path, { includeCache = false } = {}) {
    call(() => this.#native.saveSession(path, includeCache));
  }

  /**
   * The stream of the reply to a message, or without one, to the history as it stands. The option `functions` offers some beside the
   * functions of the conversation, and runs those that have `run`. With `schema`, the reply is JSON of this schema.
   */
  generateResponse(sent, options = {}) {
    const { functions } = options;
    if (!functions && !this.#run.size) return this.#response(sent, options);
    const own = [...this.#handlers].filter(([name]) => this.#run.has(name));
    const offered = functions ?? [];
    return this.#response(sent, options, joined(own, offered), JSON.stringify(offered.map(tool)));
  }

  /**
   * The same, but calls of functions that have `run` are run, and the reply goes on with their results. `functions` are offered with
   * the message; an object has handlers of registered functions, by name.
   */
  respondWithFunctions(sent, functions = [], options = {}) {
    const offered = Array.isArray(functions) ? functions : [];
    const named = Array.isArray(functions) ? [] : Object.entries(functions);
    const handlers = joined([...this.#handlers, ...named], offered);
    return this.#response(sent, options, handlers, JSON.stringify(offered.map(tool)));
  }

  /** The whole answer: the last event of the reply, with its `value` if there is a `schema`. */
  respond(sent, options = {}) {
    return this.generateResponse(sent, options).complete();
  }

  #response(sent, options, handlers, tools) {
    const chosen = { ...options };
    const text = sent === undefined || sent === null ? undefined : JSON.stringify(message(sent));
    const names = handlers && [...handlers.keys()];
    return new Response(() => this.#native.start(text, optionsJson(chosen), names, tools), { ...chosen, handlers });
  }
}

/** Loads a model that follows a script, so that apps can be tested without a real one. */
export function loadScriptedModel(script) {
  return new ModelRunner(call(() => native.loadScriptedModel(JSON.stringify(script))));
}
