// Plays the scenarios that all languages share: tests/fixtures/scenarios/README.md.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { loadScriptedModel, ModelRunner, SdkError } from "causerie";

const root = process.env.CAUSERIE_ROOT;
const folder = join(root, "tests/fixtures/scenarios");

/** Codes of errors as the scenarios spell them: `InvalidOption`. */
const kind = (code) => code.replace(/(^|_)([a-z])/g, (_, __, letter) => letter.toUpperCase());

/** Options of a scenario have Rust's names, which the package takes in camel case. */
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const renamed = (options = {}) => Object.fromEntries(Object.entries(options).map(([name, value]) => [camel(name), value]));

/** A value without the members that are undefined, and with numbers as they are. */
const plain = (value) => JSON.parse(JSON.stringify(value));

class Trace {
  entries = [];
  #isApart = false;

  add(event, isDemo) {
    const add = (entry) => this.entries.push(entry);
    const join = (key, text) => {
      const last = this.entries.at(-1);
      if (last && key in last && !this.#isApart) last[key] += text;
      else add({ [key]: text });
      this.#isApart = false;
    };
    switch (event.type) {
      case "chunk":
        return join("text", event.text);
      case "reasoningChunk":
        return join("reasoning", event.text);
      case "functionCalls":
        return add({
          calls: event.calls.map(({ name, arguments: given, callId, rawText, repairs, diagnostics }) => ({
            name, arguments: given, call_id: callId, raw_text: rawText,
            ...(repairs.length && { repairs }),
            ...(diagnostics.length && { diagnostics: diagnostics.map(({ code }) => code) }),
          })),
        });
      case "functionCallsRejected":
        return add({
          rejected: event.rejected.map(({ reason, name, rawText }) => ({ reason, ...(name && { name }), raw_text: rawText })),
        });
      case "logprobs":
        return add({
          logprobs: event.tokens.map(({ token, place, alternatives }) => ({
            token: token.text, n_bytes: token.bytes.length, logprob: token.logprob, place,
            alternatives: alternatives.map(({ text }) => text),
          })),
        });
      case "functionResult":
        return add({
          result: event.text, ...(event.name && { name: event.name }), ...(event.callId && { call_id: event.callId }),
          ...(event.isError && { is_error: true }),
        });
      case "roundComplete":
      case "complete":
        return add({
          [event.type === "complete" ? "complete" : "round"]: event.finishReason,
          message: event.message,
          ...(event.stopSequence !== null && { stop_sequence: event.stopSequence }),
          ...(event.diagnostics.length && { diagnostics: event.diagnostics.map(({ code }) => code) }),
          ...(!isDemo && {
            prompt_tokens: event.stats.promptTokens, cached_prompt_tokens: event.stats.cachedPromptTokens,
            completion_tokens: event.stats.completionTokens,
          }),
        });
      default:
        throw new Error(`unexpected event ${event.type}`);
    }
  }

  fail(error) {
    if (!(error instanceof SdkError)) throw error;
    // The fixtures name options as Rust does.
    const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const reason = error.code === "invalid_option" ? error.message.replace(/^\w+/, snake) : error.message;
    this.entries.push({ error: kind(error.code), reason });
  }
}

/** What a handler does at each of its calls. */
function handler(actions, response) {
  let at = 0;
  return (given) => {
    const action = actions[at++];
    if ("returns" in action) return action.returns;
    if ("fails" in action) throw new Error(action.fails);
    if ("echoes" in action) return given;
    if ("cancels" in action) return response().cancel();
    return new Promise(() => {});
  };
}

class Player {
  constructor(scenario, model) {
    this.scenario = scenario;
    this.model = model;
    this.isDemo = scenario.model === "models/demo.gguf";
    this.conversation = model.createConversation(scenario.system);
    for (const entry of scenario.functions ?? []) this.conversation.registerFunction(entry);
  }

  async reply(step) {
    const options = { ...renamed(this.scenario.options), ...renamed(step.options) };
    let response;
    if (step.handlers) {
      const actions = Object.entries(step.handlers);
      const handlers = Object.fromEntries(actions.map(([name, actions]) => [name, handler(actions, () => response)]));
      response = this.conversation.respondWithFunctions(step.send, handlers, { ...options, ...renamed(step.rounds) });
    } else response = this.conversation.generateResponse(step.send, options);
    const trace = new Trace();
    let text = "";
    if (step.cancel_at === "") response.cancel();
    try {
      for await (const event of response) {
        trace.add(event, this.isDemo);
        if (event.type !== "chunk") continue;
        text += event.text;
        if (text === step.cancel_at) {
          for (const inner of step.meanwhile ?? []) await this.play(inner);
          response.cancel();
        }
        if (text === step.leave_at) break;
      }
    } catch (error) {
      trace.fail(error);
    }
    if (step.trace) assert.deepEqual(plain(trace.entries), plain(step.trace));
  }

  async play(step) {
    if ("send" in step || "continue" in step) return this.reply(step);
    const act = () => this.act(step);
    if (step.error) assert.throws(act, (error) => kind(error.code) === step.error);
    else act();
  }

  act(step) {
    const { conversation } = this;
    if ("append" in step) conversation.append(step.append);
    else if ("register" in step) conversation.registerFunction(step.register);
    else if ("unregister" in step) conversation.unregisterFunction(step.unregister);
    else if ("remove_last" in step) conversation.removeLastMessage();
    else if ("truncate" in step) conversation.truncate(step.truncate);
    else if ("history" in step) assert.deepEqual(plain(conversation.history), plain(step.history));
    else if ("reopen" in step) this.conversation = this.reopened(step.reopen);
    else throw new Error(`unknown step ${Object.keys(step)}`);
  }

  reopened(way) {
    const { conversation, model } = this;
    if (way === "fork") return conversation.fork();
    if (way !== "session") return model.createConversationFromHistory(conversation.history);
    const path = join(mkdtempSync(join(tmpdir(), "causerie-")), "session");
    conversation.saveSession(path, { includeCache: true });
    return model.restoreSession(path);
  }
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const text = readFileSync(join(folder, file), "utf8");
  const scenario = JSON.parse(text);
  test(`${file}: ${scenario.name}`, async () => {
    const model = scenario.model ? await ModelRunner.load(join(root, scenario.model)) : loadScriptedModel(scenario.script);
    const player = new Player(scenario, model);
    for (const step of scenario.steps) await player.play(step);
  });
}
