/** axe-core in a page: what it finds wrong for people who use assistive technology. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './support.mjs';

const source = readFileSync(path.join(root, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/**
 * @param {import('playwright-core').Page} page
 * @returns {Promise<string[]>} One line for each element that breaks a rule.
 */
export async function axeViolations(page) {
  // The page's policy allows no foreign script; evaluate runs outside of it.
  await page.evaluate(source);
  const { violations } = await page.evaluate(() =>
    /** @type {any} */ (globalThis).axe.run({ resultTypes: ['violations'] }),
  );
  return violations.flatMap((/** @type {any} */ { id, help, nodes }) =>
    nodes.map((/** @type {any} */ { html }) => `${id}: ${help}: ${html}`),
  );
}
