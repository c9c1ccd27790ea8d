// Placing, moving and erasing points: with a mouse, a finger, or keys.

import { markerSize } from "./marks.js";

/** Make a card's plane editable. `lab` has the points and the tool, and is notified of changes. */
export function makeEditable(card, lab) {
  const { canvas, plane } = card;
  let held = null;

  const where = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left - 1, event.clientY - box.top - 1];
  };
  const nearest = (px, py, reach) => {
    let best = -1, far = reach;
    lab.points.forEach(([x, y], i) => {
      const d = Math.hypot(plane.x(x) - px, plane.y(y) - py);
      if (d <= far) { far = d; best = i; }
    });
    return best;
  };
  const reach = (event) => markerSize(lab.points.length) + (event.pointerType === "touch" ? 14 : 5);
  const rounded = ([x, y]) => {
    // As many digits as the picture can show: a pixel is some hundredths of a unit.
    const digits = Math.max(0, Math.ceil(-Math.log10((plane.frame[1] - plane.frame[0]) / 400)));
    return [+x.toFixed(digits), +y.toFixed(digits)];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0 && event.button !== 2) return;
    const at = where(event), i = nearest(...at, reach(event));
    lab.cursor = null;
    if (i >= 0 && (lab.tool === "erase" || event.button === 2 || event.altKey)) { lab.erase(i); return; }
    if (lab.tool === "erase" || event.button === 2) return;
    canvas.setPointerCapture(event.pointerId);
    lab.remember();
    if (i >= 0) held = { i, moved: false };
    else held = { i: lab.place(rounded(plane.place(...at))), moved: true };
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = where(event);
    if (held && held.i >= 0) {
      held.moved = true;
      lab.move(held.i, rounded(plane.place(...at)), true);
    } else lab.hover(nearest(...at, reach(event)));
  });
  const drop = () => {
    if (held) { held = null; lab.settle(); }
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  canvas.addEventListener("pointerleave", () => lab.hover(-1));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    // A tenth of a unit on a plane of eight units; five times as far with Shift.
    const step = 10 ** Math.floor(Math.log10((plane.frame[1] - plane.frame[0]) / 40)) * (event.shiftKey ? 5 : 1);
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const [l, r, b, t] = plane.frame;
    lab.cursor ??= rounded([(l + r) / 2, (b + t) / 2]);
    if (moves[event.key]) {
      const [dx, dy] = moves[event.key];
      lab.cursor = rounded([Math.min(r, Math.max(l, lab.cursor[0] + dx)), Math.min(t, Math.max(b, lab.cursor[1] + dy))]);
      if (lab.picked >= 0) lab.move(lab.picked, lab.cursor);
      else lab.say(`cursor at ${lab.cursor.join(", ")}`);
    } else if (event.key === "Enter" || event.key === " ") {
      act();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      const i = nearest(plane.x(lab.cursor[0]), plane.y(lab.cursor[1]), 16);
      if (i >= 0) lab.erase(i);
    } else if (event.key === "n" || event.key === "N") {
      visit(event.key === "n" ? 1 : -1);
    } else if (event.key === "Escape" && lab.cursor) {
      [lab.cursor, lab.picked] = [null, -1];
    } else return;
    event.preventDefault();
    event.stopPropagation();
    lab.redraw();
  });
  canvas.addEventListener("blur", () => { [lab.cursor, lab.picked] = [null, -1]; lab.redraw(); });

  /** Put down the held point, pick up the point here, or place a new one. */
  function act() {
    if (lab.picked >= 0) { lab.picked = -1; lab.say("put down"); return; }
    const i = nearest(plane.x(lab.cursor[0]), plane.y(lab.cursor[1]), 9);
    lab.remember();
    if (lab.tool === "erase") { if (i >= 0) lab.erase(i); return; }
    if (i >= 0) {
      [lab.picked, lab.cursor] = [i, lab.points[i].slice(0, 2)];
      lab.say(`picked up point ${i + 1}; move it with the arrow keys, Enter puts it down`);
    } else lab.place(lab.cursor);
  }

  /** Go to the next point. */
  function visit(by) {
    if (!lab.points.length) return;
    lab.visited = ((lab.visited ?? -1) + by + lab.points.length) % lab.points.length;
    const [x, y, code] = lab.points[lab.visited];
    lab.cursor = [x, y];
    lab.say(`point ${lab.visited + 1} at ${x}, ${y}, class ${lab.labels[code]}`);
  }
}
