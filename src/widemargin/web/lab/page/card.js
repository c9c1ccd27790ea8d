// One learner on the page: its choice and settings, plane, caption, figures and charts.

import { drawEpochs, drawGap, drawInequality, drawMistakes, drawVotes } from "./charts.js";
import { element, makeFields } from "./controls.js";
import { Plane } from "./plane.js";
import { caption, facts, notices, withoutRun } from "./story.js";

/** The largest number of dots in a chart; more mistakes are thinned out for drawing. */
const DOTS = 400;

export class Card {
  constructor(number, setup, heard) {
    Object.assign(this, { number, setup, heard });
    this.select = element("select", { "aria-label": "Learner", onchange: () => heard.learner(this.number, this.select.value) },
      ...setup.learners.map(({ name, title }) => element("option", { value: name }, title)));
    this.about = element("p", { class: "about" });
    this.other = element("button", { onclick: () => heard.second(this.number) });
    this.canvas = element("canvas", { class: "plane", tabindex: 0, role: "application" });
    this.caption = element("p", { class: "caption" });
    this.fields = element("div", { class: "fields" });
    this.settings = element("details", { class: "settings", open: window.innerWidth > 820 }, element("summary", {}, "Settings"), this.fields);
    this.notices = element("div");
    this.numbers = element("dl", { class: "numbers" });
    this.charts = element("div", { class: "charts" });
    this.root = element("section", { class: "card", "aria-label": `Learner ${number + 1}` },
      element("div", { class: "head" }, this.select, this.about, this.other),
      element("div", { class: "stage" }, this.canvas, this.caption, this.notices, this.numbers),
      element("div", { class: "side" }, this.settings, this.charts));
    this.plane = new Plane(this.canvas);
    this.figures = {};
  }

  /** Show another learner, or other settings. */
  configure(learner, values, count) {
    this.select.value = learner.name;
    this.about.textContent = learner.about;
    this.other.textContent = count === 1 ? "Compare with another" : "Remove";
    const held = this.fields.contains(document.activeElement) ? document.activeElement.dataset.field : null;
    this.fields.replaceChildren(...makeFields(learner, values, (name, value, sliding) => this.heard.setting(this.number, name, value, sliding)));
    if (held) this.fields.querySelector(`[data-field="${held}"]`)?.focus();
  }

  /** Show a new run, or the reason why there is none. */
  adopt(training, error) {
    this.training = training;
    this.failed = Boolean(error);
    const told = error ? [[error, ""]] : notices(training);
    this.notices.replaceChildren(...told.map(([words, kind]) => element("p", { class: `notice ${kind}` }, words)));
    this.charts.replaceChildren();
    this.figures = {};
    if (!training) return;
    const { run } = training;
    if (run.known && !run.known.no_bound && run.known.bound !== null) this.#chart("bound", "Mistakes, and the most there can be", "wide");
    if (run.known?.progress) {
      const step = Math.max(1, Math.ceil(run.known.progress.length / DOTS));
      this.progress = run.known.progress.filter((_, k, all) => k % step === 0 || k === all.length - 1);
      this.#chart("along", "w·w* (solid) stays above k γ (dashed)");
      this.#chart("square", "|w|² (solid) stays below k R² (dashed)");
    }
    if (run.order) this.#chart("votes", "");
    if (run.epochs?.length > 1) this.#chart("epochs", "Mistakes in each epoch");
    if (run.passes?.length > 1) this.#chart("gap", "Objective (upper) and the bound on it (lower), pass by pass", "wide");
  }

  #chart(name, words, kind = "") {
    const canvas = element("canvas", { role: "img", "aria-label": words });
    if (name === "bound") canvas.style.height = "50px";
    const title = element("figcaption", {}, words);
    this.charts.append(element("figure", { class: `chart ${kind}` }, title, canvas));
    this.figures[name] = { canvas, title };
  }

  /** Draw the state after p steps. */
  draw(view) {
    this.plane.resize();
    this.plane.draw({ ...view, training: this.training });
    this.#drawCharts(view);
  }

  /** Describe the state in words; called after all drawing, because words change the sizes it reads. */
  tell({ p, labels, points }) {
    const { training } = this;
    const parts = training ? caption(training, p, labels) : [withoutRun(points, this.failed)];
    const words = parts.map((part) => part.words ?? part).join("");
    if (words !== this.words) {
      this.words = words;
      this.caption.replaceChildren(...parts.map((part) => typeof part === "string" ? part : element("b", { class: part.kind }, part.words)));
    }
    const title = this.figures.votes?.title;
    if (title && title.textContent !== this.votes) title.textContent = this.votes;
    const rows = facts(training, p, labels), told = JSON.stringify(rows);
    if (told !== this.told) {
      this.told = told;
      this.numbers.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
    }
  }

  #drawCharts({ p, labels, hovered }) {
    const { training, figures } = this;
    if (!training) return;
    const made = training.mistakesAt(p), { known } = training.run;
    if (figures.bound) drawMistakes(figures.bound.canvas, made, training.mistakes.length, known.bound, training.two ? "(R/γ)²" : "2 (R/γ)²");
    if (figures.along) {
      const all = known.progress.length, now = Math.round(made * this.progress.length / all);
      drawInequality(figures.along.canvas, this.progress, 0, now);
      drawInequality(figures.square.canvas, this.progress, 1, now);
    }
    if (figures.votes) {
      const i = hovered >= 0 && hovered < training.points.length ? hovered : Math.max(0, training.example(p));
      const shares = drawVotes(figures.votes.canvas, training, p, i, labels);
      this.votes = `Votes on example ${i + 1}, early to late. ${shares}`;
    }
    if (figures.epochs) drawEpochs(figures.epochs.canvas, training.run.epochs, p ? training.epoch(p) : 0);
    if (figures.gap) drawGap(figures.gap.canvas, training.run.passes, p);
  }
}
