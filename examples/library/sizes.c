/* SPDX-License-Identifier: MIT */
/* sizes.c - how many data references of each size a trace has: batch by batch
 *
 *	cc sizes.c $(pkg-config --cflags --libs pugmark)
 *	./a.out prog.pug */
#include <inttypes.h>
#include <stdio.h>

#include <pugmark/library.h>

int main(int argc, char **argv)
{
	static uint64_t reads[UINT16_MAX + 1], writes[UINT16_MAX + 1];
	struct pm_err err;
	struct pm_reader *r = pm_reader_open(argc > 1 ? argv[1] : "-", NULL, &err);
	const struct pm_batch *b;
	char text[400];

	while (r && pm_reader_next(r, &b, &err) == PM_OK) {
		const struct pm_event *ev = pm_event_at(b, 0);

		for (size_t i = 0; i < b->n; i++, ev = pm_event_next(b, ev)) {
			reads[ev->size] += ev->kind == PM_EV_READ || ev->kind == PM_EV_MODIFY;
			writes[ev->size] += ev->kind == PM_EV_WRITE || ev->kind == PM_EV_MODIFY;
		}
	}
	pm_reader_close(r, NULL);
	for (unsigned size = 0; size <= UINT16_MAX; size++)
		if (reads[size] || writes[size])
			printf("%5u bytes: %" PRIu64 " read, %" PRIu64 " written\n", size,
			       reads[size], writes[size]);
	if (!pm_failed(&err) && fflush(stdout))
		pm_fail_errno(&err, "cannot write");
	if (!pm_failed(&err))
		return 0;
	pm_err_format(&err, text, sizeof text);
	fprintf(stderr, "sizes: %s\n", text);
	return 1;
}
