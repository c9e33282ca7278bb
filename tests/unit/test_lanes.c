/* SPDX-License-Identifier: MIT */
/* Sinks on threads of their own compute what they compute on one, with any number of threads, from
 * a producer that moves and overwrites everything that it may. Worth running with SAN=thread. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/result.h"
#include "trace/format.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"
#include "trace/tally.h"

#define STREAMS	5
#define BATCHES	300

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

/* ---- a producer that keeps no more than the contract says ----------------------------------- */

struct producer {
	struct pm_code code;
	struct pm_stream stream[STREAMS];
	char name[STREAMS][16];
	struct pm_builder b;
};

/* More code, in new places; the old ones are overwritten. */
static void more_code(struct producer *p)
{
	size_t nblock = p->code.nblock + 1 + rnd(4), ninsn = nblock * 2;
	struct pm_insn *insn = pm_alloc(ninsn * sizeof *insn),
		       *was = (struct pm_insn *)p->code.insn;
	struct pm_block *block = pm_alloc(nblock * sizeof *block),
			*old = (struct pm_block *)p->code.block;

	for (size_t i = 0; i < nblock; i++) {
		insn[2 * i] = (struct pm_insn){
			.pc = 0x1000 + 8 * i, .len = 3, .nref = 1, .object = PM_NONE
		};
		insn[2 * i + 1] = (struct pm_insn){ .pc = 0x1003 + 8 * i, .bytes = { 0x75, 0x10 },
			.len = 2,
						    .flow = PM_CLASS_COND, .object = PM_NONE };
		block[i] = (struct pm_block){ 0x1000 + 8 * i, (uint32_t)(2 * i), 2 };
	}
	if (was) {
		memset(was, 0xee, p->code.ninsn * sizeof *was);
		memset(old, 0xee, p->code.nblock * sizeof *old);
	}
	free(was);
	free(old);
	p->code.insn = insn;
	p->code.block = block;
	p->code.ninsn = ninsn;
	p->code.nblock = nblock;
}

static const struct pm_batch *make_batch(struct producer *p)
{
	uint32_t s = rnd(STREAMS);

	if (!rnd(5))
		more_code(p);
	if (!rnd(20))
		snprintf(p->name[s], sizeof p->name[s], "name%u", rnd(1000));
	p->stream[s] = (struct pm_stream){ s * 40, 7, s, 0, rnd(2) ? p->name[s] : NULL };
	if (p->b.b.narena)
		memset(p->b.arena, 0xee, p->b.b.narena);
	if (p->b.b.n)
		memset(p->b.ev, 0xee, p->b.b.n * sizeof *p->b.ev);
	pm_builder_reset(&p->b, &p->stream[s], &p->code);
	for (unsigned n = 1 + rnd(200); n; n--) {
		struct pm_event *ev = pm_builder_event(&p->b, PM_EV_BLOCK);
		uint32_t id = rnd((uint32_t)p->code.nblock);

		*ev = (struct pm_event){
			.kind = PM_EV_BLOCK, .id = id, .addr = p->code.block[id].pc, .value = 2
		};
		ev = pm_builder_event(&p->b, PM_EV_READ);
		ev->id = 0;
		ev->addr = 8 * rnd(100);
		ev->size = 8;
		if (!rnd(30)) {
			struct pm_rare *r = pm_builder_rare(&p->b, PM_EV_MARKER,
							    rnd(2) ? "a marker" : NULL);

			r->code = rnd(9);
		}
	}
	return pm_builder_batch(&p->b);
}

static void release(struct producer *p)
{
	free((void *)p->code.insn);
	free((void *)p->code.block);
	pm_builder_release(&p->b);
}

/* ---- sinks ---------------------------------------------------------------------------------- */

struct sum {
	uint64_t h, events, merged;
	struct pm_buf text;
	unsigned left;			/* batches until it fails; 0: never */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 31;
}

static void *sum_create(const char *config, struct pm_err *err)
{
	struct sum *s = pm_alloc(sizeof *s);

	s->left = (unsigned)strtoul(config, NULL, 10);
	return s;
}

static enum pm_status sum_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct sum *s = self;

	s->h = mix(s->h, b->stream->index ^ b->first_insn << 8);
	s->h = mix(s->h,
		   b->stream->name ? strlen(b->stream->name) + (uint8_t)b->stream->name[4] : 77);
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *ev = b->ev + i;
		uint64_t head;

		memcpy(&head, ev, 8);
		s->h = mix(mix(mix(s->h, head), ev->addr), ev->value);
		if (ev->kind == PM_EV_BLOCK)
			s->h = mix(s->h, b->code->insn[b->code->block[ev->id].insn + 1].pc);
		if (ev->kind == PM_EV_MARKER && b->rare[ev->id].name)
			s->h = mix(s->h, strlen(b->rare[ev->id].name));
	}
	s->events += b->n;
	if (s->left && !--s->left)
		return pm_fail_file(err, "enough");
	return PM_OK;
}

