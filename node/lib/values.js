// Messages, functions and options as the native part takes them.

import { SdkError } from "./native.js";

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** JSON has no such numbers, and would have null, which is the default of many options. */
function finite(name, value) {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new SdkError("invalid_option", `${camel(name)} must be finite, found ${value}`);
}

/** Options as JSON, with the names of Rust. Those that are undefined keep their defaults. */
export function optionsJson(options = {}) {
  const { signal, schema, functions, ...rest } = options;
  const constraint = schema ?? rest.jsonSchemaConstraint;
  if (constraint !== undefined && constraint !== null) {
    rest.jsonSchemaConstraint = typeof constraint === "string" ? constraint : JSON.stringify(constraint);
  }
  // The one option with names of causerie inside; other objects have the app's.
  if (rest.generationDefaults) rest.generationDefaults = named(rest.generationDefaults);
  return JSON.stringify(named(rest), finite);
}

/** An object with the names of Rust, without what is undefined. */
function named(object) {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [snake(name), value]));
}

const base64 = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");

/** The type of an image file by its first bytes, for the data URL. The engine looks at the bytes itself. */
function imageType([first]) {
  return first === 0x89 ? "image/png" : first === 0x47 ? "image/gif" : first === 0x52 ? "image/webp" : "image/jpeg";
}

function part(content) {
  if (typeof content === "string") return { type: "text", text: content };
  // Other data is left to the engine, which refuses it with its place.
  if (!(content?.data instanceof Uint8Array)) return content;
  if (content.type === "image") {
    return { type: "image_url", image_url: { url: `data:${imageType(content.data)};base64,${base64(content.data)}` } };
  }
  if (content.type === "audio") return { type: "input_audio", input_audio: { data: base64(content.data), format: "wav" } };
  return content;
}

/** A message in the form of chat completions. A string, or an array of parts, is a message of the user. */
export function message(value) {
  if (typeof value === "string") return { role: "user", content: value };
  if (Array.isArray(value)) return message({ role: "user", content: value });
  return Array.isArray(value.content) ? { ...value, content: value.content.map(part) } : value;
}

/** A request as JSON, with the names of Rust. What is undefined is left out. */
export function requestJson(request) {
  return JSON.stringify(Object.fromEntries(Object.entries(request).map(([name, value]) => [snake(name), value])), finite);
}

/** An answer of the native part, with names of JavaScript. */
export function answer(json) {
  return JSON.parse(json, (_, value) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [camel(name), inner]));
  });
}

/** The name of a function, which may be an entry of `tools`. */
export const nameOf = (definition) => definition.function?.name ?? definition.name;

/** A function as an entry of `tools`. Entries of `tools` are passed as they are. */
export function tool(definition) {
  if (definition.type === "function") return definition;
  const { name, description = "", parameters } = definition;
  return { type: "function", function: { name, description, ...(parameters && { parameters }) } };
}
