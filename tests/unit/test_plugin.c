/* SPDX-License-Identifier: MIT */
/* test_plugin.c - plug-ins that were built with today's header in a pugmark of later, whose structs
 * have grown: the results are the same. It stands for that pugmark. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/result.h"
#include "trace/sinks.h"

#define GROWN(type) struct grown_##type { struct type now; uint64_t later; }
GROWN(pm_event);
GROWN(pm_insn);
GROWN(pm_block);
GROWN(pm_object);
GROWN(pm_uop);
GROWN(pm_bus);
GROWN(pm_rare);

static const struct pm_sizes grown_sizes = {
	sizeof(struct pm_sizes) + 8, sizeof(struct pm_batch) + 8, sizeof(struct pm_stream) + 8,
	sizeof(struct pm_code) + 8, sizeof(struct grown_pm_event), sizeof(struct grown_pm_uop),
	sizeof(struct grown_pm_bus), sizeof(struct grown_pm_rare), sizeof(struct grown_pm_insn),
	sizeof(struct grown_pm_block), sizeof(struct grown_pm_object),
};

/* @n elements of @size bytes as they will be: @grown apart, with something else between. */
static const void *grow(const void *from, size_t n, size_t size, size_t grown)
{
	char *to = malloc(n * grown + 1);

	memset(to, 0xa5, n * grown);
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * grown, (const char *)from + i * size, size);
	return to;
}

enum { EVENTS = 1000, INSNS = 30 };

struct trace {
	struct pm_event ev[EVENTS];
	struct pm_insn insn[INSNS];
	struct pm_block block[2];
	struct pm_object object[2];
	struct pm_uop uop[3];
	struct pm_bus bus[3];
	struct pm_rare rare[3];
	struct pm_code code;
	struct pm_stream stream;
	struct pm_batch b;
};

static void make(struct trace *t)
{
	*t = (struct trace){ .block = { { 0x1000, 0, 10 }, { 0x2000, 10, 20 } },
		.stream = { .pid = 1, .tid = 1 },
			     .object = { { .path = "a" }, { .path = "b", .lo = 5 } },
			     .uop = { { .pc = 1 }, { .pc = 2 }, { .pc = 3 } },
			     .rare = { { 1 }, { 2 }, { 3 } },
			     .bus = { { .data = 1 }, { .data = 2 }, { .data = 3 } } };
	for (unsigned i = 0; i < INSNS; i++)
		t->insn[i] = (struct pm_insn){ .pc = 0x1000 + i, .len = 1, .flow = i % 3 };
	for (unsigned i = 0; i < EVENTS; i++)
		t->ev[i] = (struct pm_event){
			i % 5 ? PM_EV_WRITE : PM_EV_INSN, 0, 8, i % INSNS, i % 7 << 12 | i, 0
		};
	t->code = (struct pm_code){ t->insn, t->block, t->object, INSNS, 2, 2, 0 };
	t->b = (struct pm_batch){ .sizes = &pm_struct_sizes,
				  .stream = &t->stream,
				  .code = &t->code,
				  .ev = t->ev,
				  .n = EVENTS,
				  .uop = t->uop,
				  .bus = t->bus,
				  .rare = t->rare,
				  .nuop = 3,
				  .nbus = 3,
				  .nrare = 3 };
}