/* The order matters: that is what is tested. */
static void sum_merge(void *self, const void *other)
{
	struct sum *s = self;
	const struct sum *o = other;

	s->h = mix(s->h, o->h);
	s->events += o->events;
	s->merged++;
}

static struct pm_buf results;

static enum pm_status sum_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct sum *s = self;

	pm_buf_printf(&results, "%llx %llu %llu\n", (unsigned long long)s->h,
		      (unsigned long long)s->events, (unsigned long long)s->merged);
	return PM_OK;
}

static const struct pm_sink_ops blocks_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS, .name = "blocks", .create = sum_create,
	.consume = sum_consume,
	.finish = sum_finish, .destroy = free,
}, plain_ops = {
	.abi = PM_ABI, .name = "plain", .create = sum_create, .consume = sum_consume,
	.finish = sum_finish, .destroy = free,
}, streams_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_PER_STREAM, .name = "streams",
	.create = sum_create,
	.consume = sum_consume, .merge = sum_merge, .finish = sum_finish, .destroy = free,
}, plain_streams_ops = {
	.abi = PM_ABI, .flags = PM_SINK_PER_STREAM, .name = "plain-streams", .create = sum_create,
	.consume = sum_consume, .merge = sum_merge, .finish = sum_finish, .destroy = free,
}, whole_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_WHOLE, .name = "whole",
	.create = sum_create,
	.consume = sum_consume, .finish = sum_finish, .destroy = free,
};

static enum pm_status run(unsigned threads, const struct pm_sink_ops *const *sinks,
			  const char *config, struct pm_err *err)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct producer prod = { 0 };
	enum pm_status s = PM_OK;

	seed = 42;
	results.n = 0;
	pm_pipeline_threads(p, threads);
	for (; *sinks; sinks++) {
		assert_int_equal(pm_pipeline_sink_new(p, *sinks, config, err), PM_OK);
		config = "";
	}
	assert_int_equal(pm_pipeline_start(p, UINT32_MAX, "test", err), PM_OK);
	more_code(&prod);
	for (unsigned i = 0; i < BATCHES && s == PM_OK; i++)
		s = pm_pipeline_push(p, make_batch(&prod), err);
	if (pm_pipeline_finish(p, NULL, err) != PM_OK)
		s = PM_ERR;
	pm_pipeline_free(p);
	release(&prod);
	return s;
}

static void test_same(void **state)
{
	static const struct pm_sink_ops *const sinks[] = {
		&blocks_ops, &plain_ops, &streams_ops, &plain_streams_ops, &pm_discard_ops, NULL
	};
	struct pm_err err = { 0 };
	char *want;

	assert_int_equal(run(0, sinks, "", &err), PM_OK);
	pm_buf_add(&results, "", 1);
	want = pm_strdup((char *)results.p);
	assert_non_null(strstr(want, " 5\n"));		/* an object for each stream, merged */
	for (unsigned threads = 1; threads <= 5; threads++)
		for (int again = 0; again < 3; again++) {
			assert_int_equal(run(threads, sinks, "", &err), PM_OK);
			pm_buf_add(&results, "", 1);
			assert_string_equal((char *)results.p, want);
		}
	free(want);
}

/* A sink that fails on its thread: the error arrives, once, and half of a thing is not finished. */
static void test_failure(void **state)
{
	static const struct pm_sink_ops *const sinks[] = { &whole_ops, &blocks_ops, NULL };

	for (unsigned threads = 0; threads <= 3; threads++)
		for (unsigned at = 1; at <= BATCHES; at += at < 5 ? 1 : at == 5 ? BATCHES - 5 : 1) {
			struct pm_err err = { 0 };
			char config[16];

			snprintf(config, sizeof config, "%u", at);
			assert_int_equal(run(threads, sinks, config, &err), PM_ERR);
			assert_string_equal(err.msg, "enough");
			pm_buf_add(&results, "", 1);
			/* one line: the other sink's */
			assert_ptr_equal(strchr((char *)results.p, '\n') + 1,
					 strrchr((char *)results.p, '\n') + 1);
		}
}

