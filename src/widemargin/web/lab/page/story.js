// What happened in a step, in words: for the caption, and for screen readers.

import { figure, pair } from "./marks.js";

const bold = (words, kind) => ({ words, kind });
const STOPPED = {
  "no mistakes": "an epoch without a mistake",
  "small change": "the weights hardly moved any more",
  epochs: "all allowed epochs were used",
  deadline: "the time limit was reached",
  "gap reached": "the duality gap is closed",
  converged: "no example violates the optimality conditions any more",
  "not separable": "no separator was found",
  "no progress": "floating point allows no further progress",
};
export const whyStopped = (reason) => STOPPED[reason] ?? reason;

/** The caption while there is no run. */
export function withoutRun(points, failed) {
  if (new Set(points.map((point) => point[2])).size < 2) return "Place points of two classes to begin.";
  return failed ? "" : "Learning ...";
}

/** The caption after p steps: strings, and emphasised words. */
export function caption(training, p, labels) {
  if (training.run.kind === "svm") return ofPass(training, p);
  if (training.run.kind === "kernel svm") return ofSolution(training);
  if (p === 0) return ofStart(training);
  const at = Math.min(p, training.length), i = training.example(at);
  const [x, y, code] = training.points[i], k = training.at(at), before = training.at(at - 1);
  const scores = training.scoresOfPoint(before, i), wrong = training.isMistake(at);
  const parts = [`Step ${at}, epoch ${training.epoch(at)}: example ${i + 1} at ${pair([x, y])}, class ${labels[code]}. `];
  parts.push(...judged(training, scores, code, labels, wrong));
  parts.push(...corrected(training, k, before, wrong, labels));
  if (at === training.length) parts.push(` The training ends here: ${whyStopped(training.run.stopped)}.`);
  return parts;
}

function ofStart(training) {
  if (!training.linear) return ["The start: nothing is stored yet, and all scores are 0. Press → to look at the first example."];
  const at = training.hypothesis(0).map((w) => pair(w.slice(0, 2)));
  const words = training.two ? `w = ${at[0]}${bias(training, training.hypothesis(0)[0])}` : `w = ${at.join(", ")}`;
  return [`The start: ${words}. Press → to look at the first example.`];
}

const bias = (training, w) => training.run.constant ? `, b = ${figure(w[2])}` : "";

/** The score of the example, and whether it was right. */
function judged(training, scores, code, labels, wrong) {
  const verdict = wrong ? bold("✗ A mistake", "wrong") : bold("✓ Right", "right");
  if (!training.two) {
    const told = training.classes.map((one, v) => `${labels[one]} ${figure(scores[v])}`).join(", ");
    return [`Scores: ${told}. `, verdict, ". "];
  }
  const sign = training.classes.indexOf(code) === 1 ? 1 : -1, margin = sign * scores[0];
  const formula = training.linear ? (training.run.constant ? "y (w·x + b)" : "y (w·x)") : "y Σ a K";
  return [`${formula} = ${figure(margin)}. `, verdict, ". "];
}

/** What changed, if anything did. */
function corrected(training, k, before, wrong, labels) {
  if (k === before) {
    const waits = wrong && training.run.values.batch !== 1;
    return [waits ? "The weights wait for the rest of the batch." : "Nothing changes."];
  }
  const made = training.corrections(k);
  const rows = [...new Set(made.map((one) => one.row))];
  if (!training.linear) return [`It is stored with coefficient ${figure(made[0].amount)}.`];
  const [old, now] = [training.hypothesis(before), training.hypothesis(k)];
  if (!training.two) {
    const told = made.slice(0, 4).map(({ label, amount }) =>
      `w of ${labels[training.classes[label]]} ${amount > 0 ? "+" : "−"} ${figure(Math.abs(amount))} x = ${pair(now[label].slice(0, 2))}`);
    return [told.join("; "), rows.length > 1 ? ` (${rows.length} examples at once).` : "."];
  }
  const w = pair(now[0].slice(0, 2)), b = bias(training, now[0]);
  if (rows.length > 1) return [`${rows.length} examples of the batch correct the weights: w = ${w}${b}.`];
  const { row, amount } = made[0], x = pair(training.points[row].slice(0, 2));
  const step = Math.abs(amount) === 1 ? x : `${figure(Math.abs(amount))} ${x}`;
  return [`w = ${pair(old[0].slice(0, 2))} ${amount > 0 ? "+" : "−"} ${step} = `, bold(w, ""), `${b}.`];
}

