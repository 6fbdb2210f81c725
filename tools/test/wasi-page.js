// The page's side of page.mjs: as much of WASI as a C program needs that prints and takes the time.
// The arguments are JSON in the URL's hash; ended({ status, stdout }) is given by the other side.

class Exit extends Error {
  /** @param {number} status */
  constructor(status) {
    super();
    this.status = status;
  }
}

const args = ['program', ...JSON.parse(decodeURIComponent(globalThis.location.hash.slice(1)))];
const strings = args.map((text) => new TextEncoder().encode(`${text}\0`));
let stdout = '';
/** @type {WebAssembly.Memory} */
let memory;
const view = () => new DataView(memory.buffer);

/** @type {Record<string, (...numbers: any[]) => number>} */
const functions = {
  args_sizes_get(count, bytes) {
    view().setUint32(count, strings.length, true);
    view().setUint32(
      bytes,
      strings.reduce((sum, s) => sum + s.length, 0),
      true,
    );
    return 0;
  },
  args_get(pointers, bytes) {
    for (const string of strings) {
      view().setUint32(pointers, bytes, true);
      new Uint8Array(memory.buffer).set(string, bytes);
      pointers += 4;
      bytes += string.length;
    }
    return 0;
  },
  clock_time_get(_clock, _precision, out) {
    view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  },
  fd_write(_file, vectors, n, written) {
    let total = 0;
    for (let i = 0; i < n; i++) {
      const at = view().getUint32(vectors + 8 * i, true);
      const bytes = view().getUint32(vectors + 8 * i + 4, true);
      stdout += new TextDecoder().decode(new Uint8Array(memory.buffer, at, bytes));
      total += bytes;
    }
    view().setUint32(written, total, true);
    return 0;
  },
  proc_exit(status) {
    throw new Exit(status);
  },
};

async function run() {
  try {
    const module = await WebAssembly.compileStreaming(fetch('/program.wasm'));
    /** @type {Record<string, Record<string, any>>} */
    const imports = { env: { emscripten_notify_memory_growth() {} }, wasi_snapshot_preview1: {} };
    // What it names and does not use (files, seeking) answers "not supported", 52.
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      if (from !== 'env') imports[from][name] = functions[name] ?? (() => 52);
    const { exports } = await WebAssembly.instantiate(module, imports);
    memory = /** @type {WebAssembly.Memory} */ (exports.memory);
    /** @type {() => void} */ (exports._start)();
    return 0;
  } catch (error) {
    if (error instanceof Exit) return error.status;
    stdout += `${error}\n`;
    return 1;
  }
}

const status = await run();
/** @type {any} */ (globalThis).ended({ status, stdout });