/* A pipeline that is given up with full queues. */
static void test_abandoned(void **state)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct pm_pipeline *p = pm_pipeline_new();
		struct producer prod = { 0 };
		struct pm_err err = { 0 };

		pm_pipeline_threads(p, threads);
		assert_int_equal(pm_pipeline_sink_new(p, &blocks_ops, "", &err), PM_OK);
		assert_int_equal(pm_pipeline_sink_new(p, &plain_streams_ops, "", &err), PM_OK);
		assert_int_equal(pm_pipeline_start(p, UINT32_MAX, "test", &err), PM_OK);
		more_code(&prod);
		for (unsigned i = 0; i < 50; i++)
			assert_int_equal(pm_pipeline_push(p, make_batch(&prod), &err), PM_OK);
		pm_pipeline_free(p);
		release(&prod);
	}
}

/* The file is the same, byte for byte. */
static void test_pug(void **state)
{
	struct pm_buf want = { 0 };

	for (unsigned threads = 0; threads <= 3; threads++) {
		struct pm_pipeline *p = pm_pipeline_new();
		struct producer prod = { 0 };
		struct pm_err err = { 0 };
		struct pm_buf got = { 0 };
		char path[] = "/tmp/pm-lanes-XXXXXX", pug[64];
		int fd = mkstemp(path);
		FILE *f;
		int c;

		assert_true(fd >= 0);
		close(fd);
		snprintf(pug, sizeof pug, "%s.pug", path);
		seed = 11;
		pm_pipeline_threads(p, threads);
		assert_int_equal(pm_pipeline_sink_new(p, &blocks_ops, "", &err), PM_OK);
		assert_int_equal(pm_trace_create(p, pug, "pug", 0x12345, &err), PM_OK);
		assert_int_equal(pm_pipeline_start(p, UINT32_MAX, "test", &err), PM_OK);
		more_code(&prod);
		for (unsigned i = 0; i < BATCHES; i++)
			assert_int_equal(pm_pipeline_push(p, make_batch(&prod), &err), PM_OK);
		assert_int_equal(pm_pipeline_finish(p, NULL, &err), PM_OK);
		pm_pipeline_free(p);
		release(&prod);
		f = fopen(pug, "rb");
		assert_non_null(f);
		while ((c = fgetc(f)) != EOF)
			pm_buf_add(&got, &(uint8_t){ (uint8_t)c }, 1);
		fclose(f);
		remove(pug);
		remove(path);
		if (!threads) {
			want = got;
			continue;
		}
		assert_int_equal(got.n, want.n);
		assert_memory_equal(got.p, want.p, want.n);
		pm_buf_release(&got);
	}
	pm_buf_release(&want);
}

/* ---- several threads push ------------------------------------------------------------------- */
static const struct pm_sink_ops light_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_LIGHT | PM_SINK_PER_STREAM,
	.name = "light", .create = sum_create,
	.consume = sum_consume, .merge = sum_merge, .finish = sum_finish, .destroy = free,
};

struct pusher {
	struct pm_pipeline *p;
	unsigned which, of;		/* of the streams: those that are @which, modulo @of */
	struct pm_err err;
};

static void *push_streams(void *arg)
{
	struct pusher *w = arg;

	for (unsigned i = 0; i < 40 * BATCHES; i++) {
		const uint32_t stream = (uint32_t)(i * 7919 % 101);
		const struct pm_stream st = { stream, 7, stream, 0, stream % 3 ? "a name" : NULL };
		const struct pm_event ev[2] = { { .kind = PM_EV_READ, .size = 4, .addr = i },
						{ .kind = PM_EV_INSN, .id = PM_NONE,
						  .addr = i * 3 } };
		const struct pm_batch b = { .stream = &st, .ev = ev, .n = 1 + i % 2 };

		if (stream % w->of == w->which && pm_pipeline_push(w->p, &b, &w->err) != PM_OK)
			break;
	}
	return NULL;
}

static enum pm_status run_split(unsigned threads, const char *config, struct pm_buf *text)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_result *r = pm_result_new();
	struct pusher w[4];
	struct pm_err err = { 0 };
	enum pm_status st = PM_OK;
	pthread_t thread[4];

	results.n = 0;
	pm_pipeline_threads(p, 4);
	assert_int_equal(pm_pipeline_sink_new(p, &light_ops, config, &err), PM_OK);
	assert_int_equal(pm_pipeline_sink_new(p, &pm_count_ops.ops, "", &err), PM_OK);
	assert_int_equal(pm_pipeline_sink_new(p, &pm_discard_ops, "", &err), PM_OK);
	assert_int_equal(pm_pipeline_start(p, UINT32_MAX, "test", &err), PM_OK);
	assert_int_equal(pm_pipeline_feed(p, 8).threads, 4);
	for (unsigned i = 0; i < threads; i++) {
		w[i] = (struct pusher){ .p = p, .which = i, .of = threads };
		assert_int_equal(pthread_create(&thread[i], NULL, push_streams, &w[i]), 0);
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		if (pm_failed(&w[i].err))
			st = PM_ERR;
	}
	assert_int_equal(pm_pipeline_finish(p, r, &err), PM_OK);
	pm_result_json(r, text);
	pm_buf_add(text, results.p, results.n);
	pm_buf_add(text, "", 1);
	pm_pipeline_free(p);
	pm_result_free(r);
	return st;
}

