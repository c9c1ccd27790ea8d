// Keys for the whole page; the plane has its own in addition.

import { element } from "./controls.js";

const by = (id) => document.getElementById(id);
const KEYS = [
  ["→  or  .", "one step"],
  ["←  or  ,", "one step back"],
  ["p", "play or pause"],
  ["m  /  Shift+M", "next or previous mistake"],
  ["Home  /  End", "to the start or the end"],
  ["1 ... 8, 0", "place this class; erase"],
  ["+  /  −", "show less or more of the plane"],
  ["Ctrl+Z", "undo"],
  ["t", "light or dark"],
  ["?", "these keys"],
  ["on the plane:", ""],
  ["arrow keys", "move the cursor (Shift: far)"],
  ["Enter", "place a point; pick one up, put it down"],
  ["n  /  Shift+N", "next or previous point"],
  ["Delete", "erase the point at the cursor"],
  ["Escape", "leave the cursor"],
];

export function wireKeys(lab, showDialog) {
  const help = () => showDialog("Keys", [element("table", {}, ...KEYS.map(([keys, words]) =>
    element("tr", {}, element("td", {}, words ? element("kbd", {}, keys) : element("b", {}, keys)), element("td", {}, words))))]);
  by("keys").onclick = help;
  document.addEventListener("keydown", (event) => {
    const target = event.target;
    if (by("dialog").open) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !target.matches("input, textarea")) {
      lab.undo();
      event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Fields and menus handle these keys themselves.
    if (target.matches("input[type=number], input[type=file], textarea, select")) return;
    if (target.matches("input[type=range]") && /^(Arrow|Home|End|Page)/.test(event.key)) return;
    const digit = /^[0-8]$/.test(event.key) ? Number(event.key) : null;
    const acts = {
      ArrowRight: () => lab.player.go(lab.position + 1), ".": () => lab.player.go(lab.position + 1),
      ArrowLeft: () => lab.player.go(lab.position - 1), ",": () => lab.player.go(lab.position - 1),
      Home: () => lab.player.go(0), End: () => lab.player.go(lab.length),
      p: () => lab.player.toggle(), m: () => lab.player.nextMistake(), M: () => lab.player.previousMistake(),
      "+": () => lab.zoom(0.8), "-": () => lab.zoom(1.25), t: () => lab.theme(), "?": help,
    };
    if (acts[event.key]) acts[event.key]();
    else if (digit !== null && digit <= lab.labels.length) lab.choose(digit === 0 ? "erase" : digit - 1);
    else return;
    event.preventDefault();
  });
}
