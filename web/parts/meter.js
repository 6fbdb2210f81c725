import { count, seconds } from './format.js';

/** Counts and times one answer. */
export class Meter {
  #start = performance.now();
  #first = 0;
  #last = 0;
  #tokens = 0;
  #prompt = 0;
  #reused = 0;
  #done = 0;

  /** @param {import('../lib/messages.js').Piece} piece */
  take(piece) {
    this.#prompt = piece.nPrompt || this.#prompt;
    this.#reused = piece.nReused || this.#reused;
    this.#done = piece.nPromptDone || this.#done;
    if (piece.type !== 'token') return;
    this.#last = performance.now();
    this.#first ||= this.#last;
    this.#tokens++;
  }

  text() {
    if (!this.#tokens)
      return this.#prompt ? `reading ${this.#done} of ${count(this.#prompt, 'token')}` : '';
    const parts = [count(this.#tokens, 'token')];
    const time = this.#last - this.#first;
    if (this.#tokens > 1 && time > 0)
      parts.push(`${((1000 * (this.#tokens - 1)) / time).toFixed(1)} tokens/s`);
    parts.push(`first after ${seconds(this.#first - this.#start)}`);
    parts.push(`prompt ${this.#prompt}, ${this.#reused} from cache`);
    return parts.join(' · ');
  }
}
