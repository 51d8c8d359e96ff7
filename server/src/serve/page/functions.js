// The functions that the page can run itself: the same as in `causerie chat`. Timers and notes stay in the browser.
const UNITS = {
  length: { "metre meter m": 1, "kilometre kilometer km": 1000, "centimetre centimeter cm": 0.01, "millimetre millimeter mm": 0.001,
    "mile mi": 1609.344, "yard yd": 0.9144, "foot feet ft": 0.3048, "inch inche in": 0.0254 },
  mass: { "kilogram kilo kg": 1, "gram g": 0.001, "milligram mg": 1e-6, "tonne t": 1000, "pound lb": 0.45359237,
    "ounce oz": 0.028349523125, "stone st": 6.35029318 },
  volume: { "litre liter l": 1, "millilitre milliliter ml": 0.001, "centilitre centiliter cl": 0.01, "gallon gal": 3.785411784,
    "quart qt": 0.946352946, "pint pt": 0.473176473, "cup": 0.2365882365, "tablespoon tbsp": 0.01478676478125,
    "teaspoon tsp": 0.00492892159375 },
  time: { "second sec s": 1, "minute min": 60, "hour hr h": 3600, "day d": 86400, "week wk": 604800 },
  speed: { "m/s": 1, "km/h kmh kph": 1 / 3.6, "mph": 0.44704, "knot kn kt": 1852 / 3600 },
  data: { "megabyte mb": 1, "kilobyte kb": 0.001, "gigabyte gb": 1000, "terabyte tb": 1e6 },
  temperature: { "celsius °c c": [1, 0], "fahrenheit °f f": [5 / 9, -160 / 9], "kelvin k": [1, -273.15] },
};

function unitOf(name) {
  const wanted = name.trim().toLowerCase().replace(/^degrees? /, "");
  for (const [kind, units] of Object.entries(UNITS)) {
    for (const [names, factor] of Object.entries(units)) {
      if (names.split(" ").some((known) => known === wanted || `${known}s` === wanted)) return { kind, scale: [factor].flat() };
    }
  }
  throw new Error(`no unit named ${name}`);
}

const tidy = (value) => Number(value.toPrecision(12));

function convertUnits(value, from, to) {
  const [source, target] = [unitOf(from), unitOf(to)];
  if (source.kind !== target.kind) throw new Error(`${from} is a unit of ${source.kind}, and ${to} of ${target.kind}`);
  const result = (value * source.scale[0] + (source.scale[1] ?? 0) - (target.scale[1] ?? 0)) / target.scale[0];
  return Math.abs(result) < 1 ? Number(result.toPrecision(3)) : Math.round(result * 100) / 100;
}

