// Notes that a tool keeps for its next run.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** What a file says, or null when it is absent or torn. @param {string} file @returns {any} */
export function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Leaves the old file or the new one, never half of either. @param {string} file @param {unknown} value */
export function writeJson(file, value) {
  writeFileSync(`${file}.new`, JSON.stringify(value));
  renameSync(`${file}.new`, file);
}
