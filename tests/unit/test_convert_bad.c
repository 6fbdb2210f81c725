/* wick convert when it must not: existing outputs, impossible types, missing and damaged sources.
 */
#define _XOPEN_SOURCE 700
#include "convert_support.h"
#include "fuzz/mutate.h"

static void check_refusals(tap *t, const char *work) {
  char out[WICK_PATH_BYTES], partial[WICK_PATH_BYTES], folder[WICK_PATH_BYTES];
  const char *source = "tests/golden/generality/type_f32.gguf";
  wick_convert_options plain = {0}, wrong = {.type = "q4_0"}, unknown = {.type = "q3_k"};
  wick_error error = {0};
  wick_path_join(out, work, "out.gguf", NULL);
  wick_path_join(partial, work, "out.gguf.partial", NULL);
  wick_path_join(folder, work, "out", NULL);
  FILE *file = fopen(out, "wb");
  if (file) {
    fputs("precious", file);
    fclose(file);
  }
  wick_status status = wick_convert(source, out, &plain, NULL, &error);
  test_bytes kept = test_read_file(out);
  CHECK(t,
        status == WICK_ERROR_ARGUMENT && strstr(error.message, out) && kept.n == 8 &&
            memcmp(kept.data, "precious", 8) == 0,
        "an existing file is not overwritten");
  free(kept.data);
  status = wick_convert("tests/unit/fixtures/small.gguf", out,
                        &(wick_convert_options){.force = true}, NULL, &error);
  kept = test_read_file(out);
  CHECK(t,
        status != WICK_OK && strstr(error.message, "tests/unit/fixtures/small.gguf") &&
            kept.n == 8 && !exists(partial),
        "a failure names the file, keeps the old output and leaves nothing behind");
  free(kept.data);
  unlink(out);
  CHECK(t,
        wick_convert(source, folder, &wrong, NULL, &error) == WICK_ERROR_ARGUMENT &&
            !exists(folder),
        "a folder holds no quantized types");
  CHECK(t,
        wick_convert(source, out, &unknown, NULL, &error) == WICK_ERROR_ARGUMENT &&
            strstr(error.message, "q3_k") && !exists(out),
        "an unknown type");
  CHECK(t,
        wick_convert("no/such/file.gguf", out, &plain, NULL, &error) == WICK_ERROR_IO &&
            strstr(error.message, "no/such/file.gguf") && !exists(out),
        "a missing source");
  status = wick_convert("tests/unit/fixtures/small.safetensors", out, &plain, NULL, &error);
  CHECK(t,
        status == WICK_ERROR_FORMAT &&
            strstr(error.message, "tests/unit/fixtures/small.safetensors: expected config.json"),
        "weights without their config.json, which is named beside them");
  status = wick_convert("tests/golden/generality/smollm2_f16", folder, &plain, NULL, &error);
  CHECK(t, status == WICK_ERROR_UNSUPPORTED && !exists(folder), "a folder to a folder");
  mkdir(folder, 0777);
  char other[WICK_PATH_BYTES];
  wick_path_join(other, folder, "model-00001-of-00002.safetensors", NULL);
  file = fopen(other, "wb");
  if (file) fclose(file);
  status = wick_convert(source, folder, &(wick_convert_options){.force = true}, NULL, &error);
  CHECK(t, status == WICK_ERROR_ARGUMENT && strstr(error.message, "model-00001"),
        "weights of another model in the folder");
  unlink(other);
  status = wick_convert(source, folder, &(wick_convert_options){.force = true}, NULL, &error);
  CHECK(t, status == WICK_OK, "an existing folder is filled with --force");
  remove_folder(folder);
  CHECK(t, !exists(folder), "and holds nothing else");
}

/* Damaged sources: an output or one line, and nothing left behind. */
static void check_damage(tap *t, const char *work) {
  enum { N_SEEDS = 150 };
  char in[WICK_PATH_BYTES], out[WICK_PATH_BYTES], back[WICK_PATH_BYTES], what[100];
  wick_path_join(in, work, "damaged.gguf", NULL);
  wick_path_join(out, work, "folder", NULL);
  wick_path_join(back, work, "back.gguf", NULL);
  test_bytes sound = test_read_file("tests/golden/generality/type_q4_0.gguf");
  mutation_fields *fields = malloc(sizeof *fields);
  mutation_find_gguf(&sound, fields);
  wick_convert_options options = {0};
  int n_wrong = 0, n_converted = 0;
  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    test_bytes damaged = mutation_make(&sound, fields, seed, what, sizeof what);
    FILE *file = fopen(in, "wb");
    if (file && damaged.n) fwrite(damaged.data, 1, damaged.n, file);
    if (file) fclose(file);
    free(damaged.data);
    wick_error error = {0};
    wick_status status = wick_convert(in, out, &options, NULL, &error);
    if (status == WICK_OK) {
      n_converted++;
      if (wick_convert(out, back, &options, NULL, &error) != WICK_OK && !error.message[0])
        n_wrong++;
      remove_folder(out);
      unlink(back);
    } else if (!strstr(error.message, in)) {
      n_wrong++;
      printf("# seed %llu, %s: %s\n", (unsigned long long)seed, what, error.message);
    }
    if (exists(out) || exists(back)) n_wrong++;
  }
  printf("# %d of %d damaged files were converted\n", n_converted, N_SEEDS);
  CHECK(t, n_wrong == 0, "damaged files give one line that names them, or are converted");
  unlink(in);
  free(fields);
  free(sound.data);
}

int main(void) {
  tap t = {0};
  char work[] = "/tmp/wick-convert-XXXXXX";
  CHECK(&t, mkdtemp(work) != NULL, "a place to work in");
  check_refusals(&t, work);
  check_damage(&t, work);
  CHECK(&t, rmdir(work) == 0, "nothing is left in it");
  return tap_done(&t);
}
