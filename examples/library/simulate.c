/* SPDX-License-Identifier: MIT */
/* simulate.c - simulators on a file: the results as JSON, and one number of them
 *
 *	cc simulate.c $(pkg-config --cflags --libs pugmark)
 *	./a.out prog.pug cache:l1d=32k,8way,64 */
#include <inttypes.h>
#include <stdio.h>

#include <pugmark/library.h>

/* Looks for "misses" in all objects below @n. */
static uint64_t misses(const struct pm_result_node *n)
{
	const struct pm_result_node *own = pm_result_child(n, "misses");
	uint64_t sum = own && own->kind == PM_RESULT_U64 ? own->u64 : 0;

	for (n = n->first; n; n = n->next)
		sum += misses(n);
	return sum;
}

int main(int argc, char **argv)
{
	struct pm_err err;
	struct pm_results *results = NULL;
	struct pm_simulation *s = pm_simulation_new(&err);
	struct pm_reader *r = NULL;
	enum pm_status st = argc > 2 ? PM_OK : pm_fail_file(&err, "simulate FILE SIMULATOR...");
	char text[400];

	for (int i = 2; i < argc && st == PM_OK; i++)
		st = pm_simulation_add(s, argv[i], &err);
	if (st == PM_OK)
		r = pm_reader_open(argv[1], NULL, &err);
	if (r)
		st = pm_simulation_run(s, r, NULL, NULL, &results, &err);
	if (results) {
		printf("%s", pm_results_json(results, NULL));
		if (fflush(stdout))
			st = pm_fail_errno(&err, "cannot write");
		fprintf(stderr, "%" PRIu64 " misses in all\n",
			misses(pm_results_root(results, NULL)));
	}
	pm_results_close(results, NULL);
	pm_reader_close(r, NULL);
	pm_simulation_close(s, NULL);
	if (r && st == PM_OK)
		return 0;
	pm_err_format(&err, text, sizeof text);
	fprintf(stderr, "simulate: %s\n", text);
	return 1;
}
