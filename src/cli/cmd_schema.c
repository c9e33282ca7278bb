/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "cli/cli.h"

/* Every schema in docs/schemas, as it is there. */
#define SCHEMAS(S)                                                                               \
	S(profile, "profile", "run") S(run, "run", "run --exec, --branch, --cache, --sim...")    \
	S(sim, "sim", "sim, mix") S(annotate, "annotate", "annotate") S(info, "info", "info")    \
	S(verify, "verify", "verify") S(formats, "formats", "formats")                           \
	S(convert, "convert", "convert, slice") S(diff, "diff", "diff")                          \
	S(doctor, "doctor", "doctor") S(query, "query", "query")                    \
	S(course, "course", "uops, isize, brdist, uop-mix, fusion")                              \
	S(vcount, "vcount", "vcount") S(rtrace, "rtrace", "rtrace")                              \
	S(idtinfo, "idtinfo", "idtinfo") S(machine_run, "machine-run", "machine run")            \
	S(machine_guest, "machine-guest", "machine run --guest")                                 \
	S(citcat_extract, "citcat-extract", "citcat extract")                                    \
	S(citcat_replay, "citcat-replay", "citcat replay")                                       \
	S(citcat_verify, "citcat-verify", "citcat verify")                                       \
	S(citcat_stat, "citcat-stat", "citcat stat") S(laplace, "laplace", "laplace")            \
	S(simpoint, "simpoint", "simpoint cut")                                                 \
	S(simpoint_sim, "simpoint-sim", "simpoint sim") S(sample, "sample", "sample")           \
	S(sweep, "sweep", "sweep collect") S(sweep_status, "sweep-status", "sweep status")       \
	S(sweep_result, "sweep-result", "sweep run (each result)")

#define EMBED(id, file, commands)                                                                \
	extern const char schema_##id[], schema_##id##_end[];                                    \
	__asm__(".section .rodata\n"                                                             \
		".globl schema_" #id ", schema_" #id "_end\n"                                    \
		"schema_" #id ": .incbin \"docs/schemas/" file ".json\"\n"                       \
		"schema_" #id "_end: .byte 0\n"                                                  \
		".previous\n");
SCHEMAS(EMBED)

#define ROW(id, file, commands) { file, commands, schema_##id, schema_##id##_end },
static const struct {
	const char *name, *commands, *text, *end;
} schemas[] = { SCHEMAS(ROW) };

/* Is @command one of those in @list, "sim, mix"? */
static bool is_in(const char *command, const char *list)
{
	size_t n = strlen(command);

	for (const char *p = list; *p; p += strcspn(p, ","), p += strspn(p, ", "))
		if (!strncmp(p, command, n) && (!p[n] || p[n] == ','))
			return true;
	return false;
}

static int list_schemas(void)
{
	for (size_t i = 0; i < NR(schemas); i++)
		printf("%-15s what %s --json writes\n", schemas[i].name, schemas[i].commands);
	return 0;
}

int cmd_schema(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark schema [COMMAND...]",
		"Prints the JSON schema of what COMMAND writes with --json; without one, lists the "
		"schemas. Each\n"
		"document names its schema and the schema's version. While the version stays, "
		"members may be added;\n"
		"none goes or means something else.",
		"  pugmark schema sim\n"
		"  pugmark schema citcat stat\n"
		"`run` has two: `profile`, and `run` where it traces."
	};
	static const struct pm_opt none[] = { OPT_END };
	struct pm_nearest near = { 0 };
	char name[80], dashed[80], hint[PM_NEAR_HINT];
	int n = pm_opt_parse(argc, argv, none, &help, false);

	if (!n)
		return list_schemas();
	snprintf(name, sizeof name, "%s%s%s", argv[0], n > 1 ? " " : "", n > 1 ? argv[1] : "");
	snprintf(dashed, sizeof dashed, "%s%s%s", argv[0], n > 1 ? "-" : "", n > 1 ? argv[1] : "");
	for (unsigned by_command = 0; by_command < 2; by_command++)
		for (size_t i = 0; i < NR(schemas); i++)
			if (by_command ? is_in(name, schemas[i].commands)
				       : !strcmp(dashed, schemas[i].name)) {
				fwrite(schemas[i].text, 1,
				       (size_t)(schemas[i].end - schemas[i].text), stdout);
				return 0;
			}
	for (size_t i = 0; i < NR(schemas); i++)
		pm_nearest_try(&near, dashed, schemas[i].name);
	pm_opt_usage(&help, "'%s' has no schema%s", name, pm_nearest_hint(&near, hint));
}
