/* SPDX-License-Identifier: MIT */
/* test_linux_image.c - kernels' images: unpacked, their symbols and types; and the events that
 * calls of a kernel's functions are */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "collect/qemu/guest_events.h"
#include "collect/qemu/linux_image.h"
#include "collect/qemu/stream.h"
#include "linux_kernel.h"

static void check(const struct linux_image *k, unsigned n)
{
	uint32_t at = 0;
	uint64_t addr;
	char name[256];
	const uint8_t *mark = linux_image_mark(k, &addr, QS_MARK);

	assert_int_equal(linux_image_symbols(k), n);
	for (unsigned i = 0; i < n; i++) {
		kernel_name(name, sizeof name, i);
		assert_int_equal(linux_image_symbol(k, name), kernel_address(i));
	}
	assert_int_equal(linux_image_symbol(k, "do_nothing"), 0);
	assert_true(linux_image_member(k, "task_struct", "mm", &at) && at == 24);
	assert_true(linux_image_member(k, "inode", "i_nlink", &at) && at == 24);
	assert_true(linux_image_member(k, "mm_struct", "pgd", &at) && at == 0);
	assert_false(linux_image_member(k, "mm_struct", "mm", &at));
	assert_false(linux_image_member(k, "tasks", "mm", &at));
	assert_memory_equal(linux_image_bytes(k, KERNEL_RODATA, 16), "Linux version 0", 16);
	assert_null(linux_image_bytes(k, KERNEL_RODATA - 1, 2));
	assert_non_null(mark);
	assert_ptr_equal(mark, linux_image_bytes(k, addr, QS_MARK));
}

static void layouts(void **state)
{
	static const unsigned sizes[] = { 300, 512, 513, 1000 };

	for (unsigned l = 0; l < LAYOUTS; l++)
		for (unsigned i = 0; i < NR(sizes); i++) {
			struct pm_buf b = kernel_vmlinux(l, sizes[i], true);
			struct pm_err err = { 0 };
			struct linux_image *k = linux_image_read(b.p, b.n, &err);

			assert_string_equal(err.msg, "");
			check(k, sizes[i]);
			linux_image_free(k);
			pm_buf_release(&b);
		}
}

/* LZ4 by its definition: runs of the same byte as matches of distance 1, all else literally. */
static void pack_lz4(const struct pm_buf *from, struct pm_buf *to)
{
	struct pm_buf block = { 0 };
	size_t at = 0, literals = 0;

	while (at < from->n) {
		size_t run = 1;

		while (at + run < from->n && from->p[at + run] == from->p[at])
			run++;
		if (run < 20 || at + run == from->n) {
			literals++;
			at++;
			continue;
		}
		/* one more literal, and the others by distance 1 */
		literals++;
		kernel_put(&block, (literals < 15 ? literals : 15) << 4 | 15, 1);
		for (size_t n = literals; literals >= 15; n -= 255) {
			kernel_put(&block, n - 15 < 255 ? n - 15 : 255, 1);
			if (n - 15 < 255)
				break;
		}
		pm_buf_add(&block, from->p + at + 1 - literals, literals);
		kernel_put(&block, 1, 2);
		for (size_t n = run - 1 - 4 - 15; ; n -= 255) {
			kernel_put(&block, n < 255 ? n : 255, 1);
			if (n < 255)
				break;
		}
		at += run;
		literals = 0;
	}
	kernel_put(&block, 15u << 4, 1);
	for (size_t n = literals - 15; ; n -= 255) {
		kernel_put(&block, n < 255 ? n : 255, 1);
		if (n < 255)
			break;
	}
	pm_buf_add(&block, from->p + from->n - literals, literals);
	kernel_put(to, 0x184c2102, 4);
	kernel_put(to, block.n, 4);
	pm_buf_add(to, block.p, block.n);
	pm_buf_release(&block);
}

