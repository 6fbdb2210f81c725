// Where things lie. Every tool takes its paths from here.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
export const toolchainFolder = path.join(root, '.toolchain');
export const modelsFolder = process.env.WICK_MODELS || path.join(root, 'models');

/** @param {...string} parts */
export const inRoot = (...parts) => path.join(root, ...parts);
