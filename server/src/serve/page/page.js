// The conversation: what is said, what is asked of the server, and what is shown.

// The most rounds of calls for one message, and how many messages the demo model's prompt has, as in `causerie chat`.
const MAX_ROUNDS = 8;
const DEMO_TURNS = 10;
const CANCELLED = '{"error": "cancelled"}';

const [talk, messages, message, welcome] = ["talk", "messages", "message", "welcome"].map(byId);
let current = newConversation();
/** What stops the reply under way. */
let running = null;
/** The view of the last reply. */
let last = null;

const isUser = ({ role }) => role === "user";

/** The messages of a request: without what only the page needs. */
function sent() {
  const system = systemPrompt();
  const turns = current.messages.flatMap((message, index) => (isUser(message) ? [index] : []));
  const first = model.id === "causerie/demo" ? (turns.at(-DEMO_TURNS) ?? 0) : 0;
  const said = current.messages.slice(first).map((message) => {
    const { role, reasoning_content, tool_calls, tool_call_id } = message;
    return { role, content: contentOf(message), reasoning_content, tool_calls, tool_call_id, audio: soundOf(message) };
  });
  return system ? [{ role: "system", content: system }, ...said] : said;
}

function isAtEnd() {
  return talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80;
}

function scrollToEnd() {
  talk.scrollTop = talk.scrollHeight;
}

/** Shows the whole conversation. */
function draw() {
  messages.replaceChildren();
  welcome.hidden = current.messages.length > 0;
  last = null;
  const views = new Map();
  current.messages.forEach((message, index) => {
    if (isUser(message)) {
      messages.append(userMessage(message, (text) => say(text, message, index)));
    } else if (message.role === "assistant") {
      last = new ReplyView(message);
      last.update();
      messages.append(last.element);
      message.tool_calls?.forEach((call, at) => views.set(call.id, last.cards[at]));
      const next = current.messages[index + 1];
      if (next && isUser(next)) last.finish({ regenerate: () => regenerate(index) });
    } else {
      views.get(message.tool_call_id)?.showResult(message.content);
    }
  });
  drawEnd();
  drawList();
  if (current.messages.length) scrollToEnd();
  else talk.scrollTop = 0;
}

/** Shows what can be done at the end of the conversation. */
function drawEnd() {
  const end = current.messages.at(-1);
  if (!end || running) return;
  if (!end.isCut && openCalls(current, last).length) continueCalls();
  else if (end.role !== "assistant") messages.append(problem("This message has no reply yet.", "Reply", answer));
  else {
    leaveCalls(current, last);
    last.finish({ regenerate: () => regenerate(current.messages.length - 1) });
  }
}

function drawList() {
  const items = conversations().map((conversation) => {
    const title = titleOf(conversation);
    const open = make("button", { type: "button", className: "open", title, onclick: () => show(conversation) }, title);
    const isCurrent = conversation.id === current.id;
    if (isCurrent) open.ariaCurrent = "true";
    const remove = iconButton("delete", `Delete “${title.slice(0, 40)}”`, () => removeConversation(conversation));
    return make("li", {}, open, remove);
  });
  byId("conversations").replaceChildren(...items);
}

function show(conversation) {
  closeMenu();
  message.focus();
  if (running && conversation.id === current.id) return; // its reply is being written
  running?.abort();
  current = conversation;
  draw();
}

function removeConversation(conversation) {
  forget(conversation);
  if (conversation.id === current.id) {
    current.messages = []; // the reply under way belongs to nothing then
    show(newConversation());
  } else drawList();
  byId("new").focus();
  remark("The conversation was deleted.", "Undo", () => (store(CONVERSATION + conversation.id, conversation), drawList()));
}

function setRunning(controller) {
  running = controller;
  byId("stop").hidden = !controller;
  byId("send").hidden = Boolean(controller);
}

/** Asks for the reply to the conversation as it stands, and shows it as it comes. Returns whether it is whole. */
async function generate(conversation, controller) {
  const asked = conversation.messages.at(-1);
  const reply = { role: "assistant", content: "" };
  const view = new ReplyView(reply);
  last = view;
  view.element.ariaBusy = "true";
  view.wait(true);
  messages.append(view.element);
  scrollToEnd();
  const isShown = () => conversation.id === current.id;
  const paint = () => {
    const follow = isAtEnd();
    view.wait(false);
    view.update();
    byId("speed").textContent = reply.speed ? `${Math.round(reply.speed)} tokens/s` : "";
    if (follow && isShown()) scrollToEnd();
  };
  let frame = 0;
  let failure = null;
  try {
    const body = {
      model: model.id, messages: sent(), stream: true, stream_options: { include_usage: true }, ...requestOptions(),
    };
    await stream(body, reply, controller.signal, () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(paint);
    });
  } catch (err) {
    failure = err;
    reply.isCut = true;
    if (err.name === "AbortError") reply.note = "Stopped.";
  }
  cancelAnimationFrame(frame);
  // The message was edited, or the conversation deleted.
  if (conversation.messages.at(-1) !== asked) return false;
  const isEmpty = !reply.content && !reply.tool_calls && !reply.reasoning_content;
  if (!isEmpty) {
    conversation.messages.push(reply);
    keep(conversation);
  }
  paint();
  if (failure) leaveCalls(conversation, view);
  view.element.ariaBusy = null;
  if (failure && failure.name !== "AbortError" && isShown()) fail(failure, view.element);
  else if (isEmpty && isShown()) view.element.append(problem(reply.note ?? "The reply is empty.", "Try again", () => redo(view)));
  return !failure && !isEmpty;
}

