// The plane of one learner: regions, hypotheses, points, the current step, and the certificate.

import { contour, corners, cutPolygon, lineEnds, regionBorders, ticks } from "./geometry.js";
import { drawCertificate } from "./proofs.js";
import { colours, drawArrow, drawMarker, drawText, faded, figure, markerSize, parts } from "./marks.js";

/** The largest number of contours to draw behind a kernel's boundary. */
const MOST_CONTOURS = 60;
/** The number of earlier hypotheses from which on each is drawn more faintly. */
const FAINT = 120;

export class Plane {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.trail = document.createElement("canvas");
    this.dots = document.createElement("canvas");
    this.image = document.createElement("canvas");
    this.trailKey = this.dotsKey = "";
  }

  /** Fit the canvas to its place on the page. */
  resize() {
    const size = Math.max(120, Math.round(this.canvas.clientWidth));
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    if (size === this.size && ratio === this.ratio) return;
    [this.size, this.ratio] = [size, ratio];
    for (const one of [this.canvas, this.trail, this.dots]) one.width = one.height = Math.round(size * ratio);
    this.trailKey = this.dotsKey = "";
  }

  x(value) { return (value - this.frame[0]) / (this.frame[1] - this.frame[0]) * this.size; }
  y(value) { return (this.frame[3] - value) / (this.frame[3] - this.frame[2]) * this.size; }
  place(px, py) {
    const [l, r, b, t] = this.frame;
    return [l + px / this.size * (r - l), t - py / this.size * (t - b)];
  }

  /** Draw everything in `view`. */
  draw(view, target = null) {
    this.frame = view.frame;
    const ctx = target ?? this.context, c = colours();
    ctx.setTransform(target ? 1 : this.ratio, 0, 0, target ? 1 : this.ratio, 0, 0);
    ctx.fillStyle = c.paper;
    ctx.fillRect(0, 0, this.size, this.size);
    const { training, p, shown } = view;
    const field = training?.field(p, view.frame) ?? null;
    const weights = training?.weights(p) ?? null;
    if (training && shown.regions) this.#regions(ctx, training, weights, field);
    this.#axes(ctx, c);
    if (training && shown.trail) this.#trail(ctx, training, p, target !== null);
    drawCertificate(ctx, this, view);
    if (training) this.#boundary(ctx, training, weights, field, p, c);
    if (training?.solved) this.#support(ctx, training, p, training.points, c);
    if (training && !training.solved) this.#looked(ctx, training, p, training.points, c);
    this.#points(ctx, view, c, target !== null);
    if (training?.linear && !training.solved && shown.arrows) this.#arrows(ctx, training, p, view, c);
    if (view.cursor) this.#cursor(ctx, view, c);
  }

  #axes(ctx, c) {
    const [l, r, b, t] = this.frame;
    const few = this.size < 420 ? 4 : 6, [across, up] = [ticks(l, r, few), ticks(b, t, few)];
    const look = (value) => { ctx.lineWidth = 1; ctx.strokeStyle = faded(c.soft, value === 0 ? 0.6 : 0.16); };
    for (const x of across) { look(x); line(ctx, this.x(x), 0, this.x(x), this.size); }
    for (const y of up) { look(y); line(ctx, 0, this.y(y), this.size, this.y(y)); }
    const onX = Math.min(this.size - 10, Math.max(10, this.y(0) + 10));
    const onY = Math.min(this.size - 14, Math.max(14, this.x(0) - 12));
    const inside = (place) => place > 9 && place < this.size - 9;
    for (const x of across) if (x !== 0 && inside(this.x(x))) drawText(ctx, figure(x), this.x(x), onX, c.soft, { size: 10, align: "center" });
    for (const y of up) if (y !== 0 && inside(this.y(y))) drawText(ctx, figure(y), onY, this.y(y), c.soft, { size: 10, align: "center" });
  }

  #regions(ctx, training, weights, field) {
    const of = training.classes.map((code) => colours().classes[code % 8]);
    if (field) { this.#image(ctx, field, of); return; }
    if (!weights) return;
    if (weights.length > 1) {
      weights.forEach((w, i) => {
        let area = corners(this.frame);
        weights.forEach((v, j) => { if (j !== i) area = cutPolygon(area, w[0] - v[0], w[1] - v[1], w[2] - v[2]); });
        if (weights.some((v) => v[0] || v[1] || v[2])) this.#fill(ctx, area, faded(of[i], 0.17));
      });
      return;
    }
    const [a, b, d] = weights[0], length = Math.hypot(a, b);
    if (!length) return;
    if (ctx.createLinearGradient) {
      const foot = [-d * a / length ** 2, -d * b / length ** 2], reach = 0.8 * (this.frame[1] - this.frame[0]);
      const end = (s) => [this.x(foot[0] + s * reach * a / length), this.y(foot[1] + s * reach * b / length)];
      const shade = ctx.createLinearGradient(...end(-1), ...end(1));
      shade.addColorStop(0, faded(of[0], 0.42));
      shade.addColorStop(0.4999, faded(of[0], 0.08));
      shade.addColorStop(0.5001, faded(of[1], 0.08));
      shade.addColorStop(1, faded(of[1], 0.42));
      ctx.fillStyle = shade;
      ctx.fillRect(0, 0, this.size, this.size);
    } else {
      this.#fill(ctx, cutPolygon(corners(this.frame), a, b, d), faded(of[1], 0.15));
      this.#fill(ctx, cutPolygon(corners(this.frame), -a, -b, -d), faded(of[0], 0.15));
    }
  }

  #fill(ctx, area, colour) {
    if (area.length < 3) return;
    ctx.fillStyle = colour;
    ctx.beginPath();
    area.forEach(([x, y], i) => i ? ctx.lineTo(this.x(x), this.y(y)) : ctx.moveTo(this.x(x), this.y(y)));
    ctx.closePath();
    ctx.fill();
  }

  /** Draw scores on a grid as a small image, which the canvas enlarges smoothly. */
  #image(ctx, field, of) {
    const { side, values, vectors, frame } = field, size = side * side;
    this.image.width = this.image.height = side;
    const small = this.image.getContext("2d"), data = small.createImageData(side, side), bytes = data.data;
    const shades = of.map(parts);
    let scale = 0;
    for (let g = 0; g < size; g++) scale += Math.abs(values[g]);
    scale = scale / size || 1;
    for (let g = 0; g < size; g++) {
      let code, alpha;
      if (vectors === 1) {
        code = values[g] >= 0 ? 1 : 0;
        alpha = 20 + 95 * Math.min(1, Math.abs(values[g]) / (1.6 * scale));
      } else {
        code = 0;
        for (let v = 1; v < vectors; v++) if (values[v * size + g] > values[code * size + g]) code = v;
        alpha = 46;
      }
      const [red, green, blue] = shades[code], at = 4 * g;
      bytes[at] = red; bytes[at + 1] = green; bytes[at + 2] = blue; bytes[at + 3] = alpha;
    }
    small.putImageData(data, 0, 0);
    const half = (frame[1] - frame[0]) / (side - 1) / 2;
    const left = this.x(frame[0] - half), top = this.y(frame[3] + half);
    ctx.imageSmoothingEnabled = true;
    ctx.drawImage(this.image, left, top, this.x(frame[1] + half) - left, this.y(frame[2] - half) - top);
  }

  #segments(ctx, segments) {
    ctx.beginPath();
    for (const [p, q] of segments) {
      ctx.moveTo(this.x(p[0]), this.y(p[1]));
      ctx.lineTo(this.x(q[0]), this.y(q[1]));
    }
    ctx.stroke();
  }

  /** The boundaries of weights: one line, or the borders of the regions. */
  #lines(weights) {
    if (weights.length > 1) return regionBorders(this.frame, weights);
    const ends = lineEnds(this.frame, ...weights[0]);
    return ends ? [ends] : [];
  }

  /** Draw all earlier hypotheses faintly, on a separate layer to which lines are only added. */
  #trail(ctx, training, p, alone) {
    const k = training.at(p), c = colours();
    const key = [training.run.id, this.frame, this.size, this.ratio, c.ink].join();
    const to = alone ? ctx : this.trail.getContext("2d");
    let from = this.trailKey === key && this.trailAt <= k && !alone ? this.trailAt : 0;
    if (from === 0 && !alone) {
      to.setTransform(1, 0, 0, 1, 0, 0);
      to.clearRect(0, 0, this.trail.width, this.trail.height);
      to.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    }
    // Many lines are paler, so that the points remain visible behind them.
    const pale = training.solved ? 1 : Math.min(1, FAINT / training.hypotheses);
    to.strokeStyle = faded(c.ink, Math.max(0.015, 0.17 * pale));
    to.lineWidth = 1;
    if (training.linear) {
      if (from === 0) this.drawn = new Set();
      const fresh = [];
      for (let j = from; j < k; j++) fresh.push(...this.#newLines(this.#oldLines(training, j)));
      if (fresh.length) this.#segments(to, fresh);
    } else if (training.two && training.walk) {
      if (!alone && this.walkKey !== key) [this.walkKey, this.walk] = [key, training.walk()];
      const walk = alone ? training.walk() : this.walk;
      const { frame, grid: side } = training.run;
      for (let j = Math.max(from, k - MOST_CONTOURS, 1); j < k; j++) this.#segments(to, contour(walk(j), side, frame));
    }
    if (alone) return;
    [this.trailKey, this.trailAt] = [key, k];
    ctx.drawImage(this.trail, 0, 0, this.size, this.size);
  }

  /** Skip lines that are already drawn, as in a cycle: drawn again, they would get darker. */
  #newLines(segments) {
    const [left, right, bottom] = this.frame, unit = 4000 / (right - left);
    return segments.filter(([p, q]) => {
      // The four coordinates, rounded to a 4000th of the frame, as one whole number.
      let key = 0;
      for (const [x, y] of [p, q]) key = (key * 4001 + Math.round((x - left) * unit)) * 4001 + Math.round((y - bottom) * unit);
      return !this.drawn.has(key) && this.drawn.add(key);
    });
  }

  /** With several classes, the line between the two that a correction changed. */
  #oldLines(training, j) {
    const weights = training.hypothesis(j);
    if (weights.length === 1 || training.solved) return this.#lines(weights);
    const changed = [...new Set(training.corrections(j).map((one) => one.label))];
    if (changed.length !== 2) return [];
    const [p, q] = changed.map((label) => weights[label]);
    const ends = lineEnds(this.frame, p[0] - q[0], p[1] - q[1], p[2] - q[2]);
    return ends ? [ends] : [];
  }

  #boundary(ctx, training, weights, field, p, c) {
    ctx.strokeStyle = c.ink;
    if (!training.solved && training.linear && training.keep !== "last") {
      ctx.lineWidth = 1.3;
      ctx.setLineDash([5, 4]);
      this.#segments(ctx, this.#lines(training.hypothesis(training.at(p))));
      ctx.setLineDash([]);
    }
    ctx.lineWidth = 2.6;
    if (field) {
      const { values, side, frame, vectors } = field, size = side * side;
      if (vectors === 1) { this.#segments(ctx, contour(values, side, frame)); return; }
      for (let v = 0; v < vectors; v++) {
        const lead = new Float64Array(size);
        for (let g = 0; g < size; g++) {
          let rival = -Infinity;
          for (let u = 0; u < vectors; u++) if (u !== v) rival = Math.max(rival, values[u * size + g]);
          lead[g] = values[v * size + g] - rival;
        }
        this.#segments(ctx, contour(lead, side, frame));
      }
    } else if (weights) {
      this.#segments(ctx, this.#lines(weights));
      if (training.solved && weights.length === 1) {
        ctx.lineWidth = 1.3;
        ctx.setLineDash([6, 4]);
        for (const side of [-1, 1]) this.#segments(ctx, this.#lines([[weights[0][0], weights[0][1], weights[0][2] + side]]));
        ctx.setLineDash([]);
      }
    }
  }

  #support(ctx, training, p, points, c) {
    ctx.strokeStyle = c.ink;
    ctx.lineWidth = 1.3;
    const r = markerSize(points.length) + 4;
    for (const i of training.support(p)) ring(ctx, this.x(points[i][0]), this.y(points[i][1]), r);
  }

  /** Mark the current example, and whether it was a mistake. */
  #looked(ctx, training, p, points, c) {
    const i = training.example(p);
    if (i < 0) return;
    const [x, y] = [this.x(points[i][0]), this.y(points[i][1])], r = markerSize(points.length) + 6;
    const wrong = training.isMistake(p);
    ctx.fillStyle = c.glow;
    ctx.beginPath();
    ctx.arc(x, y, r, 0, 2 * Math.PI);
    ctx.fill();
    ctx.strokeStyle = wrong ? c.bad : c.good;
    ctx.lineWidth = wrong ? 2.6 : 1.8;
    ring(ctx, x, y, r + 1);
    const up = y < 40 ? 1 : -1;
    drawText(ctx, wrong ? "✗ mistake" : "✓", x, y + up * (r + 11), wrong ? c.bad : c.good, { align: x > this.size - 60 ? "right" : x < 60 ? "left" : "center", bold: true });
  }

  #points(ctx, view, c, alone) {
    const key = [view.version, this.frame, this.size, this.ratio, c.ink].join();
    const r = markerSize(view.points.length);
    const to = alone ? ctx : this.dots.getContext("2d");
    if (alone || key !== this.dotsKey) {
      if (!alone) {
        to.setTransform(1, 0, 0, 1, 0, 0);
        to.clearRect(0, 0, this.dots.width, this.dots.height);
        to.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      }
      for (const [x, y, code] of view.points) drawMarker(to, code, this.x(x), this.y(y), r, c.classes[code % 8]);
      this.dotsKey = key;
    }
    if (!alone) ctx.drawImage(this.dots, 0, 0, this.size, this.size);
  }

  /** Draw the weights as arrows from the origin, and the last correction. */
  #arrows(ctx, training, p, view, c) {
    const k = training.at(p), before = training.at(p - 1), now = training.hypothesis(k);
    const changed = p > 0 && k > before ? new Set(training.corrections(k).map((one) => one.label)) : new Set();
    const old = training.hypothesis(before);
    const [l, r, b, t] = this.frame;
    const inside = l < 0 && r > 0 && b < 0 && t > 0;
    const [ox, oy] = inside ? [0, 0] : [(l + r) / 2, (b + t) / 2];
    const longest = Math.max(1e-12, ...now.map((w) => Math.hypot(w[0], w[1])), ...old.map((w) => Math.hypot(w[0], w[1])));
    const scale = Math.min(1, 0.4 * (r - l) / longest);
    const tip = (w) => [this.x(ox + scale * w[0]), this.y(oy + scale * w[1])];
    const foot = [this.x(ox), this.y(oy)];
    now.forEach((w, v) => {
      const colour = training.two ? c.ink : c.classes[training.classes[v] % 8];
      if (changed.has(v)) {
        drawArrow(ctx, ...foot, ...tip(old[v]), faded(colour, 0.35), 1.6);
        drawArrow(ctx, ...tip(old[v]), ...tip(w), c.bad, 2.6);
      }
      drawArrow(ctx, ...foot, ...tip(w), colour, 2);
      const [x, y] = tip(w);
      if (w[0] || w[1]) {
        const name = (training.two ? "w" : `w ${view.labels[training.classes[v]]}`) + (scale < 1 ? ` × ${figure(scale, 2)}` : "");
        drawText(ctx, name, Math.min(x + 7, this.size - 8 - 6.5 * name.length), y - 8, colour, { bold: true });
      }
    });
  }

  #cursor(ctx, view, c) {
    const [x, y] = [this.x(view.cursor[0]), this.y(view.cursor[1])];
    ctx.strokeStyle = c.accent;
    ctx.lineWidth = 1.5;
    line(ctx, x - 12, y, x - 4, y); line(ctx, x + 4, y, x + 12, y);
    line(ctx, x, y - 12, x, y - 4); line(ctx, x, y + 4, x, y + 12);
    if (view.picked >= 0) { ctx.setLineDash([3, 3]); ring(ctx, x, y, 15); ctx.setLineDash([]); }
  }
}

function line(ctx, x, y, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

function ring(ctx, x, y, r) {
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 2 * Math.PI);
  ctx.stroke();
}
