// A reply: events that are pulled one by one, and functions that run along with it.

import { awaited, call, SdkError } from "./native.js";

/** The time limit of a function has passed. */
const timedOut = Symbol("timed out");

async function withLimit(work, seconds) {
  if (seconds === undefined || seconds === null) return work;
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, seconds * 1000, timedOut);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs a function, and returns its outcome for the native part. */
async function outcome(handler, { name, arguments: given, callId }, seconds, errors) {
  try {
    const value = await withLimit((async () => handler(given))(), seconds);
    if (value === timedOut) return JSON.stringify({ timedOut: true });
    return JSON.stringify({ value: value === undefined ? null : value });
  } catch (error) {
    errors.set(callId, error);
    return JSON.stringify({ failed: error instanceof Error ? error.message : String(error) });
  }
}

/**
 * The reply to a message. Nothing is computed before its first event is requested, and the model waits for the reader. It can be
 * read once; leaving the loop stops the model.
 */
export class Response {
  #start;
  #handlers;
  #limits;
  #signal;
  #stream;
  #cancelled = false;
  #read = false;

  /** `start` begins the native stream. */
  constructor(start, { handlers = new Map(), timeLimit, inParallel, signal } = {}) {
    this.#start = start;
    this.#handlers = handlers;
    this.#limits = { timeLimit, inParallel };
    this.#signal = signal;
  }

  /** Stops the reply within one token. Its last event is `complete` with the reason `interrupted`. */
  cancel() {
    this.#cancelled = true;
    this.#stream?.cancel();
  }

  async *[Symbol.asyncIterator]() {
    if (this.#read) throw new SdkError("stream_already_consumed", "the reply was already read");
    this.#read = true;
    const abort = () => this.cancel();
    this.#signal?.addEventListener("abort", abort);
    if (this.#signal?.aborted) this.#cancelled = true;
    const stream = call(this.#start);
    this.#stream = stream;
    if (this.#cancelled) stream.cancel();
    const errors = new Map();
    let isOver = false;
    try {
      for (;;) {
        const next = await awaited(stream.next());
        if (next === null) {
          isOver = true;
          return;
        }
        const event = JSON.parse(next.json);
        if (next.samples) event.samples = next.samples;
        if (event.type === "runFunctions") {
          await this.#run(stream, event.calls, errors);
          continue;
        }
        if (event.type === "functionResult" && errors.has(event.callId)) event.error = errors.get(event.callId);
        yield event;
      }
    } catch (error) {
      isOver = true;
      throw error;
    } finally {
      this.#signal?.removeEventListener("abort", abort);
      if (!isOver) {
        stream.cancel();
        // The conversation is free for the next message once the reply has ended.
        while ((await stream.next().catch(() => null)) !== null);
      }
    }
  }

  /** Answers calls, one after the other or all at once. */
  async #run(stream, calls, errors) {
    const { timeLimit, inParallel } = this.#limits;
    const run = (request) => outcome(this.#handlers.get(request.name), request, timeLimit, errors);
    const outcomes = [];
    if (inParallel) outcomes.push(...(await Promise.all(calls.map(run))));
    else for (const request of calls) outcomes.push(this.#cancelled ? JSON.stringify({ timedOut: true }) : await run(request));
    call(() => stream.answer(outcomes));
  }

  /** The text alone, as an async iterable of strings. */
  get text() {
    const events = this;
    return (async function* () {
      for await (const event of events) if (event.type === "chunk") yield event.text;
    })();
  }

  /** Reads the reply to its end, and returns its last event. */
  async complete() {
    let last;
    for await (const event of this) last = event;
    return last;
  }
}
