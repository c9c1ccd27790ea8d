// A canvas context that writes SVG, with only the calls that the plane makes.

export class SvgContext {
  constructor(size) {
    this.size = size;
    this.parts = [];
    this.path = "";
    this.dash = [];
    this.fillStyle = this.strokeStyle = "#000";
    this.lineWidth = 1;
    this.font = "12px sans-serif";
    this.textAlign = "left";
  }
  setTransform() {}
  setLineDash(dash) { this.dash = dash; }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${round(x)} ${round(y)}`; }
  lineTo(x, y) { this.path += `L${round(x)} ${round(y)}`; }
  closePath() { this.path += "Z"; }
  arc(x, y, r) {
    const [a, b, c] = [round(x - r), round(y), round(r)];
    this.path += `M${a} ${b}a${c} ${c} 0 1 0 ${round(2 * r)} 0a${c} ${c} 0 1 0 ${round(-2 * r)} 0`;
  }
  stroke() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${round(this.lineWidth)}"${dash}/>`);
  }
  fill() { this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"/>`); }
  fillRect(x, y, w, h) {
    this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" fill="${this.fillStyle}"/>`);
  }
  strokeText(words, x, y) { this.#text(words, x, y, `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="round"`); }
  fillText(words, x, y) { this.#text(words, x, y, `fill="${this.fillStyle}"`); }
  drawImage(image, x, y, w, h) {
    this.parts.push(`<image href="${image.toDataURL("image/png")}" x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" preserveAspectRatio="none"/>`);
  }
  #text(words, x, y, look) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign];
    const [, weight, size] = /^(600 )?([\d.]+)px/.exec(this.font) ?? [null, "", "12"];
    const clean = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    this.parts.push(`<text x="${round(x)}" y="${round(y)}" font-size="${size}" font-family="system-ui, sans-serif"${weight ? ' font-weight="600"' : ""} text-anchor="${anchor}" dominant-baseline="central" ${look}>${clean}</text>`);
  }
  /** The drawing, shifted to the right. */
  group(x) { return `<g transform="translate(${x} 0)"><svg width="${this.size}" height="${this.size}">${this.parts.join("\n")}</svg></g>`; }
}

export function wholeDrawing(groups, width, height) {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n${groups.join("\n")}\n</svg>\n`;
}

const round = (value) => +value.toFixed(2);
