// Lines, half-planes, grids and contours.

/** Where the line a x + b y + c = 0 enters and leaves a frame; null if it does not cross it. */
export function lineEnds([left, right, bottom, top], a, b, c) {
  const met = [];
  const near = (value, low, high) => value >= low - 1e-9 * (high - low) && value <= high + 1e-9 * (high - low);
  if (b !== 0) for (const x of [left, right]) {
    const y = -(a * x + c) / b;
    if (near(y, bottom, top)) met.push([x, y]);
  }
  if (a !== 0) for (const y of [bottom, top]) {
    const x = -(b * y + c) / a;
    if (near(x, left, right)) met.push([x, y]);
  }
  if (met.length < 2) return null;
  let best = null, far = -1;
  for (const p of met) for (const q of met) {
    const d = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2;
    if (d > far) { far = d; best = [p, q]; }
  }
  return far > 0 ? best : null;
}

/** The corners of a frame. */
export const corners = ([left, right, bottom, top]) => [[left, bottom], [right, bottom], [right, top], [left, top]];

/** The part of a polygon where a x + b y + c >= 0. */
export function cutPolygon(area, a, b, c) {
  const found = [];
  area.forEach((p, i) => {
    const q = area[(i + 1) % area.length];
    const s = a * p[0] + b * p[1] + c, t = a * q[0] + b * q[1] + c;
    if (s >= 0) found.push(p);
    if ((s < 0) !== (t < 0) && s !== t) {
      const u = s / (s - t);
      found.push([p[0] + u * (q[0] - p[0]), p[1] + u * (q[1] - p[1])]);
    }
  });
  return found;
}

/** The part of a segment where a x + b y + c >= 0, or null. */
function clip(segment, a, b, c) {
  const [p, q] = segment;
  const s = a * p[0] + b * p[1] + c, t = a * q[0] + b * q[1] + c;
  if (s < 0 && t < 0) return null;
  if (s >= 0 && t >= 0) return segment;
  const u = s / (s - t), m = [p[0] + u * (q[0] - p[0]), p[1] + u * (q[1] - p[1])];
  return s >= 0 ? [p, m] : [m, q];
}

/** The lines between the regions of several classes, each scored by its (a, b, c). */
export function regionBorders(frame, weights) {
  const found = [];
  for (let i = 0; i < weights.length; i++) for (let j = i + 1; j < weights.length; j++) {
    const [p, q] = [weights[i], weights[j]];
    let segment = lineEnds(frame, p[0] - q[0], p[1] - q[1], p[2] - q[2]);
    for (let k = 0; segment && k < weights.length; k++) {
      if (k === i || k === j) continue;
      const r = weights[k];
      segment = clip(segment, p[0] - r[0], p[1] - r[1], p[2] - r[2]);
    }
    if (segment) found.push(segment);
  }
  return found;
}

/** The positions of a grid over a frame, in the server's order: row by row from the top. */
export function gridPlaces([left, right, bottom, top], side) {
  const places = new Float64Array(2 * side * side);
  for (let r = 0, at = 0; r < side; r++) for (let c = 0; c < side; c++) {
    places[at++] = left + (right - left) * c / (side - 1);
    places[at++] = top + (bottom - top) * r / (side - 1);
  }
  return places;
}

/** The segments of the zero line of values on a grid, in the coordinates of the frame. */
export function contour(values, side, [left, right, bottom, top]) {
  const found = [], dx = (right - left) / (side - 1), dy = (bottom - top) / (side - 1);
  const cut = (r, c, r2, c2, s, t) => {
    const u = s / (s - t);
    return [left + dx * (c + u * (c2 - c)), top + dy * (r + u * (r2 - r))];
  };
  for (let r = 0; r + 1 < side; r++) for (let c = 0; c + 1 < side; c++) {
    const at = r * side + c;
    const a = values[at], b = values[at + 1], d = values[at + side], e = values[at + side + 1];
    const kind = (a >= 0) | (b >= 0) << 1 | (e >= 0) << 2 | (d >= 0) << 3;
    if (kind === 0 || kind === 15) continue;
    const ends = [];
    if ((a >= 0) !== (b >= 0)) ends.push(cut(r, c, r, c + 1, a, b));
    if ((b >= 0) !== (e >= 0)) ends.push(cut(r, c + 1, r + 1, c + 1, b, e));
    if ((e >= 0) !== (d >= 0)) ends.push(cut(r + 1, c + 1, r + 1, c, e, d));
    if ((d >= 0) !== (a >= 0)) ends.push(cut(r + 1, c, r, c, d, a));
    for (let i = 0; i + 1 < ends.length; i += 2) found.push([ends[i], ends[i + 1]]);
  }
  return found;
}

/** A square frame that shows all points, centred on the origin if that is near. */
export function frameAround(points) {
  if (!points.length) return [-4, 4, -4, 4];
  const xs = points.map((p) => p[0]), ys = points.map((p) => p[1]);
  const [l, r, b, t] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const span = Math.max(r - l, t - b, 1e-6);
  const reach = Math.max(...[l, r, b, t].map(Math.abs));
  let [x, y, half] = [0, 0, 1.22 * reach];
  if (half > 1.6 * span) [x, y, half] = [(l + r) / 2, (b + t) / 2, 0.65 * span];
  const step = 10 ** Math.floor(Math.log10(half)) / 4;
  half = Math.ceil(half / step) * step;
  return [x - half, x + half, y - half, y + half];
}

/** Round numbers for an axis. */
export function ticks(low, high, about = 6) {
  const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
  const steps = [1, 2, 5, 10].map((m) => m * power), fits = steps.findIndex((s) => s >= raw * 0.99);
  // At least two marks must be well inside: one alone shows no scale.
  const step = steps[fits] <= 0.4 * (high - low) ? steps[fits] : steps[fits - 1];
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(+(k * step).toPrecision(12));
  return found;
}
