// The page in a headless browser.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import puppeteer from "puppeteer-core";
import { run, serve } from "./server.js";

let server, browser, page;
const problems = [];
/** What the next replies are instead of the model's: the deltas of each. */
let scripted = [];

before(async () => {
  server = await serve();
  const args = ["--no-sandbox", "--disable-gpu"];
  const defaultViewport = { width: 1200, height: 800 };
  browser = await puppeteer.launch({ executablePath: process.env.CAUSERIE_BROWSER, args, defaultViewport });
  page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (err) => problems.push(String(err)));
  page.on("dialog", (dialog) => (problems.push(`a dialog: ${dialog.message()}`), dialog.dismiss()));
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== new URL(server.baseURL).origin) problems.push(request.url());
    const deltas = request.method() === "POST" && scripted.shift();
    if (!deltas) return request.continue();
    const events = deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`);
    request.respond({ contentType: "text/event-stream", body: events.join("") + "data: [DONE]\n\n" });
  });
});
after(async () => {
  await browser?.close();
  await server.stop();
});
beforeEach(async () => {
  scripted = [];
  await page.goto(server.baseURL.replace("/v1", "/"));
  await page.evaluate(() => (localStorage.clear(), sessionStorage.clear()));
  await open();
});

const open = async () => {
  await page.reload();
  await page.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
};
const send = async (text) => {
  await page.type("#message", text);
  await page.keyboard.press("Enter");
};
/** Waits until a whole reply is shown: with what can be done with it. */
const replied = (n = 1) => page.waitForFunction((n) => document.querySelectorAll(".assistant .actions").length >= n, {}, n);
const texts = (selector) => page.$$eval(selector, (found) => found.map((element) => element.innerText.trim()));
const press = (label) => page.$$eval(`[aria-label="${label}"]`, (buttons) => buttons.at(-1).click());
/** The next request for a reply. */
const request = async () => JSON.parse((await page.waitForRequest((request) => request.method() === "POST")).postData());
/** Answers the next request for a reply in the page, with one that goes on until it is stopped. */
const endless = () =>
  page.evaluate(() => {
    const ask = window.fetch;
    window.fetch = (url, init) => {
      if (init?.method !== "POST") return ask(url, init);
      window.fetch = ask;
      const event = `data: ${JSON.stringify({ choices: [{ delta: { content: "Once" } }] })}\n\n`;
      const start = (controller) => {
        controller.enqueue(new TextEncoder().encode(event));
        init.signal.addEventListener("abort", () => controller.error(init.signal.reason));
      };
      return Promise.resolve(new Response(new ReadableStream({ start })));
    };
  });

test("a reply streams, with its speed", async () => {
  await send("Hello!");
  await replied();
  assert.ok((await texts(".assistant .text"))[0].length > 3);
  assert.match((await texts("#speed"))[0], /^\d+ tokens\/s$/);
  assert.match((await texts(".assistant .actions"))[0], /^\d+ tokens? · \d+ tokens\/s$/);
});

test("a request to click shows a function at work", async () => {
  await page.evaluate(() => document.querySelector("#suggestions button").click());
  await replied();
  const [card] = await texts(".call");
  for (const part of ["set_timer", "done", "duration", "12", "minutes", "pasta", "rings_at"]) assert.ok(card.includes(part), card);
  assert.match((await texts(".assistant .text"))[0], /pasta/);
  await send("And how long is left?");
  await replied(2);
  assert.match((await texts(".call")).at(-1), /list_timers[^]*1[12] minutes/);
});

test("every function returns what the command returns", async () => {
  const results = await page.evaluate(() => {
    const run = (name, given) => runFunction({ name, arguments: JSON.stringify(given) });
    return [
      run("calculate", { expression: "2 + 3 * 4 ^ 2" }),
      run("calculate", { expression: "15% * 84" }),
      run("calculate", { expression: "-2 ^ 2" }),
      run("calculate", { expression: "2 ^ 3 ^ 2" }),
      run("calculate", { expression: "7 % 4 + sqrt(16)" }),
      run("calculate", { expression: "0.1 + 0.2" }),
      run("calculate", { expression: "1 / 0" }),
      run("calculate", { expression: "alert(1)" }),
      run("convert_units", { value: 26, from_unit: "miles", to_unit: "kilometres" }),
      run("convert_units", { value: 212, from_unit: "°F", to_unit: "celsius" }),
      run("convert_units", { value: 1, from_unit: "kg", to_unit: "metres" }),
      run("add_note", { text: "milk {[ \n" }),
      run("list_notes", {}),
      run("get_time", { city: "Atlantis" }),
    ];
  });
  assert.deepEqual(results, [
    '{"expression": "2 + 3 * 4 ^ 2", "result": 50}',
    '{"expression": "15% * 84", "result": 12.6}',
    '{"expression": "-2 ^ 2", "result": -4}',
    '{"expression": "2 ^ 3 ^ 2", "result": 512}',
    '{"expression": "7 % 4 + sqrt(16)", "result": 7}',
    '{"expression": "0.1 + 0.2", "result": 0.3}',
    '{"error": "the result is not a finite number"}',
    '{"error": "expected a number, found a"}',
    '{"value": 26, "unit": "miles", "result": 41.84, "result_unit": "kilometres"}',
    '{"value": 212, "unit": "°F", "result": 100, "result_unit": "celsius"}',
    '{"error": "kg is a unit of mass, and metres of length"}',
    '{"saved": "milk {[ \\n", "notes": 1}',
    '{"notes": ["milk {[ \\n"]}',
    '{"error": "no city named Atlantis"}',
  ]);
  const time = await page.evaluate(() => JSON.parse(runFunction({ name: "get_time", arguments: '{"city": "Nairobi"}' })));
  assert.match(time.time, /^\d\d:\d\d$/);
  assert.match(time.date, /^[A-Z][a-z]+, \d+ [A-Z][a-z]+ \d{4}$/);
  assert.equal(time.city, "Nairobi");
});

test("the results of other functions are typed, also after a reload", async () => {
  const call = (id, name) => ({ index: Number(id), id, function: { name, arguments: '{"room": "hall"}' } });
  scripted = [[{ tool_calls: [call("0", "dim_lamp"), call("1", "lock_door")] }]];
  await send("Good night");
  await page.waitForSelector(".call-form input:focus");
  await page.keyboard.type("dimmed");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".call-form").length === 1);
  await open();
  await page.evaluate(() => document.querySelector("#conversations .open").click());
  await page.waitForSelector(".call-form input:focus");
  scripted = [[{ content: "Done. Good night!" }]];
  const asked = request();
  await page.keyboard.type('{"locked": true}');
  await page.keyboard.press("Enter");
  const { messages } = await asked;
  assert.deepEqual(messages.slice(-2), [
    { role: "tool", tool_call_id: "0", content: "dimmed" },
    { role: "tool", tool_call_id: "1", content: '{"locked": true}' },
  ]);
  await replied();
  assert.deepEqual(await texts(".assistant .text"), ["Done. Good night!"]);
});

test("calls that got no result are cancelled by the next message", async () => {
  scripted = [[{ tool_calls: [{ index: 0, id: "a", function: { name: "dim_lamp", arguments: "{}" } }] }], [{ content: "Hi" }]];
  await send("Good night");
  await page.waitForSelector(".call-form input");
  const asked = request();
  await send("Hello!");
  const { messages } = await asked;
  assert.deepEqual(messages.slice(-2), [
    { role: "tool", tool_call_id: "a", content: '{"error": "cancelled"}' },
    { role: "user", content: "Hello!" },
  ]);
  await replied();
});

test("Markdown and code are shown as such", async () => {
  const reply = "# Primes\n\nA **sieve** of `n`:\n\n```python\ndef primes(n):  # all\n    return 'x'\n```\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n3. three\n";
  scripted = [Array.from(reply, (content) => ({ content }))]; // by character
  await send("Primes?");
  await replied();
  const found = await page.$eval(".assistant .text", (text) => ({
    heading: text.querySelector("h3").textContent,
    strong: text.querySelector("strong").textContent,
    code: text.querySelector("pre code").textContent,
    parts: [...text.querySelectorAll("pre span")].map((part) => `${part.className} ${part.textContent}`),
    aligned: text.querySelector("td").getAttribute("align"),
    start: text.querySelector("ol").start,
  }));
  assert.deepEqual(found, {
    heading: "Primes",
    strong: "sieve",
    code: "def primes(n):  # all\n    return 'x'",
    parts: ["code-keyword def", "code-call primes", "code-comment # all", "code-keyword return", "code-string 'x'"],
    aligned: "right",
    start: 3,
  });
});

