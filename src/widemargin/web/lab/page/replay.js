// A training run as sent by the library, and its state after each step.
// The weights, their sums, the orders and the mistakes are given; here they are only looked up.

import { unpack } from "./api.js";
import { gridPlaces } from "./geometry.js";

/** The numbers of points per side of grids. */
const SIDES = [201, 141, 101, 71, 41];

/** The number of entries of an ascending list that are at most a value. */
function upTo(list, value, from = 0) {
  let low = from, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1; else high = middle;
  }
  return low - from;
}

/** Base of all runs. A position p is the number of steps taken. */
class Training {
  constructor(run, points) {
    this.run = run;
    this.points = points;
    this.classes = run.classes;
    this.two = run.classes.length === 2;
    this.vectors = this.two ? 1 : run.classes.length;
  }

  /** The predicted class: by the sign of one score, or the largest of several. */
  best(scores) {
    if (this.two) return this.classes[scores[0] >= 0 ? 1 : 0];
    let best = 0;
    for (let v = 1; v < scores.length; v++) if (scores[v] > scores[best]) best = v;
    return this.classes[best];
  }

  /** The number of points classified correctly after p steps; null if unknown. */
  rightAt(p) {
    const scores = this.pointScores(p);
    if (!scores) return null;
    const n = this.points.length, own = new Float64Array(this.vectors);
    let right = 0;
    for (let i = 0; i < n; i++) {
      for (let v = 0; v < this.vectors; v++) own[v] = scores[v * n + i];
      right += this.best(own) === this.points[i][2];
    }
    return right;
  }

  /** The scores of all points by the weights that predict. */
  pointScores(p) {
    const weights = this.weights(p), n = this.points.length;
    if (!weights) return null;
    const found = new Float64Array(n * this.vectors);
    weights.forEach((w, v) => this.points.forEach(([x, y], i) => { found[v * n + i] = w[0] * x + w[1] * y + w[2]; }));
    return found;
  }

  get mistakes() { return []; }
  mistakesAt() { return 0; }
}

/** A run that takes one example after the other. */
class Steps extends Training {
  constructor(run, points) {
    super(run, points);
    this.length = run.order.length;
    this.born = run.born;
    this.keep = run.keep;
    this.count = points.length;
    this.voted = { k: -1 };
  }

  get mistakes() { return this.run.mistakes; }
  get hypotheses() { return this.born.length; }

  /** The hypothesis after p steps. */
  at(p) { return upTo(this.born, Math.min(p, this.length), 1); }
  mistakesAt(p) { return upTo(this.run.mistakes, p - 1); }
  isMistake(p) {
    const m = this.mistakesAt(p);
    return m > 0 && this.run.mistakes[m - 1] === p - 1;
  }
  example(p) { return p > 0 ? this.run.order[Math.min(p, this.length) - 1] : -1; }
  epoch(p) { return Math.max(1, Math.ceil(Math.min(p, this.length) / this.count)); }

  /** The corrections that made hypothesis k: [{row, label, amount}]. */
  corrections(k) {
    if (k < 1) return [];
    const { ends, rows, labels, amounts } = this.run, found = [];
    for (let e = k > 1 ? ends[k - 2] : 0; e < ends[k - 1]; e++) {
      found.push({ row: rows[e], label: labels[e], amount: amounts[e] });
    }
    return found;
  }

  /** For how many examples hypothesis j has been current after p steps. */
  lasted(j, p) {
    const k = this.at(p);
    return (j < k ? this.born[j + 1] : Math.min(p, this.length) + 1) - this.born[j];
  }

  /** The votes of hypotheses 0 ... k - 1 at some positions, cached while k grows. */
  votesBefore(k, places, key) {
    const size = places.length / 2, kept = this.voted;
    if (kept.key !== key || kept.k > k || kept.k < 0) {
      this.voted = { key, k: 0, votes: new Float64Array(size * this.vectors), walk: this.walk(places) };
    }
    const now = this.voted;
    for (; now.k < k; now.k++) {
      const lasted = this.born[now.k + 1] - this.born[now.k];
      if (this.linear && this.two) this.#lineVotes(now.votes, now.k, lasted, places);
      else addVotes(now.votes, now.walk(now.k), lasted, size, this.vectors);
    }
    return now;
  }

