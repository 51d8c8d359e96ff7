// A reply: events that are pulled one by one, and functions that run along with it.

import { check, shown } from "./arguments.js";
import { json } from "./json.js";
import { awaited, call, SdkError } from "./native.js";
import { PartialJson } from "./partial.js";
import { resultMessage } from "./values.js";

/** A function has not returned within its time limit, or until its reply was cancelled, which ends without its outcome. */
const timedOut = Symbol("timed out");

/** In milliseconds. A timer that is set to more fires at once. */
const MAX_TIMER = 2 ** 31 - 1;

async function withLimit(work, seconds, cancelled) {
  const racers = [work, cancelled];
  let timer;
  // A limit above that of timers, of weeks, is none.
  if (seconds !== undefined && seconds !== null && seconds * 1000 <= MAX_TIMER) {
    racers.push(new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000, timedOut))));
  }
  try {
    return await Promise.race(racers);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a function, and returns its outcome for the native part. */
async function outcome(handler, { name, arguments: given, callId }, seconds, cancelled, errors) {
  try {
    const value = await withLimit((async () => handler(given))(), seconds, cancelled);
    if (value === timedOut) return '{"timedOut": true}';
    const message = resultMessage(value);
    if (message) return json({ message });
    // What JSON does not have, such as undefined and functions, is null.
    return `{"value": ${json(value, "result") ?? "null"}}`;
  } catch (error) {
    errors.set(callId, error);
    return json({ failed: reasonOf(error) });
  }
}

/** The text that the model reads of what a function throws, which may be anything. */
function reasonOf(error) {
  if (typeof error === "string") return error;
  return [error?.message, error?.name].find((text) => typeof text === "string" && text) ?? shown(error);
}

/** Whether a reply can have a value: it was not cancelled, and calls nothing that the app must run. */
const isWhole = ({ finishReason }) => finishReason !== "interrupted" && finishReason !== "tool_calls";

/** The value of JSON text; undefined for other text. */
function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * The reply to a message. Nothing is computed before its first event is requested. The model runs at most about sixteen events ahead
 * of the reader. The reply can be read once; leaving the loop stops the model.
 */
export class Response {
  #start;
  #handlers;
  #limits;
  #signal;
  #isTyped;
  #stream;
  #isCancelled = false;
  #read = false;
  #stopWaiting;
  /** Resolves when the reply is cancelled, so that nothing waits for functions then. */
  #cancelled = new Promise((resolve) => (this.#stopWaiting = resolve));

  /** `start` begins the native stream. */
  constructor(start, { handlers = new Map(), timeLimit, inParallel, signal, schema } = {}) {
    if (typeof start !== "function") throw new TypeError("use a Conversation to create a response");
    check("signal", (signal ?? null) === null || typeof signal.addEventListener === "function", "an AbortSignal", signal);
    this.#start = start;
    this.#handlers = handlers;
    this.#limits = { timeLimit, inParallel };
    this.#signal = signal;
    this.#isTyped = schema !== undefined && schema !== null;
  }

  /** Stops the reply within one token, and does not wait for functions. Its last event is `complete` with the reason `interrupted`. */
  cancel() {
    this.#isCancelled = true;
    this.#stopWaiting(timedOut);
    this.#stream?.cancel();
  }

  async *[Symbol.asyncIterator]() {
    if (this.#read) throw new SdkError("stream_already_consumed", "the reply was already read");
    this.#read = true;
    const stream = call(this.#start);
    this.#stream = stream;
    const abort = () => this.cancel();
    this.#signal?.addEventListener("abort", abort);
    if (this.#signal?.aborted || this.#isCancelled) this.cancel();
    let isOver = false;
    const next = async () => {
      try {
        const event = await awaited(stream.next());
        isOver = event === null;
        return event;
      } catch (error) {
        isOver = true;
        throw error;
      }
    };
    const errors = new Map();
    try {
      for (;;) {
        const given = await next();
        if (given === null) return;
        const event = JSON.parse(given.json);
        if (given.samples) event.samples = given.samples;
        if (event.type === "runFunctions") {
          await this.#run(stream, event.calls, errors);
          continue;
        }
        if (event.type === "functionResult" && errors.has(event.callId)) event.error = errors.get(event.callId);
        yield event;
      }
    } finally {
      this.#signal?.removeEventListener("abort", abort);
      // However the loop was left, the conversation is free for the next message once the reply has ended.
      if (!isOver) this.cancel();
      while (!isOver) await next().catch(() => {});
    }
  }

  /** Answers calls, one after the other or all at once. */
  async #run(stream, calls, errors) {
    const { timeLimit, inParallel } = this.#limits;
    const run = (request) => outcome(this.#handlers.get(request.name), request, timeLimit, this.#cancelled, errors);
    const outcomes = [];
    if (inParallel) outcomes.push(...(await Promise.all(calls.map(run))));
    else {
      for (const request of calls) {
        if (this.#isCancelled) return;
        outcomes.push(await run(request));
      }
    }
    // A reply that was cancelled ends without answers.
    if (!this.#isCancelled) stream.answer(outcomes);
  }

  /** The text alone, as an async iterable of strings. */
  get text() {
    const events = this;
    return (async function* () {
      for await (const event of events) if (event.type === "chunk") yield event.text;
    })();
  }

  /**
   * The value of a reply with a schema, again and again while it is being written: strings, arrays and objects grow, and what is not
   * known yet is missing. The last one is complete.
   */
  get snapshots() {
    const [events, valueOf] = [this, (event) => this.#valueOf(event)];
    return (async function* () {
      let [written, last] = [new PartialJson(), undefined];
      for await (const event of events) {
        if (event.type === "complete" && isWhole(event)) yield valueOf(event);
        if (event.type === "roundComplete") [written, last] = [new PartialJson(), undefined];
        if (event.type !== "chunk") continue;
        written.push(event.text);
        const json = written.json();
        if (json === undefined || json === last) continue;
        last = json;
        // For text that is not JSON, the end of the reply has the reason.
        const value = parsed(json);
        if (value !== undefined) yield value;
      }
    })();
  }

  /**
   * Reads the reply to its end, and returns its last event; with a schema, its `value` is the value of the reply, unless it was
   * cancelled or ends in calls for the app.
   */
  async complete() {
    let last;
    for await (const event of this) last = event;
    return this.#isTyped && isWhole(last) ? { ...last, value: this.#valueOf(last) } : last;
  }

  #valueOf({ text }) {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new SdkError("invalid_argument", `the reply must be JSON, and may have been cut short, found: ${error.message}`);
    }
  }
}
