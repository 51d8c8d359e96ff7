// Messages, functions and options as the native part takes them.

import { fileURLToPath } from "node:url";

import { check, isObject, kindOf } from "./arguments.js";
import { json, members } from "./json.js";
import { SdkError } from "./native.js";
import { PARSERS } from "./notations.js";

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** The path of a model, which may be a URL. */
export function pathOf(model) {
  if (model instanceof URL) return fileURLToPath(model);
  return check("model", typeof model === "string", "a string or a file URL", model);
}

/** The value of an option as JSON, which would leave functions out. */
function optionJson(name, value) {
  check(name, typeof value !== "function" && typeof value !== "symbol", "text or JSON", value);
  return json(value, name, "invalid_option");
}

/** Options of loading or of a reply as JSON. */
export function optionsJson({ signal, schema, ...options }) {
  for (const [name, given] of Object.entries({ jsonSchemaConstraint: options.jsonSchemaConstraint, schema })) {
    if (given === undefined || given === null) continue;
    options.jsonSchemaConstraint = typeof given === "string" ? given : optionJson(name, given);
  }
  options.functionCallParser = PARSERS.get(options.functionCallParser) ?? options.functionCallParser;
  return requestJson(options);
}

/** A request as JSON, with the names of Rust. What is undefined is left out, and keeps its default. */
export function requestJson(request) {
  const text = (name, value) => {
    // The one option with names of causerie inside; other objects have the app's.
    return name === "generationDefaults" && isObject(value) ? requestJson(value) : optionJson(name, value);
  };
  return members(Object.entries(request).map(([name, value]) => [snake(name), text(name, value)]));
}

const base64 = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");

/** The type of an image file by its first bytes, for the data URL. The engine looks at the bytes itself. */
function imageType([first]) {
  return first === 0x89 ? "image/png" : first === 0x47 ? "image/gif" : first === 0x52 ? "image/webp" : "image/jpeg";
}

/** Whether a value is a part of a message with the bytes of a file. */
const isFile = (value) => isObject(value) && /^(image|audio)$/.test(value.type) && kindOf(value.data) === "Uint8Array";

/** The message that has a function's result, if that is an image or sound, or an array of parts with one; undefined for other results. */
export function resultMessage(result) {
  const content = Array.isArray(result) ? result : [result];
  return content.some(isFile) ? message({ role: "tool", content }, "result") : undefined;
}

function part(content, place) {
  if (typeof content === "string") return { type: "text", text: content };
  const { type, data } = content ?? {};
  if ((type !== "image" && type !== "audio") || data === undefined) return content;
  check(`${place}.data`, kindOf(data) === "Uint8Array", "a Uint8Array", data);
  if (type === "audio") return { type: "input_audio", input_audio: { data: base64(data), format: "wav" } };
  return { type: "image_url", image_url: { url: `data:${imageType(data)};base64,${base64(data)}` } };
}

/** The fields that a message may have without content, unless it is a reply. */
const WITHOUT_CONTENT = ["role", "content", "name", "tool_call_id", "tools", "incomplete"];

/** A message in the form of chat completions. A string, or an array of parts, is a message of the user. */
export function message(value, place = "message") {
  if (typeof value === "string") return { role: "user", content: value };
  if (Array.isArray(value)) return message({ role: "user", content: value }, place);
  check(place, isObject(value), "a string, an array of parts or a message", value);
  const { role, content } = value;
  // The engine keeps unknown fields for the app, so that a misspelt `content` would be an empty message.
  const unknown = Object.keys(value).filter((name) => !WITHOUT_CONTENT.includes(name));
  if (content === undefined && role !== "assistant" && unknown.length) {
    throw new SdkError("invalid_message", `${place}.content is missing, found ${unknown.join(", ")}`);
  }
  return Array.isArray(content) ? { ...value, content: content.map((item, at) => part(item, `${place}.content[${at}]`)) } : value;
}

/** Messages as an array of the engine's form. */
export function messages(values, name) {
  check(name, Array.isArray(values), "an array of messages", values);
  return values.map((value, at) => message(value, `${name}[${at}]`));
}

/** An answer of the native part, with names of JavaScript. */
export function answer(json) {
  return JSON.parse(json, (_, value) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [camel(name), inner]));
  });
}
