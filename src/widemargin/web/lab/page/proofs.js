// What is proved about the points: the widest separator, or why there is none; R and gamma.

import { lineEnds } from "./geometry.js";
import { colours, drawText, faded, figure } from "./marks.js";

/** Draw the certificate of the points, and the figures of the mistake bound. */
export function drawCertificate(ctx, plane, view) {
  const { verdict, shown, judged: points } = view;
  // The certificate is about lines; nothing of a kernel's feature space can be drawn on the plane.
  if (!verdict || (view.training && !view.training.linear)) return;
  for (const one of verdict.parts ?? [verdict]) {
    if (one.verdict === "separable") {
      if (shown.verdict && one.separator && one.margin) drawSeparator(ctx, plane, one);
    } else if (one.verdict === "not separable" && shown.verdict) {
      drawMeeting(ctx, plane, one, points);
    }
  }
  const run = view.training?.run, bound = run?.certificate;
  if (shown.bound && run?.known && !run.known.no_bound && bound?.best && bound.extended?.[0] > 0) {
    drawBound(ctx, plane, bound);
  }
}

/** Draw a line with a band of equal width on both sides. */
function drawBand(ctx, plane, [a, b, d], distance, colour) {
  const length = Math.hypot(a, b);
  const at = (shift) => lineEnds(plane.frame, a, b, d + shift * length);
  ctx.strokeStyle = colour;
  for (const [shift, width, dash] of [[0, 1.6, [9, 4, 2, 4]], [distance, 1, [3, 3]], [-distance, 1, [3, 3]]]) {
    const ends = at(shift);
    if (!ends) continue;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ends.forEach(([x, y], i) => i ? ctx.lineTo(plane.x(x), plane.y(y)) : ctx.moveTo(plane.x(x), plane.y(y)));
    ctx.stroke();
  }
  ctx.setLineDash([]);
  return { a: a / length, b: b / length, d: d / length };
}

/** Draw the width of a band, near one end of its line. */
function drawWidth(ctx, plane, unit, distance, words, colour, along) {
  const ends = lineEnds(plane.frame, unit.a, unit.b, unit.d);
  if (!ends) return;
  const foot = [0, 1].map((j) => ends[0][j] + along * (ends[1][j] - ends[0][j]));
  const tip = [foot[0] + distance * unit.a, foot[1] + distance * unit.b];
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(plane.x(foot[0]), plane.y(foot[1]));
  ctx.lineTo(plane.x(tip[0]), plane.y(tip[1]));
  ctx.stroke();
  const [x, y] = [(plane.x(foot[0]) + plane.x(tip[0])) / 2 + 7, (plane.y(foot[1]) + plane.y(tip[1])) / 2];
  const clear = (value, room) => Math.max(8, Math.min(plane.size - room, value));
  drawText(ctx, words, clear(x, 8 + 8 * words.length), clear(y, 10), colour, { bold: true });
}

function drawSeparator(ctx, plane, one) {
  const colour = colours().good;
  const unit = drawBand(ctx, plane, one.separator, one.margin[0], faded(colour, 0.8));
  drawWidth(ctx, plane, unit, one.margin[0], `margin ${figure(one.margin[0], 3)}`, colour, 0.1);
}

/** Draw R as a circle about the origin, and gamma as the margin of the best separator. */
function drawBound(ctx, plane, bound) {
  const c = colours();
  const radius = Math.sqrt(Math.max(0, bound.R ** 2 - bound.constant ** 2));
  const unit = plane.size / (plane.frame[1] - plane.frame[0]);
  ctx.strokeStyle = faded(c.accent, 0.65);
  ctx.lineWidth = 1.3;
  ctx.setLineDash([2, 4]);
  ctx.beginPath();
  ctx.arc(plane.x(0), plane.y(0), radius * unit, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.setLineDash([]);
  const turn = -0.72, reach = radius * unit;
  const [x, y] = [plane.x(0) + reach * Math.cos(turn), plane.y(0) + reach * Math.sin(turn)];
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(plane.x(0), plane.y(0));
  ctx.lineTo(x, y);
  ctx.stroke();
  drawText(ctx, bound.constant ? `√(R² − ${figure(bound.constant ** 2)})` : "R", plane.x(0) + 0.62 * (x - plane.x(0)) + 6, plane.y(0) + 0.62 * (y - plane.y(0)) + 9, c.accent, { bold: true });
  const [a, b, d] = bound.best, gamma = bound.extended[0];
  // With a bias, gamma is a distance in the space of (x, 1); on the plane it looks this long.
  const long = gamma * Math.hypot(a, b, bound.constant ? d / bound.constant : 0) / Math.hypot(a, b);
  const drawn = drawBand(ctx, plane, bound.best, long, faded(c.accent, 0.6));
  drawWidth(ctx, plane, drawn, -long, "γ", c.accent, 0.9);
}

/** Draw the convex combinations of examples of both classes, which meet in one point. Without a bias
 * they lie on one ray from the origin, so that every line through it has both on the same side. */
function drawMeeting(ctx, plane, one, points) {
  const c = colours(), sums = new Map();
  one.examples.forEach((i, e) => {
    const [x, y, code] = points[i] ?? [0, 0, 0], share = one.shares[e];
    const sum = sums.get(code) ?? [0, 0, 0];
    sums.set(code, [sum[0] + share * x, sum[1] + share * y, sum[2] + share]);
  });
  const centres = new Map([...sums].map(([code, [x, y, s]]) => [code, [x / s, y / s]]));
  one.examples.forEach((i, e) => {
    const [x, y, code] = points[i] ?? [0, 0, 0], [u, v] = centres.get(code);
    ctx.strokeStyle = faded(c.classes[code % 8], 0.9);
    ctx.lineWidth = 1 + 3 * one.shares[e];
    ctx.beginPath();
    ctx.moveTo(plane.x(x), plane.y(y));
    ctx.lineTo(plane.x(u), plane.y(v));
    ctx.stroke();
    drawText(ctx, share(one, e), (plane.x(x) + plane.x(u)) / 2 + 5, (plane.y(y) + plane.y(v)) / 2 - 6, c.classes[code % 8], { size: 11 });
  });
  if (!one.constant) {
    const [u, v] = [...centres.values()].reduce((far, at) => Math.hypot(...at) > Math.hypot(...far) ? at : far);
    ctx.strokeStyle = c.bad;
    ctx.lineWidth = 1.3;
    ctx.setLineDash([2, 4]);
    ctx.beginPath();
    ctx.moveTo(plane.x(0), plane.y(0));
    ctx.lineTo(plane.x(u), plane.y(v));
    ctx.stroke();
    ctx.setLineDash([]);
  }
  ctx.fillStyle = c.bad;
  for (const [u, v] of centres.values()) {
    const [x, y] = [plane.x(u), plane.y(v)];
    ctx.beginPath();
    ctx.moveTo(x, y - 7); ctx.lineTo(x + 7, y); ctx.lineTo(x, y + 7); ctx.lineTo(x - 7, y);
    ctx.closePath();
    ctx.fill();
  }
}

const share = (one, e) => one.fractions[e].length <= 7 ? one.fractions[e] : figure(one.shares[e], 2);
