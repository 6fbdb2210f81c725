/* The subcommands of `wick`, one per file native/NAME.c. argv[0] is the command's own name
 * ("convert"), the arguments follow. The result is the exit status: 0 done, 1 failed with one line
 * on stderr, 2 wrong usage. */
#ifndef WICK_NATIVE_COMMANDS_H
#define WICK_NATIVE_COMMANDS_H

int wick_command_run(int argc, char **argv);
int wick_command_chat(int argc, char **argv);
int wick_command_tokenize(int argc, char **argv);
int wick_command_detokenize(int argc, char **argv);
int wick_command_logits(int argc, char **argv);
int wick_command_ppl(int argc, char **argv);
int wick_command_bench(int argc, char **argv);
int wick_command_convert(int argc, char **argv);
int wick_command_info(int argc, char **argv);
int wick_command_probe(int argc, char **argv);

#endif