  /** The votes of one line: as `addVotes`, in one loop, because there may be thousands of lines. */
  #lineVotes(votes, k, lasted, places) {
    const a = this.W[3 * k], b = this.W[3 * k + 1], c = this.W[3 * k + 2];
    for (let g = 0; g < votes.length; g++) {
      votes[g] += a * places[2 * g] + b * places[2 * g + 1] + c >= 0 ? lasted : -lasted;
    }
  }

  votes(p, places, key) {
    const k = this.at(p), size = places.length / 2;
    const now = this.votesBefore(k, places, key);
    const found = now.votes.slice();
    addVotes(found, now.walk(k), this.lasted(k, p), size, this.vectors);
    const total = Math.min(p, this.length) + 1;
    for (let i = 0; i < found.length; i++) found[i] /= total;
    return found;
  }
}

function addVotes(votes, scores, lasted, size, vectors) {
  if (vectors === 1) {
    for (let g = 0; g < size; g++) votes[g] += scores[g] >= 0 ? lasted : -lasted;
    return;
  }
  for (let g = 0; g < size; g++) {
    let best = 0;
    for (let v = 1; v < vectors; v++) if (scores[v * size + g] > scores[best * size + g]) best = v;
    votes[best * size + g] += lasted;
  }
}

/** A linear learner: each hypothesis is one vector (w1, w2, b), or one per class. */
export class LinearSteps extends Steps {
  constructor(run, points) {
    super(run, points);
    this.linear = true;
    this.W = unpack(run.weights).values;
    this.S = unpack(run.sums).values;
  }

  hypothesis(k) {
    const found = [], width = 3 * this.vectors;
    for (let v = 0; v < this.vectors; v++) found.push(this.W.subarray(k * width + 3 * v, k * width + 3 * v + 3));
    return found;
  }

  average(p) {
    const k = this.at(p), lasted = this.lasted(k, p), total = Math.min(p, this.length) + 1;
    const width = 3 * this.vectors, found = [];
    for (let v = 0; v < this.vectors; v++) {
      const one = new Float64Array(3);
      for (let j = 0; j < 3; j++) {
        const at = k * width + 3 * v + j;
        one[j] = (this.S[at] + lasted * this.W[at]) / total;
      }
      found.push(one);
    }
    return found;
  }

  /** The weights that predict after p steps; null if it is a vote. */
  weights(p) {
    if (this.keep === "vote") return null;
    return this.keep === "average" ? this.average(p) : this.hypothesis(this.at(p));
  }

  scoresOf(k, [x, y]) { return this.hypothesis(k).map((w) => w[0] * x + w[1] * y + w[2]); }
  scoresOfPoint(k, i) { return this.scoresOf(k, this.points[i]); }

  walk(places) {
    const size = places.length / 2, out = new Float64Array(size * this.vectors);
    return (k) => {
      this.hypothesis(k).forEach((w, v) => {
        for (let g = 0; g < size; g++) out[v * size + g] = w[0] * places[2 * g] + w[1] * places[2 * g + 1] + w[2];
      });
      return out;
    };
  }

  /** The votes on a grid, which is finer if there are fewer hypotheses: at most two million votes. */
  field(p, frame) {
    if (this.keep !== "vote") return null;
    const side = SIDES.find((one) => one * one * (this.at(p) + 1) * this.vectors <= 2e6) ?? SIDES.at(-1);
    const key = [...frame, side].join();
    if (this.placesKey !== key) [this.placesKey, this.places] = [key, gridPlaces(frame, side)];
    return { frame, side, values: this.votes(p, this.places, key), vectors: this.vectors };
  }
}

/** A kernel perceptron: scores are sums of the corrections times kernel values. */
export class KernelSteps extends Steps {
  constructor(run, points) {
    super(run, points);
    this.K = unpack(run.on_points).values;
    this.G = unpack(run.on_grid).values;
    this.size = run.grid * run.grid;
    this.place = new Map(run.support.map((row, s) => [row, s]));
  }