test("a reply that is nested too deep for Markdown is shown as it is", async () => {
  scripted = [["1. ".repeat(2000), ">".repeat(9000)].map((content) => ({ content }))];
  await send("Go");
  await replied();
  assert.equal((await texts(".assistant .text pre"))[0].length, 15_000);
});

test("what a model writes runs nothing, fetches nothing and styles nothing", async () => {
  const attacks = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "text <b onmouseover=alert(1)>bold</b> <svg/onload=alert(1)> <style>body { display: none }</style>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe><form action=/x><input name=messages></form>",
    "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](&#106;avascript:alert(1)) [d](java\tscript:alert(1)) <javascript:alert(1)>",
    "[e](data:text/html,<script>alert(1)</script>) [f](vbscript:x) [g](/v1/models) [h](//evil.example)",
    '![pixel](https://evil.example/x.png "t") ![x](javascript:alert(1)) ![" onerror="alert(1)](x)',
    '[i](https://example.org/"onclick="alert(1))',
    '[j]: javascript:alert(1)\n\n[j]',
    "```html\" onclick=alert(1)\n<img src=x onerror=alert(1)>\n```",
    "<a id=send name=talk href=https://example.org>x</a>",
    "`</code><img src=x onerror=alert(1)>`",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
  ];
  for (const attack of attacks) {
    scripted.push([{ content: attack, reasoning_content: attack }]);
    await send("Go");
    await replied(attacks.indexOf(attack) + 1);
  }
  const found = await page.$$eval(".assistant :is(.text, .reasoning)", (replies) => {
    const elements = replies.flatMap((reply) => [...reply.querySelectorAll("*")]);
    const links = elements.filter((element) => element.localName === "a");
    for (const link of links) link.dispatchEvent(new MouseEvent("mouseover"));
    return {
      names: [...new Set(elements.map((element) => element.localName))],
      attributes: [...new Set(elements.flatMap((element) => element.getAttributeNames()))],
      links: links.map((link) => link.getAttribute("href")).filter(Boolean),
      guarded: links.every((link) => link.rel.includes("noopener") && link.target === "_blank"),
    };
  });
  const plain = ["p", "a", "br", "code", "pre", "div", "span", "button", "svg", "use", "summary"];
  assert.deepEqual(found.names.filter((name) => !plain.includes(name)), []);
  const harmless = ["href", "target", "rel", "title", "class", "type", "aria-label", "aria-hidden", "role", "tabindex"];
  assert.deepEqual(found.attributes.filter((name) => !harmless.includes(name)), []);
  for (const link of found.links) assert.match(link, /^https:\/\/(evil\.example\/x\.png|example\.org\/)/);
  assert.ok(found.guarded);
});

