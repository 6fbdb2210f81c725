/* What the C library asks of its host, answered inside the module, so that it imports nothing but
 * its memory: growing memory, starting up, and dying. Source: Emscripten's sbrk contract and the
 * WebAssembly tool conventions. */
#include <stddef.h>
#include <stdint.h>

enum { PAGE_BYTES = 65536 };

void __wasm_call_ctors(void);
void _initialize(void);
int emscripten_resize_heap(size_t bytes);
_Noreturn void abort(void);
_Noreturn void __assert_fail(const char *what, const char *file, int line, const char *function);

/* The owner calls this once, before anything else. */
void _initialize(void) {
  __wasm_call_ctors();
}

/* sbrk's request that memory hold this many bytes; 0 when the host refuses, and malloc then fails.
 */
int emscripten_resize_heap(size_t bytes) {
  size_t have = __builtin_wasm_memory_size(0);
  size_t want = bytes / PAGE_BYTES + (bytes % PAGE_BYTES != 0);
  if (want <= have) return 1;
  return __builtin_wasm_memory_grow(0, want - have) != SIZE_MAX;
}

_Noreturn void abort(void) {
  __builtin_trap();
}

_Noreturn void __assert_fail(const char *what, const char *file, int line, const char *function) {
  (void)what;
  (void)file;
  (void)line;
  (void)function;
  __builtin_trap();
}
