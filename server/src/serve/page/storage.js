// Conversations, settings, timers and notes are kept in the browser, apart for each server and base path.
const PREFIX = `causerie:${location.pathname}:`;
const CONVERSATION = "conversation:";

function stored(name, fallback) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? fallback;
  } catch {
    return fallback;
  }
}

/** Stores a value. When the browser has no space left, the oldest conversation makes room. */
function store(name, value) {
  for (;;) {
    try {
      return localStorage.setItem(PREFIX + name, JSON.stringify(value));
    } catch {
      const oldest = conversations().at(-1);
      if (!oldest || CONVERSATION + oldest.id === name) return remark("The browser does not keep this conversation.");
      forget(oldest);
    }
  }
}

/** All conversations, the latest first. */
function conversations() {
  const prefix = PREFIX + CONVERSATION;
  const names = Object.keys(localStorage).filter((name) => name.startsWith(prefix));
  const read = names.map((name) => stored(name.slice(PREFIX.length), null));
  return read.filter((found) => Array.isArray(found?.messages)).sort((a, b) => b.changed - a.changed);
}

function keep(conversation) {
  conversation.changed = Date.now();
  store(CONVERSATION + conversation.id, conversation);
}

function forget(conversation) {
  localStorage.removeItem(PREFIX + CONVERSATION + conversation.id);
}

const newConversation = () => ({ id: `${Date.now()}-${Math.random().toString(36).slice(2)}`, messages: [] });

function titleOf(conversation) {
  const first = conversation.messages.find(({ role }) => role === "user");
  return first ? first.content || (first.sounds ? "Recording" : "Picture") : "New conversation";
}