test("a reply is stopped by a button and by Escape", async () => {
  for (const stop of [() => page.click("#stop"), () => page.keyboard.press("Escape")]) {
    await page.click("#new");
    await endless();
    await send("Tell me a story");
    await page.waitForSelector(".assistant .text");
    await stop();
    await replied();
    assert.deepEqual(await texts(".note"), ["Stopped."]);
    assert.equal(await page.evaluate(() => document.activeElement.id), "message");
  }
});

test("a new conversation during a reply starts over, and the old one is kept", async () => {
  await endless();
  await send("Tell me a story");
  await page.waitForSelector(".assistant .text");
  await page.click("#new");
  scripted = [[{ content: "Hi" }]];
  const asked = request();
  await send("Hello!");
  assert.deepEqual((await asked).messages.filter(({ role }) => role !== "system"), [{ role: "user", content: "Hello!" }]);
  await replied();
  assert.deepEqual(await texts(".assistant .text"), ["Hi"]);
  assert.deepEqual(await texts("#conversations .open"), ["Hello!", "Tell me a story"]);
});

/** The stored messages of each conversation, as role and content. */
const kept = () =>
  page.evaluate(() => conversations().map(({ messages }) => messages.map(({ role, content }) => `${role}: ${content}`)));

test("a message that is edited during its reply gets another one", async () => {
  scripted = [[{ content: "one" }]];
  await send("first");
  await replied();
  await endless();
  await send("second");
  await page.waitForFunction(() => document.querySelectorAll(".assistant .text").length === 2);
  await page.$$eval('[aria-label="Edit message"]', (buttons) => buttons[1].click());
  await page.waitForSelector(".edit textarea:focus");
  scripted = [[{ content: "two" }]];
  await page.keyboard.type(" edited");
  await page.keyboard.press("Enter");
  await replied(2);
  assert.deepEqual(await texts(".text"), ["first", "one", "second edited", "two"]);
  assert.deepEqual(await kept(), [["user: first", "assistant: one", "user: second edited", "assistant: two"]]);
});

test("a conversation that is deleted during a reply stays deleted", async () => {
  await endless();
  await send("Tell me a story");
  await page.waitForSelector(".assistant .text");
  await press("Delete “Tell me a story”");
  await page.waitForFunction(() => !running);
  assert.deepEqual(await kept(), []);
});

