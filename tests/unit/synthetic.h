/* SPDX-License-Identifier: MIT */
/* synthetic.h - a pm_counts that no tracer made: straight runs of a real ELF file's code, decoded
 * linearly from its function starts, with made-up counts */
#ifndef PM_TESTS_SYNTHETIC_H
#define PM_TESTS_SYNTHETIC_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf.h"
#include "elf/symbols.h"
#include "isa/x86/form.h"
#include "trace/counts.h"

#define SYNTHETIC_BIAS 0x7f1200000000u

/* Code bytes of the address @a of a file mapped at @map; NULL: not in the file. */
static inline const uint8_t *synthetic_bytes(const struct pm_elf_info *info, const uint8_t *map,
					     uint64_t a, uint64_t *left)
{
	for (size_t i = 0; i < info->nseg; i++) {
		const struct pm_elf_segment *s = &info->seg[i];

		if (s->type == 1 && (s->flags & 1) && a >= s->vaddr && a - s->vaddr < s->filesz) {
			*left = s->filesz - (a - s->vaddr);
			return map + s->off + (a - s->vaddr);
		}
	}
	return NULL;
}

/* At most @max pieces of @path; every @every-th function. Counts fall off like a real program's.
 * The file stays mapped: pieces borrow its bytes. NULL if there is no such file. */
static inline struct pm_counts *synthetic_counts(const char *path, size_t max, unsigned every)
{
	struct pm_err err = { 0 };
	struct pm_elf_info info;
	struct pm_elf_range *f;
	struct pm_counts *c;
	struct pm_counts_process *pr;
	struct pm_counts_thread *t;
	struct pm_forms *forms;
	struct pm_elf *e;
	const uint8_t *map;
	size_t n;
	int fd;

	if (pm_elf_check(path, &info, &err) || !(e = pm_elf_open(path, NULL, &err))) {
		pm_elf_info_release(&info);
		return NULL;
	}
	fd = open(path, O_RDONLY);
	map = mmap(NULL, info.size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	forms = pm_forms_new(!info.is64);
	c = pm_counts_new();
	pr = pm_counts_add_process(c, 4711, 0, path);
	pr->status = c->status = 0;
	pr->isa = info.is64 ? 0 : 1;
	pm_counts_add_object(c, pr, path, pm_elf_build_id(e), info.type == 3 ? SYNTHETIC_BIAS : 0,
			     0, UINT64_MAX);
	n = pm_elf_functions(e, &f);
	for (size_t i = 0; i < n && pr->npiece < max; i += every) {
		uint64_t a = f[i].lo, left = 0;
		const uint8_t *p = synthetic_bytes(&info, map, a, &left);

		while (p && a < f[i].hi && pr->npiece < max) {
			struct pm_piece pc = { .pc = a + (info.type == 3 ? SYNTHETIC_BIAS : 0),
				.bytes = p,
					       .falls = true };

			while (a < f[i].hi && pc.n < 24) {
				const struct pm_form *m = pm_form_at(forms, p, left);

				if (!m->mnemonic || m->len > left)
					break;
				pc.n++;
				pc.size += m->len;
				p += m->len;
				a += m->len;
				left -= m->len;
				if (m->ends) {
					pc.falls = false;
					break;
				}
			}
			if (!pc.n)
				break;
			pm_counts_add_piece(pr, pc);
		}
	}
	t = pm_counts_add_thread(pr, 4711);
	for (size_t i = 0; i < pr->npiece; i++)
		t->count[i] = 1 + 100000000 / (1 + i * 2654435761u % 100003);
	c->demand = pr->npiece;
	c->wall_s = 0.5;
	c->user_s = 0.4;
	free(f);
	pm_forms_free(forms);
	pm_elf_close(e);
	pm_elf_info_release(&info);
	return c;
}

#endif
