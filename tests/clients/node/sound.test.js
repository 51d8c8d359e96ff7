// Sound on the page, in a headless browser with a microphone that plays a file.
import assert from "node:assert/strict";
import { writeFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import puppeteer from "puppeteer-core";
import { MODEL, serve } from "./server.js";

const microphone = join(tmpdir(), `causerie-microphone-${process.pid}.wav`);
let browser;
let server;

/** A WAV file of a tone of 440 Hz at 48 kHz. */
function tone(seconds) {
  const n = 48_000 * seconds;
  const file = Buffer.alloc(44 + 2 * n);
  file.write("RIFF", 0);
  file.writeUInt32LE(36 + 2 * n, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(48_000, 24);
  file.writeUInt32LE(96_000, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36);
  file.writeUInt32LE(2 * n, 40);
  for (let at = 0; at < n; at++) file.writeInt16LE(Math.round(16_000 * Math.sin((2 * Math.PI * 440 * at) / 48_000)), 44 + 2 * at);
  return file;
}

before(async () => {
  writeFileSync(microphone, tone(2));
  const args = [
    "--no-sandbox", "--disable-gpu", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
    `--use-file-for-fake-audio-capture=${microphone}`, "--autoplay-policy=no-user-gesture-required",
  ];
  browser = await puppeteer.launch({ executablePath: process.env.CAUSERIE_BROWSER, args });
  const model = `${process.env.CAUSERIE_ROOT}/tests/fixtures/models/lfm2a-speech/lfm2a-speech-f16.gguf`;
  server = await serve("--model", model, "--model-id", MODEL);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  rmSync(microphone, { force: true });
});

/** The samples of a WAV file of 16 bits, and its rate. */
function read(file) {
  assert.equal(file.toString("latin1", 0, 4) + file.toString("latin1", 8, 16), "RIFFWAVEfmt ");
  assert.equal(file.readUInt32LE(40), file.length - 44);
  const samples = Array.from({ length: (file.length - 44) / 2 }, (_, at) => file.readInt16LE(44 + 2 * at) / 32768);
  return { rate: file.readUInt32LE(24), samples };
}

test("what is recorded is sent as WAV, and the reply is played", async () => {
  const problems = [];
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (err) => problems.push(String(err)));
  const shown = (n, selector) => page.waitForFunction((n, selector) => document.querySelectorAll(selector).length === n, {}, n, selector);
  await page.goto(server.baseURL.replace("/v1", "/"));
  await page.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  await page.$eval("[name=max_tokens]", (field) => (field.value = "40"));
  await page.$eval("[name=temperature]", (field) => (field.value = "0"));
  await page.click("#record");
  await page.waitForSelector("#record.recording");
  // Until the microphone has given enough of the tone: its first samples may be silent.
  await page.evaluate(async () => {
    const isEnough = () => {
      const all = joined(recording.pieces);
      const from = all.findIndex((sample) => 0.1 < Math.abs(sample));
      return 0 <= from && from + 24_000 < all.length;
    };
    while (!isEnough()) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
  await page.click("#record");
  await shown(1, "#recordings audio");
  const asked = page.waitForRequest((request) => request.method() === "POST");
  await page.type("#message", "What is this?");
  await page.keyboard.press("Enter");
  const body = JSON.parse((await asked).postData());
  assert.deepEqual(body.modalities, ["text", "audio"]);
  assert.deepEqual(body.messages.map(({ role }) => role), ["user"], "the server has the system prompt of models that speak");
  const [sound, text] = body.messages[0].content;
  assert.equal(text.text, "What is this?");
  const { rate, samples } = read(Buffer.from(sound.input_audio.data, "base64"));
  assert.equal(rate, 16_000);
  assert.ok(0.5 < samples.length / rate, `${samples.length} samples`);
  // A tone of 440 Hz crosses zero upwards 440 times a second.
  const from = samples.findIndex((sample) => 0.1 < Math.abs(sample));
  const heard = samples.slice(from + 400, from + 3_600);
  const crossings = heard.filter((sample, at) => at && heard[at - 1] < 0 && 0 <= sample).length;
  assert.ok(Math.abs(crossings - 88) <= 2, `${crossings} crossings in 0.2 s`);
  await shown(1, ".assistant .actions");
  const played = await page.evaluate(() => {
    const sound = spoken.get(last.message);
    return { n: joined(sound.pieces).length, until: speaker.next, state: speaker.context.state, audio: last.message.audio };
  });
  assert.ok(played.n && played.n % 1920 === 0, `${played.n} samples`);
  assert.ok(played.n / 24_000 <= played.until);
  assert.equal(played.state, "running");
  await page.click('[aria-label="Play reply"]');
  const again = page.waitForRequest((request) => request.method() === "POST");
  await page.type("#message", "Why?");
  await page.keyboard.press("Enter");
  const next = JSON.parse((await again).postData()).messages;
  assert.deepEqual(next[1].audio, { id: played.audio.id });
  await shown(2, ".assistant .actions");
  await page.reload();
  await page.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  await page.evaluate(() => document.querySelector("#conversations .open").click());
  await shown(1, ".user audio");
  await page.close();
  assert.deepEqual(problems, []);
});
