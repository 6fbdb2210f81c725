// As much of WASI as a C program needs that prints and takes the time, for Node and for pages.
// node:wasi is not used: since Node 22 its calls may crash (nodejs/node issue 53087).

class Exit extends Error {
  /** @param {number} status */
  constructor(status) {
    super();
    this.status = status;
  }
}

const THREAD_CPUTIME = 3;
const NOT_SUPPORTED = 52;

/**
 * Runs a stand-alone program to its end.
 * @param {WebAssembly.Module} module
 * @param {string[]} args
 * @param {{ write: (bytes: Uint8Array) => void, milliseconds: (ofProcessor: boolean) => number }} host
 * @returns {Promise<number>} its exit status
 */
export async function runProgram(module, args, { write, milliseconds }) {
  const strings = ['program', ...args].map((text) => new TextEncoder().encode(`${text}\0`));
  let memory = new WebAssembly.Memory({ initial: 0 }); // until the program brings its own
  /** @param {number} at @param {number} value */
  const setWord = (at, value) => new DataView(memory.buffer).setUint32(at, value, true);
  /** @param {number} at */
  const getWord = (at) => new DataView(memory.buffer).getUint32(at, true);

  /** @type {Record<string, (...numbers: any[]) => number>} */
  const functions = {
    args_sizes_get(count, bytes) {
      setWord(count, strings.length);
      setWord(
        bytes,
        strings.map((s) => s.length).reduce((a, b) => a + b),
      );
      return 0;
    },
    args_get(pointers, bytes) {
      for (const [i, string] of strings.entries()) {
        setWord(pointers + 4 * i, bytes);
        new Uint8Array(memory.buffer).set(string, bytes);
        bytes += string.length;
      }
      return 0;
    },
    clock_time_get(clock, _precision, out) {
      const nanoseconds = BigInt(Math.round(milliseconds(clock === THREAD_CPUTIME) * 1e6));
      new DataView(memory.buffer).setBigUint64(out, nanoseconds, true);
      return 0;
    },
    fd_write(_file, vectors, n, written) {
      let total = 0;
      for (let at = vectors; at < vectors + 8 * n; at += 8) {
        write(new Uint8Array(memory.buffer, getWord(at), getWord(at + 4)).slice());
        total += getWord(at + 4);
      }
      setWord(written, total);
      return 0;
    },
    proc_exit(status) {
      throw new Exit(status);
    },
  };

  /** @type {Record<string, Record<string, any>>} */
  const imports = { env: { emscripten_notify_memory_growth() {} }, wasi_snapshot_preview1: {} };
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    if (from !== 'env') imports[from][name] = functions[name] ?? (() => NOT_SUPPORTED);
  const { exports } = await WebAssembly.instantiate(module, imports);
  memory = /** @type {WebAssembly.Memory} */ (exports.memory);
  try {
    /** @type {() => void} */ (exports._start)();
    return 0;
  } catch (error) {
    if (error instanceof Exit) return error.status;
    throw error;
  }
}