static void test_split(void **state)
{
	struct pm_buf want = { 0 };

	assert_int_equal(run_split(1, "", &want), PM_OK);
	assert_non_null(strstr((char *)want.p, " 101\n"));
	assert_non_null(strstr((char *)want.p, "18000"));	/* events, by the sums above */
	for (unsigned i = 0; i < 12; i++) {
		struct pm_buf got = { 0 };

		assert_int_equal(run_split(2 + i % 3, "", &got), PM_OK);
		assert_string_equal((char *)got.p, (char *)want.p);
		pm_buf_release(&got);
	}
	want.n = 0;
	assert_int_equal(run_split(3, "20", &want), PM_ERR);
	pm_buf_release(&want);
}

/* ... which they may not where a sink keeps streams together, or works so much that it has a
 * thread. */
static void test_whole(void **state)
{
	static const struct pm_sink_ops *const no[] = { &blocks_ops, &plain_streams_ops,
		&streams_ops };

	for (size_t i = 0; i < 3; i++) {
		struct pm_pipeline *p = pm_pipeline_new();
		struct pm_err err = { 0 };

		pm_pipeline_threads(p, 4);
		assert_int_equal(pm_pipeline_sink_new(p, &pm_count_ops.ops, "", &err), PM_OK);
		assert_int_equal(pm_pipeline_sink_new(p, no[i], "", &err), PM_OK);
		assert_int_equal(pm_pipeline_start(p, UINT32_MAX, "test", &err), PM_OK);
		assert_int_equal(pm_pipeline_feed(p, 8).threads, 1);
		pm_pipeline_free(p);
	}
}

/* Numbers may stand for events where nobody wants more, with sinks on threads, too. */
static void test_counts(void **state)
{
	const struct pm_stream s = { .index = 3, .name = "third" };
	const struct pm_event ev = { .kind = PM_EV_SWITCH, .id = PM_NONE };
	const struct pm_batch b = { .stream = &s, .ev = &ev, .n = 1 };
	const struct pm_tally t = { .kind = { [PM_EV_INSN] = 7, [PM_EV_READ] = 2 }, .insns = 7 };

	for (unsigned k = 0; k < 4; k++) {
		struct pm_pipeline *p = pm_pipeline_new();
		struct pm_result *r = pm_result_new();
		struct pm_buf text = { 0 };
		struct pm_err err = { 0 };

		pm_pipeline_threads(p, k / 2 * 4);
		assert_int_equal(pm_pipeline_sink_new(p, &pm_count_ops.ops, "", &err), PM_OK);
		if (k % 2)
			assert_int_equal(pm_pipeline_sink_new(p, &pm_discard_ops, "", &err), PM_OK);
		assert_int_equal(pm_pipeline_start(p, PM_HAS_INSNS, "test", &err), PM_OK);
		assert_int_equal(pm_pipeline_feed(p, 1).counts, k % 2 == 0);
		if (k % 2 == 0) {
			assert_int_equal(pm_pipeline_push_counts(p, &s, &t, &err), PM_OK);
			assert_int_equal(pm_pipeline_push(p, &b, &err), PM_OK);
			assert_int_equal(pm_pipeline_push_counts(p, &s, &t, &err), PM_OK);
			assert_int_equal(pm_pipeline_finish(p, r, &err), PM_OK);
			pm_result_json(r, &text);
			pm_buf_add(&text, "", 1);
			assert_non_null(strstr((char *)text.p, "\"instructions\": 14,"));
			assert_non_null(strstr((char *)text.p, "\"events\": 19,"));
			assert_non_null(strstr((char *)text.p, "\"third\""));
		}
		pm_buf_release(&text);
		pm_pipeline_free(p);
		pm_result_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same), cmocka_unit_test(test_failure),
		cmocka_unit_test(test_abandoned), cmocka_unit_test(test_pug),
		cmocka_unit_test(test_split), cmocka_unit_test(test_whole),
		cmocka_unit_test(test_counts),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	pm_buf_release(&results);
	return failed;
}
