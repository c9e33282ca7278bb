/* SPDX-License-Identifier: MIT */
/* fuzz_forms.c - what is known about instructions, from any bytes: refused, or forms that fit where
 * they are
 *
 * How many forms and nodes there are, what they say, and the instructions that are looked up. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz.h"
#include "isa/x86/form.h"

static void look_up(struct pm_forms *f, const uint8_t *p, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		const size_t n = size - at < 15 ? size - at : 15;
		const struct pm_form *m = pm_form_at(f, p + at, n);

		if (!m->len || m->len > n || m->rel_at + m->rel_size > m->len)
			abort();
		pm_form_target(m, p + at, 0);
		if (!pm_form_mnemonic(m->mnemonic)[0])
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool i386 = size & 1;
	struct pm_forms *f = pm_forms_new(i386), *g = pm_forms_new(i386);
	struct pm_buf b = { 0 };
	uint32_t nnode, nform;
	uint8_t *p;
	size_t n;

	if (size < 8)
		goto out;
	/* a true head, for nobody guesses it; 32 bytes each: it and the nodes; 10: a form */
	pm_forms_bytes(f, &b);
	nnode = data[0] | (data[1] & 7u) << 8;
	nform = data[2];
	n = 32 + (nform * 10 + 31) / 32 * 32 + nnode * 32;
	p = pm_alloc(n);
	memcpy(p, b.p, 32);
	memcpy(p, &nnode, 4);
	memcpy(p + 4, &nform, 4);
	for (size_t i = 32; i < n; i++)
		p[i] = data[4 + (i - 32) % (size - 4)];
	for (uint32_t i = 0; i < nform && data[3] & 1; i++) { /* such as are not refused at once */
		p[32 + i * 10 + 1] &= 3;
		p[32 + i * 10 + 2] = 1 + p[32 + i * 10 + 2] % 15;
		p[32 + i * 10 + 7] = p[32 + i * 10 + 8] = 0;
	}
	if (data[3] & 2)			/* so that more of them can be reached */
		for (size_t i = n - nnode * 32; i < n; i += 2)
			p[i + 1] = data[3] & 4 && p[i + 1] & 1 ? 0xe0 : p[i + 1] & 7;
	if (pm_forms_use(f, p, n, n))
		look_up(f, data, size);
	/* what those bytes have become is no worse */
	b.n = 0;
	pm_forms_bytes(f, &b);
	if (!pm_forms_use(g, b.p, b.n, b.n))
		abort();
	look_up(g, data, size);
	pm_forms_free(g);
	g = NULL;
	pm_forms_free(f);
	f = NULL;
	free(p);
out:
	pm_forms_free(f);
	pm_forms_free(g);
	pm_buf_release(&b);
	return 0;
}
