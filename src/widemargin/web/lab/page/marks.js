// Colours and markers: every class has both, so that colour vision is not needed.

let cached = null;

/** The colours of the current theme, from the style sheet. */
export function colours() {
  if (cached) return cached;
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  cached = Object.fromEntries(["paper", "ink", "soft", "line", "faint", "accent", "good", "bad", "warn", "glow"]
    .map((name) => [name, read(name)]));
  cached.classes = Array.from({ length: 8 }, (_, c) => read(`c${c}`));
  return cached;
}

export function forgetColours() { cached = null; }

/** A colour like #d55e00 with an opacity. */
export function faded(colour, alpha) {
  const [r, g, b] = parts(colour);
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

export function parts(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** Draw the marker of a class: o x triangle square, and so on as in the library's plots. */
export function drawMarker(ctx, code, x, y, r, colour) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = Math.max(1.4, r * 0.36);
  ctx.beginPath();
  const polygon = (corners) => {
    corners.forEach(([dx, dy], i) => i ? ctx.lineTo(x + dx * r, y + dy * r) : ctx.moveTo(x + dx * r, y + dy * r));
    ctx.closePath();
  };
  const d = 0.86;
  switch (code % 8) {
    case 0: ctx.arc(x, y, r * 0.92, 0, 2 * Math.PI); break;
    case 1:
      ctx.moveTo(x - d * r, y - d * r); ctx.lineTo(x + d * r, y + d * r);
      ctx.moveTo(x - d * r, y + d * r); ctx.lineTo(x + d * r, y - d * r); break;
    case 2: polygon([[0, -1.1], [1, 0.8], [-1, 0.8]]); break;
    case 3: polygon([[-d, -d], [d, -d], [d, d], [-d, d]]); break;
    case 4: polygon([[0, 1.1], [1, -0.8], [-1, -0.8]]); break;
    case 5: polygon([[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]]); break;
    case 6:
      ctx.moveTo(x - 1.1 * r, y); ctx.lineTo(x + 1.1 * r, y);
      ctx.moveTo(x, y - 1.1 * r); ctx.lineTo(x, y + 1.1 * r); break;
    default:
      for (let i = 0; i < 3; i++) {
        const turn = Math.PI * i / 3, c = 1.1 * r * Math.cos(turn), s = 1.1 * r * Math.sin(turn);
        ctx.moveTo(x - c, y - s); ctx.lineTo(x + c, y + s);
      }
  }
  ctx.stroke();
}

/** The radius of a marker: smaller for many points. */
export function markerSize(count) {
  return count <= 40 ? 7 : count <= 120 ? 5.5 : count <= 300 ? 4.2 : 3.2;
}

/** Draw text with a pale outline, readable on any background. */
export function drawText(ctx, words, x, y, colour, { size = 12, align = "left", bold = false } = {}) {
  ctx.font = `${bold ? "600 " : ""}${size}px system-ui, sans-serif`;
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  ctx.lineJoin = "round";
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = faded(colours().paper, 0.85);
  ctx.strokeText(words, x, y);
  ctx.fillStyle = colour;
  ctx.fillText(words, x, y);
}

export function drawArrow(ctx, x, y, x2, y2, colour, width = 2) {
  const turn = Math.atan2(y2 - y, x2 - x), length = Math.hypot(x2 - x, y2 - y);
  if (length < 1) return;
  const head = Math.min(11, length * 0.6);
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x2 - 0.8 * head * Math.cos(turn), y2 - 0.8 * head * Math.sin(turn));
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x2, y2);
  for (const side of [-0.42, 0.42]) ctx.lineTo(x2 - head * Math.cos(turn + side), y2 - head * Math.sin(turn + side));
  ctx.closePath();
  ctx.fill();
}

/** Format a number with this many significant digits and a real minus sign. */
export function figure(value, digits = 4) {
  if (value === null || value === undefined) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const rounded = +value.toPrecision(digits);
  const words = size >= 1e6 || size < 1e-4 ? rounded.toExponential().replace("e+", "e") : String(rounded);
  return words.replaceAll("-", "−");
}

export const pair = (values) => `(${Array.from(values, (value) => figure(value)).join(", ")})`;
