// Requests to the library behind the page. All URLs are relative, so that they include the token.

/** Milliseconds after which the page shows that it is waiting. */
const SLOW = 1500;

export class Refused extends Error {}

/** Send a request; an unsuccessful answer becomes an error with the server's message. */
export async function ask(path, body, signal = null) {
  const how = body === undefined ? {} : {
    signal,
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  for (let tries = 0; ; tries++) {
    let answer;
    try {
      answer = await fetch(path, how);
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Refused("The lab does not answer: has it been stopped?");
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

/**
 * Sends one request at a time. Of the requests that come in meanwhile, only the newest of each kind
 * is kept; kinds listed first are sent first, and interrupt a running request of a later kind.
 */
export class Desk {
  constructor(kinds, failed, slow) {
    this.kinds = kinds; // name: {path, then}, the most urgent first
    this.names = Object.keys(kinds);
    Object.assign(this, { failed, slow });
    this.waiting = new Map();
    this.now = null;
  }

  want(name, body, since = performance.now()) {
    this.waiting.set(name, { body, since });
    const rank = (one) => this.names.indexOf(one);
    if (!this.now) this.#next();
    else if (rank(name) <= rank(this.now.name)) {
      // Closing the connection stops the work behind it.
      if (!this.waiting.has(this.now.name)) this.waiting.set(this.now.name, this.now.wanted);
      this.now.abort.abort();
    }
  }

  drop(name) { this.waiting.delete(name); }

  get idle() { return !this.now && this.waiting.size === 0; }

  async #next() {
    const name = this.names.find((one) => this.waiting.has(one));
    const wanted = this.waiting.get(name), abort = new AbortController();
    this.waiting.delete(name);
    this.now = { name, wanted, abort };
    const slow = setTimeout(this.slow, SLOW);
    const { path, then } = this.kinds[name];
    try {
      const told = await ask(path, wanted.body, abort.signal);
      if (!abort.signal.aborted && !this.waiting.has(name)) then(told, wanted.body, wanted.since);
    } catch (error) {
      if (!abort.signal.aborted) this.failed(error);
    }
    clearTimeout(slow);
    this.now = null;
    if (this.waiting.size) this.#next();
  }
}

/** Decode an array, which is sent as base64 so that no bit is lost. */
export function unpack({ shape, type, base64 }) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const kinds = { float64: Float64Array, float32: Float32Array };
  return { shape, values: new kinds[type](bytes.buffer) };
}
