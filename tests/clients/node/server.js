// A server of the test's own: the command, with the demo model, on a free port.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

export const MODEL = "causerie/demo";
const functions = JSON.parse(readFileSync(process.env.CAUSERIE_ROOT + "/server/src/chat/functions.json", "utf8"));
export const TOOLS = functions.map((entry) => (entry.function ? entry : { type: "function", function: entry }));

/** The server's address, and a way to end it. */
export async function serve(...options) {
  const child = spawn(process.env.CAUSERIE_COMMAND, ["serve", "--port", "0", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface(child.stdout), "line");
  const baseURL = line.replace(`causerie serves ${MODEL} at `, "");
  const stop = async () => {
    child.kill();
    await once(child, "exit");
  };
  return { baseURL, stop };
}
