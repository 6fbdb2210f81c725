/* wick: the command. Dispatches to the subcommands of commands.h. */
#include <locale.h>
#include <string.h>

#include "cli.h"
#include "commands.h"

typedef struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *arguments, *summary;
} command;

static const command commands[] = {
    {"run", wick_command_run, "MODEL -p TEXT", "answer one prompt"},
    {"chat", wick_command_chat, "MODEL", "talk to a model"},
    {"tokenize", wick_command_tokenize, "MODEL", "text on stdin to a JSON array of token ids"},
    {"detokenize", wick_command_detokenize, "MODEL", "a JSON array of token ids on stdin to text"},
    {"logits", wick_command_logits, "MODEL --ids 1,2 --out F", "the logits after a prompt"},
    {"ppl", wick_command_ppl, "MODEL -f TEXT", "perplexity, and divergence from other logits"},
    {"bench", wick_command_bench, "MODEL", "tokens a second of prefill and decode"},
    {"convert", wick_command_convert, "IN OUT", "GGUF to a model folder, or back"},
    {"info", wick_command_info, "MODEL", "metadata and tensors of a file or folder"},
    {"probe", wick_command_probe, "", "what this machine can do"},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out) {
  fputs("usage: wick COMMAND ...\n\n", out);
  for (size_t i = 0; i < N_COMMANDS; i++) {
    char left[60];
    snprintf(left, sizeof left, "wick %s %s", commands[i].name, commands[i].arguments);
    fprintf(out, "  %-36s %s\n", left, commands[i].summary);
  }
  fputs("\nMODEL is a .gguf or .safetensors file, a model folder, or a name under $WICK_MODELS\n"
        "(by default models/), as smollm2-135m. wick COMMAND --help lists a command's options;\n"
        "wick --version prints the version.\n",
        out);
}

static const command *find(const char *name) {
  for (size_t i = 0; i < N_COMMANDS; i++) {
    if (strcmp(name, commands[i].name) == 0) return &commands[i];
  }
  return NULL;
}

static int help(int argc, char **argv) {
  const command *about = argc > 2 ? find(argv[2]) : NULL;
  if (argc > 3) return cli_usage("help", "expected one command, found %s too", argv[3]);
  if (argc > 2 && !about) return cli_usage("help", "expected a command, found %s", argv[2]);
  if (about) return about->run(2, (char *[]){argv[2], "--help", NULL});
  print_help(stdout);
  return CLI_OK;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return CLI_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
    return help(argc, argv);
  }
  if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
    puts("wick " WICK_VERSION);
    return CLI_OK;
  }
  const command *chosen = find(name);
  if (!chosen) return cli_usage(NULL, "expected a command (wick help lists them), found %s", name);
  return chosen->run(argc - 1, argv + 1);
}

int main(int argc, char **argv) {
  setlocale(LC_CTYPE, ""); /* the line editor's characters; numbers stay as C has them */
  int status = dispatch(argc, argv);
  wick_error error;
  if (!cli_finish_stdout(&error) && status == CLI_OK) {
    status = cli_fail_with(&error);
  }
  return status;
}
