// How messages are shown.

/** Returns the members of a JSON object, or the text itself. */
function details(text) {
  let value = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Results may be any text.
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return make("pre", {}, text);
  const list = make("dl", {});
  for (const [name, member] of Object.entries(value)) {
    const shown = typeof member === "string" ? member : JSON.stringify(member);
    list.append(make("dt", {}, name), make("dd", {}, shown));
  }
  return list.childElementCount ? list : make("p", { className: "faint" }, "nothing");
}

/** A call with its arguments and, once there is one, its result. */
class CallCard {
  constructor(call) {
    this.state = make("span", { className: "call-state" }, "running");
    this.result = make("div", {});
    this.element = make(
      "section",
      { className: "call", ariaLabel: `Call of ${call.function.name}` },
      make("header", {}, icon("function"), make("code", {}, call.function.name), this.state),
      make("div", { className: "call-body" },
        make("div", {}, make("h3", {}, "Arguments"), details(call.function.arguments)),
        this.result),
    );
  }

  showResult(text) {
    let failed = false;
    try {
      failed = Boolean(JSON.parse(text)?.error);
    } catch {
      // Text without JSON is a result, too.
    }
    this.state.textContent = failed ? "failed" : "done";
    this.element.classList.toggle("failed", failed);
    this.result.replaceChildren(make("h3", {}, "Result"), details(text));
  }

  /** The call is not run. */
  leave() {
    this.state.textContent = "not run";
  }

  /** Asks the person for the result of a function that the page does not have. */
  askResult(name, give) {
    this.state.textContent = "waits for its result";
    const input = make("input", { required: true, autocomplete: "off", placeholder: "JSON or text" });
    const label = make("label", {}, make("span", {}, `Result of ${name}`), input);
    const form = make("form", { className: "call-form" }, label, make("button", { className: "primary" }, "Give result"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      give(input.value);
    });
    this.result.replaceChildren(form);
    return input;
  }
}

/** A reply that is shown while it is written. */
class ReplyView {
  constructor(message) {
    this.message = message;
    this.cards = [];
    this.element = make("article", { className: "assistant" }, make("h2", { className: "hidden" }, "Assistant"));
  }

  update() {
    const { content, reasoning_content: reasoning, tool_calls: calls, note } = this.message;
    if (reasoning) {
      if (!this.reasoning) {
        this.reasoning = make("p", {});
        const open = !content;
        this.element.append(make("details", { className: "reasoning", open }, make("summary", {}, "Reasoning"), this.reasoning));
      }
      this.reasoning.textContent = reasoning.trim();
    }
    if (content?.trim()) {
      if (!this.text) {
        const element = this.element.appendChild(make("div", { className: "text" }));
        this.text = new MarkdownView(element);
      }
      this.text.show(content);
    }
    for (const call of (calls ?? []).slice(this.cards.length)) {
      const card = new CallCard(call);
      this.cards.push(card);
      this.element.append(card.element);
    }
    if (note && !this.note) this.note = this.element.appendChild(make("p", { className: "note" }, note));
  }

  /** While nothing has come yet: the model reads the prompt. */
  wait(isWaiting) {
    this.waiting?.remove();
    if (!isWaiting) return;
    const dots = [1, 2, 3].map(() => make("i", {}));
    this.waiting = make("p", { className: "waiting", ariaLabel: "Reading" }, ...dots);
    this.element.append(this.waiting);
  }

  /** What can be done with a reply, and how fast it was. */
  finish(actions) {
    const { content, tokens, speed } = this.message;
    const bar = make("div", { className: "actions" });
    if (content) {
      const button = iconButton("copy", "Copy reply", () => copy(content, button));
      bar.append(button);
    }
    bar.append(...playButton(this.message));
    bar.append(iconButton("again", "Write another reply", actions.regenerate));
    if (speed) bar.append(make("span", { className: "faint" }, `${plural(tokens, "token")} · ${Math.round(speed)} tokens/s`));
    this.element.append(bar);
  }
}

/** A message of the person, which can be edited. */
function userMessage(message, send) {
  const edit = () => {
    const field = make("textarea", { value: message.content, ariaLabel: "Edit message" });
    const form = make(
      "form",
      { className: "edit" },
      field,
      make("p", { className: "faint" }, "The conversation continues from here; what followed is removed."),
      make("div", { className: "actions" },
        make("button", { type: "button", onclick: () => close() }, "Cancel"),
        make("button", { className: "primary" }, "Send")),
    );
    const close = () => (form.replaceWith(bubble, bar), bar.firstElementChild.focus());
    const submit = (event) => {
      event.preventDefault();
      if (field.value.trim() || message.images?.length || message.sounds?.length) send(field.value.trim());
    };
    form.addEventListener("submit", submit);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") (event.stopPropagation(), close());
      if (isSendKey(event)) submit(event);
    });
    bubble.replaceWith(form);
    bar.remove();
    field.focus();
  };
  const bubble = make("p", { className: "text" }, message.content);
  const button = iconButton("copy", "Copy message", () => copy(message.content, button));
  const bar = make("div", { className: "actions" }, iconButton("edit", "Edit message", edit), button);
  const images = (message.images ?? []).map((src, index) => make("img", { src, alt: `Picture ${index + 1}` }));
  const media = [...images, ...(message.sounds ?? []).map(player)];
  const shown = media.length ? [make("div", { className: "shown" }, ...media)] : [];
  return make("article", { className: "user" }, make("h2", { className: "hidden" }, "You"), ...shown, bubble, bar);
}

const isSendKey = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing;

/** A problem, with what can be done about it. */
function problem(text, label, run) {
  const note = make("p", { className: "problem", role: "alert" }, make("span", {}, text));
  if (label) note.append(make("button", { type: "button", onclick: run }, label));
  return note;
}
