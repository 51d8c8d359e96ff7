// Finds the native part for this system, and makes errors of what it throws.

import { createRequire } from "node:module";

/** What can go wrong. `code` is one of a fixed set, such as `model_not_found`. */
export class SdkError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "SdkError";
    this.code = code;
  }
}

const place = `../native/${process.platform}-${process.arch}/causerie.node`;

function load() {
  try {
    return createRequire(import.meta.url)(place);
  } catch (error) {
    const reason = `this package has no library that can be loaded on ${process.platform}-${process.arch}: ${error.message}`;
    throw new SdkError("internal", reason);
  }
}

export const native = load();

/** The native part gives the code and the message of an error as JSON. Errors of arguments have none, and are passed on. */
export function sdkError(error) {
  try {
    const { code, message } = JSON.parse(error.message);
    return new SdkError(code, message);
  } catch {
    return error;
  }
}

/** Calls the native part. */
export function call(work) {
  try {
    return work();
  } catch (error) {
    throw sdkError(error);
  }
}

/** Awaits a promise of the native part. */
export async function awaited(promise) {
  try {
    return await promise;
  } catch (error) {
    throw sdkError(error);
  }
}