#define GROW(array, n, type) \
	((array) = grow(array, n, sizeof(struct type), sizeof(struct grown_##type)))

static void grow_all(struct trace *t)
{
	GROW(t->code.insn, INSNS, pm_insn);
	GROW(t->code.block, 2, pm_block);
	GROW(t->code.object, 2, pm_object);
	GROW(t->b.ev, EVENTS, pm_event);
	GROW(t->b.uop, 3, pm_uop);
	GROW(t->b.bus, 3, pm_bus);
	GROW(t->b.rare, 3, pm_rare);
	t->b.sizes = &grown_sizes;
}

static void release(struct trace *t)
{
	const void *all[] = { t->code.insn, t->code.block, t->code.object, t->b.ev, t->b.uop,
		t->b.bus, t->b.rare };

	for (unsigned i = 0; i < NR(all); i++)
		free((void *)(uintptr_t)all[i]);
}

static void test_accessors(void **state)
{
	struct trace today, later;

	(void)state;
	make(&today);
	make(&later);
	grow_all(&later);
	for (uint32_t i = 0; i < EVENTS; i++) {
		assert_memory_equal(pm_event_at(&later.b, i), today.ev + i, sizeof *today.ev);
		if (i)
			assert_ptr_equal(pm_event_next(&later.b, pm_event_at(&later.b, i - 1)),
					 pm_event_at(&later.b, i));
	}
	for (uint32_t i = 0; i < INSNS; i++)
		assert_memory_equal(pm_insn_at(&later.b, i), today.insn + i, sizeof *today.insn);
	for (uint32_t i = 0; i < 2; i++) {
		assert_memory_equal(pm_block_at(&later.b, i), today.block + i, sizeof *today.block);
		assert_memory_equal(pm_object_at(&later.b, i), today.object + i,
				    sizeof *today.object);
	}
	for (uint32_t i = 0; i < 3; i++) {
		assert_memory_equal(pm_uop_at(&later.b, i), today.uop + i, sizeof *today.uop);
		assert_memory_equal(pm_bus_at(&later.b, i), today.bus + i, sizeof *today.bus);
		assert_memory_equal(pm_rare_at(&later.b, i), today.rare + i, sizeof *today.rare);
	}
	assert_null(pm_insn_at(&later.b, INSNS));
	assert_null(pm_block_at(&later.b, 2));
	assert_null(pm_object_at(&later.b, PM_NONE));
	assert_null(pm_uop_at(&later.b, 3));
	assert_null(pm_bus_at(&later.b, 3));
	assert_null(pm_rare_at(&later.b, PM_NONE));
	assert_true(PM_HAS_FIELD(today.b.sizes->event, struct pm_event, value));
	assert_true(PM_HAS_FIELD(later.b.sizes->event, struct grown_pm_event, later));
	assert_false(PM_HAS_FIELD(today.b.sizes->event, struct grown_pm_event, later));
	release(&later);
}

/* What the plug-in finds in the batch, twice over. */
static char *results(const char *name, const struct pm_batch *b)
{
	const char *build = getenv("BUILD");
	struct pm_result *r = pm_result_new();
	const struct pm_sink_ops *ops;
	struct pm_buf text = { 0 };
	struct pm_err err = { 0 };
	char path[4096];
	void *so, *self;

	snprintf(path, sizeof path, "%s/examples/%s.so", build ? build : "build", name);
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		fail_msg("%s", dlerror());
	ops = dlsym(so, "pm_plugin");
	assert_non_null(ops);
	assert_int_equal(ops->abi, PM_ABI);
	self = ops->create("", &err);
	assert_non_null(self);
	assert_int_equal(ops->consume(self, b, &err), PM_OK);
	assert_int_equal(ops->consume(self, b, &err), PM_OK);
	assert_int_equal(ops->finish(self, r, &err), PM_OK);
	ops->destroy(self);
	pm_result_json(r, &text);
	pm_buf_add(&text, "", 1);
	pm_result_free(r);
	dlclose(so);
	return (char *)text.p;
}

static void test_examples(void **state)
{
	static const char *const names[] = { "hash", "pages" };
	struct trace today, later;

	(void)state;
	make(&today);
	make(&later);
	grow_all(&later);
	for (unsigned i = 0; i < NR(names); i++) {
		char *a = results(names[i], &today.b), *b = results(names[i], &later.b);

		assert_string_equal(a, b);
		assert_true(strlen(a) > 40);
		free(a);
		free(b);
	}
	release(&later);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_accessors),
		cmocka_unit_test(test_examples) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
