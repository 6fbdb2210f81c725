import js from '@eslint/js';
import globals from 'globals';

export default [
  { ignores: ['build*/', 'dist/', 'models/', '.toolchain/', '.peers/', 'shared/'] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: 'module' },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-constant-condition': ['error', { checkLoops: false }],
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      'no-var': 'error',
      'prefer-const': 'error',
      // Model output and file names are text: never parsed as HTML.
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'use text nodes' },
        { property: 'outerHTML', message: 'use text nodes' },
        { property: 'insertAdjacentHTML', message: 'use text nodes' },
      ],
    },
  },
  {
    files: ['tools/**', 'tests/**', 'node/**', '*.js'],
    languageOptions: { globals: { ...globals.node } },
  },
  {
    files: ['web/**', 'tests/web/**', 'tests/peers/page/**', 'tools/shots.mjs'],
    languageOptions: { globals: { ...globals.browser, ...globals.worker } },
  },
];