static void pack(unsigned how, const struct pm_buf *from, struct pm_buf *to)
{
	uint8_t *room = pm_buf_room(to, from->n * 2 + 1000);
	z_stream z = { .next_in = from->p, .avail_in = (unsigned)from->n, .next_out = room,
		       .avail_out = (unsigned)to->cap };

	if (how == 0) {
		assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, 0), Z_OK);
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		to->n = z.total_out;
		deflateEnd(&z);
		return;
	}
	if (how == 1)
		to->n = ZSTD_compress(room, to->cap, from->p, from->n, 3);
	else if (how == 2)
		assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, from->p,
							 from->n, room, &to->n, to->cap), LZMA_OK);
	else
		pack_lz4(from, to);
	kernel_put(to, from->n, 4);
}

static void packed(void **state)
{
	for (unsigned how = 0; how < 4; how++) {
		struct pm_buf b = kernel_vmlinux(LAYOUT_BY_NAME, 600, true), p = { 0 }, z;
		struct pm_err err = { 0 };
		struct linux_image *k;

		pack(how, &b, &p);
		z = kernel_bzimage(p.p, p.n);
		k = linux_image_read(z.p, z.n, &err);
		assert_string_equal(err.msg, "");
		check(k, 600);
		linux_image_free(k);
		pm_buf_release(&b);
		pm_buf_release(&p);
		pm_buf_release(&z);
	}
}

static void refused(struct pm_buf b, const char *why)
{
	struct pm_err err = { 0 };

	assert_null(linux_image_read(b.p, b.n, &err));
	if (!strstr(err.msg, why))
		fail_msg("expected '%s', found '%s'", why, err.msg);
	pm_buf_release(&b);
}

static void damaged(void **state)
{
	struct pm_buf b = { 0 };

	pm_buf_add(&b, "hello", 6);
	refused(b, "neither a bzImage nor an ELF file");
	refused(kernel_vmlinux(LAYOUT_6_1, 0, true), "no symbols (kallsyms)");
	refused(kernel_vmlinux(LAYOUT_6_1, 400, false), "no types (BTF)");
	refused(kernel_bzimage("nothing at all", 15), "packed in a way that is not known");
	refused(kernel_bzimage("\2\x21\x4c\x18\5\0\0\0\0\1\0\0\0....", 17), "LZ4");
	/* a kernel of which some is not there is one error, and nothing is read behind its end */
	b = kernel_vmlinux(LAYOUT_6_1, 300, true);
	for (size_t n = 0; n < b.n; n += 37) {
		uint8_t *copy = malloc(n + 1);
		struct pm_err err = { 0 };

		memcpy(copy, b.p, n);
		assert_null(linux_image_read(copy, n, &err));
		assert_true(err.msg[0]);
		free(copy);
	}
	pm_buf_release(&b);
}

/* ---- events ---------------------------------------------------------------------------------- */

static char said[4096];

static void on_event(void *self, const struct pm_rare *r, uint8_t type)
{
	size_t n = strlen(said);

	n += (size_t)snprintf(said + n, sizeof said - n, "%c", (int)r->code);
	for (uint32_t i = 0; i < r->nargs; i++)
		n += (size_t)snprintf(said + n, sizeof said - n, " %llx",
				      (unsigned long long)r->arg[i]);
	snprintf(said + n, sizeof said - n, "%s%s\n", r->name ? " " : "", r->name ? r->name : "");
}

static uint32_t watch_of(const struct guest_events *g, const char *function)
{
	const struct qs_plan *p = guest_events_plan(g);

	for (uint32_t w = 0; w < p->nwatch; w++)
		for (unsigned i = 0; i < NR(kernel_functions); i++)
			if (!strcmp(kernel_functions[i], function) &&
			    p->watch[w].at == kernel_address(i))
				return w;
	fail_msg("%s is not watched", function);
	return 0;
}

/* A record of that function; a value of UINT64_MAX - 9 stands for the text "name". */
#define TEXT	(UINT64_MAX - 9)
static void call_(struct guest_events *g, const char *function, uint32_t leave, size_t n,
		  const uint64_t *v)
{
	uint64_t w[256];
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i] != TEXT) {
			w[at++] = v[i];
			continue;
		}
		memset(w + at, 0, QS_TEXT * 8);
		memcpy(w + at, "/bin/name", 10);
		at += QS_TEXT;
	}
	if (!guest_events_read(g, watch_of(g, function) | leave, w, at))
		fail_msg("%s is not understood", function);
}
#define CALL(function, ...)	call_(g, function, 0, NR(((uint64_t[]){ __VA_ARGS__ })),	\
				      (uint64_t[]){ __VA_ARGS__ })
