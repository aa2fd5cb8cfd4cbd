import { clock } from './request-log.ts';

/** After this, the step that goes on is printed again, so that something is seen at least every three seconds. */
const silentMs = 2_500;

/** What `npm start` prints while it starts. */
export class Progress {
  readonly #isQuiet: boolean;
  #step = 'Loading';
  #since = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(isQuiet: boolean) {
    this.#isQuiet = isQuiet;
    this.#wait();
  }

  /** A step begins, or something is told. */
  readonly tell = (message: string): void => {
    this.#step = message;
    this.#since = performance.now();
    this.#print(message);
    if (this.#timer !== undefined) this.#wait();
  };

  /** The service is ready, or stops. */
  readonly end = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  };

  #wait(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#print(`${this.#step} (${Math.round((performance.now() - this.#since) / 1000)} s)`);
      this.#wait();
    }, silentMs).unref();
  }

  #print(message: string): void {
    // The same time as that of a request.
    if (!this.#isQuiet) console.log(`${clock()} ${message}`);
  }
}
