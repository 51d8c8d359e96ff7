// The page in a headless browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import puppeteer from "puppeteer-core";
import { run, serve } from "./server.js";

let server, browser, page;
const problems = [];
before(async () => {
  server = await serve();
  const args = ["--no-sandbox", "--disable-gpu"];
  browser = await puppeteer.launch({ executablePath: process.env.CAUSERIE_BROWSER, args });
  page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (err) => problems.push(String(err)));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== new URL(server.baseURL).origin) problems.push(request.url());
  });
  await page.goto(server.baseURL.replace("/v1", "/"));
  await page.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
});
after(async () => {
  await browser?.close();
  await server.stop();
});

const send = async (text) => {
  await page.type("#message", text);
  await page.keyboard.press("Enter");
};
const idle = () => page.waitForFunction(() => document.getElementById("stop").disabled);

test("a reply streams, with its speed", async () => {
  await send("Hello!");
  await page.waitForSelector("article.assistant .text");
  await page.waitForFunction(() => /^\d+ tokens\/s$/.test(document.getElementById("speed").textContent));
  await idle();
  assert.ok(await page.$eval("article.assistant .text", (text) => text.textContent.length > 3));
});

test("a call is shown, and the reply continues after its result", async () => {
  await page.click("#clear");
  await send("Set a timer for 12 minutes for the pasta");
  await page.waitForSelector(".call");
  const call = await page.$eval(".call code", (code) => code.textContent);
  assert.equal(call, 'set_timer({"duration": 12, "unit": "minutes", "label": "pasta"})');
  await page.type(".call input", '{"timer": "pasta", "duration": "12 minutes"}');
  await page.keyboard.press("Enter");
  await page.waitForSelector("article.assistant:nth-of-type(3) .text");
  await idle();
  assert.match(await page.$eval("article:last-of-type .text", (text) => text.textContent), /pasta/);
});

test("a reply is stopped", async () => {
  await page.click("#clear");
  // Add a field to the page's request, so that the reply does not end.
  await page.evaluate(() => {
    const ask = window.fetch;
    window.fetch = (url, init) => ask(url, { ...init, body: init.body.replace("{", '{"ignore_eos": true, ') });
  });
  await send("Tell me a story");
  await page.waitForSelector("article.assistant .text");
  await page.click("#stop");
  await page.waitForFunction(() => document.querySelector("article.assistant .error")?.textContent === "Stopped.");
  assert.ok(await page.$eval("#stop", (button) => button.disabled));
});

test("a conversation that is cleared during a reply starts over", async () => {
  await page.click("#clear");
  await send("Tell me a story"); // does not end, as before
  await page.waitForSelector("article.assistant .text");
  await page.click("#clear");
  await idle();
  const request = page.waitForRequest((request) => request.method() === "POST");
  await send("Hello!");
  assert.deepEqual(JSON.parse((await request).postData()).messages, [{ role: "user", content: "Hello!" }]);
  await page.click("#stop");
  await idle();
});

test("markup in a message is text", async () => {
  await page.reload();
  await page.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  await send("<img src=x onerror=alert(1)>");
  await idle();
  assert.equal(await page.$eval("article.user .text", (text) => text.textContent), "<img src=x onerror=alert(1)>");
  assert.equal(await page.$$eval("img", (images) => images.length), 0);
});

test("it is legible in light and dark, and every control has a name", async () => {
  const colours = async (scheme) => {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    return page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement("p"));
      probe.className = "error";
      return [getComputedStyle(document.body).color, getComputedStyle(probe).color];
    });
  };
  assert.notDeepEqual(await colours("light"), await colours("dark"));
  const tree = await page.accessibility.snapshot();
  const nodes = [tree];
  for (const node of nodes) nodes.push(...(node.children ?? []));
  const controls = nodes.filter((node) => ["button", "textbox"].includes(node.role));
  assert.ok(controls.length >= 4 && controls.every((node) => node.name), JSON.stringify(controls));
});

test("the page of the hosted form asks for its key", async () => {
  const hosted = await run();
  const other = await browser.newPage();
  await other.goto(hosted.baseURL.replace("/v1", "/"));
  await other.waitForSelector("#access:not([hidden])");
  await other.type("#key", hosted.key);
  await other.keyboard.press("Tab");
  await other.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  await other.type("#message", "Hello!");
  await other.keyboard.press("Enter");
  await other.waitForSelector("article.assistant .text");
  await other.close();
  await hosted.stop();
});

test("nothing was blocked, broken or fetched from elsewhere", () => assert.deepEqual(problems, []));