  /** The coefficients of the support after p steps: of the last hypothesis, or averaged. */
  coefficients(p) {
    const k = this.at(p), { ends, rows, labels, amounts } = this.run;
    const until = k ? ends[k - 1] : 0, total = Math.min(p, this.length) + 1;
    const found = new Float64Array(this.run.support.length * this.vectors);
    for (let e = 0, j = 1; e < until; e++) {
      while (e >= ends[j - 1]) j++;
      const weight = this.keep === "average" ? (total - this.born[j]) / total : 1;
      found[this.place.get(rows[e]) * this.vectors + labels[e]] += weight * amounts[e];
    }
    return found;
  }

  #combine(coefficients, values, size) {
    const out = new Float64Array(size * this.vectors), support = this.run.support.length;
    for (let s = 0; s < support; s++) for (let v = 0; v < this.vectors; v++) {
      const a = coefficients[s * this.vectors + v];
      if (a === 0) continue;
      for (let g = 0, at = s * size, to = v * size; g < size; g++) out[to + g] += a * values[at + g];
    }
    return out;
  }

  /** A function that returns the scores of hypotheses 0, 1, 2, ... on the grid. */
  walk() {
    const out = new Float64Array(this.size * this.vectors);
    let now = 0;
    return (k) => {
      if (k < now) { out.fill(0); now = 0; }
      while (now < k) {
        for (const { row, label, amount } of this.corrections(++now)) {
          const from = this.place.get(row) * this.size, to = label * this.size;
          for (let g = 0; g < this.size; g++) out[to + g] += amount * this.G[from + g];
        }
      }
      return out;
    };
  }

  field(p) {
    const { frame, grid: side } = this.run;
    let values;
    if (this.keep === "vote") values = this.votes(p, { length: 2 * this.size }, "grid");
    else values = this.#combine(this.coefficients(p), this.G, this.size);
    return { frame, side, values, vectors: this.vectors };
  }

  /** The scores of hypothesis k on example i. */
  scoresOfPoint(k, i) {
    const found = new Array(this.vectors).fill(0), n = this.points.length;
    const { ends, rows, labels, amounts } = this.run;
    for (let e = 0; e < (k ? ends[k - 1] : 0); e++) {
      found[labels[e]] += amounts[e] * this.K[this.place.get(rows[e]) * n + i];
    }
    return found;
  }

  weights() { return null; }
  pointScores(p) {
    return this.keep === "vote" ? null : this.#combine(this.coefficients(p), this.K, this.points.length);
  }
}

/** A linear SVM, after some of its passes. */
export class Passes extends Training {
  constructor(run, points) {
    super(run, points);
    this.linear = true;
    this.length = run.passes.length;
    this.solved = true;
  }
  pass(p) { return p > 0 ? this.run.passes[Math.min(p, this.length) - 1] : null; }
  weights(p) {
    return this.pass(p)?.weights ?? Array.from({ length: this.vectors }, () => [0, 0, 0]);
  }
  hypothesis(k) { return this.weights(k); }
  at(p) { return Math.min(p, this.length); }
  support(p) { return this.pass(p)?.support ?? []; }
  field() { return null; }
}

/** A kernel SVM: one solution. */
export class Solved extends Training {
  constructor(run, points) {
    super(run, points);
    this.length = 0;
    this.solved = true;
    this.G = unpack(run.on_grid).values;
    this.K = unpack(run.on_points).values;
  }
  at() { return 0; }
  weights() { return null; }
  pointScores() { return this.K; }
  support() { return this.run.support; }
  field() { return { frame: this.run.frame, side: this.run.grid, values: this.G, vectors: this.vectors }; }
}

/** Make the run that the server described. */
export function trainingOf(run, points) {
  if (!run || run.error) return null;
  const kinds = { online: LinearSteps, kernel: KernelSteps, svm: Passes, "kernel svm": Solved };
  return new kinds[run.kind](run, points);
}
