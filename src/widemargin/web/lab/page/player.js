// The player: step, play, pause, back, jump to mistake k, speed.

const by = (id) => document.getElementById(id);
const SPEEDS = [1, 2, 5, 10, 20, 50, 200, 1000];

export class Player {
  constructor(lab) {
    this.lab = lab;
    this.playing = false;
    this.speed = 2;
    const speeds = by("speed");
    for (const one of SPEEDS) speeds.append(new Option(`${one}/s`, one, one === this.speed, one === this.speed));
    speeds.onchange = () => { this.speed = Number(speeds.value); };
    this.speeds = speeds;
    const wire = { first: () => this.go(0), back: () => this.go(lab.position - 1), step: () => this.go(lab.position + 1), last: () => this.go(lab.length), play: () => this.toggle() };
    for (const [id, act] of Object.entries(wire)) by(id).onclick = act;
    by("position").oninput = () => this.go(Number(by("position").value));
    by("mistake").onchange = () => this.toMistake(Number(by("mistake").value));
    by("mistake-on").onclick = () => this.nextMistake();
    by("mistake-back").onclick = () => this.previousMistake();
  }

  setSpeed(speed) {
    if (!SPEEDS.includes(speed)) return;
    this.speed = speed;
    this.speeds.value = speed;
  }

  /** The run whose mistakes are counted: the first that has any. */
  get training() {
    const all = this.lab.cards.map((card) => card.training);
    return all.find((one) => one?.run.mistakes) ?? null;
  }

  go(position, playing = false) {
    if (!playing) this.pause();
    this.lab.position = Math.max(0, Math.min(this.lab.length, position));
    this.lab.redraw();
    if (!playing) this.lab.sayStep();
  }

  /** Go to the step of mistake k, counted from 1; 0 is the start. */
  toMistake(k) {
    const mistakes = this.training?.mistakes ?? [];
    const to = Math.max(0, Math.min(mistakes.length, Math.round(k) || 0));
    this.go(to === 0 ? 0 : mistakes[to - 1] + 1);
  }

  nextMistake() {
    const made = this.training?.mistakesAt(this.lab.position) ?? 0;
    if (made < (this.training?.mistakes.length ?? 0)) this.toMistake(made + 1);
    else this.lab.say("there is no later mistake");
  }

  previousMistake() {
    const { training, lab } = this;
    if (!training) return;
    const made = training.mistakesAt(lab.position);
    this.toMistake(training.isMistake?.(lab.position) ? made - 1 : made);
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  play() {
    if (!this.lab.length) return;
    if (this.lab.position >= this.lab.length) this.go(0, true);
    this.playing = true;
    this.since = performance.now();
    this.owed = 0;
    this.show();
    this.lab.redraw();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.show();
    this.lab.sayStep();
  }

  /** Called for every frame: take as many steps as the elapsed time and the speed require. */
  tick(now) {
    if (!this.playing) return;
    this.owed += Math.min(250, now - this.since) * this.speed / 1000;
    this.since = now;
    const steps = Math.floor(this.owed);
    this.owed -= steps;
    if (steps) this.go(this.lab.position + steps, true);
    if (this.lab.position >= this.lab.length) this.pause(); else this.lab.redraw();
  }

  /** The passes after `at` steps: the weights are shown after some of them only. */
  #passes(at) {
    const solvers = this.lab.cards.map((card) => card.training).filter((one) => one?.run.passes);
    const pass = (p) => p ? Math.max(...solvers.map((one) => one.pass(p)?.passes ?? 0)) : 0;
    return `pass ${pass(at)} of ${pass(this.lab.length)}`;
  }

  /** Update the controls. */
  show() {
    const { lab, training } = this, steps = lab.cards.map((card) => card.training).find((one) => one?.run.order);
    by("play").querySelector("path").setAttribute("d", this.playing ? "M6 5h4v14H6zM14 5h4v14h-4z" : "M7 4v16l13-8z");
    by("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
    const slider = by("position");
    slider.max = lab.length;
    slider.value = lab.position;
    const at = steps ? Math.min(lab.position, steps.length) : lab.position;
    const words = steps ? `step ${at} of ${steps.length}, epoch ${at ? steps.epoch(at) : 0}` : this.#passes(at);
    slider.setAttribute("aria-valuetext", words);
    by("count").textContent = lab.length ? words : "no steps";
    const all = training?.mistakes.length ?? 0, made = training?.mistakesAt(lab.position) ?? 0;
    if (document.activeElement !== by("mistake")) by("mistake").value = made;
    by("mistake").max = all;
    by("mistake-count").textContent = `of ${all}`;
    for (const id of ["first", "back"]) by(id).disabled = lab.position === 0;
    for (const id of ["step", "last"]) by(id).disabled = lab.position >= lab.length;
    by("play").disabled = !lab.length;
    by("mistake-on").disabled = made >= all;
    by("mistake-back").disabled = made === 0;
  }
}