test("a reply goes on when its conversation is chosen again", async () => {
  await endless();
  await send("Tell me a story");
  await page.waitForSelector(".assistant .text");
  await page.evaluate(() => document.querySelector("#conversations .open").click());
  await page.click("#stop");
  await replied();
  assert.equal((await texts(".assistant .text")).length, 1);
});

test("the calls of a stopped reply are not run later", async () => {
  await page.evaluate(() => {
    // The reply breaks after a call.
    const call = { index: 0, id: "a", function: { name: "add_note", arguments: '{"text": "milk"}' } };
    const event = `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] })}\n\n`;
    const start = (controller) => (controller.enqueue(new TextEncoder().encode(event)), setTimeout(() => controller.error(new TypeError("broken")), 100));
    window.fetch = () => Promise.resolve(new Response(new ReadableStream({ start })));
  });
  await send("Note: milk");
  await page.waitForSelector(".problem button");
  assert.match((await texts(".call"))[0], /not run/);
  await open();
  await page.evaluate(() => document.querySelector("#conversations .open").click());
  await replied();
  assert.match((await texts(".call"))[0], /not run/);
  assert.equal(await page.evaluate(() => localStorage.getItem("causerie:/:notes")), null);
});

test("a message is edited, and a reply is written again", async () => {
  scripted = [[{ content: "one" }], [{ content: "two" }], [{ content: "three" }], [{ content: "four" }]];
  await send("first");
  await replied();
  await send("second");
  await replied(2);
  await press("Write another reply");
  await page.waitForFunction(() => document.querySelector("#messages").innerText.includes("three"));
  await replied(2);
  assert.deepEqual(await texts(".text"), ["first", "one", "second", "three"]);
  await page.$$eval('[aria-label="Edit message"]', (buttons) => buttons[0].click());
  await page.waitForSelector(".edit textarea:focus");
  await page.keyboard.type(" edited");
  const asked = request();
  await page.keyboard.press("Enter");
  assert.deepEqual((await asked).messages.slice(1), [{ role: "user", content: "first edited" }]);
  await replied();
  assert.deepEqual(await texts(".text"), ["first edited", "four"]);
});

test("what is copied is what was written", async () => {
  await browser.defaultBrowserContext().overridePermissions(new URL(server.baseURL).origin, ["clipboard-read", "clipboard-write"]);
  const reply = "**bold**\n\n```js\nlet a = 1;\n```";
  scripted = [[{ content: reply }]];
  await send("Go");
  await replied();
  for (const [label, expected] of [["Copy reply", reply], ["Copy code", "let a = 1;"], ["Copy message", "Go"]]) {
    // The mark stays for a moment only.
    await Promise.all([page.waitForSelector(`[aria-label="${label}"].done`), press(label)]);
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), expected);
  }
});

test("conversations are kept, deleted and restored", async () => {
  scripted = [[{ content: "one" }], [{ content: "two" }]];
  await send("first");
  await replied();
  await page.click("#new");
  await send("second");
  await replied();
  await open();
  assert.deepEqual(await texts("#conversations .open"), ["second", "first"]);
  await page.evaluate(() => document.querySelectorAll("#conversations .open")[1].click());
  assert.deepEqual(await texts(".text"), ["first", "one"]);
  await press("Delete “first”");
  assert.deepEqual(await texts("#conversations .open"), ["second"]);
  await page.click(".toast button");
  assert.deepEqual(await texts("#conversations .open"), ["second", "first"]);
});

test("the system prompt and sampling reach the model, and stay", async () => {
  await page.click("#settings-open");
  await page.$eval('[name="system"]', (field) => (field.value = ""));
  await page.type('[name="system"]', "You are brief.");
  await page.type('[name="temperature"]', "0.5");
  await page.type('[name="max_tokens"]', "5");
  await page.click('[name="functions"]');
  await page.keyboard.press("Escape");
  await open();
  const asked = request();
  await send("Hello!");
  const { messages, temperature, max_tokens, top_p, tools } = await asked;
  assert.deepEqual(messages[0], { role: "system", content: "You are brief." });
  assert.deepEqual([temperature, max_tokens, top_p, tools], [0.5, 5, undefined, undefined]);
  await replied();
});

test("an error is shown, and the reply can be tried again", async () => {
  await page.evaluate(() => {
    const ask = window.fetch;
    window.fetch = () => ((window.fetch = ask), Promise.reject(new TypeError("failed")));
  });
  await send("Hello!");
  await page.waitForSelector(".problem button");
  assert.match((await texts('[role="alert"]'))[0], /^The server cannot be reached\./);
  await page.click(".problem button");
  await replied();
});

