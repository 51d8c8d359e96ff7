// JSON that is still being written.

const closers = { "{": "}", "[": "]" };
const firstHalf = /^\\u[dD][89abAB]/;

/**
 * Reads JSON text that arrives in pieces. The last string may be a part of its text. A number or a literal that may go on, and a
 * member without its value, are left out.
 */
export class PartialJson {
  #text = "";
  /** The brackets that are open, from the outermost. */
  #open = [];
  /** The end of the part of the text that is a value when these brackets are closed. */
  #complete = 0;
  #isInString = false;
  /** Whether this string, or the next one, is the name of a member. */
  #isKey = false;
  /** The end of the characters of this string that are complete. */
  #whole = 0;
  /** The escape that is being written. */
  #escape = "";

  push(piece) {
    for (let at = 0; at < piece.length; at++) {
      if (this.#isInString) this.#inString(piece[at], this.#text.length + at + 1);
      else this.#outside(piece[at], this.#text.length + at + 1);
    }
    this.#text += piece;
  }

  /** The value so far as JSON text; undefined if nothing of it is known. */
  json() {
    const closing = this.#open.map((bracket) => closers[bracket]).reverse().join("");
    if (this.#isInString && !this.#isKey) return `${this.#text.slice(0, this.#whole)}"${closing}`;
    return this.#complete ? this.#text.slice(0, this.#complete) + closing : undefined;
  }

  #inString(character, end) {
    if (this.#escape || character === "\\") {
      this.#escape += character;
      const isComplete = this.#escape.length === (this.#escape.startsWith("\\u") ? 6 : 2);
      if (isComplete && !firstHalf.test(this.#escape)) this.#whole = end;
      if (isComplete) this.#escape = "";
    } else if (character === '"') {
      this.#isInString = false;
      if (!this.#isKey) this.#complete = end;
    } else {
      this.#whole = end;
    }
  }

  #outside(character, end) {
    if (character === '"') {
      this.#isInString = true;
      this.#whole = end;
    } else if (character === ":") {
      this.#isKey = false;
    } else if (character in closers) {
      this.#open.push(character);
      this.#isKey = character === "{";
      this.#complete = end;
    } else if (character === ",") {
      this.#complete = end - 1;
      this.#isKey = this.#open.at(-1) === "{";
    } else if ((character === "]" || character === "}") && this.#open.length) {
      this.#open.pop();
      this.#complete = end;
      this.#isKey = false;
    }
  }
}
