// Requests to the server that sent this page.
let model = { id: "", capabilities: {} };

class RequestError extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Asks the server, with the key that was typed. */
async function ask(path, init = {}) {
  const key = byId("key").value.trim();
  const headers = key ? { ...init.headers, authorization: `Key ${key}` } : init.headers;
  let response;
  try {
    response = await fetch(path, { ...init, headers });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Error("The server cannot be reached.");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  const message = body?.error?.message ?? `The server answered with status ${response.status}.`;
  throw new RequestError(response.status, message, Number(response.headers.get("retry-after")));
}

/** The data of server-sent events, until they end. */
async function* events(body) {
  const decoder = new TextDecoder();
  let held = "";
  for (let reader = body.getReader(); ; ) {
    const { done, value } = await reader.read();
    held += decoder.decode(value, { stream: !done });
    const whole = held.split("\n\n");
    held = whole.pop();
    for (const event of whole) {
      if (event.startsWith("data: ") && event !== "data: [DONE]") {
        const data = JSON.parse(event.slice(6));
        if (data.error) throw new Error(data.error.message);
        yield data;
      }
    }
    if (done) return;
  }
}

/** Asks for a reply, and adds what comes to `message`. */
async function stream(body, message, signal, changed) {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body), signal };
  const response = await ask("v1/chat/completions", init);
  for await (const { choices, usage, timings } of events(response.body)) {
    const { delta = {}, finish_reason } = choices[0] ?? {};
    if (delta.content) message.content += delta.content;
    if (delta.audio) hear(message, delta.audio);
    if (delta.reasoning_content) message.reasoning_content = (message.reasoning_content ?? "") + delta.reasoning_content;
    for (const { index, id, function: piece } of delta.tool_calls ?? []) {
      message.tool_calls ??= [];
      const call = (message.tool_calls[index] ??= { id, type: "function", function: { name: "", arguments: "" } });
      call.function.name += piece.name ?? "";
      call.function.arguments += piece.arguments ?? "";
    }
    for (const { message: reason } of delta.rejected_calls ?? []) message.note = `A call could not be read: ${reason}`;
    if (finish_reason === "length") message.note = "Cut off: the limit of tokens is reached.";
    if (usage) message.tokens = usage.completion_tokens;
    if (timings) message.speed = timings.tokens_per_second;
    changed();
  }
}
