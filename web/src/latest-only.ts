// Search as you type: the first letter is searched at once; while an answer is under way only the newest text waits.

/** Runs `load` for the newest input. At most one runs at a time, and an answer that is out of date is not shown. */
export class LatestOnly<I, O> {
  #busy = false;
  #waiting: { input: I } | undefined;
  #round = 0;

  constructor(
    readonly load: (input: I) => Promise<O>,
    readonly show: (output: O, input: I) => void,
  ) {}

  run(input: I): void {
    this.#round += 1;
    if (this.#busy) this.#waiting = { input };
    else void this.#start(input);
  }

  /** Forget what waits and what is under way. */
  cancel(): void {
    this.#round += 1;
    this.#waiting = undefined;
  }

  async #start(input: I): Promise<void> {
    const round = this.#round;
    this.#busy = true;
    try {
      const output = await this.load(input);
      if (round === this.#round) this.show(output, input);
    } finally {
      this.#busy = false;
      const next = this.#waiting;
      this.#waiting = undefined;
      if (next) void this.#start(next.input);
    }
  }
}
