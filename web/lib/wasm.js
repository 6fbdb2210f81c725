/**
 * A wasm instance seen from JavaScript: memory views that survive growth, C strings, and structs
 * read and written by the names that wick.h gives their fields (exports.c has the table).
 *
 * @typedef {{ offset: number, bytes: number, kind: string }} Field
 * @typedef {{ bytes: number, fields: Map<string, Field> }} Struct
 * @typedef {Record<string, any>} Exports
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// What the builds are linked for (tools/build-wasm.mjs).
const INITIAL_PAGES = 32;
const LARGEST_PAGES = 65536;

/**
 * Instantiates one of the builds on a memory.
 * @param {WebAssembly.Module} module
 * @param {WebAssembly.Memory} memory
 * @param {number} [stack] Upper end of this instance's own stack, for all but a memory's first.
 * @returns {Promise<Exports>}
 */
export async function instantiate(module, memory, stack) {
  const instance = await WebAssembly.instantiate(module, { env: { memory } });
  const exports = /** @type {Exports} */ (instance.exports);
  if (stack === undefined) exports._initialize();
  else exports.__stack_pointer.value = stack;
  return exports;
}

/**
 * A small memory that can grow: what a model needs is known only when its header has come. The most
 * is an address range, not yet memory; where there is no room for 4 GB of it, as on some phones,
 * it is as much as there is.
 * @param {boolean} shared
 */
export function createMemory(shared) {
  for (let maximum = LARGEST_PAGES; ; maximum >>= 1) {
    try {
      return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum, shared });
    } catch (error) {
      if (!(error instanceof RangeError) || maximum <= INITIAL_PAGES) throw error;
    }
  }
}

export class Wasm {
  /** @type {ArrayBufferLike | undefined} */
  #buffer;
  #bytes = new Uint8Array(0);
  #view = new DataView(new ArrayBuffer(0));
  /** @type {Map<string, Struct>} */
  #structs = new Map();

  /**
   * @param {Exports} exports
   * @param {WebAssembly.Memory} memory
   */
  constructor(exports, memory) {
    this.exports = exports;
    this.memory = memory;
    this.#readStructs();
  }

  #refresh() {
    if (this.#buffer === this.memory.buffer) return;
    this.#buffer = this.memory.buffer;
    this.#bytes = new Uint8Array(this.#buffer);
    this.#view = new DataView(this.#buffer);
  }

  /** All of memory; look again after every call, for growth replaces it. */
  get bytes() {
    this.#refresh();
    return this.#bytes;
  }

  get view() {
    this.#refresh();
    return this.#view;
  }

  /** @param {number} size */
  allocate(size) {
    // More would be cut to 32 bits on its way.
    if (!(Number.isInteger(size) && size >= 0 && size < 2 ** 32))
      throw new Error(`expected a count of bytes below 2^32, found ${size}`);
    const pointer = this.exports.malloc(size) >>> 0;
    if (!pointer)
      throw new Error(`expected ${size} more bytes of memory, found none within the limit`);
    return pointer;
  }

  /** @param {number} pointer */
  free(pointer) {
    this.exports.free(pointer);
  }

  /**
   * Runs a function with memory that is released afterwards.
   * @template T
   * @param {(take: Scope) => T} body
   * @returns {T}
   */
  scope(body) {
    const scope = new Scope(this);
    try {
      return body(scope);
    } finally {
      scope.end();
    }
  }

  /**
   * @param {number} pointer
   * @param {number} n
   * @returns {Uint8Array} A copy.
   */
  copyBytes(pointer, n) {
    return this.bytes.slice(pointer, pointer + n);
  }

  /**
   * @param {number} pointer
   * @param {number} n
   * @returns {Float32Array} A view: valid until memory grows.
   */
  floats(pointer, n) {
    return new Float32Array(this.memory.buffer, pointer, n);
  }

  /**
   * @param {number} pointer Of n UTF-8 bytes, or of a terminated string.
   * @param {number} [n]
   */
  string(pointer, n) {
    const end = n === undefined ? this.bytes.indexOf(0, pointer) : pointer + n;
    // A copy, since browsers decode nothing that lies in shared memory.
    return decoder.decode(this.bytes.slice(pointer, end));
  }

  /** @param {number} pointer */
  pointerAt(pointer) {
    return this.view.getUint32(pointer, true);
  }

  /** @param {string} type */
  sizeOf(type) {
    return this.#struct(type).bytes;
  }

