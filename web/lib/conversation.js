/**
 * A conversation that outlives the context: each answer gets as many of the newest turns as leave
 * it room, and what is left out is told. A turn is a question and its answer; one without an answer
 * is not kept.
 *
 * @import { GenerateOptions, Model } from './client.js'
 * @import { ChatMessage, Piece } from './messages.js'
 */

import { fitContext } from './fit.js';

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
   * The conversation with a question at its end, as ids, with room left for an answer.
   * @param {Model} model
   * @param {string} question
   */
  async #fit(model, question) {
    const said = [...this.#turns, /** @type {const} */ ({ role: 'user', content: question })];
    const { ids, dropped } = await fitContext(model, this.#system, said);
    this.#turns = this.#turns.slice(dropped);
    this.nForgotten = dropped;
    return ids;
  }
}
