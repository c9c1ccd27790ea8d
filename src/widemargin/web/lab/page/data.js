// The panel of points: presets, the user's own table, tools, and the verdict.

import { ask } from "./api.js";
import { element } from "./controls.js";
import { frameAround } from "./geometry.js";
import { colours, drawMarker, figure } from "./marks.js";

const by = (id) => document.getElementById(id);
const SHOWN = [["regions", "regions"], ["trail", "earlier hypotheses"], ["arrows", "weights as arrows"], ["verdict", "verdict"], ["bound", "R and γ"]];

/** Small pictures of the presets, to choose one. */
export function drawPresets(lab) {
  by("presets").replaceChildren(...lab.setup.presets.map((preset) => {
    const canvas = element("canvas", { width: 144, height: 144 }), ctx = canvas.getContext("2d");
    const [l, r, b, t] = frameAround(preset.points), c = colours();
    ctx.fillStyle = c.paper;
    ctx.fillRect(0, 0, 144, 144);
    const size = preset.points.length > 20 ? 4.2 : 8;
    for (const [x, y, code] of preset.points) {
      drawMarker(ctx, code, (x - l) / (r - l) * 144, (t - y) / (t - b) * 144, size, c.classes[code]);
    }
    return element("button", {
      title: preset.title, "aria-label": preset.title, "aria-pressed": String(lab.preset === preset.name),
      "data-preset": preset.name, onclick: () => lab.load(preset),
    }, canvas);
  }));
}

/** The classes to place, and the eraser. */
export function drawTools(lab) {
  const buttons = lab.labels.map((label, code) => {
    const canvas = element("canvas", { width: 36, height: 36 });
    drawMarker(canvas.getContext("2d"), code, 18, 18, 11, colours().classes[code % 8]);
    return tool(lab, code, [canvas, element("span", {}, String(label))], `class ${label} (key ${code + 1})`);
  });
  buttons.push(tool(lab, "erase", ["Erase"], "Erase points (key 0)"));
  if (lab.labels.length < 8) {
    buttons.push(element("button", { title: "One more class", onclick: () => lab.addClass() }, "+ class"));
  }
  by("tools").replaceChildren(...buttons);
}

function tool(lab, name, content, title) {
  return element("button", {
    role: "radio", "aria-checked": String(lab.tool === name), title, onclick: () => lab.choose(name),
  }, ...content);
}

export function drawShown(lab) {
  by("shown").replaceChildren(...SHOWN.map(([name, words]) => {
    const box = element("input", { type: "checkbox", checked: lab.shown[name], onchange: () => { lab.shown[name] = box.checked; lab.redraw(); } });
    return element("label", {}, box, words);
  }));
}

/** Wire the choice of two columns of the user's table, or a projection. */
export function wireTable(lab) {
  const { table } = lab.setup;
  by("table").hidden = !table;
  if (!table) return;
  by("source").textContent = `${table.source} (${table.rows} rows)`;
  const choices = table.names.map((name, j) => [name, j]);
  if (table.names.length > 2) choices.unshift(["projection", ""]);
  for (const [id, place] of [["column-x", 0], ["column-y", 1]]) {
    by(id).replaceChildren(...choices.map(([name, j]) => new Option(name, j)));
    by(id).value = table.names.length > 2 ? "" : String(place);
  }
  // A projection always applies to both axes.
  by("column-x").onchange = () => {
    if ((by("column-x").value === "") !== (by("column-y").value === "")) {
      by("column-y").value = by("column-x").value === "" ? "" : by("column-x").value === "1" ? "0" : "1";
    }
  };
  by("column-y").onchange = () => {
    if ((by("column-x").value === "") !== (by("column-y").value === "")) {
      by("column-x").value = by("column-y").value === "" ? "" : by("column-y").value === "0" ? "1" : "0";
    }
  };
  by("show-sample").onclick = () => showSample(lab);
}

export async function showSample(lab) {
  const [x, y] = [by("column-x").value, by("column-y").value];
  const columns = x === "" ? null : [Number(x), Number(y)];
  try {
    const told = await ask("sample", { columns, standardised: by("standardised").checked });
    lab.adoptPoints(told.points, told.classes, { story: told.story, preset: "" });
  } catch (error) { lab.fail(error); }
}

/** Show the verdict of `certify` in words. */
export function tellVerdict(verdict, labels) {
  const badge = by("verdict"), more = by("verdict-more");
  if (!verdict) {
    badge.textContent = "nothing to separate yet";
    badge.dataset.is = "";
    more.replaceChildren();
    return;
  }
  badge.textContent = verdict.verdict;
  badge.dataset.is = verdict.verdict;
  const lines = (verdict.parts ?? [verdict]).flatMap((one) => {
    const between = verdict.parts ? `${one.classes.map((code) => labels[code]).join(" and ")}: ` : "";
    return wordsOf(one, verdict.parts !== undefined).map((words, i) => i ? words : between + words);
  });
  more.replaceChildren(...lines.map((words) => element("p", {}, words)));
}

const several = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function wordsOf(one, short) {
  if (one.verdict === "separable") {
    const found = [one.margin ? `margin ${figure(one.margin[0], 5)}` : "separable"];
    if (!short) {
      if (one.constant && one.extended) found.push(`extended margin γ = ${figure(one.extended[0])}, R = ${figure(one.R)}`);
      if (one.bound !== null) found.push(`a perceptron${one.constant ? "" : " without bias"} makes at most ${several(Math.floor(one.bound), "mistake")}`);
      const held = one.support.length;
      found.push(`${several(held, "point")} determine${held === 1 ? "s" : ""} the margin`);
    }
    return found;
  }
  if (one.verdict === "not separable") {
    const told = one.examples.map((i, e) => `${i + 1} (${one.fractions[e].length < 12 ? one.fractions[e] : figure(one.shares[e], 3)})`);
    const proof = one.constant ? "the hulls of the classes meet" : "with one class negated, the hull contains the origin";
    return short ? ["not separable"] : [`${proof}: points ${told.join(", ")}`, `found by: ${one.found_by}`];
  }
  return ["undecided within the time allowed"];
}
