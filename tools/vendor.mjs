// Puts the one library that pages use where they are served: dist/vendor/marked.js, with its types
// beside it. It is one ES module, so that no bundler is needed.
import { copyFileSync, mkdirSync } from 'node:fs';
import { inRoot } from './lib/paths.mjs';

/** What is copied: from a package, to dist/vendor/. */
const files = [
  { from: 'marked/lib/marked.esm.js', to: 'marked.js' },
  { from: 'marked/lib/marked.d.ts', to: 'marked.d.ts' },
  { from: 'marked/LICENSE', to: 'marked.LICENSE.txt' },
];

export async function vendor() {
  mkdirSync(inRoot('dist', 'vendor'), { recursive: true });
  for (const { from, to } of files)
    copyFileSync(inRoot('node_modules', from), inRoot('dist', 'vendor', to));
}
