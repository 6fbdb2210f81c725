/**
 * What an answer cost: tokens, tokens a second, the time to the first, and what the cache saved.
 *
 * @import { Piece } from '../lib/messages.js'
 */

import { count, seconds } from './format.js';

/** Fewer tokens than this say little about the speed of reading. */
const LEAST = 8;

/** Measures a model's answers, one after another. */
export class Speed {
  /** Of reading a prompt, tokens a millisecond; 0: not known yet. */
  reading = 0;

  /** Begins to measure an answer. */
  begin() {
    return new Meter(this);
  }
}

class Meter {
  #speed;
  #start = performance.now();
  #first = 0;
  #last = 0;
  #tokens = 0;
  #prompt = 0;
  #reused = 0;
  #done = 0;

  /** @param {Speed} speed */
  constructor(speed) {
    this.#speed = speed;
  }

  /** Tokens of the context that prompt and answer fill. */
  get used() {
    return this.#prompt + this.#tokens;
  }

  /** @param {Piece} piece */
  take(piece) {
    this.#prompt = piece.nPrompt || this.#prompt;
    this.#reused = piece.nReused || this.#reused;
    this.#done = piece.nPromptDone || this.#done;
    if (piece.type !== 'token') return;
    this.#last = performance.now();
    this.#tokens++;
    if (this.#first) return;
    this.#first = this.#last;
    const read = this.#prompt - this.#reused;
    // A prompt from the cache has nothing to measure; the last long one still holds.
    if (read >= LEAST) this.#speed.reading = read / (this.#first - this.#start);
  }

  text() {
    if (!this.#tokens)
      return this.#prompt ? `reading ${this.#done} of ${count(this.#prompt, 'token')}` : '';
    const parts = [count(this.#tokens, 'token')];
    const time = this.#last - this.#first;
    if (this.#tokens > 1 && time > 0)
      parts.push(`${((1000 * (this.#tokens - 1)) / time).toFixed(1)} tokens/s`);
    parts.push(`first after ${seconds(this.#first - this.#start)}`);
    const saved = this.#speed.reading ? this.#reused / this.#speed.reading : 0;
    const cache = `prompt ${this.#prompt}, ${this.#reused} from cache`;
    parts.push(saved > 0 ? `${cache} (saved about ${seconds(saved)})` : cache);
    return parts.join(' · ');
  }
}