#define RETURN(function, ...)	call_(g, function, QS_LEAVE, NR(((uint64_t[]){ __VA_ARGS__ })),	\
				      (uint64_t[]){ __VA_ARGS__ })

static void events(void **state)
{
	struct pm_buf b = kernel_vmlinux(LAYOUT_6_1, 300, true);
	struct pm_err err = { 0 };
	struct linux_image *k = linux_image_read(b.p, b.n, &err);
	struct guest_events *g = guest_events_of(k, &err);

	assert_string_equal(err.msg, "");
	guest_events_to(g, on_event, NULL);
	guest_events_end(g);
	assert_string_equal(said, "");
	CALL("wake_up_new_task", 1, 1, 0, 0);
	CALL("__switch_to_asm", 1, 1, 0);
	/* a stack is made before the process has the address space 0xaa */
	RETURN("insert_vm_struct", 0, 0xaa, 0x7000, 0x8000, 7, 0, 0, 0, 0, 0, 0, TEXT, TEXT, 0xaa);
	RETURN("expand_downwards", 0, 0xaa, 0x6123, 0x7000);
	assert_int_equal(guest_events_space(g, 0x54), 0);
	CALL("membarrier_exec_mmap", 0xaa, 0x54, 1 << 11);
	assert_int_equal(guest_events_space(g, 0x54), 0x54);
	assert_int_equal(guest_events_space(g, 0x55), 0x54);
	assert_int_equal(guest_events_space(g, 0x56), 0);
	RETURN("mmap_region", 0x400000, 9, 0x800003, 0, 0xff, 0x2000, 3, TEXT);
	RETURN("mmap_region", -12ull, 9, 0x800003, 0, 0xff, 0x2000, 3, TEXT);
	RETURN("do_brk_flags", 0, 0x900000, 0x3000);
	CALL("finalize_exec", 9, 0x800003, TEXT);
	/* a fork; what the child writes to is its own, what nobody has written to before as well */
	CALL("wake_up_new_task", 2, 2, 0xbb, 0x66);
	CALL("__switch_to_asm", 2, 2, 0xbb);
	RETURN("handle_mm_fault", 0, 0xbb, 0x900010, 1, 0, 0, 0x111001, 0x222001);
	RETURN("handle_mm_fault", 0, 0xbb, 0x901010, 1, 0, 0, 0x111001, 0x111001);
	RETURN("handle_mm_fault", 0, 0xbb, 0x902010, 1, 0, 0, 0, 0x222001);
	CALL("unmap_vmas", 0xbb, 0x66, 0x1000, 0x2000);
	/* exit_sem is not only for tasks that exit */
	CALL("exit_sem", 2, 5000, 7000);
	call_(g, "do_exit", 0, 0, NULL);
	CALL("unmap_vmas", 0xbb, 0x66, 0, UINT64_MAX);
	CALL("exit_sem", 2, 5000, 7000);
	guest_events_end(g);
	assert_int_equal(guest_events_space(g, 0x66), 0);
	assert_string_equal(said,
		"F 1 0\nS 1\nA 1 54\nm 1 7000 1000\nm 1 6000 1000\n"
		"M 1 400000 2000 9 8 3 3 /bin/name\nm 1 900000 3000\nX 1 9 8 3 name\n"
		"F 2 1\nA 2 66\nS 2\nC 2 900010\nC 2 902010\nU 2 1000 1000\nu 66\nT 2 5 7\ne\n");
	/* words that make no sense */
	assert_false(guest_events_read(g, QS_WATCHES, NULL, 0));
	assert_false(guest_events_read(g, watch_of(g, "do_brk_flags") | QS_LEAVE,
				       &(uint64_t){ 0 }, 1));
	guest_events_free(g);
	linux_image_free(k);
	pm_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts), cmocka_unit_test(packed), cmocka_unit_test(damaged),
		cmocka_unit_test(events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
