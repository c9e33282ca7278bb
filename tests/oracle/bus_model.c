/* SPDX-License-Identifier: MIT */
/* bus_model.c - what a bus behind caches shows of all that a processor does, computed again
 *
 *   pugmark dump complete.pug | bus_model [-l] RAM SETS WAYS LINE >expected
 *
 * Of the lines "0 bus ADDRESS SIZE [flags=...] type=..." of a trace without caches; an instruction
 * cache and a data cache of one geometry, LRU, write-back, with allocation. -l: locked instructions
 * lock the bus. A line for each transaction: type, address, size. Ways are told apart by time
 * stamps. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FETCH, READ, WRITE, BACK, READ_INVAL, SPECIAL = 8 };

struct way { uint64_t line, used; bool valid, dirty; };

static uint64_t ram, sets, ways, line_size, now;
static struct way *cache[2];		/* instructions, data */

static void say(unsigned type, uint64_t addr, uint64_t size)
{
	printf("%u 0x%" PRIx64 " %" PRIu64 "\n", type, addr, size);
}

static struct way *lookup(unsigned which, uint64_t line)
{
	struct way *set = cache[which] + line % sets * ways;

	for (uint64_t i = 0; i < ways; i++)
		if (set[i].valid && set[i].line == line)
			return &set[i];
	return NULL;
}

static void leave(struct way *w)
{
	if (w->valid && w->dirty)
		say(BACK, w->line * line_size, line_size);
	w->valid = w->dirty = false;
}

static void use(unsigned which, uint64_t line, unsigned type)
{
	struct way *w = lookup(which, line);

	if (!w) {
		struct way *set = cache[which] + line % sets * ways;

		w = set;
		for (uint64_t i = 1; i < ways; i++)
			if (w->valid && (!set[i].valid || set[i].used < w->used))
				w = &set[i];
		say(type == WRITE ? READ_INVAL : type, line * line_size, line_size);
		leave(w);
		*w = (struct way){ .line = line, .valid = true };
	}
	w->used = ++now;
	w->dirty |= type == WRITE;
}

static int by_line(const void *a, const void *b)
{
	const struct way *x = *(struct way *const *)a, *y = *(struct way *const *)b;

	return x->line < y->line ? -1 : x->line > y->line;
}

/* All lines leave, set by set, those of a set by address. */
static void flush(void)
{
	struct way **list = calloc(ways, sizeof *list);

	for (unsigned c = 0; c < 2; c++)
		for (uint64_t s = 0; s < sets; s++) {
			for (uint64_t i = 0; i < ways; i++)
				list[i] = cache[c] + s * ways + i;
			qsort(list, ways, sizeof *list, by_line);
			for (uint64_t i = 0; i < ways; i++)
				leave(list[i]);
		}
	free(list);
}

static bool cached(uint64_t addr)
{
	return addr < ram && (addr < 0xa0000 || addr >= 0xc0000);
}

static void transaction(uint64_t addr, uint64_t size, unsigned type, bool locked, unsigned lanes)
{
	if (type == SPECIAL && lanes == 0xf7)
		flush();
	if (type > WRITE || !cached(addr)) {
		say(type, addr, size);
		return;
	}
	if (locked) {
		for (unsigned c = 0; c < 2; c++) {
			struct way *w = lookup(c, addr / line_size);

			if (w)
				leave(w);
		}
		say(type, addr, size);
		return;
	}
	use(type != FETCH, addr / line_size, type);
}

int main(int argc, char **argv)
{
	const bool locks = argc > 1 && !strcmp(argv[1], "-l");
	char text[512];

	argv += locks;
	if (argc - locks != 5)
		return 2;
	ram = strtoull(argv[1], NULL, 0);
	sets = strtoull(argv[2], NULL, 0);
	ways = strtoull(argv[3], NULL, 0);
	line_size = strtoull(argv[4], NULL, 0);
	for (unsigned c = 0; c < 2; c++)
		cache[c] = calloc(sets * ways, sizeof **cache);
	while (fgets(text, sizeof text, stdin)) {
		const char *type = strstr(text, " type="), *lanes = strstr(text, " lanes=0x");
		uint64_t addr, size;

		if (type && lanes && sscanf(text, "0 bus %" SCNx64 " %" SCNu64, &addr, &size) == 2)
			transaction(addr, size, (unsigned)atoi(type + 6),
				    locks && strstr(text, "locked"),
				    (unsigned)strtoul(lanes + 9, NULL, 16));
	}
	return 0;
}