function ofPass(training, p) {
  const pass = training.pass(p);
  if (!pass) return ["The start: all weights are 0. Press → for the first pass over the examples."];
  const done = Math.min(p, training.length) === training.length;
  const parts = [`After ${pass.passes} pass${pass.passes === 1 ? "" : "es"}: ${worth(pass)} `];
  if (pass.margin && pass.margin[0] > 0) parts.push(`It separates with margin ${figure(pass.margin[0])}. `);
  parts.push(`${pass.support.length} support vectors (ringed).`);
  if (done) parts.push(` The training ends here: ${whyStopped(training.run.stopped)}.`);
  return parts;
}

/** The objective, and its largest possible distance from the optimum. */
function worth({ primal, gap }) {
  if (primal === null) return "no separator yet.";
  return `objective ${figure(primal, 5)}; the optimum is at most ${figure(100 * gap, 2)} % lower.`;
}

function ofSolution(training) {
  const { run } = training;
  return [`Solved: ${worth(run)} ${run.support.length} support vectors (ringed).`];
}

/** The facts beside the plane: [name, value]. */
export function facts(training, p, labels) {
  if (!training) return [];
  const found = [], weights = training.weights(p);
  const tell = (name, rows) => rows.forEach((w, v) => {
    const which = training.two ? "" : ` ${labels[training.classes[v]]}`;
    found.push([`${name}${which}`, `${pair(w.slice(0, 2))}${training.run.constant === 0 ? "" : `, b = ${figure(w[2])}`}`]);
  });
  if (training.linear && !training.solved) {
    tell("w", training.hypothesis(training.at(p)));
    if (training.keep !== "last") tell("average", training.average(p));
  } else if (training.linear) tell("w", weights);
  if (training.run.known) {
    const { known } = training.run;
    found.push(["mistakes", `${training.mistakesAt(p)} of ${training.mistakes.length}`]);
    if (known.no_bound) found.push(["bound", `none: ${known.no_bound}`]);
    else if (known.bound !== null) {
      const times = training.two ? "" : "2 ";
      found.push([`${times}(R/γ)²`, `${figure(known.bound, 4)}, with R = ${figure(known.R)} and γ = ${figure(known.gamma[0])}`]);
    }
    else if (known.hinge_bound !== null) found.push(["bound", `${figure(known.hinge_bound, 4)}, from the hinge loss of the averaged weights`]);
  }
  if (!training.linear && training.run.certificate) {
    const { verdict, margin } = training.run.certificate;
    found.push(["feature space", verdict + (verdict === "separable" && margin ? `, margin ${figure(margin[0])}` : "")]);
  }
  const right = training.rightAt?.(p);
  if (right !== null && right !== undefined) found.push(["correct", `${right} of ${training.points.length} points`]);
  return found;
}

/** Warnings about a run. */
export function notices(training) {
  if (!training) return [];
  const { run } = training, found = [];
  if (run.cycle) {
    const [first, last, proof] = run.cycle;
    const where = first === 0 ? "at the start" : `after epoch ${first}`;
    found.push([`A cycle: the weights after epoch ${last} are the same as ${where}, so it repeats forever.` +
      (proof ? ` As every sum was exact, this proves that ${noneSeparates(training)}.` : ""), ""]);
  }
  if (run.advice) found.push([run.advice[0].toUpperCase() + run.advice.slice(1), "mild"]);
  if (run.separates === false) {
    const proved = training.two && run.certificate?.verdict === "not separable";
    const why = proved ? "No line separates the classes: a hard margin does not exist."
      : training.two ? "No separator was found: if there is one, its margin is tiny." : "Some class was not separated from the rest.";
    found.push([`${why} Choose a soft margin.`, ""]);
  }
  return found;
}

/** What it means that corrections add up to zero. */
function noneSeparates(training) {
  if (!training.two) return "no weights put every point on the right side";
  return training.run.constant ? "no line separates the classes" : "no line through the origin separates the classes";
}
