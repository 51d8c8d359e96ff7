// Pictures on the page, in a headless browser.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import puppeteer from "puppeteer-core";
import { MODEL, serve } from "./server.js";

let browser;
before(async () => {
  const args = ["--no-sandbox", "--disable-gpu"];
  browser = await puppeteer.launch({ executablePath: process.env.CAUSERIE_BROWSER, args });
});
after(() => browser?.close());

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEklEQVR4nGP4z8DAAMIM/4EAAB/uBfsL2WiLAAAAAElFTkSuQmCC";

test("pictures are chosen, pasted and dropped, shown, sent and kept", async () => {
  const folder = `${process.env.CAUSERIE_ROOT}/tests/fixtures/models/lfm2vl-hf`;
  const vision = await serve("--model", folder, "--model-id", MODEL);
  const problems = [];
  const other = await browser.newPage();
  other.setDefaultTimeout(60_000);
  other.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  other.on("pageerror", (err) => problems.push(String(err)));
  const opened = () => other.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  const shown = (n, selector) => other.waitForFunction((n, selector) => document.querySelectorAll(selector).length === n, {}, n, selector);
  await other.goto(vision.baseURL.replace("/v1", "/"));
  await opened();
  await other.$eval("[name=max_tokens]", (field) => (field.value = "4"));
  const file = join(tmpdir(), `causerie-page-${process.pid}.png`);
  writeFileSync(file, Buffer.from(PNG, "base64"));
  assert.ok(await other.$eval("#picture", (button) => button.checkVisibility()));
  await (await other.$("#picture-file")).uploadFile(file);
  await shown(1, "#pictures img");
  const give = (kind, size) =>
    other.evaluate(async (kind, size) => {
      const canvas = new OffscreenCanvas(size, size / 2);
      const pixels = canvas.getContext("2d").createImageData(size, size / 2);
      pixels.data.forEach((_, at) => (pixels.data[at] = at % 4 === 3 ? 255 : 256 * Math.random()));
      canvas.getContext("2d").putImageData(pixels, 0, 0);
      const data = new DataTransfer();
      data.items.add(new File([await canvas.convertToBlob()], `${kind}.png`, { type: "image/png" }));
      const init = { bubbles: true, cancelable: true };
      const event = kind === "paste" ? new ClipboardEvent(kind, { ...init, clipboardData: data }) : new DragEvent(kind, { ...init, dataTransfer: data });
      document.getElementById("message").dispatchEvent(event);
    }, kind, size);
  await give("paste", 64);
  await shown(2, "#pictures img");
  await give("drop", 2000);
  await shown(3, "#pictures img");
  await other.click('[aria-label="Remove picture 2"]');
  await shown(2, "#pictures img");
  const asked = other.waitForRequest((request) => request.method() === "POST");
  await other.type("#message", "What is this?");
  await other.keyboard.press("Enter");
  const content = JSON.parse((await asked).postData()).messages.at(-1).content;
  assert.deepEqual(content.map(({ type }) => type), ["image_url", "image_url", "text"]);
  assert.equal(content[0].image_url.url, `data:image/png;base64,${PNG}`);
  assert.match(content[1].image_url.url, /^data:image\/jpeg;base64,/);
  await shown(1, ".assistant .actions");
  await shown(0, "#pictures img");
  await other.reload();
  await opened();
  await other.evaluate(() => document.querySelector("#conversations .open").click());
  await shown(2, ".user img");
  const sizes = await other.$$eval(".user img", async (images) => {
    await Promise.all(images.map((image) => image.decode()));
    return images.map((image) => [image.naturalWidth, image.naturalHeight]);
  });
  assert.deepEqual(sizes, [[2, 2], [1536, 768]]);
  await other.evaluate(() => (model.capabilities.vision = false));
  await give("paste", 64);
  await shown(1, ".toast");
  await shown(0, "#pictures img");
  await other.close();
  assert.deepEqual(problems, []);
  await vision.stop();
});
