// Functions that are offered to the model, and what runs them.

import { check, isObject } from "./arguments.js";
import { json } from "./json.js";

/** The name of a function, which may be an entry of `tools`. One without a name is refused by the engine. */
const nameOf = (definition) => String(definition.function?.name ?? definition.name);

/** A function as an entry of `tools`, without the app's own members. */
function tool(definition) {
  if (definition.type === "function" && definition.function !== undefined) return { type: "function", function: definition.function };
  const { name, description = "", parameters } = definition;
  return { type: "function", function: { name, description, ...(parameters && { parameters }) } };
}

/** A function: its entry of `tools`, its name, and what runs it, if it has `run`. */
function read(definition, place) {
  check(place, isObject(definition), "a function", definition);
  const { run } = definition;
  const { parameters } = definition.function ?? definition;
  check(`${place}.run`, run === undefined || run === null || typeof run === "function", "a function", run);
  // JSON would leave it out.
  check(`${place}.parameters`, typeof parameters !== "function", "a JSON Schema", parameters);
  // Called as a method: functions may be objects with members of their own.
  return { tool: tool(definition), name: nameOf(definition), run: run ? (given) => definition.run(given) : undefined };
}

/** Functions that are offered. */
export function offered(functions) {
  check("functions", Array.isArray(functions), "an array of functions", functions);
  return functions.map((definition, at) => read(definition, `functions[${at}]`));
}

/** One function that is offered. */
export const offeredOne = (definition) => read(definition, "definition");

/** Functions as `tools` in JSON. */
export const toolsJson = (functions) => json(functions.map(({ tool }) => tool), "functions", "invalid_function");

/** The handlers of an object, by their names. */
export function handlersOf(object) {
  check("functions", isObject(object), "an array of functions or an object of handlers", object);
  return Object.keys(object).map((name) => {
    check(`functions.${name}`, typeof object[name] === "function", "a function", object[name]);
    return [name, (given) => object[name](given)];
  });
}

/** Handlers with the ones of functions. Calls of functions without `run` are left to the app. */
export function joined(handlers, functions) {
  const all = new Map(handlers);
  for (const { name, run } of functions) {
    if (run) all.set(name, run);
    else all.delete(name);
  }
  return all;
}
