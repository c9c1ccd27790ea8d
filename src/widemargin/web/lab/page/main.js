// The lab: its state, its reactions to changes, and the drawing loop.

import { ask, Desk } from "./api.js";
import { Card } from "./card.js";
import { valuesOf } from "./controls.js";
import { drawPresets, drawShown, drawTools, showSample, tellVerdict, wireTable } from "./data.js";
import { makeEditable } from "./editing.js";
import { showDialog, svgOf, wireExports } from "./exports.js";
import { frameAround } from "./geometry.js";
import { wireKeys } from "./keys.js";
import { forgetColours } from "./marks.js";
import { Player } from "./player.js";
import { trainingOf } from "./replay.js";
import { fromFragment, snapshot } from "./state.js";

const by = (id) => document.getElementById(id);
/** Settings that determine the order of the examples. */
const ORDER = ["shuffle", "random_state"];
/** Milliseconds without movement after which learners are retrained. */
const REST = 30;
/** Milliseconds that drawing waits for the verdict. */
const PATIENCE = 12;
const UNDONE = 100;

class Lab {
  constructor(setup) {
    this.setup = setup;
    Object.assign(this, { points: [], labels: [-1, 1], learners: [], frame: [-4, 4, -4, 4], position: 0, preset: "", story: "" });
    Object.assign(this, { tool: 1, cursor: null, picked: -1, hovered: -1, version: 0, linked: true, verdict: null, runs: [] });
    this.shown = { regions: true, trail: true, arrows: true, verdict: true, bound: true };
    this.cards = [];
    this.started = false; // whether the first points are there
    this.undone = [];
    this.timings = { frames: [], verdicts: [] };
    this.length = 0;
    this.runs = [];
    this.desk = new Desk({
      verdict: { path: "verdict", then: (told, body, since) => this.#judged(told, body, since) },
      margin: { path: "verdict", then: (told, body) => this.#measured(told, body) },
      learn: { path: "learn", then: (told, body) => this.#learned(told, body) },
    }, (error) => this.fail(error), () => this.fail(new Error("Working. The first use of a learner compiles its loops, which takes some seconds.")));
    this.player = new Player(this);
    this.runId = 0;
  }

  // What is shown

  view() {
    const { points, judged, frame, position, shown, verdict, version, cursor, picked, hovered, labels } = this;
    return { points, judged, frame, p: position, shown, verdict, version, cursor, picked, hovered, labels };
  }

  redraw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame((now) => {
      this.drawing = null;
      const began = performance.now();
      this.player.tick(now);
      const view = this.view();
      for (const card of this.cards) card.draw(view);
      for (const card of this.cards) card.tell(view);
      this.player.show();
      this.#note("frames", performance.now() - began);
    });
  }

  #note(what, value) {
    this.timings[what].push(value);
    if (this.timings[what].length > 2000) this.timings[what].splice(0, 1000);
  }

  say(words) { by("announce").textContent = words; }
  sayStep() {
    requestAnimationFrame(() => this.say(this.cards.map((card) => card.words).join(" ")));
  }
  fail(error) { by("status").textContent = error.message; }

  // Points

  remember() {
    const { labels, frame, preset, story } = this;
    this.undone.push({ points: this.points.map((point) => [...point]), labels, frame, preset, story });
    if (this.undone.length > UNDONE) this.undone.shift();
  }
  undo() {
    const before = this.undone.pop();
    if (!before) return;
    const { points, labels, frame, preset, story } = before;
    if (story !== this.story) Object.assign(this, { frame, preset, story }); // other points, elsewhere
    Object.assign(this, { points, labels });
    if (this.tool >= labels.length) this.tool = labels.length - 1;
    [this.cursor, this.picked, this.hovered, this.visited] = [null, -1, -1, undefined];
    this.#showSource();
    this.changed();
  }

  /** Show which points these are, and the classes to place. */
  #showSource() {
    by("about").textContent = this.story;
    for (const button of by("presets").children) button.setAttribute("aria-pressed", String(button.dataset.preset === this.preset));
    drawTools(this);
  }
  place([x, y]) {
    if (this.points.length >= this.setup.limits.points) {
      this.fail(new Error(`The lab takes at most ${this.setup.limits.points} points.`));
      return -1;
    }
    const code = this.tool === "erase" ? 0 : this.tool;
    this.points.push([x, y, code]);
    this.say(`placed class ${this.labels[code]} at ${x}, ${y}`);
    this.changed();
    return this.points.length - 1;
  }
  move(i, [x, y], dragging = false) {
    this.points[i] = [x, y, this.points[i][2]];
    this.changed(dragging);
  }
  erase(i) {
    this.remember();
    this.points.splice(i, 1);
    this.picked = -1;
    this.changed();
  }
  clear() { this.remember(); this.points = []; this.changed(); }
  settle() { this.#learnSoon(0); }
  hover(i) { if (i !== this.hovered) { this.hovered = i; this.redraw(); } }
  choose(tool) { this.tool = tool; drawTools(this); }
  addClass() {
    const last = this.labels.at(-1);
    this.labels = [...this.labels, typeof last === "number" ? last + 1 : `${last}+`];
    this.choose(this.labels.length - 1);
  }

  /** Points have changed: request the verdict at once, and training when they stop moving. */
  changed(dragging = false) {
    this.version++;
    this.#ask();
    this.#learnSoon(dragging ? REST : 0);
    // The verdict usually arrives before the next frame is due: both are then drawn together, and
    // drawing does not delay the verdict.
    clearTimeout(this.drawSoon);
    this.drawSoon = setTimeout(() => this.redraw(), PATIENCE);
  }

  #ask() {
    const first = this.learners[0], values = first && valuesOf(this.learnerOf(first.learner), first.settings);
    const bias = values?.fit_intercept ?? true;
    this.desk.drop("margin");
    this.desk.want("verdict", { points: [...this.points], classes: this.labels, bias, margin: false });
  }

