/* Writes seeded damages (mutate.h) of a sound file into a folder, for tests outside of C: the
 * page's reads them by a drop.
 *
 *   write_mutations gguf|safetensors SOUND FOLDER N      FOLDER/000, 001 ... N - 1 */
#include "fuzz/mutate.h"

static int write_file(const char *folder, int seed, const test_bytes *bytes) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%03d", folder, seed);
  FILE *file = fopen(path, "wb");
  if (!file) return 0;
  size_t written = bytes->n ? fwrite(bytes->data, 1, bytes->n, file) : 0;
  return fclose(file) == 0 && written == bytes->n;
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "expected gguf|safetensors SOUND FOLDER N\n");
    return 2;
  }
  test_bytes sound = test_read_file(argv[2]);
  mutation_fields *fields = malloc(sizeof *fields);
  if (!sound.n || !fields) {
    fprintf(stderr, "%s: expected a readable file\n", argv[2]);
    return 1;
  }
  if (strcmp(argv[1], "gguf") == 0) {
    mutation_find_gguf(&sound, fields);
  } else {
    mutation_find_safetensors(&sound, fields);
  }
  int ok = 1;
  for (int seed = 0; ok && seed < atoi(argv[4]); seed++) {
    char what[100];
    test_bytes damaged = mutation_make(&sound, fields, (uint64_t)seed, what, sizeof what);
    ok = write_file(argv[3], seed, &damaged);
    free(damaged.data);
  }
  if (!ok) fprintf(stderr, "%s: expected a folder that can be written\n", argv[3]);
  free(fields);
  free(sound.data);
  return !ok;
}
