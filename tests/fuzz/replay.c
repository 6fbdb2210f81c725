/* A fuzz target without libFuzzer: every file of the folders named on the command line goes through
 * it once. So the corpus is a test everywhere; the sanitizers, where they are on, are the judge. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "bytes.h"
#include "tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int replay_folder(const char *path) {
  DIR *folder = opendir(path);
  int n_files = 0;
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    char name[4096];
    if (entry->d_name[0] == '.') continue;
    snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
    test_bytes file = test_read_file(name);
    uint8_t *exact = malloc(file.n ? file.n : 1); /* the sanitizer sees the first byte beyond */
    if (!exact) abort();
    if (file.n) memcpy(exact, file.data, file.n);
    LLVMFuzzerTestOneInput(exact, file.n);
    free(exact);
    free(file.data);
    n_files++;
  }
  closedir(folder);
  return n_files;
}

int main(int argc, char **argv) {
  tap t = {0};
  for (int i = 1; i < argc; i++) {
    int n_files = replay_folder(argv[i]);
    printf("# %s: %d files\n", argv[i], n_files);
    CHECK(&t, n_files > 0, argv[i]);
  }
  return tap_done(&t);
}
