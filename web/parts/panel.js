/**
 * The side panel: a column beside the conversation where there is room, else a drawer over it that
 * Escape and a press beside it close.
 */

const WIDE = '(width >= 64rem)';

export class Panel {
  #dialog;
  #toggle;
  #wide = matchMedia(WIDE);

  /**
   * @param {HTMLDialogElement} dialog
   * @param {HTMLButtonElement} toggle
   */
  constructor(dialog, toggle) {
    this.#dialog = dialog;
    this.#toggle = toggle;
    toggle.addEventListener('click', () => (dialog.open ? dialog.close() : this.#open()));
    dialog.addEventListener('close', () => this.#told());
    dialog.addEventListener('click', ({ target }) => {
      // Its backdrop counts as the dialog itself.
      if (target === dialog && !this.#wide.matches) dialog.close();
    });
    this.#wide.addEventListener('change', () => {
      dialog.close();
      if (this.#wide.matches) this.#open();
    });
    if (this.#wide.matches) this.#open();
    this.#told();
  }

  #open() {
    // As a column it takes no focus.
    if (this.#wide.matches) this.#dialog.setAttribute('open', '');
    else this.#dialog.showModal();
    this.#told();
  }

  #told() {
    this.#toggle.ariaExpanded = String(this.#dialog.open);
  }

  /** A drawer has done its part when something was chosen. */
  chosen() {
    if (!this.#wide.matches) this.#dialog.close();
  }
}
