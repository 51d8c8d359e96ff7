// The settings: system prompt, sampling, functions and colours.
const SAMPLING = ["temperature", "top_p", "top_k", "min_p", "max_tokens", "seed"];
let settings = stored("settings", {});

/** Reads the settings into their fields, and stores them when a field changes. */
function bindSettings() {
  for (const field of byId("settings").querySelectorAll("[name]")) {
    const value = field.type === "checkbox" ? "checked" : "value";
    if (field.name in settings) field[value] = settings[field.name];
    field.addEventListener("change", () => {
      settings[field.name] = field[value];
      store("settings", settings);
    });
  }
}

/** The fields of a request that the settings ask for. */
function requestOptions() {
  const form = byId("settings-form").elements;
  const options = {};
  for (const name of SAMPLING) if (form[name].value !== "") options[name] = Number(form[name].value);
  const { function_calling, reasoning } = model.capabilities;
  if (isSpeaking()) Object.assign(options, { modalities: ["text", "audio"], audio: { format: "pcm16" } });
  if (reasoning) options.chat_template_kwargs = { enable_thinking: form.reasoning.checked };
  if (function_calling && form.functions.checked && form.tools.value.trim()) {
    // A small model gets more calls right if they are constrained.
    const strict = (tool) => (BUILT_IN[tool.function?.name] ? { ...tool, function: { strict: true, ...tool.function } } : tool);
    options.tools = JSON.parse(form.tools.value).map(strict);
  }
  return options;
}

/** Whether replies are spoken. */
const isSpeaking = () => model.capabilities.speech && byId("settings-form").elements.speech.checked;

/** The system prompt. Models that speak know one of their own, which the server has: only another text replaces it. */
function systemPrompt() {
  const { value, defaultValue } = byId("settings-form").elements.system;
  return isSpeaking() && value === defaultValue ? "" : value.trim();
}

/** Colours: as the system, unless one is chosen. */
const setTheme = () => (document.documentElement.dataset.theme = byId("settings-form").elements.theme.value);

function resetSettings() {
  byId("settings-form").reset();
  settings = {};
  store("settings", settings);
  setTheme();
}

/** Says what is wrong with the functions that were typed. */
function checkTools({ target }) {
  let fault = "";
  try {
    if (target.value.trim() && !Array.isArray(JSON.parse(target.value))) fault = "The functions must be a JSON array.";
  } catch (err) {
    fault = `The functions must be JSON: ${err.message}`;
  }
  target.setCustomValidity(fault);
  byId("tools-fault").textContent = fault;
}

byId("settings-open").addEventListener("click", () => byId("settings").showModal());
byId("settings-close").addEventListener("click", () => byId("settings").close());
byId("settings").addEventListener("click", (event) => event.target === byId("settings") && byId("settings").close());
byId("settings-reset").addEventListener("click", resetSettings);
byId("settings-form").addEventListener("submit", (event) => event.preventDefault());
byId("settings-form").elements.theme.addEventListener("change", setTheme);
byId("settings-form").elements.tools.addEventListener("input", checkTools);
bindSettings();
setTheme();
