/** How an error is told: one line, whatever its message holds. */

/** @param {unknown} error */
export function errorLine(error) {
  const message = error instanceof Error ? error.message : String(error);
  const text = message.replace(/^wick: /, '');
  // What a terminal would obey; C1 controls do as C0 ones.
  // eslint-disable-next-line no-control-regex
  return `wick: ${text.replace(/[\x00-\x1f\x7f-\x9f]/g, '?')}\n`;
}
