// Talking to the library behind the page. All addresses are relative, so that they carry the token.

export class Refused extends Error {}

/** Ask once; an answer that is no success becomes an error with the server's words. */
export async function ask(path, body) {
  const how = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  for (let tries = 0; ; tries++) {
    let answer;
    try {
      answer = await fetch(path, how);
    } catch {
      throw new Refused("The lab does not answer: was it ended?");
    }
    if (answer.status === 429 && tries < 20) { // another page is being served
      await new Promise((done) => setTimeout(done, 100));
      continue;
    }
    let told;
    try { told = await answer.json(); } catch { told = { error: `the lab answered ${answer.status}` }; }
    if (!answer.ok) throw new Refused(told.error ?? `the lab answered ${answer.status}`);
    return told;
  }
}

/** Asks for one thing at a time; of what is wanted meanwhile, only the newest is asked for. */
export class Latest {
  constructor(path, then, failed) {
    Object.assign(this, { path, then, failed, busy: false, waiting: null });
  }

  want(body, since = performance.now()) {
    this.waiting = { body, since };
    if (!this.busy) this.#next();
  }

  get idle() { return !this.busy && this.waiting === null; }

  async #next() {
    const { body, since } = this.waiting;
    this.waiting = null;
    this.busy = true;
    try {
      const told = await ask(this.path, body);
      // What was moved meanwhile is another question; this answer is out of date.
      if (this.waiting === null) this.then(told, body, since);
    } catch (error) {
      this.failed(error);
    }
    this.busy = false;
    if (this.waiting) this.#next();
  }
}

/** Arrays travel as base64, so that no bit is lost. */
export function unpack({ shape, type, base64 }) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const kinds = { float64: Float64Array, float32: Float32Array };
  return { shape, values: new kinds[type](bytes.buffer) };
}