  /**
   * Every field of a struct as a number; of an array or a struct inside, its address.
   * @param {number} pointer
   * @param {string} type
   * @returns {Record<string, number>}
   */
  read(pointer, type) {
    /** @type {Record<string, number>} */
    const values = {};
    for (const [name, field] of this.#struct(type).fields)
      values[name] = this.#readField(pointer + field.offset, field);
    return values;
  }

  /**
   * @param {number} pointer
   * @param {string} type
   * @param {Record<string, number | bigint | boolean>} values Fields that are left out keep what
   *   they have.
   */
  write(pointer, type, values) {
    const { fields } = this.#struct(type);
    for (const [name, value] of Object.entries(values)) {
      const field = fields.get(name);
      if (!field) throw new Error(`wick: ${type} has no field ${name}`);
      this.#writeField(pointer + field.offset, field, value);
    }
  }

  /** @param {string} type */
  #struct(type) {
    const struct = this.#structs.get(type);
    if (!struct) throw new Error(`wick: ${type} is not in the table of structs`);
    return struct;
  }

  /**
   * @param {number} at
   * @param {Field} field
   */
  #readField(at, { bytes, kind }) {
    const { view } = this;
    if (bytes === 1) return view.getUint8(at);
    if (bytes === 4 && kind === 'f') return view.getFloat32(at, true);
    if (bytes === 4) return kind === 'i' ? view.getInt32(at, true) : view.getUint32(at, true);
    if (bytes === 8 && kind === 'f') return view.getFloat64(at, true);
    return bytes === 8 ? Number(view.getBigUint64(at, true)) : at;
  }

  /**
   * @param {number} at
   * @param {Field} field
   * @param {number | bigint | boolean} value
   */
  #writeField(at, { bytes, kind }, value) {
    const { view } = this;
    if (bytes === 8 && kind !== 'f') view.setBigUint64(at, BigInt(value), true);
    else if (bytes === 8) view.setFloat64(at, Number(value), true);
    else if (bytes === 4 && kind === 'f') view.setFloat32(at, Number(value), true);
    else if (bytes === 4) view.setUint32(at, Number(value), true);
    else view.setUint8(at, Number(value));
  }

  #readStructs() {
    let entry = this.exports.wick_web_fields();
    /** @type {Struct} */
    let struct = { bytes: 0, fields: new Map() };
    for (let name; (name = this.pointerAt(entry)) !== 0; entry += 12) {
      const offset = this.view.getUint16(entry + 4, true);
      const bytes = this.view.getUint16(entry + 6, true);
      const kind = String.fromCharCode(this.bytes[entry + 8]);
      if (kind === 's') {
        struct = { bytes, fields: new Map() };
        this.#structs.set(this.string(name), struct);
      } else {
        struct.fields.set(this.string(name), { offset, bytes, kind });
      }
    }
  }
}

/** Memory for the arguments of one call. */
export class Scope {
  /** @type {number[]} */
  #taken = [];
  #wasm;

  /** @param {Wasm} wasm */
  constructor(wasm) {
    this.#wasm = wasm;
  }

  /** @param {number} size */
  bytes(size) {
    const pointer = this.#wasm.allocate(size || 1);
    this.#taken.push(pointer);
    this.#wasm.bytes.fill(0, pointer, pointer + size);
    return pointer;
  }

  /** @param {string} text */
  string(text) {
    if (text.includes('\0')) throw new Error('wick: expected text without U+0000, found some');
    return this.text(text).pointer;
  }

  /**
   * UTF-8, terminated.
   * @param {string} text
   */
  text(text) {
    const encoded = encoder.encode(text);
    const pointer = this.bytes(encoded.length + 1);
    this.#wasm.bytes.set(encoded, pointer);
    return { pointer, length: encoded.length };
  }

  /** @param {ArrayLike<number>} ids */
  ids(ids) {
    const pointer = this.bytes(4 * ids.length);
    new Int32Array(this.#wasm.memory.buffer, pointer, ids.length).set(ids);
    return pointer;
  }

  /**
   * @param {string} type
   * @param {Record<string, number | bigint | boolean>} [values]
   * @param {number} [count] Of an array of it.
   */
  struct(type, values = {}, count = 1) {
    const pointer = this.bytes(this.#wasm.sizeOf(type) * count);
    if (count) this.#wasm.write(pointer, type, values);
    return pointer;
  }

  end() {
    for (const pointer of this.#taken.reverse()) this.#wasm.free(pointer);
  }
}