/** Evaluates + - * / ^ %, brackets and sqrt, by recursive descent. */
function evaluate(expression) {
  const tokens = expression.replace(/\*\*/g, "^").replace(/×/g, "*").replace(/÷/g, "/").replace(/[−–]/g, "-")
    .match(/\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+|sqrt|pi|\S/gi) ?? [];
  const take = (...wanted) => (wanted.includes(tokens[0]) ? tokens.shift() : undefined);
  const chain = (next, operators) => () => {
    let value = next();
    for (let name; (name = take(...Object.keys(operators))); ) value = operators[name](value, next());
    return value;
  };
  const atom = () => {
    const token = tokens.shift();
    if (token === "(") {
      const value = sum();
      if (!take(")")) throw new Error("a bracket is not closed");
      return value;
    }
    if (/^sqrt$/i.test(token)) return Math.sqrt(atom());
    if (/^pi$/i.test(token)) return Math.PI;
    if (!/^[\d.]/.test(token ?? "")) throw new Error(`expected a number, found ${token ?? "the end"}`);
    return Number(token.replace(/_/g, ""));
  };
  // A percent sign before a number divides with remainder; after one it is a hundredth.
  const share = () => {
    let value = atom();
    while (tokens[0] === "%" && !/^[\d.(]|^sqrt$/i.test(tokens[1] ?? "")) tokens.shift(), (value /= 100);
    return value;
  };
  const power = () => {
    const base = share();
    return take("^") ? base ** signed() : base;
  };
  const signed = () => (take("-") ? -signed() : take("+") ? signed() : power());
  const product = chain(signed, { "*": (a, b) => a * b, "/": (a, b) => a / b, "%": (a, b) => a % b });
  const sum = chain(product, { "+": (a, b) => a + b, "-": (a, b) => a - b });
  const value = sum();
  if (tokens.length) throw new Error(`expected an operator, found ${tokens[0]}`);
  if (!Number.isFinite(value)) throw new Error("the result is not a finite number");
  return tidy(value);
}

const CITIES = {
  "San Francisco": "America/Los_Angeles", Seattle: "America/Los_Angeles", Washington: "America/New_York",
  Boston: "America/New_York", Miami: "America/New_York", Montreal: "America/Toronto", "Rio de Janeiro": "America/Sao_Paulo",
  Munich: "Europe/Berlin", Hamburg: "Europe/Berlin", Frankfurt: "Europe/Berlin", Geneva: "Europe/Zurich", Milan: "Europe/Rome",
  Barcelona: "Europe/Madrid", Edinburgh: "Europe/London", Kyiv: "Europe/Kiev", Mumbai: "Asia/Calcutta", Delhi: "Asia/Calcutta",
  Kolkata: "Asia/Calcutta", Beijing: "Asia/Shanghai", Osaka: "Asia/Tokyo", Kyoto: "Asia/Tokyo", "Abu Dhabi": "Asia/Dubai",
  Canberra: "Australia/Sydney", "Cape Town": "Africa/Johannesburg",
};

function timeZoneOf(city) {
  const wanted = city.trim().toLowerCase();
  const alias = Object.keys(CITIES).find((name) => name.toLowerCase() === wanted);
  const isNamed = (zone) => zone.split("/").at(-1).replaceAll("_", " ").toLowerCase() === wanted;
  const zone = CITIES[alias] ?? Intl.supportedValuesOf("timeZone").find(isNamed);
  if (!zone) throw new Error(`no city named ${city.trim()}`);
  return zone;
}

const clockTime = (date, options) => new Intl.DateTimeFormat("en-GB", options).format(date);
const SECONDS = { seconds: 1, minutes: 60, hours: 3600 };
const plural = (count, unit) => `${count} ${unit}${count === 1 ? "" : "s"}`;

function timeLeft(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  const parts = [[Math.floor(seconds / 3600), "hour"], [Math.floor(seconds / 60) % 60, "minute"], [seconds % 60, "second"]];
  return parts.filter(([count]) => count).map(([count, unit]) => plural(count, unit)).join(" ") || "0 seconds";
}

const ringing = new Set();
/** Rings when the time of a timer has come, as long as the page is open. */
function watchTimers() {
  const timers = stored("timers", []);
  const isDue = (timer) => timer.rings <= Date.now();
  for (const timer of timers.filter(isDue)) remark(`⏰ ${timer.label || timer.duration}: time is up.`);
  if (timers.some(isDue)) store("timers", timers.filter((timer) => !isDue(timer)));
  for (const { rings } of timers) {
    if (ringing.has(rings) || rings <= Date.now()) continue;
    ringing.add(rings);
    setTimeout(watchTimers, Math.min(rings - Date.now(), 2 ** 31 - 1));
  }
}

/** What each function returns for its arguments. An error becomes a result as well, which the model can report. */
const BUILT_IN = {
  get_time({ city }) {
    const zone = city ? { timeZone: timeZoneOf(city) } : {};
    const now = new Date();
    const time = clockTime(now, { ...zone, hour: "2-digit", minute: "2-digit" });
    const date = clockTime(now, { ...zone, weekday: "long", day: "numeric", month: "long", year: "numeric" });
    return { time, date: date.replace(/^(\p{L}+),? /u, "$1, "), ...(city ? { city } : {}) };
  },
  calculate: ({ expression }) => ({ expression, result: evaluate(String(expression)) }),
  set_timer({ duration, unit, label }) {
    if (!SECONDS[unit]) throw new Error(`no unit named ${unit}`);
    const length = duration * SECONDS[unit] * 1000;
    if (!(0 < length && length <= 31 * 86400000)) throw new Error("the duration must be more than 0 and at most 31 days");
    const rings = Date.now() + length;
    const timer = { label, duration: plural(duration, unit.slice(0, -1)), rings };
    store("timers", [...stored("timers", []), timer]);
    watchTimers();
    const rings_at = clockTime(rings, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    return { ...(label ? { timer: label } : {}), duration: timer.duration, rings_at };
  },
  list_timers() {
    const running = stored("timers", []).filter(({ rings }) => Date.now() < rings).sort((a, b) => a.rings - b.rings);
    return { timers: running.map(({ label, duration, rings }) => ({ timer: label || duration, left: timeLeft(rings - Date.now()) })) };
  },
  convert_units({ value, from_unit, to_unit }) {
    const result = convertUnits(Number(value), String(from_unit), String(to_unit));
    return { value, unit: from_unit, result, result_unit: to_unit };
  },
  add_note({ text }) {
    const notes = [...stored("notes", []), String(text)];
    store("notes", notes);
    return { saved: text, notes: notes.length };
  },
  list_notes: () => ({ notes: stored("notes", []) }),
};

/** JSON in one line with spaces, as `causerie chat` writes results. */
function spacedJson(value) {
  const lines = JSON.stringify(value, null, 1);
  return lines.replace(/([{[])\n */g, "$1").replace(/\n *([}\]])/g, "$1").replace(/\n */g, " ");
}

/** Runs a call; undefined if the page has no such function. */
function runFunction({ name, arguments: given }) {
  if (!Object.hasOwn(BUILT_IN, name)) return undefined;
  try {
    return spacedJson(BUILT_IN[name](JSON.parse(given || "{}")));
  } catch (err) {
    return spacedJson({ error: err.message });
  }
}
