/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/profile_costs.h"

void pm_profile_costs(struct pm_profile *p, struct pm_costs *c, struct pm_code_book *book)
{
	static const char *const names[][2] = {
		{ "Ir", "instructions executed" }, { "Dr", "data reads" }, { "Dw", "data writes" },
	};
	struct pm_profile_insn *v;
	uint32_t most = 1;
	int col[3];

	for (int k = 0; k < 3; k++)
		col[k] = pm_costs_column(c, names[k][0], names[k][1], false);
	for (size_t i = 0; i < p->nobject; i++) {
		const struct pm_profile_object *o = p->object + i;
		uint64_t base = (i + 1) << PM_LISTING_OBJECT_SHIFT;

		pm_names_put_object(&book->names,
				    &(struct pm_object){ .path = o->path,
							 .build_id = o->build_id,
							 .base = base,
							 .lo = base,
							 .hi = base +
							       (1ull << PM_LISTING_OBJECT_SHIFT) });
	}
	for (size_t i = 0; i < p->nblock; i++) {
		const uint32_t n = pm_profile_block(p, i).n;

		most = n > most ? n : most;
	}
	v = pm_alloc(most * sizeof *v);
	for (size_t i = 0; i < p->nblock; i++) {
		const struct pm_profile_block b = pm_profile_block(p, i);

		pm_profile_insns(p, (uint32_t)i, v);
		for (uint32_t k = 0; k < b.n; k++) {
			uint64_t pc = v[k].addr | (uint64_t)(b.object + 1)
							  << PM_LISTING_OBJECT_SHIFT;
			size_t row = pm_costs_row(c, pc);
			struct pm_insn *in;

			c->v[col[0]][row] += v[k].count;
			c->v[col[1]][row] += v[k].count * v[k].reads;
			c->v[col[2]][row] += v[k].count * v[k].writes;
			*pm_map_put(&book->at, pc, NULL) = book->n;
			pm_grow(book->insn, book->n, book->cap);
			in = book->insn + book->n++;
			*in = (struct pm_insn){ .pc = v[k].addr,
						.len = v[k].len,
						.object = b.object,
						.isa = pm_profile_i386(p, b.object)
							       ? PM_ISA_X86_32
							       : PM_ISA_X86_64 };
			if (v[k].len <= sizeof in->bytes)
				memcpy(in->bytes, b.bytes + (v[k].addr - b.addr), v[k].len);
		}
	}
	free(v);
}
