/**
 * The types of what passes between a page (or Node's main thread) and the worker that owns the
 * engine. Types only: importing this module runs nothing.
 *
 * @typedef {'st' | 'mt' | 'st-relaxed' | 'mt-relaxed'} Build
 *
 * @typedef {object} Part One file to load.
 * @property {string} name Its base name, which decides its kind: model.gguf, config.json ...
 * @property {string} [url] Where to fetch it, or
 * @property {string} [path] where it lies on this machine (Node), or
 * @property {Blob} [blob] its bytes.
 * @property {boolean} [optional] May be missing.
 * @property {number} [bytes] Its length, where a manifest has it.
 * @property {string} [sha256] Its hash in lower-case hexadecimal, where a manifest has it.
 * @property {'manifest' | 'index'} [list] It stands for the files that it names. A missing index
 *   of shards stands for model.safetensors.
 *
 * @typedef {object} NetworkSettings How patient a load is.
 * @property {number} [tries] Connections in a row that bring nothing before it gives up; 5.
 * @property {number} [backOffMilliseconds] The pause after the first of them, doubled each time;
 *   500.
 * @property {number} [stallMilliseconds] Without a byte for so long a connection is given up;
 *   10,000.
 * @property {number} [longestWaitMilliseconds] The longest pause that a server may ask for; 60,000.
 *
 * @typedef {object} EngineSettings
 * @property {number} [threads] Threads wanted; without it as many as suit this machine.
 * @property {number} [context] Most tokens of one conversation; without it the model's, at most
 *   2048.
 * @property {boolean} [exact] Float32 arithmetic on the weights as the file has them.
 * @property {'f16' | 'f32' | 'int8'} [cache] The KV cache's type.
 * @property {number} [cacheTokens] Tokens that the whole KV cache holds.
 * @property {number} [chunk] Most tokens of one step.
 * @property {Build} [build] Forces one of the four wasm files.
 * @property {boolean | 'cache'} [keep] Whether files from a server are kept for the next load; they
 *   are, unless this is false. 'cache': in the Cache API even where there is OPFS.
 * @property {NetworkSettings} [network]
 *
 * @typedef {object} Progress
 * @property {'engine' | 'waiting' | 'weights' | 'threads' | 'ready'} phase waiting: another load
 *   on this machine fetches the file; it is then shared.
 * @property {number} loaded Bytes that arrived.
 * @property {number} total Bytes that there are; 0 while that is not known.
 * @property {string} file The file that is being read.
 * @property {number} [rate] Bytes a second in the last seconds.
 * @property {number | null} [secondsLeft] null: unknown.
 *
 * @typedef {object} FileReport Where a file's bytes came from.
 * @property {string} file Its address, path or name.
 * @property {number} bytes
 * @property {number} storeBytes Of those, read from what earlier loads had kept.
 * @property {number} networkBytes That went over the network; more than was needed when it broke.
 * @property {number} requests
 * @property {number} restarts How often it had to be read from its start again.
 * @property {'opfs' | 'cache' | 'disk' | null} kept Where it is kept now.
 * @property {string} note Why it is not kept, though it should be.
 * @property {number} milliseconds From opening to its last byte.
 *
 * @typedef {object} Info What was loaded, how it runs, and why.
 * @property {Build} build
 * @property {string} buildReason
 * @property {number} threads
 * @property {string} threadsReason
 * @property {string} level The engine's kernel level, as "relaxed-simd".
 * @property {string} source Where the weights came from.
 * @property {number} fileBytes
 * @property {FileReport[]} files
 * @property {number} memoryBytes Wasm memory in use after loading.
 * @property {number} context
 * @property {{ engine: number, weights: number, threads: number, total: number }} milliseconds
 * @property {ModelInfo} model
 *
 * @typedef {object} ModelInfo As the struct wick_model_info of wick.h.
 * @property {string} name
 * @property {string} architecture
 * @property {string | null} chatFormat null: the file's template is not a known one.
 * @property {number} nVocab
 * @property {number} nLayers
 * @property {number} nEmbd
 * @property {number} nHeads
 * @property {number} nKvHeads
 * @property {number} headDim
 * @property {number} nFfn
 * @property {number} nContext
 * @property {number} bosId
 * @property {number} eosId
 * @property {number} nParameters
 * @property {number} weightBytes
 *
 * @typedef {{ role: 'system' | 'user' | 'assistant', content: string }} ChatMessage
 *
 * @typedef {object} Sampling The sampler chain of wick.h; greedy with everything off when empty.
 * @property {number} [temperature]
 * @property {number} [topK]
 * @property {number} [topP]
 * @property {number} [minP]
 * @property {number} [typicalP]
 * @property {number} [repetitionPenalty]
 * @property {number} [frequencyPenalty]
 * @property {number} [presencePenalty]
 * @property {number} [penaltyWindow]
 * @property {number | bigint} [seed]
 * @property {{ [id: number]: number }} [logitBias]
 *
 * @typedef {object} RequestOptions
 * @property {number} [maxTokens] Without it until the context is full.
 * @property {string | string[]} [stop] Stop strings; the answer ends before them.
 * @property {number} [logprobs] Alternatives reported with each token, 0 to 20.
 * @property {boolean} [raw] A string is the prompt itself, special tokens in it recognised.
 * @property {boolean} [ignoreEnd] Go on after an end token.
 *
 * @typedef {string | ChatMessage[] | Int32Array | number[]} Prompt
 *
 * @typedef {{ id: number, logprob: number }} Logprob
 *
 * @typedef {object} Piece One step of an answer.
 * @property {'prompt' | 'token' | 'done'} type
 * @property {string} text What to show; whole characters, may be empty.
 * @property {number} token The token's id; -1 unless type is 'token'.
 * @property {number} nPrompt Tokens of the prompt, of which
 * @property {number} nPromptDone are computed, of which
 * @property {number} nReused came from the cache.
 * @property {number} nGenerated
 * @property {'stop' | 'length' | 'cancelled' | null} finish Why it ended; null before type 'done'.
 * @property {number} [logprob]
 * @property {Logprob[]} [alternatives] Best first.
 *
 * @typedef {object} Score Of one position, natural logarithms.
 * @property {number} nll Of the token that really follows.
 * @property {number} kl Divergence from the base's distribution; 0 without a base.
 * @property {number} nSameTop 1 when the base has the same largest logit.
 * @property {number} baseNll
 *
 * @typedef {object} Evaluation
 * @property {Float32Array} logits [n - firstOutput][nVocab]
 * @property {Float32Array | null} hidden [nLayers + 1][n][nEmbd]
 *
 * @typedef {object} Pool What other threads need to work on the engine's memory.
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {number} engine
 * @property {number[]} stacks Upper ends of stacks: the caller's own, then one for each thread.
 *
 * @typedef {{ type: 'load', parts: Part[], settings: EngineSettings, wasm: WebAssembly.Module |
 *   null }
 *   | { type: 'joined', count: number }
 *   | { type: 'generate', id: number, prompt: Prompt, options: RequestOptions & Sampling }
 *   | { type: 'cancel', id: number }
 *   | { type: 'free', id: number }
 *   | { type: 'tokenize', id: number, prompt: Prompt, special: boolean }
 *   | { type: 'detokenize', id: number, ids: Int32Array }
 *   | { type: 'evaluate', id: number, ids: Int32Array, past: number, firstOutput: number,
 *       hidden: boolean }
 *   | { type: 'score', id: number, ids: Int32Array, past: number, targets: Int32Array,
 *       base: Float32Array | null, keep: boolean }} ToWorker
 *
 * @typedef {{ type: 'progress', progress: Progress }
 *   | { type: 'pool' } & Pool
 *   | { type: 'loaded', info: Info }
 *   | { type: 'submitted', id: number, request: number }
 *   | { type: 'pieces', id: number, pieces: Piece[] }
 *   | { type: 'result', id: number, value: any }
 *   | { type: 'failed', id: number | null, message: string }} FromWorker A failure without an id
 *   ends the model.
 *
 * @typedef {{ type: 'start', module: WebAssembly.Module, memory: WebAssembly.Memory,
 *     engine: number, stack: number }
 *   | { type: 'join' }} ThreadStart To a thread of the pool, which answers the first by 'ready'.
 *
 * @typedef {object} Port One side of a worker, the same in browsers and Node.
 * @property {(message: any, transfer?: Transferable[]) => void} post
 * @property {(listener: (message: any) => void) => void} onMessage
 * @property {(listener: (error: Error) => void) => void} onError The worker failed, or is gone.
 * @property {(on: boolean) => unknown} [hold] Whether the worker keeps the process alive.
 * @property {() => unknown} terminate
 *
 * @typedef {object} Storage What keeps models here, as the main thread sees it.
 * @property {() => Promise<import('./store.js').Store[]>} stores
 * @property {() => Promise<Room>} room
 *
 * @typedef {object} Room
 * @property {number} usage Bytes that this site (in Node: the folder) uses; 0: unknown.
 * @property {number} quota Bytes that it may use; 0: unknown.
 * @property {boolean} persisted The browser will not clear it by itself.
 *
 * @typedef {object} Platform What differs between browsers and Node.
 * @property {(kind: 'engine' | 'thread') => Port} spawn
 * @property {() => number} cores
 * @property {boolean} page True where the main thread draws and wants a core for itself.
 * @property {(build: Build) => Promise<WebAssembly.Module>} compile
 * @property {() => () => Promise<void>} turns A function that lets the event loop take one turn.
 * @property {(keep: true | 'cache') => Promise<import('./store.js').Store | null>} store What keeps
 *   files that come from a server.
 * @property {(name: string, onWait: () => void) => Promise<() => void>} lock Waits until nobody on
 *   this machine holds that name, then holds it until the returned function is called or the
 *   worker ends. onWait is called when there is something to wait for.
 * @property {(url: string) => boolean} sameOrigin
 * @property {(path: string) => Promise<{ size: number, stream: () => ReadableStream<Uint8Array> |
 *   AsyncIterable<Uint8Array> }>} open A file of this machine.
 * @property {Build | null} forced A build that the environment forces.
 * @property {() => string | null} noThreads Why threads can't be had, or null.
 * @property {() => string | null} noRelaxed Why relaxed SIMD is not used, or null.
 */
export {};
