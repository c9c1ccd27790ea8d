// Small charts next to the plane: the proof's inequalities, votes, mistakes, the gap of an SVM.

import { colours, drawText, faded, figure } from "./marks.js";

/** Resize and clear a canvas, and return its context and size. */
function begin(canvas) {
  const width = Math.max(60, canvas.clientWidth), height = Math.max(40, canvas.clientHeight);
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return { ctx, width, height, c: colours() };
}

/** Draw the left and bottom axes, and return functions from values to coordinates. */
function axes({ ctx, width, height, c }, most, high, low = 0) {
  const [highest, lowest] = [figure(high, 3), figure(low, 3)];
  const left = Math.max(40, 10 + 6 * Math.max(highest.length, lowest.length)), bottom = height - 18, top = 8, right = width - 8;
  ctx.strokeStyle = c.line;
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(left, top); ctx.lineTo(left, bottom); ctx.lineTo(right, bottom);
  ctx.stroke();
  const x = (value) => left + (right - left) * (most ? value / most : 0);
  const y = (value) => bottom - (bottom - top) * (high > low ? (value - low) / (high - low) : 0);
  drawText(ctx, highest, left - 5, top + 4, c.soft, { size: 10, align: "right" });
  drawText(ctx, lowest, left - 5, bottom - 3, c.soft, { size: 10, align: "right" });
  drawText(ctx, figure(most, 3), right, bottom + 10, c.soft, { size: 10, align: "right" });
  return { x, y, left, right, top, bottom };
}

function curve(ctx, points, colour, width = 2, dash = []) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.setLineDash(dash);
  ctx.beginPath();
  points.forEach(([x, y], i) => i ? ctx.lineTo(x, y) : ctx.moveTo(x, y));
  ctx.stroke();
  ctx.setLineDash([]);
}

/** One inequality of the proof: after each mistake, a curve and the line that bounds it. */
export function drawInequality(canvas, progress, which, now) {
  const room = begin(canvas), { ctx, c } = room;
  const made = which === 0 ? 0 : 2, limit = made + 1, most = progress.length;
  const high = Math.max(...progress.map((row) => Math.max(row[made], row[limit])));
  const { x, y, bottom, top } = axes(room, most, high);
  const points = (column) => [[x(0), y(0)], ...progress.map((row, k) => [x(k + 1), y(row[column])])];
  const [real, bound] = [points(made), points(limit)];
  ctx.fillStyle = faded(c.accent, 0.12);
  ctx.beginPath();
  [...real, ...bound.reverse()].forEach(([px, py], i) => i ? ctx.lineTo(px, py) : ctx.moveTo(px, py));
  ctx.fill();
  curve(ctx, bound, c.soft, 1.5, [5, 3]);
  curve(ctx, real, c.accent, 2.2);
  if (now > 0) {
    const at = real[Math.min(now, most)];
    curve(ctx, [[at[0], bottom], [at[0], top]], faded(c.ink, 0.3), 1);
    ctx.fillStyle = c.ink;
    ctx.beginPath();
    ctx.arc(...at, 3.6, 0, 2 * Math.PI);
    ctx.fill();
  }
}

/** Mistakes so far, next to the most that the theorem allows. */
export function drawMistakes(canvas, made, total, bound, name) {
  const { ctx, width, c } = begin(canvas);
  const fits = bound <= 100 * Math.max(1, total);
  const most = Math.max(fits ? bound : 5 * total, total, 1), left = 4, right = width - 8;
  const x = (value) => left + (right - left) * value / most;
  ctx.fillStyle = c.faint;
  ctx.fillRect(left, 8, right - left, 18);
  ctx.fillStyle = faded(c.bad, 0.3);
  ctx.fillRect(left, 8, x(total) - left, 18);
  ctx.fillStyle = c.bad;
  ctx.fillRect(left, 8, x(made) - left, 18);
  if (fits) curve(ctx, [[x(bound), 4], [x(bound), 31]], c.ink, 2);
  drawText(ctx, `${made}`, Math.max(12, x(made)), 40, c.bad, { size: 12, align: "center", bold: true });
  if (!fits) drawText(ctx, `${name} = ${figure(bound, 3)} is far to the right`, right, 40, c.soft, { size: 11, align: "right" });
  if (fits && x(bound) - x(made) > 30) drawText(ctx, `${name} = ${figure(bound, 3)}`, x(bound), 40, c.ink, { size: 11, align: "right" });
}

