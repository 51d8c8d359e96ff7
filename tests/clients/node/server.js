// Starts a server for a test: the command with the demo model, on a free port.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

export const MODEL = "causerie/demo";
const functions = JSON.parse(readFileSync(process.env.CAUSERIE_ROOT + "/server/src/chat/functions.json", "utf8"));
export const TOOLS = functions.map((entry) => (entry.function ? entry : { type: "function", function: entry }));

/** Starts a server; returns its address and a function that stops it. */
export async function serve(...options) {
  const child = spawn(process.env.CAUSERIE_COMMAND, ["serve", "--port", "0", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(child.stdout), "line");
  return { baseURL: line.replace(`causerie serves ${MODEL} at `, ""), stop: stopping(child) };
}

/** Starts the hosted form; returns its address, its key and a function that stops it. */
export async function run() {
  const child = spawn(process.env.CAUSERIE_COMMAND, ["run"], { stdio: ["ignore", "pipe", "ignore"] });
  const printed = {};
  for await (const line of createInterface(child.stdout)) {
    const [name, value] = line.split(" ");
    printed[name] = value;
    if (name === "api_key") break;
  }
  return { baseURL: printed.base_url, key: printed.api_key, stop: stopping(child) };
}

const stopping = (child) => async () => {
  child.kill();
  await once(child, "exit");
};
