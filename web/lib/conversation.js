/**
 * A conversation that outlives the context: each answer gets as many of the newest turns as leave
 * it room, and what is left out is told. A turn is a question and its answer; one without an answer
 * is not kept.
 *
 * @import { GenerateOptions, Model } from './client.js'
 * @import { ChatMessage, Piece } from './messages.js'
 */

/** Tokens left free for an answer: these, or a quarter of a small context. */
const RESERVE = 256;

export class Conversation {
  /** @type {ChatMessage[]} */
  #system;
  /** Questions and answers in turn. @type {ChatMessage[]} */
  #turns = [];

  /** @param {string} [system] The system prompt; without it the model's own. */
  constructor(system) {
    this.#system = system === undefined ? [] : [{ role: 'system', content: system }];
    /** How many of the oldest messages the last question found no room for. */
    this.nForgotten = 0;
  }

  /** What the model will see before the next question. @returns {ChatMessage[]} */
  get messages() {
    return [...this.#system, ...this.#turns];
  }

  /**
   * Asks, and gives the answer piece by piece as Model.generate does. Throws, with the turn not
   * kept, when the model's chat format is not known, the question alone is too long, or the answer
   * fails; what an aborted answer said is kept.
   * @param {Model} model
   * @param {string} question
   * @param {GenerateOptions} [options]
   * @returns {AsyncGenerator<Piece, void, void>}
   */
  async *ask(model, question, options = {}) {
    const turn = { question, answer: '', whole: false };
    const prompt = await this.#fit(model, question);
    try {
      for await (const piece of model.generate(prompt, options)) {
        turn.answer += piece.text;
        turn.whole = piece.type === 'done';
        yield piece;
      }
    } catch (error) {
      if (!options.signal?.aborted) turn.answer = '';
      throw error;
    } finally {
      if (turn.whole || turn.answer) this.#keep(turn);
    }
  }

  /** @param {{ question: string, answer: string }} turn */
  #keep({ question, answer }) {
    this.#turns.push({ role: 'user', content: question }, { role: 'assistant', content: answer });
  }

  /**
   * The conversation with a question at its end, as ids, with room left for an answer. Drops the
   * oldest turns where needed, but none in vain.
   * @param {Model} model
   * @param {string} question
   * @returns {Promise<Int32Array>}
   */
  async #fit(model, question) {
    const { context } = model.info;
    const most = context - Math.min(RESERVE, Math.floor(context / 4));
    for (let dropped = 0; ; dropped += 2) {
      const turns = this.#turns.slice(dropped);
      const messages = [...this.#system, ...turns, { role: 'user', content: question }];
      const ids = await model.tokenize(/** @type {ChatMessage[]} */ (messages));
      if (ids.length <= most) {
        this.#turns = turns;
        this.nForgotten = dropped;
        return ids;
      }
      if (!turns.length)
        throw new Error(
          `wick: message: expected at most ${most} tokens with its frame, found ${ids.length}`,
        );
    }
  }
}
