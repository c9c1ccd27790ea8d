// Exports: a link, a Python program, pictures, JSON.

import { ask } from "./api.js";
import { element } from "./controls.js";
import { colours } from "./marks.js";
import { readState, snapshot, toFragment } from "./state.js";
import { SvgContext, wholeDrawing } from "./svg.js";

const by = (id) => document.getElementById(id);

function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export function showDialog(title, body, more = null) {
  by("dialog-title").textContent = title;
  by("dialog-body").replaceChildren(...body);
  by("dialog-more").hidden = !more;
  if (more) {
    by("dialog-more").textContent = more[0];
    by("dialog-more").onclick = more[1];
  }
  by("dialog").showModal();
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch { // a page without focus may not copy
    button.textContent = "Select and copy it";
  }
}

/** The planes side by side as one drawing. */
export function svgOf(lab) {
  const groups = [], gap = 16;
  let x = 0, height = 0;
  for (const card of lab.cards) {
    const context = new SvgContext(card.plane.size);
    card.plane.draw({ ...lab.view(), cursor: null, training: card.training }, context);
    groups.push(context.group(x));
    x += card.plane.size + gap;
    height = Math.max(height, card.plane.size);
  }
  return wholeDrawing(groups, x - gap, height);
}

export function pngOf(lab) {
  const gap = 16, canvases = lab.cards.map((card) => card.canvas);
  const whole = element("canvas");
  whole.width = canvases.reduce((sum, one) => sum + one.width + gap, -gap);
  whole.height = Math.max(...canvases.map((one) => one.height));
  const ctx = whole.getContext("2d");
  ctx.fillStyle = colours().paper;
  ctx.fillRect(0, 0, whole.width, whole.height);
  let x = 0;
  for (const one of canvases) { ctx.drawImage(one, x, 0); x += one.width + gap; }
  return new Promise((done) => whole.toBlob(done, "image/png"));
}

export function jsonOf(lab) {
  return JSON.stringify({ state: snapshot(lab), verdict: lab.verdict, runs: lab.runs }, null, 1);
}

/** Wire the buttons of the heading. */
export function wireExports(lab) {
  by("link").onclick = () => {
    const address = `${location.origin}${location.pathname}#${toFragment(snapshot(lab))}`;
    history.replaceState(null, "", address);
    const text = element("textarea", { readonly: true, "aria-label": "Address" });
    text.value = address;
    const words = "The whole state is after the #. It opens in any lab: paste it under Save, Open.";
    showDialog("Link", [element("p", {}, words), text], ["Copy", () => copy(address, by("dialog-more"))]);
    text.select();
  };
  by("python").onclick = async () => {
    try {
      const { program } = await ask("python", lab.question());
      const save = element("button", { onclick: () => download("lab.py", program, "text/x-python") }, "Save as lab.py");
      showDialog("Python", [element("pre", { tabindex: 0 }, program), save], ["Copy", () => copy(program, by("dialog-more"))]);
    } catch (error) { lab.fail(error); }
  };
  const menu = by("save-menu"), button = by("save");
  const open = (yes) => { menu.hidden = !yes; button.setAttribute("aria-expanded", yes); };
  button.onclick = () => { open(menu.hidden); if (!menu.hidden) menu.firstElementChild.focus(); };
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { open(false); button.focus(); } });
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target) && event.target !== button) open(false); });
  menu.addEventListener("click", async (event) => {
    const kind = event.target.dataset.save;
    if (!kind) return;
    open(false);
    if (kind === "png") download("lab.png", await pngOf(lab));
    if (kind === "svg") download("lab.svg", svgOf(lab), "image/svg+xml");
    if (kind === "json") download("lab.json", jsonOf(lab), "application/json");
    if (kind === "open") openState(lab);
  });
}

function openState(lab) {
  const text = element("textarea", { "aria-label": "Link or JSON", placeholder: "A link of a lab, or its JSON" });
  const file = element("input", { type: "file", accept: ".json,application/json", "aria-label": "JSON file" });
  const wrong = element("p", { class: "notice", hidden: true });
  const take = (words) => {
    try {
      lab.restore(readState(words));
      by("dialog").close();
    } catch (error) {
      wrong.hidden = false;
      wrong.textContent = `This cannot be read: ${error.message}`;
    }
  };
  file.onchange = async () => take(await file.files[0].text());
  showDialog("Open", [text, element("p", {}, "or a file: ", file), wrong], ["Open", () => take(text.value)]);
}