  /** Handle a verdict; its margin is measured next, and the last margin stays drawn until then. */
  #judged({ verdict }, body, since) {
    if (verdict?.verdict !== this.verdict?.verdict || verdict?.verdict !== "separable") this.#show(verdict, body.points);
    this.#note("verdicts", performance.now() - since);
    this.redraw();
    if (verdict && (verdict.parts || verdict.verdict !== "not separable")) {
      this.desk.want("margin", { ...body, margin: true });
    }
  }

  #measured({ verdict }, { points }) { this.#show(verdict, points); }

  #show(verdict, points) {
    [this.verdict, this.judged] = [verdict, points];
    tellVerdict(verdict, this.labels);
    this.redraw();
  }

  // Learners

  learnerOf(name) { return this.setup.learners.find((one) => one.name === name); }

  question() {
    const { points, labels: classes, learners, frame } = this;
    return { points, classes, learners, frame };
  }

  #learnSoon(wait) {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => {
      this.soon = null;
      this.desk.want("learn", structuredClone(this.question()));
    }, wait);
  }

  #learned({ runs }, asked) {
    const atEnd = this.position >= this.length && this.length > 0;
    this.runs = runs;
    this.cards.forEach((card, i) => {
      const run = runs[i];
      if (run) run.id = ++this.runId;
      card.adopt(trainingOf(run, asked.points), run?.error);
    });
    this.length = Math.max(0, ...this.cards.map((card) => card.training?.length ?? 0));
    if (this.wanted !== undefined) this.position = this.wanted === "end" ? this.length : this.wanted;
    else if (atEnd) this.position = this.length;
    this.wanted = undefined;
    this.position = Math.min(this.position, this.length);
    by("status").textContent = "";
    this.redraw();
  }

  /** Show as many cards as there are learners. */
  #configure() {
    while (this.cards.length > this.learners.length) this.cards.pop().root.remove();
    while (this.cards.length < this.learners.length) {
      const card = new Card(this.cards.length, this.setup, {
        learner: (i, name) => this.setLearner(i, name),
        setting: (i, name, value, sliding) => this.set(i, name, value, sliding),
        second: (i) => this.second(i),
      });
      by("cards").append(card.root);
      makeEditable(card, this);
      card.canvas.setAttribute("aria-label", "The plane. Arrow keys move a cursor, Enter places or picks up a point, Delete erases, n goes to the next point.");
      this.cards.push(card);
    }
    by("cards").dataset.count = this.learners.length;
    this.learners.forEach(({ learner, settings }, i) => {
      const kind = this.learnerOf(learner);
      this.cards[i].configure(kind, valuesOf(kind, settings), this.learners.length);
    });
  }

  setLearner(i, name) {
    const known = new Set(this.learnerOf(name).fields.map((field) => field.name));
    const kept = Object.entries(this.learners[i].settings ?? {}).filter(([key]) => known.has(key) && key !== "C" && key !== "rule");
    this.learners[i] = { learner: name, settings: Object.fromEntries(kept) };
    this.#configure();
    this.#ask();
    this.#learnSoon(0);
  }

  set(i, name, value, sliding = false) {
    const both = this.linked && ORDER.includes(name) ? this.learners.keys() : [i];
    for (const j of both) {
      const fields = this.learnerOf(this.learners[j].learner).fields;
      if (fields.some((field) => field.name === name)) {
        this.learners[j].settings = { ...this.learners[j].settings, [name]: value };
      }
    }
    if (!sliding) this.#configure();
    if (name === "fit_intercept") this.#ask();
    this.#learnSoon(0);
  }

  /** Compare with a second learner, or remove one of the two. */
  second(i) {
    if (this.learners.length === 2) this.learners.splice(i, 1);
    else this.learners.push(structuredClone(this.learners[0]));
    this.linked = true;
    this.#configure();
    this.#learnSoon(0);
  }

  // Whole states

  load(preset) {
    this.learners = structuredClone(preset.learners);
    this.adoptPoints(structuredClone(preset.points), preset.classes, { preset: preset.name, story: `${preset.title}. ${preset.about}`, frame: preset.frame });
    this.wanted = preset.name === "six" ? 0 : "end";
  }

  adoptPoints(points, labels, { preset, story, frame }) {
    if (!this.learners.length) this.learners = [{ learner: "perceptron", settings: {} }];
    this.restore({ points, classes: [...labels], learners: this.learners, frame: frame ?? frameAround(points), position: "end", preset, story });
  }

  restore(state) {
    for (const one of state.learners) if (!this.learnerOf(one.learner)) throw new Error(`there is no learner ${one.learner}`);
    this.player.pause();
    if (this.cards.length) this.remember(); // not the empty page before the first points
    const { points, classes, learners, frame, position, linked, preset, story, shown, speed } = state;
    Object.assign(this, { points, labels: classes, learners, frame, preset: preset ?? "", story: story ?? "" });
    const order = (one) => ORDER.map((name) => one.settings?.[name]).join();
    this.linked = linked ?? (learners.length < 2 || order(learners[0]) === order(learners[1]));
    this.wanted = position;
    this.tool = Math.min(1, classes.length - 1);
    [this.cursor, this.picked, this.hovered, this.visited] = [null, -1, -1, undefined];
    for (const name of Object.keys(this.shown)) this.shown[name] = shown?.[name] ?? this.shown[name];
    if (speed) this.player.setSpeed(speed);
    drawShown(this);
    this.#configure();
    this.#showSource();
    this.changed();
  }

  zoom(factor) {
    const [l, r, b, t] = this.frame, [x, y, half] = [(l + r) / 2, (b + t) / 2, (r - l) / 2 * factor];
    if (half < 1e-6 || half > 1e8) return;
    this.frame = [x - half, x + half, y - half, y + half];
    this.redraw();
    if (this.cards.some((card) => card.training && !card.training.linear)) this.#learnSoon(REST);
  }

  theme() {
    const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = root.dataset.theme ?? (dark ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    this.repaint();
  }

  repaint() {
    forgetColours();
    drawPresets(this);
    drawTools(this);
    this.redraw();
  }

  /** What the page shows, for tests and the curious. */
  state() {
    const p = this.position;
    return {
      ...snapshot(this), length: this.length, playing: this.player.playing,
      idle: this.started && this.desk.idle && !this.soon && !this.drawing && this.wanted === undefined,
      verdict: this.verdict,
      shown: this.cards.map(({ training, words, told }) => training && {
        learner: training.run.learner, words, figures: told,
        hypothesis: training.at(p), example: training.example?.(p) ?? null,
        mistake: training.isMistake?.(p) ?? null, mistakes: training.mistakesAt(p),
        w: training.linear ? training.hypothesis(training.at(p)).map((w) => [...w]) : null,
        weights: training.weights(p)?.map((w) => [...w]) ?? null,
        scores: training.pointScores(p) ? [...training.pointScores(p)] : null,
        right: training.rightAt(p),
      }),
    };
  }
}

async function start() {
  const lab = new Lab(await ask("setup"));
  window.lab = lab;
  lab.svg = () => svgOf(lab);
  drawPresets(lab);
  drawShown(lab);
  wireTable(lab);
  wireExports(lab);
  wireKeys(lab, showDialog);
  by("undo").onclick = () => lab.undo();
  by("clear").onclick = () => lab.clear();
  by("zoom-in").onclick = () => lab.zoom(0.8);
  by("zoom-out").onclick = () => lab.zoom(1.25);
  by("theme").onclick = () => lab.theme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => lab.repaint());
  new ResizeObserver(() => lab.redraw()).observe(by("cards"));
  const open = () => {
    try {
      lab.restore(fromFragment(location.hash.slice(1)));
      return true;
    } catch {
      lab.fail(new Error("The link cannot be read; it may have been cut short."));
      return false;
    }
  };
  window.addEventListener("hashchange", () => { if (location.hash.length > 1) open(); });
  const linked = location.hash.length > 1 && open();
  if (!linked && lab.setup.table) await showSample(lab);
  if (!linked && !lab.points.length) lab.load(lab.setup.presets[0]);
  lab.started = true;
}

start().catch((error) => { by("status").textContent = error.message; });
