"use strict";

// Talks with the server's own chat completions. The conversation is stored in this page only.
const byId = (id) => document.getElementById(id);
const [talk, form, message, stop, speed] = ["talk", "form", "message", "stop", "speed"].map(byId);
let model = "";
let history = [];
let running = null;

/** An element with text, which is never read as markup. */
function add(parent, name, className, text = "") {
  const element = parent.appendChild(document.createElement(name));
  element.className = className;
  element.textContent = text;
  return element;
}

function turn(role, title) {
  const article = add(talk, "article", role);
  add(article, "h2", "", title);
  return article;
}

function fail(err) {
  add(talk, "p", "error", err.message ?? String(err)).setAttribute("role", "alert");
}

/** Asks the server, with the key that was typed. */
async function ask(path, init = {}) {
  const key = byId("key").value.trim();
  const headers = key ? { ...init.headers, authorization: `Key ${key}` } : init.headers;
  const response = await fetch(path, { ...init, headers });
  if (response.status === 401 || response.status === 403) byId("access").hidden = false;
  if (!response.ok) throw new Error((await response.json()).error.message);
  return response;
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

/** Asks for the reply to the conversation as it stands, and writes it as it comes. */
async function reply() {
  // Another list once the conversation was cleared; what comes then belongs to none.
  const conversation = history;
  const article = turn("assistant", "Assistant");
  article.setAttribute("aria-busy", "true");
  const said = { role: "assistant", content: "", reasoning_content: "", tool_calls: [] };
  running = new AbortController();
  stop.disabled = false;
  byId("send").disabled = true;
  speed.textContent = "";
  try {
    const tools = byId("functions").value.trim();
    const body = { model, messages: history, stream: true, stream_options: { include_usage: true } };
    if (tools) body.tools = JSON.parse(tools);
    const headers = { "content-type": "application/json" };
    const response = await ask("v1/chat/completions", {
      method: "POST", headers, body: JSON.stringify(body), signal: running.signal,
    });
    const places = {};
    for await (const { choices, timings } of events(response.body)) {
      if (timings) speed.textContent = `${timings.tokens_per_second.toFixed(0)} tokens/s`;
      const delta = choices[0]?.delta ?? {};
      for (const [field, className] of [["reasoning_content", "reasoning"], ["content", "text"]]) {
        if (!delta[field]) continue;
        said[field] += delta[field];
        places[field] ??= add(article, "p", className);
        places[field].append(delta[field]);
      }
      for (const piece of delta.tool_calls ?? []) {
        const call = (said.tool_calls[piece.index] ??= { ...piece, function: { name: "", arguments: "" } });
        call.function.name += piece.function.name ?? "";
        call.function.arguments += piece.function.arguments ?? "";
      }
      talk.scrollTop = talk.scrollHeight;
    }
  } catch (err) {
    if (err.name === "AbortError") add(article, "p", "error", "Stopped.");
    else fail(err);
  } finally {
    running = null;
    stop.disabled = true;
    byId("send").disabled = false;
    article.removeAttribute("aria-busy");
  }
  for (const field of ["reasoning_content", "tool_calls"]) if (!said[field].length) delete said[field];
  if (said.content || said.tool_calls) conversation.push(said);
  if (said.tool_calls && conversation === history) askForResults(article, said.tool_calls);
  talk.scrollTop = talk.scrollHeight;
}

/** Shows calls; the reply goes on when each has its result. */
function askForResults(article, calls) {
  const results = new Map();
  for (const call of calls) {
    const box = add(article, "form", "call");
    add(box, "code", "", `${call.function.name}(${call.function.arguments})`);
    const label = add(box, "label", "", `Result of ${call.function.name}`);
    const input = add(label, "input", "");
    input.required = true;
    add(box, "button", "", "Give result");
    box.addEventListener("submit", (event) => {
      event.preventDefault();
      results.set(call.id, input.value);
      for (const element of box.elements) element.disabled = true;
      if (results.size < calls.length) return;
      for (const { id } of calls) history.push({ role: "tool", tool_call_id: id, content: results.get(id) });
      reply();
    });
  }
  article.querySelector("input").focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (running || !text) return;
  // Calls that were passed over have no result: their message would wait for one for ever.
  if (history.at(-1)?.tool_calls) history.pop();
  for (const control of talk.querySelectorAll(".call input, .call button")) control.disabled = true;
  add(turn("user", "You"), "p", "text", text);
  history.push({ role: "user", content: text });
  message.value = "";
  reply();
});
message.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
stop.addEventListener("click", () => running?.abort());
byId("clear").addEventListener("click", () => {
  running?.abort();
  history = [];
  talk.replaceChildren();
  message.focus();
});
/** Asks which model there is: at first, and when a key was typed. */
function greet() {
  ask("v1/models")
    .then((response) => response.json())
    .then(({ data }) => (byId("model").textContent = model = data[0].id))
    .catch(fail);
}
byId("key").addEventListener("change", greet);
greet();
