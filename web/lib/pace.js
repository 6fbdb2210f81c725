/**
 * How much of a prompt one step takes, where the worker learns of a cancel between steps only: as
 * much as this machine computes in the time that a cancel may wait, found by timing the steps.
 */

/** Leaves room for a step that takes twice as long as the one before: machines are not steady. */
const STEP_MILLISECONDS = 50;
/** Kernels take tokens by twos. */
const FEWEST = 2;

export class Pace {
  /** For the next step. */
  tokens = FEWEST;

  /**
   * Learns from a step that took all of them.
   * @param {number} milliseconds
   */
  took(milliseconds) {
    // Doubled at most: a clock may be coarse, and one quick step proves little.
    const factor = Math.min(2, STEP_MILLISECONDS / Math.max(milliseconds, 0.01));
    const even = 2 * Math.floor((this.tokens * factor) / 2);
    this.tokens = Math.max(FEWEST, even);
  }
}
