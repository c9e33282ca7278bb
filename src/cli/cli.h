/* SPDX-License-Identifier: MIT */
/* cli.h - the command table; one cmd_*.c per command, and no logic in any of them */
#ifndef PM_CLI_CLI_H
#define PM_CLI_CLI_H

#include "base/err.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/opt.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns exit status */
	const char *about;			/* one line */
	const char *part;			/* what begins here in the list; NULL: it goes on */
};

/* Everyday commands first; the last has no name. main.c, which has the table, sets it. */
extern const struct command *commands;
const struct command *command_find(const char *name);	/* NULL: there is none */

int cmd_run(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_gdb(int argc, char **argv);
int cmd_machine(int argc, char **argv);
int cmd_citcat(int argc, char **argv);
int cmd_instrument(int argc, char **argv);	/* also idt */
int cmd_vcount(int argc, char **argv);
int cmd_vtrace(int argc, char **argv);
int cmd_rtrace(int argc, char **argv);
int cmd_idt2kt(int argc, char **argv);
int cmd_idtinfo(int argc, char **argv);
int cmd_mix(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_completion(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_sample(int argc, char **argv);
int cmd_simpoint(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_slice(int argc, char **argv);
int cmd_head(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_formats(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_laplace(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_penn(int argc, char **argv);
int cmd_uops(int argc, char **argv);	/* also isize, brdist, uop-mix, fusion: by its name */
int cmd_version(int argc, char **argv);
int cmd_help(int argc, char **argv);

#endif