/** Shows why there is no reply, or no whole one. */
function fail(err, parent) {
  if (err.status === 401 || err.status === 403) askKey(err);
  parent.append(problem(err.message, "Try again", () => regenerate(current.messages.length - 1)));
}

function redo(view) {
  view.element.remove();
  answer();
}

/** Replies, runs the calls of the reply, and goes on until there are none. */
async function answer() {
  if (running) return;
  for (const note of messages.querySelectorAll(":scope > .problem")) note.remove();
  const conversation = current;
  const controller = new AbortController();
  setRunning(controller);
  announce("The reply is being written.");
  let isWhole = true;
  while (isWhole && !controller.signal.aborted) {
    isWhole = await generate(conversation, controller);
    const reply = conversation.messages.at(-1);
    if (!isWhole || !reply.tool_calls || !runCalls(conversation, last)) break;
    const turn = conversation.messages.slice(conversation.messages.findLastIndex(isUser));
    if (MAX_ROUNDS < turn.filter(({ role }) => role === "assistant").length) {
      fail(new Error(`The model called functions in ${MAX_ROUNDS} rounds without an answer.`), last.element);
      isWhole = false;
    }
  }
  if (running !== controller) return; // an edited message is being replied to
  setRunning(null);
  if (conversation.id !== current.id) return;
  const end = conversation.messages.at(-1);
  if (end?.role === "assistant" && !(isWhole && end.tool_calls)) {
    last.finish({ regenerate: () => regenerate(conversation.messages.length - 1) });
    announce(end.content);
  }
  drawList();
}

/** Calls of the last reply that have no result yet, each with its card. */
function openCalls(conversation, view) {
  const at = conversation.messages.findLastIndex(({ role }) => role === "assistant");
  const done = new Set(conversation.messages.slice(at + 1).map(({ tool_call_id }) => tool_call_id));
  const calls = conversation.messages[at]?.tool_calls ?? [];
  return calls.map((call, index) => ({ call, card: view?.cards[index] })).filter(({ call }) => !done.has(call.id));
}

function giveResult(conversation, call, card, content) {
  conversation.messages.push({ role: "tool", tool_call_id: call.id, content });
  keep(conversation);
  card?.showResult(content);
}

/** Runs calls that the page can run, and asks the person for the results of the others. Returns whether all have one. */
function runCalls(conversation, view) {
  let field = null;
  for (const { call, card } of openCalls(conversation, view)) {
    const result = runFunction(call.function);
    if (result !== undefined) giveResult(conversation, call, card, result);
    else {
      const input = card.askResult(call.function.name, (text) => {
        giveResult(conversation, call, card, text);
        if (!openCalls(conversation, view).length) answer();
        else messages.querySelector(".call-form input")?.focus();
        if (conversation.id === current.id) message.focus();
      });
      field ??= input;
    }
  }
  field?.focus();
  if (field) announce(`The model waits for the result of ${field.labels[0].textContent.replace("Result of ", "")}.`);
  return !field;
}

/** Says of the calls of a reply that was cut that they are not run. */
function leaveCalls(conversation, view) {
  for (const { card } of openCalls(conversation, view)) card?.leave();
}

/** A conversation that was left before its calls had results. */
function continueCalls() {
  if (runCalls(current, last)) answer();
}

/** Writes the reply at this place, and what follows it, anew. */
function regenerate(index) {
  if (running) return;
  current.messages.length = current.messages.slice(0, index + 1).findLastIndex(isUser) + 1;
  keep(current);
  draw();
  answer();
}

/** Adds a message, in place of what came at `index` and after it. */
function say(text, { images = [], sounds = [] } = {}, index = current.messages.length) {
  running?.abort();
  speaker?.stop();
  setRunning(null);
  current.messages.length = index;
  // Models expect a result of every call.
  for (const { call, card } of openCalls(current, last)) giveResult(current, call, card, CANCELLED);
  current.messages.push({ role: "user", content: text, ...(images.length && { images }), ...(sounds.length && { sounds }) });
  keep(current);
  draw();
  message.focus();
  answer();
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = message.value.trim();
  if (running || !(text || pictures.length || recordings.length)) return;
  message.value = "";
  say(text, { images: takePictures(fitMessage), sounds: takeRecordings(fitMessage) });
});

