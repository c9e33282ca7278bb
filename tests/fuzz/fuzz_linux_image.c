/* SPDX-License-Identifier: MIT */
/* fuzz_linux_image.c - a kernel's image of any bytes: it is refused with a sentence, or its symbols
 * and types can be asked for; and any words from the plug-in about a kernel that is good */
#include <stdlib.h>
#include <string.h>

#include "collect/qemu/guest_events.h"
#include "collect/qemu/linux_image.h"
#include "collect/qemu/stream.h"
#include "fuzz.h"
#include "linux_kernel.h"

const unsigned fuzz_inputs = 3000;

static uint64_t sum;			/* what is found must be readable: add it up */

static void on_event(void *self, const struct pm_rare *r, uint8_t type)
{
	for (uint32_t i = 0; i < r->nargs; i++)
		sum += r->arg[i];
	for (const char *p = r->name; p && *p; p++)
		sum += (uint8_t)*p;
	sum += type;
}

static void words(const uint8_t *data, size_t size)
{
	struct pm_buf b = kernel_vmlinux(LAYOUT_6_1, 300, true);
	struct pm_err err = { 0 };
	struct linux_image *k = linux_image_read(b.p, b.n, &err);
	struct guest_events *g = guest_events_of(k, &err);
	uint64_t w[128] = { 0 };

	if (!g)
		abort();
	guest_events_to(g, on_event, NULL);
	while (size > 2) {
		const uint32_t number = (data[0] & 63) | (data[0] & 128 ? QS_LEAVE : 0);
		const size_t n = data[1] % 100 * 8;

		data += 2;
		size -= 2;
		memcpy(w, data, n < size ? n : size);
		guest_events_read(g, number, w, n / 8);
		data += n < size ? n : size;
		size -= n < size ? n : size;
	}
	guest_events_end(g);
	guest_events_free(g);
	linux_image_free(k);
	pm_buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_err err = { 0 };
	struct linux_image *k;
	const uint8_t *p;
	uint64_t addr;
	uint32_t at;

	if (size && data[0] == 'w') {
		words(data + 1, size - 1);
		return 0;
	}
	k = linux_image_read(data, size, &err);
	if (!k && !pm_failed(&err))
		abort();
	if (!k)
		return 0;
	sum += linux_image_symbol(k, "do_exit");
	for (unsigned i = 0; i < NR(kernel_types); i++)
		for (unsigned m = 1; m < 10 && kernel_types[i][m]; m++)
			sum += linux_image_member(k, kernel_types[i][0], kernel_types[i][m], &at);
	p = linux_image_mark(k, &addr, QS_MARK);
	for (unsigned i = 0; p && i < QS_MARK; i++)
		sum += p[i];
	linux_image_free(k);
	return 0;
}
