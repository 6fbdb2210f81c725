/**
 * How answers are drawn: the sampler's controls, kept in this browser. The form's own bounds say
 * what is allowed.
 *
 * @import { RequestOptions, Sampling } from '../lib/messages.js'
 */

import { element } from './dom.js';

const KEY = 'wick-settings';

/** The form's fields, by the names that requests use. */
const NAMES = /** @type {const} */ ([
  'temperature',
  'topP',
  'topK',
  'minP',
  'repetitionPenalty',
  'frequencyPenalty',
  'presencePenalty',
  'maxTokens',
  'seed',
]);

export class Settings {
  #form;

  /** @param {HTMLFormElement} form Its fields have the names above. */
  constructor(form) {
    this.#form = form;
    this.#restore();
    form.addEventListener('input', () => this.#echo());
    form.addEventListener('change', () => {
      for (const name of NAMES) settle(this.#field(name));
      this.#echo();
      this.#save();
    });
    form.addEventListener('reset', () =>
      // The fields have their values only afterwards.
      setTimeout(() => {
        this.#echo();
        this.#save();
      }),
    );
    this.#echo();
  }

  /**
   * A request's options. Without a seed of the reader's each answer draws its own.
   * @returns {RequestOptions & Sampling & { seed: number }}
   */
  options() {
    const given = NAMES.map((name) => [name, this.#field(name).value]);
    const numbers = Object.fromEntries(
      given.filter(([, value]) => value !== '').map(([name, value]) => [name, Number(value)]),
    );
    return { seed: crypto.getRandomValues(new Uint32Array(1))[0], ...numbers };
  }

  /** @param {string} name */
  #field(name) {
    const field = this.#form.elements.namedItem(name);
    if (field instanceof HTMLInputElement) return field;
    throw new Error(`expected a field ${name}`);
  }

  /** Shows what the sliders stand at. */
  #echo() {
    for (const name of NAMES) {
      const field = this.#field(name);
      if (field.type === 'range')
        element(`${field.id}-value`, HTMLOutputElement).value = field.value;
    }
  }

  #save() {
    const values = NAMES.map((name) => [name, this.#field(name).value]);
    try {
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(values)));
    } catch {
      // Refused here: the settings last as long as the page.
    }
  }

  #restore() {
    /** @type {unknown} */
    let kept = null;
    try {
      kept = JSON.parse(localStorage.getItem(KEY) ?? 'null');
    } catch {
      // Refused, or not ours.
    }
    if (typeof kept !== 'object' || kept === null) return;
    for (const name of NAMES) {
      const value = /** @type {Record<string, unknown>} */ (kept)[name];
      if (typeof value !== 'string') continue;
      this.#field(name).value = value;
      settle(this.#field(name));
    }
  }
}

/** Brings a number within its field's bounds; what is none becomes the default. @param {HTMLInputElement} field */
function settle(field) {
  if (field.value === '' && !field.required && !field.validity.badInput) return;
  const number = Number(field.value);
  if (field.value === '' || !Number.isFinite(number)) field.value = field.defaultValue;
  else if (field.min !== '' && number < Number(field.min)) field.value = field.min;
  else if (field.max !== '' && number > Number(field.max)) field.value = field.max;
  else if (field.step === '1' && !Number.isInteger(number))
    field.value = String(Math.round(number));
}
