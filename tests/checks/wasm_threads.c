/* What wasm-threads.test.mjs runs on two threads over one shared memory. */
#include <stdint.h>
#include <string.h>

int32_t *mailbox(void);
int32_t answer(int32_t rounds);
int32_t ask(int32_t rounds);
uint32_t stack_address(void);

/* Initialised data: a second instance that initialised it again would set it back. */
static int32_t turn = 41;

int32_t *mailbox(void) {
  return &turn;
}

/* As in src/core/pool.c, by name and by attribute: see tools/build-wasm.mjs. */
__attribute__((noinline)) static int32_t word_sleep(int32_t *word, int32_t old) {
  return __builtin_wasm_memory_atomic_wait32(word, old, 5000000000);
}

/* Waits until turn is odd and makes it even, or the other way round: strictly alternating. */
static int32_t alternate(int32_t rounds, int32_t mine) {
  int32_t seen = 0;
  for (int32_t i = 0; i < rounds; i++) {
    while ((seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) % 2 != mine) {
      if (word_sleep(&turn, seen) == 2) return -1;
    }
    __atomic_store_n(&turn, seen + 1, __ATOMIC_RELEASE);
    __builtin_wasm_memory_atomic_notify(&turn, 1);
  }
  return seen;
}

int32_t ask(int32_t rounds) {
  return alternate(rounds, 1);
}
int32_t answer(int32_t rounds) {
  return alternate(rounds, 0);
}

/* Where this thread's stack is: the address of a local that has to lie in memory. */
uint32_t stack_address(void) {
  volatile char local[256];
  memset((char *)local, 1, sizeof local);
  return (uint32_t)(uintptr_t)local;
}
