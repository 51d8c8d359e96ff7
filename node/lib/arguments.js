// Checks of arguments. The native part would refuse them with types of Rust, and without their names.

/** The kind of a value: `Object`, `Array`, `Uint8Array`. `instanceof` does not know objects of other contexts, as Jest has them. */
export const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

/** Whether a value can have members. */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A value as errors show it. */
export function shown(value) {
  if (typeof value === "string" && value.length <= 40) return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (value !== null && ["string", "object", "function"].includes(typeof value)) {
    const kind = kindOf(value).replace(/^(String|Object|Array|Function|AsyncFunction)$/, (word) => word.toLowerCase());
    return `${/^[aeio]/i.test(kind) ? "an" : "a"} ${kind}`;
  }
  return String(value);
}

/** Refuses an argument that is not what it must be. */
export function check(name, isRight, expected, value) {
  if (!isRight) throw new TypeError(`${name} must be ${expected}, found ${shown(value)}`);
  return value;
}

/** A text. */
export const string = (name, value) => check(name, typeof value === "string", "a string", value);

/** A copy of options. */
export const optionsOf = (value) => ({ ...check("options", kindOf(value ?? {}) === "Object", "an object", value) });
