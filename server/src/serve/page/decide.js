// Decisions: questions about a text, answered with probabilities.

/** Below this probability of all labels together, the model would have written something else: as the server has it. */
const LEAST_PROBABILITY = 0.1;
const KINDS = [["predicate", "yes or no"], ["choice", "one of these"], ["score", "a level of these, the lowest first"]];
let deciding = null;

const questions = byId("questions");

/** The labels that were typed, separated by commas. */
const labelsOf = (text) => [...new Set(text.split(",").map((label) => label.trim()).filter(Boolean))];

/** The fields of a question, and what was answered. */
function addQuestion({ kind = "predicate", text = "", labels = "" } = {}) {
  const options = KINDS.map(([value, label]) => make("option", { value, selected: value === kind }, label));
  const labelled = make("label", {}, "Answers, separated by commas ", make("input", { name: "labels", value: labels }));
  const select = make("select", { name: "kind" }, ...options);
  const fit = () => (labelled.hidden = select.value === "predicate");
  select.addEventListener("change", fit);
  const remove = iconButton("delete", "Delete the question", () => {
    element.remove();
    byId("question-add").focus();
  });
  const element = make("fieldset", { className: "question" },
    make("label", { className: "asked" }, "Question ", make("input", { name: "text", value: text, required: true })),
    make("label", {}, "Answer ", select),
    remove,
    labelled,
    make("div", { className: "answer" }));
  fit();
  questions.append(element);
  return element;
}

/** What was typed, by field. */
const typed = (element) => Object.fromEntries([...element.querySelectorAll("[name]")].map((field) => [field.name, field.value.trim()]));

function questionOf({ kind, text, labels }) {
  const names = labelsOf(labels);
  const question = { type: kind, instructions: text };
  if (kind === "choice") question.choices = names.map((value) => ({ value }));
  if (kind === "score") question.levels = names.map((label) => ({ label }));
  return question;
}

/** The labels of an answer with their probabilities. */
function rowsOf(answer) {
  if (answer.type === "predicate") return [["yes", answer.probability], ["no", 1 - answer.probability]];
  return answer.probabilities.map(({ value, label, probability }) => [label ?? String(value), probability]);
}

function headline(answer) {
  const sure = (text) => `${text}, confidence ${answer.confidence.toFixed(2)}`;
  if (answer.type === "predicate") return answer.probability < 0.5 ? "No" : "Yes";
  return answer.type === "choice" ? sure(String(answer.choice)) : sure(`Level ${answer.score.toFixed(2)}, counted from 0`);
}

/** Shows an answer: a bar of probability for each label. */
function showAnswer(element, answer) {
  const rows = rowsOf(answer).map(([label, probability]) => {
    const share = `${(100 * probability).toFixed(1)} %`;
    const bar = make("meter", { min: 0, max: 1, value: probability, ariaLabel: label }, share);
    return make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, bar), make("td", { align: "right" }, share));
  });
  const parts = [make("p", { className: "decided" }, headline(answer)), make("table", {}, make("tbody", {}, ...rows))];
  if (answer.label_probability < LEAST_PROBABILITY) {
    const share = (100 * answer.label_probability).toPrecision(2);
    parts.push(make("p", { className: "note" }, `The model would write something else: all answers together have ${share} %.`));
  }
  element.querySelector(".answer").replaceChildren(...parts);
}

async function decide() {
  const asked = [...questions.children];
  const all = asked.map(typed);
  const state = byId("decide-form").elements.state.value;
  store("decide", { state, questions: all });
  deciding?.abort();
  const controller = (deciding = new AbortController());
  byId("decide-fault").replaceChildren();
  byId("decide").ariaBusy = "true";
  try {
    const body = { model: model.id, input: state, questions: all.map(questionOf), min_label_probability: 0 };
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const { answers } = await (await ask("v1/decisions", { ...init, signal: controller.signal })).json();
    asked.forEach((element, at) => showAnswer(element, answers[at]));
    announce(answers.map(headline).join(". "));
  } catch (err) {
    if (err.name !== "AbortError") byId("decide-fault").textContent = err.message;
  }
  if (deciding === controller) byId("decide").ariaBusy = null;
}

const decided = stored("decide", {});
byId("decide-form").elements.state.value = decided.state ?? "";
for (const question of decided.questions?.length ? decided.questions : [{}]) addQuestion(question);
byId("question-add").addEventListener("click", () => addQuestion().querySelector("input").focus());
byId("decide-open").addEventListener("click", () => byId("decide").showModal());
byId("decide-close").addEventListener("click", () => byId("decide").close());
byId("decide").addEventListener("close", () => deciding?.abort());
byId("decide-form").addEventListener("submit", (event) => {
  event.preventDefault();
  decide();
});