/** Every hypothesis so far, as wide as its votes and as high as its score on one example. */
export function drawVotes(canvas, training, p, i, labels) {
  const room = begin(canvas), { ctx, c } = room;
  const k = training.at(p), bars = [];
  const running = votesOn(training, k, i);
  let high = 0;
  for (let j = 0; j <= k; j++) {
    const { code, lead } = running(j);
    bars.push([training.lasted(j, p), code, lead]);
    high = Math.max(high, Math.abs(lead));
  }
  const total = bars.reduce((sum, [lasted]) => sum + lasted, 0);
  const { x, y } = axes(room, total, high || 1, training.two ? -(high || 1) : 0);
  let from = 0;
  const shares = new Map();
  for (const [lasted, code, lead] of bars) {
    const colour = c.classes[code % 8], at = x(from), wide = Math.max(0.7, x(from + lasted) - at);
    ctx.fillStyle = faded(colour, 0.8);
    const height = y(lead);
    ctx.fillRect(at, Math.min(height, y(0)), wide - (wide > 4 ? 1 : 0), Math.max(1.5, Math.abs(height - y(0))));
    from += lasted;
    shares.set(code, (shares.get(code) ?? 0) + lasted);
  }
  curve(ctx, [[x(0), y(0)], [x(total), y(0)]], c.ink, 1);
  return [...shares].sort((a, b) => b[1] - a[1])
    .map(([code, votes]) => `${labels[code]}: ${votes} of ${total}`).join(", ");
}

/** A function from j to the vote of hypothesis j on example i, for j = 0, 1, 2, ... */
function votesOn(training, k, i) {
  const scores = training.linear ? null : new Array(training.vectors).fill(0);
  return (j) => {
    let now = scores;
    if (training.linear && training.two) {
      const [x, y] = training.points[i], { W } = training, lead = W[3 * j] * x + W[3 * j + 1] * y + W[3 * j + 2];
      return { code: training.classes[lead >= 0 ? 1 : 0], lead };
    }
    if (training.linear) now = training.scoresOfPoint(j, i);
    else for (const { row, label, amount } of training.corrections(j)) {
      now[label] += amount * training.K[training.place.get(row) * training.points.length + i];
    }
    const code = training.best(now);
    if (training.two) return { code, lead: now[0] };
    const sorted = [...now].sort((a, b) => b - a);
    return { code, lead: sorted[0] - sorted[1] };
  };
}

/** Mistakes in each epoch, as bars. */
export function drawEpochs(canvas, epochs, now) {
  const room = begin(canvas), { ctx, c } = room;
  const { x, y } = axes(room, epochs.length, Math.max(1, ...epochs));
  epochs.forEach((made, e) => {
    ctx.fillStyle = e + 1 === now ? c.bad : faded(c.bad, 0.45);
    const wide = x(1) - x(0);
    ctx.fillRect(x(e) + (wide > 5 ? 1 : 0), y(made), Math.max(1, wide - (wide > 5 ? 2 : 0)), y(0) - y(made));
  });
}

/** The objective of an SVM and the bound on it, pass by pass. */
export function drawGap(canvas, passes, p) {
  const room = begin(canvas), { ctx, c } = room;
  const high = Math.max(...passes.flatMap((one) => [one.primal, one.dual]).filter(Number.isFinite));
  const low = Math.min(...passes.map((one) => one.dual ?? high), high);
  const { x, y, top, bottom } = axes(room, passes.length, high, low);
  const points = (name) => passes.map((one, i) => [x(i + 1), y(one[name] ?? high)]);
  curve(ctx, points("primal"), c.bad, 2.2);
  curve(ctx, points("dual"), c.accent, 2.2);
  const at = x(Math.min(Math.max(p, 1), passes.length));
  curve(ctx, [[at, bottom], [at, top]], faded(c.ink, 0.3), 1);
}
