// A reporter for node's test runner: one line of JSON for each test (suites are not tests).
import path from 'node:path';

/** @param {any} error @returns {string} the cause, with its own stack */
function describe(error) {
  const cause = error?.cause ?? error;
  return String(cause?.stack ?? cause?.message ?? cause ?? '');
}

/** @param {AsyncIterable<any>} source */
export default async function* report(source) {
  /** @type {string[]} what the tests printed, shown with what fails */
  let printed = [];
  for await (const { type, data } of source) {
    if (type === 'test:stdout' || type === 'test:stderr') {
      printed = [...printed, data.message].slice(-100);
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.type === 'suite') continue;
    const file = data.file ? `${path.basename(data.file)}: ` : '';
    const event = { name: file + data.name, passed: type === 'test:pass' };
    if (data.skip !== undefined || data.todo !== undefined) {
      const why = data.skip ?? data.todo;
      Object.assign(event, { skip: typeof why === 'string' && why ? why : 'no reason given' });
    } else if (type === 'test:fail') {
      Object.assign(event, { error: printed.join('') + describe(data.details?.error) });
    }
    yield `${JSON.stringify(event)}\n`;
  }
}
