// Decisions on the page, in a headless browser.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import puppeteer from "puppeteer-core";
import { serve } from "./server.js";

let server, browser, page;
const problems = [];

before(async () => {
  server = await serve();
  const args = ["--no-sandbox", "--disable-gpu"];
  browser = await puppeteer.launch({ executablePath: process.env.CAUSERIE_BROWSER, args });
  page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (err) => problems.push(String(err)));
});
after(async () => {
  await browser?.close();
  await server.stop();
});
beforeEach(async () => {
  await page.goto(server.baseURL.replace("/v1", "/"));
  await page.evaluate(() => (localStorage.clear(), sessionStorage.clear()));
  await open();
});

/** Opens the form of decisions in the page as it was left. */
const open = async () => {
  await page.reload();
  await page.waitForFunction(() => document.getElementById("model").textContent === "causerie/demo");
  await page.$$eval('[aria-label="Decide"]', (buttons) => buttons.at(-1).click());
};
const submit = () => page.evaluate(() => document.getElementById("decide-form").requestSubmit());
const texts = (selector) => page.$$eval(selector, (found) => found.map((element) => element.innerText.trim()));

test("decisions show a bar of probability for each answer", async () => {
  await page.type('#decide [name="state"]', "The kettle boils, and Anna is in the garden.");
  await page.type('#questions [name="text"]', "Is the water hot?");
  await page.evaluate(() => document.getElementById("question-add").click());
  await page.type('#questions > :nth-child(2) [name="text"]', "Where is Anna?");
  await page.select('#questions > :nth-child(2) [name="kind"]', "choice");
  await page.type('#questions > :nth-child(2) [name="labels"]', "kitchen, garden, garden,");
  const asked = page.waitForRequest((request) => request.method() === "POST");
  await submit();
  const { input, questions } = JSON.parse((await asked).postData());
  assert.equal(input, "The kettle boils, and Anna is in the garden.");
  assert.deepEqual(questions[1].choices, [{ value: "kitchen" }, { value: "garden" }]);
  await page.waitForFunction(() => document.querySelectorAll("#decide meter").length === 4);
  assert.deepEqual(await texts("#decide .answer th"), ["yes", "no", "kitchen", "garden"]);
  const bars = await page.$$eval("#decide meter", (meters) => meters.map((meter) => meter.value));
  assert.ok(Math.abs(bars[0] + bars[1] - 1) < 1e-6 && Math.abs(bars[2] + bars[3] - 1) < 1e-6, String(bars));
  // The demo model does not decide, and the page says so.
  assert.match((await texts("#decide .answer .note"))[0], /would write something else/);
  // What was typed is kept.
  await open();
  assert.deepEqual(await page.$$eval('#questions [name="text"]', (fields) => fields.map((field) => field.value)), ["Is the water hot?", "Where is Anna?"]);
});

test("what is wrong with a question is said", async () => {
  await page.type('#questions [name="text"]', "Where is Anna?");
  await page.select('#questions [name="kind"]', "choice");
  await page.type('#questions [name="labels"]', "kitchen");
  await submit();
  await page.waitForFunction(() => document.getElementById("decide-fault").textContent.includes("choices must have 2 to 255"));
  // The browser reports the status of the reply, too.
  problems.splice(problems.findIndex((problem) => problem.includes("400")), 1);
});

test("nothing was broken", () => assert.deepEqual(problems, []));
