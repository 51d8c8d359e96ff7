"use strict";

// Elements of the page. Text is never read as markup.
const byId = (id) => document.getElementById(id);

/** Creates an element with properties; children are elements or text. */
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.appendChild(document.createElementNS(svg.namespaceURI, "use")).setAttribute("href", `#icon-${name}`);
  return svg;
}

/** A button that shows an icon; its label is read aloud, and shown as a tooltip. */
function iconButton(name, label, onclick) {
  return make("button", { type: "button", className: "icon-button", title: label, ariaLabel: label, onclick }, icon(name));
}

/** Announces something to screen readers. */
function announce(text) {
  byId("announcer").textContent = text;
}

/** Shows a remark for some seconds, with an action if there is one. */
function remark(text, action, run) {
  const toast = make("div", { className: "toast" }, make("span", {}, text));
  const close = () => toast.remove();
  if (action) toast.append(make("button", { type: "button", onclick: () => (close(), run()) }, action));
  byId("toasts").replaceChildren(toast);
  setTimeout(close, 8000);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
  button.classList.add("done");
  setTimeout(() => button.classList.remove("done"), 1500);
  announce("Copied.");
}

/** Browsers have no clipboard for pages of another machine without TLS. */
function copyBySelection(text) {
  const field = document.body.appendChild(make("textarea", { className: "hidden", value: text }));
  const focused = document.activeElement;
  field.select();
  document.execCommand("copy");
  field.remove();
  focused?.focus();
}
