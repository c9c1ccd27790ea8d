// The settings of a learner, built from the server's description.

import { figure } from "./marks.js";

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** The values of all settings: the chosen ones, and the defaults of the others. */
export function valuesOf(learner, chosen) {
  return Object.fromEntries(learner.fields.map((field) => [field.name, chosen?.[field.name] ?? field.default]));
}

/** Fields for all settings that have an effect; `changed(name, value, sliding)` is called on changes. */
export function makeFields(learner, values, changed) {
  const fields = learner.fields.filter(({ needs, name }) =>
    (!needs || values[needs[0]] === needs[1]) && !(name === "C" && values.rule === "pa"));
  return fields.map((field) => {
    if (field.choices.length) return choice(field, values[field.name], changed);
    return field.scale === "log" ? slider(field, values[field.name], changed) : number(field, values[field.name], changed);
  });
}

function choice(field, value, changed) {
  const list = element("select", { onchange: () => changed(field.name, field.choices[list.selectedIndex][0]) },
    ...field.choices.map(([, words]) => element("option", {}, words)));
  list.selectedIndex = field.choices.findIndex(([known]) => known === value);
  list.dataset.field = field.name;
  return element("label", { class: "field" }, field.title, list);
}

function number(field, value, changed) {
  const input = element("input", {
    type: "number", min: field.low, max: field.high, step: field.scale === "whole" ? 1 : "any", value,
    onchange: () => {
      const given = input.value === "" ? field.default : Number(input.value);
      const clean = Math.min(field.high, Math.max(field.low, field.scale === "whole" ? Math.round(given) : given));
      input.value = clean;
      changed(field.name, clean);
    },
  });
  input.dataset.field = field.name;
  return element("label", { class: "field" }, field.title, input);
}

/** A logarithmic slider, in steps of a twentieth of a power of ten. */
function slider(field, value, changed) {
  const shown = element("span", { class: "value" }, figure(value, 3));
  const input = element("input", {
    type: "range", min: Math.log10(field.low), max: Math.log10(field.high), step: 0.05, value: Math.log10(value),
    oninput: () => {
      const now = +(10 ** Number(input.value)).toPrecision(3);
      shown.textContent = figure(now, 3);
      input.setAttribute("aria-valuetext", shown.textContent);
      changed(field.name, now, true);
    },
  });
  input.dataset.field = field.name;
  input.setAttribute("aria-valuetext", figure(value, 3));
  const words = element("span", {}, `${field.title} = `);
  words.append(shown);
  return element("label", { class: "field" }, words, input);
}