test("markup in a message is text", async () => {
  scripted = [[{ content: "Hi" }]];
  await send("<img src=x onerror=alert(1)>");
  await replied();
  assert.deepEqual(await texts(".user .text"), ["<img src=x onerror=alert(1)>"]);
  assert.equal((await page.$$("img")).length, 0);
});

test("the keyboard reaches everything, and a screen reader hears the reply", async () => {
  scripted = [[{ content: "A reply." }]];
  await send("Hello!");
  await replied();
  assert.deepEqual(await texts("#announcer"), ["A reply."]);
  assert.equal(await page.$eval("#announcer", (element) => element.role), "status");
  await page.evaluate(() => document.activeElement.blur());
  const order = [];
  for (let n = 0; n < 14; n += 1) {
    await page.keyboard.press("Tab");
    order.push(await page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.innerText ?? document.activeElement.id));
  }
  const expected = ["Settings", "New conversation", "Hello!", "Conversation", "Edit message", "Copy message", "Copy reply", "Write another reply"];
  const places = expected.map((name) => order.findIndex((found) => found.trim() === name));
  assert.ok(places.every((place, at) => place >= 0 && (at === 0 || places[at - 1] < place)), JSON.stringify(order));
  const nodes = [await page.accessibility.snapshot()];
  for (const node of nodes) nodes.push(...(node.children ?? []));
  const controls = nodes.filter((node) => ["button", "textbox", "checkbox", "spinbutton", "combobox"].includes(node.role));
  assert.ok(controls.length >= 8 && controls.every((node) => node.name), JSON.stringify(controls));
});

test("text has contrast in light and dark, and fits a phone", async () => {
  scripted = [[{ content: "A `reply` with [a link](https://example.org).\n\n```python\nx = 1 # " + "long ".repeat(40) + "\n```" }]];
  await send("Hello! " + "word".repeat(60));
  await replied();
  const contrasts = () =>
    page.evaluate(() => {
      const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      const light = (colour) => {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [r, g, b] = Array.from(context.getImageData(0, 0, 1, 1).data, (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const ground = (element) => {
        const colour = element ? getComputedStyle(element).backgroundColor : "white";
        return colour === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : colour;
      };
      const low = [];
      for (const element of document.querySelectorAll("body *")) {
        if (!element.checkVisibility() || ![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((a, b) => b - a);
        if ((a + 0.05) / (b + 0.05) < 4.5) low.push(`${element.outerHTML.slice(0, 80)} ${(a + 0.05) / (b + 0.05)}`);
      }
      return { low, body: getComputedStyle(document.body).backgroundColor };
    });
  const grounds = [];
  for (const value of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value }]);
    const { low, body } = await contrasts();
    assert.deepEqual(low, [], value);
    grounds.push(body);
  }
  assert.notEqual(grounds[0], grounds[1]);
  await page.setViewport({ width: 360, height: 640 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360 && document.querySelector("#talk").scrollWidth <= 360));
  assert.equal(await page.$eval("#sidebar", (sidebar) => sidebar.checkVisibility()), false);
  await page.click("#menu");
  assert.equal(await page.evaluate(() => document.activeElement.id), "new");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "menu");
  await page.setViewport({ width: 1200, height: 800 });
});

/** The page of a server that requires a key asks for it. */
async function asksForKey(baseURL, key) {
  const other = await browser.newPage();
  other.setDefaultTimeout(60_000);
  await other.goto(baseURL.replace(/\/v1$/, "/"));
  await other.waitForSelector("#access:not([hidden])");
  await other.type("#key", key);
  await other.keyboard.press("Tab");
  await other.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  await other.reload();
  await other.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  assert.equal(await other.$eval("#access", (form) => form.checkVisibility()), false);
  await other.type("#message", "Hello!");
  await other.keyboard.press("Enter");
  await other.waitForSelector("article.assistant .text");
  await other.close();
}

test("the page of the hosted form asks for its key", async () => {
  const hosted = await run();
  await asksForKey(hosted.baseURL, hosted.key);
  await hosted.stop();
});

test("the page of a server with a key asks for it", async () => {
  const local = await serve("--api-key", "a-key-of-the-test");
  await asksForKey(local.baseURL, "a-key-of-the-test");
  await local.stop();
});

test("nothing was blocked, broken or fetched from elsewhere", () => assert.deepEqual(problems, []));
