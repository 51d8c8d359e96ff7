// JSON text of an app's values.

import { isObject, kindOf, shown } from "./arguments.js";
import { SdkError } from "./native.js";

/** More would end in a full stack. The engine takes less. */
const MAX_DEPTH = 1000;

/**
 * The JSON text of a value; undefined where JSON has none, as for functions. `place` names the value in errors, which have this code.
 *
 * It differs from `JSON.stringify` where that loses something. Integers of any size are exact. Numbers that are not finite, and
 * objects without members that are more than that, such as maps, promises and bytes, are refused. Halves of surrogate pairs are
 * replaced by U+FFFD, as Node does with strings that leave JavaScript.
 */
export function json(value, place, code = "serialization", outer = []) {
  const refuse = (where, rule) => {
    throw new SdkError(code, `${where} must ${rule}`);
  };
  if (isObject(value)) {
    if (!ArrayBuffer.isView(value) && typeof value.toJSON === "function") value = value.toJSON();
    if (/^(String|Number|Boolean)$/.test(kindOf(value))) value = value.valueOf();
  }
  if (typeof value === "string") return JSON.stringify(value.toWellFormed());
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) refuse(place, `be finite, found ${value}`);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);

  if (outer.includes(value)) refuse(place, "not contain itself");
  if (outer.length === MAX_DEPTH) refuse(place.split(/[.[]/)[0], `not be nested more than ${MAX_DEPTH} deep`);
  const around = [...outer, value];
  const inner = (item, name) => json(item, `${place}${name}`, code, around);
  if (Array.isArray(value)) return `[${Array.from(value, (item, at) => inner(item, `[${at}]`) ?? "null").join()}]`;
  const names = Object.keys(value);
  if (ArrayBuffer.isView(value) || (!names.length && kindOf(value) !== "Object")) {
    refuse(place, `be text or JSON, found ${shown(value)}`);
  }
  return members(names.map((name) => [name, inner(value[name], `.${name}`)]));
}

/** The text of an object, without the members that have no text. */
export function members(entries) {
  const texts = entries.filter(([, text]) => text !== undefined).map(([name, text]) => `${JSON.stringify(name.toWellFormed())}:${text}`);
  return `{${texts.join()}}`;
}
