/* The shortest program with wick: loads a model and lets it continue a text.
 *
 *   cc hello.c $(pkg-config --cflags --libs wick) -o hello && ./hello MODEL "Once upon a time" */
#include <stdio.h>
#include <string.h>
#include <wick.h>

static int failed(const wick_error *error) {
  fprintf(stderr, "hello: %s\n", error->message);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: hello MODEL TEXT\n"), 2;
  wick_error error;
  wick_model *model;
  wick_engine *engine;
  if (wick_model_open(argv[1], NULL, &model, &error) != WICK_OK) return failed(&error);
  if (wick_engine_new(model, NULL, &engine, &error) != WICK_OK) return failed(&error);

  int32_t ids[512];
  wick_request request = {.ids = ids, .max_tokens = 32, .sampling = wick_sampling_default()};
  request.n_logprobs = -1;
  if (wick_tokenize(model, argv[2], strlen(argv[2]), false, ids, 512, &request.n_ids, &error) !=
      WICK_OK)
    return failed(&error);
  if (request.n_ids > 512) return fprintf(stderr, "hello: the text is too long\n"), 1;

  wick_request_id id;
  wick_event event;
  if (wick_engine_submit(engine, &request, &id, &error) != WICK_OK) return failed(&error);
  while (!wick_engine_idle(engine)) {
    if (wick_engine_step(engine, &error) != WICK_OK) return failed(&error);
    while (wick_engine_next(engine, &event)) fwrite(event.text, 1, event.n_bytes, stdout);
  }
  putchar('\n');
  wick_engine_free(engine);
  wick_model_free(model);
  return 0;
}
