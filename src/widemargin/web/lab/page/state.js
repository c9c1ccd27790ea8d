// The state of the page as text, for a link or a file, and back again.

const FORMAT = 1;

/** The parts of the lab that a link restores. */
export function snapshot(lab) {
  const { points, labels, learners, frame, position, linked, preset, story, shown, player } = lab;
  return { format: FORMAT, points, classes: labels, learners, frame, position, linked, preset, story, shown, speed: player.speed };
}

export function toFragment(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function fromFragment(fragment) {
  const letters = atob(fragment.replaceAll("-", "+").replaceAll("_", "/"));
  return checked(JSON.parse(new TextDecoder().decode(Uint8Array.from(letters, (one) => one.charCodeAt(0)))));
}

/** A state from a link, an address or a JSON file. */
export function readState(text) {
  const words = text.trim();
  if (words.startsWith("{")) {
    const found = JSON.parse(words);
    return checked(found.state ?? found);
  }
  return fromFragment(words.slice(words.indexOf("#") + 1));
}

/** Reject what is not a state; the server checks everything else. */
function checked(state) {
  const list = (value) => Array.isArray(value);
  const number = (value) => typeof value === "number" && Number.isFinite(value);
  const fine = state?.format === FORMAT && list(state.points) && list(state.classes) && list(state.learners)
    && state.points.every((point) => list(point) && point.length === 3 && point.every(number)
      && Number.isInteger(point[2]) && point[2] >= 0 && point[2] < state.classes.length)
    && state.learners.length >= 1 && state.learners.length <= 2
    && state.learners.every((one) => typeof one?.learner === "string")
    && list(state.frame) && state.frame.length === 4 && state.frame.every(number)
    && state.frame[0] < state.frame[1] && state.frame[2] < state.frame[3];
  if (!fine) throw new Error("this is not a state of the lab");
  return state;
}
