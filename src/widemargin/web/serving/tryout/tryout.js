"use strict";
// Everything that comes from a model or a client is inserted as text, never as HTML.

const at = (id) => document.getElementById(id);
let models = [];
let token = "";

function make(name, text, properties = {}) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  return Object.assign(element, properties);
}

function complain(message) {
  at("problem").textContent = message;
  at("problem").hidden = message === "";
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await fetch(path, { ...options, headers, credentials: "omit" });
  const found = await response.json();
  if (response.status === 401) at("access").hidden = false;
  if (!response.ok) throw new Error(found.error);
  return found;
}

async function begin() {
  try {
    models = (await ask("/models")).models;
  } catch (error) {
    complain(error.message);
    return;
  }
  complain("");
  at("access").hidden = true;
  at("model").replaceChildren(...models.map((model) => make("option", model.name, { value: model.name })));
  at("question").hidden = false;
  choose();
}

const chosen = () => models.find((model) => model.name === at("model").value);
const isText = (model) => model.kind.startsWith("texts") || model.kind === "strings";
const isSentence = (model) => model.kind.startsWith("sentences") && model.columns.length === 1;

function choose() {
  const model = chosen();
  at("about").textContent = `${model.learner} of ${model.kind}`;
  at("what").textContent = isText(model) ? "Text" : isSentence(model) ? "Sentence" : "Example (JSON)";
  const sample = model.sample;
  at("input").value = isText(model) ? sample.text ?? sample
    : isSentence(model) ? sample.word.join(" ") : JSON.stringify(sample, null, 1);
  at("answer").hidden = true;
}

function example(model) {
  const written = at("input").value;
  if (isText(model) || isSentence(model)) return written;
  try {
    return JSON.parse(written);
  } catch (error) {
    throw new Error(`The example is not JSON: ${error.message}`);
  }
}

async function answer(word) {
  const model = chosen();
  at("ask").disabled = true;
  try {
    const options = word ? `&token=${word}` : "";
    const name = encodeURIComponent(model.name);
    const told = await ask(model.explains ? `/explain/${name}?top=20${options}` : `/predict/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(example(model)),
    });
    complain("");
    if (model.explains) show(told);
    else showPlain(told);
  } catch (error) {
    complain(error.message);
    at("answer").hidden = true;
  } finally {
    at("ask").disabled = false;
  }
}

const shown = (number) => (number === null ? "∞" : Number(number.toPrecision(4)).toString());

function show(told) {
  at("answer").hidden = false;
  const word = told.words ? told.words[told.token - 1] : "", prediction = String(told.prediction);
  const named = !word || prediction.startsWith(`${word} (`); // as in most arcs
  at("label").textContent = named ? prediction : `${word}: ${prediction}`;
  const measure = told.voted ? "mean vote" : "score";
  at("score").textContent = told.instead_of === null
    ? "nothing else is possible here"
    : `rather than ${told.instead_of}, ${measure} ${shown(told.score)}`;
  at("digest").textContent = `${told.model}, digest ${told.digest}`;
  at("marked").replaceChildren(...marks(told));
  at("reasons").hidden = false;
  const most = Math.max(1e-300, ...told.reasons.map((reason) => Math.abs(reason.share)));
  at("reasons").tBodies[0].replaceChildren(...told.reasons.map((reason) => row(reason, most)));
}

// Show the prediction of a model that does not explain.
function showPlain(told) {
  at("answer").hidden = false;
  at("label").textContent = "";
  at("score").textContent = "";
  at("digest").textContent = `${told.model}, digest ${told.digest}`;
  const annotated = (told.prediction.sentences ?? []).filter(({ words }) => typeof words[0] === "object");
  at("marked").replaceChildren(...(annotated.length ? annotated.map(sentenceTable)
    : [make("pre", JSON.stringify(told.prediction, null, 1))]));
  at("reasons").hidden = true;
}

// An annotated sentence, with a row for each word.
function sentenceTable({ words }) {
  const columns = Object.keys(words[0]).filter((name) => name !== "start" && name !== "end");
  const head = make("tr"), table = make("table"), frame = make("div", undefined, { className: "wide", tabIndex: 0 });
  head.append(...columns.map((name) => make("th", name, { scope: "col" })));
  table.createTHead().append(head);
  table.createTBody().append(...words.map((word) => {
    const line = make("tr");
    line.append(...columns.map((name) => make("td", word[name] ?? "")));
    return line;
  }));
  frame.append(table);
  return frame;
}

function row(reason, most) {
  const line = make("tr");
  line.append(make("td", reason.feature));
  for (const number of [reason.value, reason.weight, reason.share]) line.append(make("td", shown(number)));
  const bar = make("div", undefined, { className: `bar ${reason.share > 0 ? "pro" : "con"}` });
  bar.style.width = `${(100 * Math.abs(reason.share)) / most}%`;
  bar.title = reason.share > 0 ? "for it" : "against it";
  const cell = make("td");
  cell.append(bar);
  line.append(cell);
  return line;
}

function marks(told) {
  if (told.marks) return pieces(told.marks);
  if (told.words) return told.words.map((word, place) => wordButton(told, word, place));
  if (told.columns) {
    return pieces(Object.entries(told.columns).flatMap(([name, share]) => [[name, share], ["  ", 0]]));
  }
  return [];
}

// Parts for the prediction are blue and underlined, parts against it orange and dashed.
function pieces(found) {
  const most = Math.max(1e-300, ...found.map(([, share]) => Math.abs(share)));
  return found.map(([text, share]) => {
    if (!share) return document.createTextNode(text);
    const word = make("span", text, { className: `word ${share > 0 ? "pro" : "con"}` });
    const colour = share > 0 ? "--for" : "--against";
    word.style.backgroundColor = `rgba(var(${colour}), ${(0.45 * Math.abs(share)) / most})`;
    word.title = `share ${shown(share)}`;
    return word;
  });
}

function wordButton(told, word, place) {
  const button = make("button", word, { type: "button" });
  const tag = told.tags ? told.tags[place] : `${told.heads[place]} ${told.labels[place]}`;
  button.append(make("small", tag));
  button.title = `margin ${shown(told.margins[place])}`;
  button.setAttribute("aria-pressed", String(place + 1 === told.token));
  button.addEventListener("click", () => answer(place + 1));
  return button;
}

at("model").addEventListener("change", choose);
at("ask").addEventListener("click", () => answer());
function enter() {
  token = at("token").value.trim();
  begin();
}

at("enter").addEventListener("click", enter);
at("token").addEventListener("keydown", (event) => {
  if (event.key === "Enter") enter();
});
at("input").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) answer();
});
begin();