/** The field of the message is as high as its text. */
function fitMessage() {
  message.style.height = "auto";
  message.style.height = `${message.scrollHeight}px`;
  byId("send").disabled = !(message.value.trim() || pictures.length || recordings.length);
}
message.addEventListener("input", fitMessage);
message.addEventListener("keydown", (event) => {
  if (isSendKey(event)) {
    event.preventDefault();
    byId("composer").requestSubmit();
  } else if (event.key === "ArrowUp" && !message.value) {
    const edits = messages.querySelectorAll('.user [title="Edit message"]');
    if (edits.length) (event.preventDefault(), edits[edits.length - 1].click());
  }
});

function stopReply() {
  running?.abort();
  speaker?.stop();
  message.focus();
}
byId("stop").addEventListener("click", stopReply);
byId("new").addEventListener("click", () => show(newConversation()));

const closeMenu = () => {
  document.body.classList.remove("menu-open");
  byId("menu").ariaExpanded = "false";
};
byId("menu").addEventListener("click", () => {
  byId("menu").ariaExpanded = String(document.body.classList.toggle("menu-open"));
  if (document.body.classList.contains("menu-open")) byId("new").focus();
});
byId("shade").addEventListener("click", closeMenu);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  if (document.body.classList.contains("menu-open")) (closeMenu(), byId("menu").focus());
  else if (running) stopReply();
});

/** Asks for the key. */
function askKey(err) {
  byId("access").hidden = false;
  byId("key-fault").textContent = err.message;
  byId("key").focus();
}
byId("key").addEventListener("change", () => {
  sessionStorage.setItem(`${PREFIX}key`, byId("key").value.trim());
  greet();
});

// A request to click for each thing that the model can do, with the function that it shows at work.
const WITH_FUNCTIONS = [
  ["timer", "Set a timer for 12 minutes for the pasta", "set_timer"],
  ["globe", "What time is it in Nairobi?", "get_time"],
  ["ruler", "How many kilometres are 26 miles?", "convert_units"],
  ["sum", "What is 15% of 84?", "calculate"],
  ["edit", "Note that Anna's train arrives at 18:40", "add_note"],
  ["list", "What have I noted so far?", "list_notes"],
];
const WITHOUT_FUNCTIONS = [
  ["list", "Explain how a rainbow forms, in five short steps", "A list"],
  ["code", "Write a Python function that finds the prime numbers below n", "Code"],
  ["table", "Compare bicycle, train and car for a trip of 20 km, as a table", "A table"],
  ["edit", "Write a short, friendly message that moves a meeting to Monday", "Text"],
];

function drawWelcome() {
  const { function_calling } = model.capabilities;
  const isDemo = model.id === "causerie/demo";
  const mixed = function_calling ? [...WITH_FUNCTIONS.slice(0, 4), ...WITHOUT_FUNCTIONS.slice(1, 3)] : WITHOUT_FUNCTIONS;
  const shown = isDemo ? WITH_FUNCTIONS : mixed; // the demo model was trained on little else
  const cards = shown.map(([sign, text, what]) =>
    make("button", { type: "button", onclick: () => say(text) },
      icon(sign),
      make("span", {}, text),
      make("small", {}, BUILT_IN[what] ? make("code", {}, what) : what)),
  );
  byId("suggestions").replaceChildren(...cards);
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
  byId("privacy").textContent = isHere
    ? "The model runs on this device. Nothing that you write leaves it."
    : `The model runs on ${location.hostname}. Conversations are stored in this browser only.`;
}

/** Asks which model there is: at first, when a key was typed, and again while the model is being loaded. */
async function greet() {
  try {
    const { data } = await (await ask("v1/models")).json();
    model = data[0];
    byId("model").textContent = model.id;
    byId("context").textContent = `${model.context_length.toLocaleString("en")} tokens of context`;
    byId("access").hidden = true;
    for (const part of document.querySelectorAll("[data-needs]")) part.hidden = !model.capabilities[part.dataset.needs];
    byId("notice").replaceChildren();
    drawWelcome();
  } catch (err) {
    if (err.status === 401 || err.status === 403) askKey(err);
    else byId("notice").replaceChildren(problem(err.message, "Try again", greet));
    if (err.status === 503) setTimeout(greet, 1000 * (err.retryAfter || 1));
  }
}

byId("key").value = sessionStorage.getItem(`${PREFIX}key`) ?? "";
// A conversation that another tab changed.
window.addEventListener("storage", drawList);
draw();
fitMessage();
bindPictures(fitMessage);
bindSound(fitMessage);
watchTimers();
greet();
