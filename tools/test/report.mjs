// Counting the results of every runner, and printing what failed.
import { say } from '../lib/run.mjs';

/** In CI nothing may be left out for want of a program. */
export const strict = process.env.CI === 'true';

export class Report {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** @type {string[]} names, to be shown again at the end */
  failures = [];

  /** @param {string} layer */
  constructor(layer) {
    this.layer = layer;
  }

  pass() {
    this.passed++;
  }

  /** @param {string} name @param {string} [output] the end of it is shown */
  fail(name, output = '') {
    this.failed++;
    this.failures.push(`${this.layer}: ${name}`);
    say(`  FAILED ${name}`);
    const lines = output.trimEnd().split('\n').slice(-40);
    for (const line of lines.filter((text) => text !== '')) say(`    ${line}`);
  }

  /** @param {string} name @param {string} why */
  skip(name, why) {
    this.skipped++;
    say(`  skipped ${name}: ${why}`);
  }

  /**
   * A test that needs something this machine lacks.
   * @param {string} name @param {string} what @param {string} install what brings it
   */
  lacking(name, what, install) {
    const why = `${what} not found: install ${install}`;
    if (strict) this.fail(name, why);
    else this.skip(name, why);
  }

  /** @param {boolean} good @param {string} name @param {string} [output] */
  check(good, name, output) {
    if (good) this.pass();
    else this.fail(name, output);
  }

  /** @param {Report} other */
  add(other) {
    this.passed += other.passed;
    this.failed += other.failed;
    this.skipped += other.skipped;
    this.failures.push(...other.failures);
  }

  toString() {
    return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
  }
}
