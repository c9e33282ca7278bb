/* SPDX-License-Identifier: MIT */
/* test_kept.c - libpugmark's batches that stay, and events as Arrow's tables */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pugmark/library.h"

/* as arrow.apache.org has them */
struct ArrowSchema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct ArrowSchema **children, *dictionary;
	void (*release)(struct ArrowSchema *);
	void *private_data;
};

struct ArrowArray {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void **buffers;
	struct ArrowArray **children, *dictionary;
	void (*release)(struct ArrowArray *);
	void *private_data;
};

struct ArrowArrayStream {
	int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
	int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
	const char *(*get_last_error)(struct ArrowArrayStream *);
	void (*release)(struct ArrowArrayStream *);
	void *private_data;
};

struct events { struct pm_event *ev; size_t n; uint64_t insns[2]; };

static char blocks[] = "/tmp/test_kept.XXXXXX.pug";

static const char *data(const char *name)
{
	static char path[400];
	const char *top = getenv("TOP");

	if (name == blocks)
		return name;
	snprintf(path, sizeof path, "%s/tests/data/%s", top ? top : ".", name);
	return path;
}

/* A trace of 100000 blocks of three instructions, the second of which reads; of two streams. */
static int make_blocks(void **state)
{
	static const struct pm_insn insn[3] = {
		{ .pc = 0x1000, .len = 4, .object = PM_NONE },
		{ .pc = 0x1004, .len = 4, .nref = 1, .object = PM_NONE },
		{ .pc = 0x1008, .len = 2, .bytes = { 0xeb, 0xf6 }, .flow = PM_CLASS_JUMP,
		  .object = PM_NONE },
	};
	static const struct pm_block block = { .pc = 0x1000, .n = 3 };
	static const struct pm_code code = { .insn = insn, .block = &block, .ninsn = 3,
		.nblock = 1 };
	static const struct pm_stream stream[2] = { { .tid = 1 }, { .index = 1, .tid = 2 } };
	static struct pm_event ev[2000];
	struct pm_batch b = { .sizes = &pm_sizes_here, .code = &code, .ev = ev, .n = 2000 };
	struct pm_writer *w;
	struct pm_err err;
	int fd = mkstemps(blocks, 4);

	(void)state;
	close(fd);
	w = pm_writer_create(blocks, NULL, PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS |
			     PM_HAS_SIZES | PM_HAS_BRANCHES | PM_HAS_BLOCKS | PM_HAS_THREADS, NULL,
			     &err);
	for (unsigned k = 0; k < 100; k++) {
		for (unsigned i = 0; i < 2000; i += 2) {
			ev[i] = (struct pm_event){ .kind = PM_EV_BLOCK, .addr = 0x1000,
				.value = 3 };
			ev[i + 1] = (struct pm_event){ .kind = PM_EV_READ, .size = 8, .id = 1,
				.addr = 0x10000 + k * 8000 + i * 4 };
		}
		b.stream = stream + (k % 7 == 6);
		if (pm_writer_push(w, &b, &err) != PM_OK)
			return -1;
	}
	if (pm_writer_commit(w, NULL, &err) != PM_OK)
		return -1;
	return pm_writer_close(w, &err);
}

static int remove_blocks(void **state)
{
	(void)state;
	return unlink(blocks);
}

static void said(const struct pm_err *err, const char *what)
{
	if (!strstr(err->msg, what))
		fail_msg("expected '%s' in '%s'", what, err->msg);
}

/* Batches say how many instructions there were before, however they were joined. */
static void add(struct events *to, const struct pm_batch *b)
{
	uint64_t *insns = to->insns + b->stream->index;

	assert_int_equal(b->first_insn, *insns);
	to->ev = realloc(to->ev, (to->n + b->n) * sizeof *to->ev);
	for (size_t i = 0; i < b->n; i++) {
		to->ev[to->n] = *pm_event_at(b, i);
		*insns += to->ev[to->n++].kind == PM_EV_INSN;
	}
}

static struct pm_reader *open_as(const char *name, int how, struct pm_err *err)
{
	struct pm_reader *r = pm_reader_open(data(name), NULL, err);

	assert_non_null(r);
	if (how == 1)
		assert_int_equal(pm_reader_blocks(r, err), PM_OK);
	if (how == 2)
		assert_int_equal(pm_reader_transform(r, "filter:l1d=1k,2way,64", err), PM_OK);
	if (how == 3)
		assert_int_equal(pm_reader_transform(r, "uops", err), PM_OK);
	return r;
}

/* What is kept says the same as what is lent, also when all is kept and the reader is gone. */
static void same(const char *name, int how)
{
	static struct pm_kept *kept[10000];
	static const struct pm_batch *batch[10000];
	struct events lent = { 0 };
	const struct pm_batch *b;
	struct pm_err err;
	struct pm_reader *r = open_as(name, how, &err);
	enum pm_status s;
	size_t n = 0, nev = 0;

	while (pm_reader_next(r, &b, &err) == PM_OK) {
		if (how)
			lent.insns[b->stream->index] = b->first_insn;
		add(&lent, b);
	}
	assert_int_equal(pm_reader_close(r, &err), PM_OK);
	r = open_as(name, how, &err);
	while ((s = pm_reader_keep(r, kept + n, batch + n, &err)) == PM_OK)
		n += kept[n] != NULL;
	assert_int_equal(s, PM_END);
	assert_int_equal(pm_reader_keep(r, kept + n, batch + n, &err), PM_END);
	assert_true(n > 1 && lent.n);
	assert_int_equal(pm_reader_close(r, &err), PM_OK);
	for (size_t i = 0; i < n; i++) {
		assert_true(nev + batch[i]->n <= lent.n);
		assert_memory_equal(batch[i]->ev, lent.ev + nev, batch[i]->n * sizeof *lent.ev);
		nev += batch[i]->n;
		assert_int_equal(pm_kept_close(kept[i], &err), PM_OK);
		assert_int_equal(pm_kept_close(kept[i], &err), PM_ERR);
		said(&err, "the kept batch is closed");
	}
	assert_int_equal(nev, lent.n);
	free(lent.ev);
}

static void test_keep(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++) {
		same("real.pug", how);
		same(blocks, how);
	}
}

/* Both kinds of call by turns. */
static void test_turns(void **state)
{
	struct events all = { 0 };
	const struct pm_batch *b;
	struct pm_kept *k;
	struct pm_err err;
	struct pm_reader *r = open_as(blocks, 0, &err);
	int odd = 0;

	(void)state;
	while ((odd ^= 1) ? pm_reader_keep(r, &k, &b, &err) == PM_OK
			  : pm_reader_next(r, &b, &err) == PM_OK) {
		add(&all, b);
		if (odd)
			assert_int_equal(pm_kept_close(k, &err), PM_OK);
	}
	assert_string_equal(err.msg, "");
	assert_int_equal(all.n, 5 * 100000);
	free(all.ev);
	assert_int_equal(pm_reader_close(r, NULL), PM_OK);
}

static void test_wrong(void **state)
{
	const char *name, *value;
	const struct pm_batch *b;
	struct ArrowArrayStream stream;
	struct ArrowArray array;
	struct pm_kept *k;
	struct pm_err err;
	struct pm_reader *r = open_as("blocks.pug", 0, &err);

	(void)state;
	assert_int_equal(pm_reader_keep(r, NULL, &b, &err), PM_ERR);
	assert_int_equal(pm_reader_keep(r, &k, NULL, &err), PM_ERR);
	said(&err, "the place for the batch is NULL");
	assert_int_equal(pm_reader_keep(NULL, &k, &b, &err), PM_ERR);
	assert_int_equal(pm_kept_close((struct pm_kept *)(void *)r, &err), PM_ERR);
	said(&err, "this is a reader, not a kept batch");
	assert_int_equal(pm_kept_arrow((struct pm_kept *)(void *)r, NULL, &array, &err), PM_ERR);
	assert_int_equal(pm_reader_keep(r, &k, &b, &err), PM_OK);
	assert_int_equal(pm_kept_arrow(k, NULL, NULL, &err), PM_ERR);
	assert_int_equal(pm_reader_arrow((struct pm_reader *)(void *)k, &stream, &err), PM_ERR);
	assert_int_equal(pm_reader_arrow(r, NULL, &err), PM_ERR);
	assert_int_equal(pm_kept_close(k, &err), PM_OK);
	assert_int_equal(pm_kept_close(NULL, &err), PM_OK);
	assert_int_equal(pm_reader_note_at(r, 0, NULL, &value, &err), PM_ERR);
	assert_int_equal(pm_reader_note_at(r, 1000, &name, &value, &err), PM_END);
	assert_int_equal(pm_reader_close(r, &err), PM_OK);
	assert_null(pm_event_name(PM_EV_COUNT));
	assert_string_equal(pm_event_name(PM_EV_REP_ITER), "rep-iter");
}

static void test_notes(void **state)
{
	struct pm_err err;
	struct pm_reader *r = open_as("real.pug", 0, &err);
	const char *name, *value;
	size_t n = 0;

	(void)state;
	for (; pm_reader_note_at(r, n, &name, &value, &err) == PM_OK; n++)
		assert_string_equal(pm_reader_note(r, name, &err), value);
	assert_true(n > 0);
	assert_int_equal(pm_reader_close(r, NULL), PM_OK);
}

static void check_array(const struct ArrowArray *a, const struct pm_event *ev, size_t n)
{
	const struct ArrowArray *kinds = a->children[1]->dictionary;
	const uint32_t *id = a->children[4]->buffers[1];
	const int8_t *kind = a->children[1]->buffers[1];
	const uint8_t *flags = a->children[2]->buffers[1];
	const uint16_t *size = a->children[3]->buffers[1];
	const uint64_t *addr = a->children[5]->buffers[1], *value = a->children[6]->buffers[1];
	const int32_t *at = kinds->buffers[1];

	assert_int_equal(a->length, n);
	for (size_t i = 0; i < n; i++) {
		const char *name = pm_event_name(ev[i].kind);

		assert_true(kind[i] >= 0 && kind[i] < kinds->length);
		assert_int_equal(at[kind[i] + 1] - at[kind[i]], strlen(name));
		assert_memory_equal((const char *)kinds->buffers[2] + at[kind[i]], name,
				    strlen(name));
		assert_int_equal(id[i], ev[i].id);
		assert_int_equal(flags[i], ev[i].flags);
		assert_int_equal(size[i], ev[i].size);
		assert_int_equal(addr[i], ev[i].addr);
		assert_int_equal(value[i], ev[i].value);
	}
}

static void test_arrow(void **state)
{
	static const char *const names[] = { "stream", "kind", "flags", "size", "id", "addr",
		"value" };
	struct ArrowSchema schema;
	struct ArrowArray a, moved;
	struct events all = { 0 };
	const struct pm_batch *b;
	struct pm_kept *k;
	struct pm_err err;
	struct pm_reader *r = open_as("real.pug", 0, &err);

	(void)state;
	assert_int_equal(pm_reader_keep(r, &k, &b, &err), PM_OK);
	add(&all, b);
	assert_int_equal(pm_kept_arrow(k, &schema, &a, &err), PM_OK);
	assert_int_equal(pm_kept_close(k, &err), PM_OK);
	assert_int_equal(pm_reader_close(r, &err), PM_OK);
	assert_string_equal(schema.format, "+s");
	assert_int_equal(schema.n_children, 7);
	for (int i = 0; i < 7; i++)
		assert_string_equal(schema.children[i]->name, names[i]);
	assert_string_equal(schema.children[1]->dictionary->format, "u");
	schema.release(&schema);
	assert_null(schema.release);
	check_array(&a, all.ev, all.n);
	/* a column that was moved out outlives the table */
	moved = *a.children[5];
	a.children[5]->release = NULL;
	a.release(&a);
	assert_null(a.release);
	for (size_t i = 0; i < all.n; i++)
		assert_int_equal(((const uint64_t *)moved.buffers[1])[i], all.ev[i].addr);
	moved.release(&moved);
	free(all.ev);
}

static void test_arrow_stream(void **state)
{
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	struct events all = { 0 };
	struct ArrowArray a;
	const struct pm_batch *b;
	struct pm_err err;
	struct pm_reader *r = open_as(blocks, 0, &err);
	size_t n = 0;

	(void)state;
	while (pm_reader_next(r, &b, &err) == PM_OK)
		add(&all, b);
	assert_int_equal(pm_reader_close(r, NULL), PM_OK);
	r = open_as(blocks, 0, &err);
	assert_int_equal(pm_reader_arrow(r, &stream, &err), PM_OK);
	assert_int_equal(stream.get_schema(&stream, &schema), 0);
	schema.release(&schema);
	for (; !stream.get_next(&stream, &a) && a.release; a.release(&a)) {
		check_array(&a, all.ev + n, (size_t)a.length);
		n += (size_t)a.length;
	}
	assert_int_equal(n, all.n);
	assert_null(stream.get_last_error(&stream));
	stream.release(&stream);
	assert_int_equal(pm_reader_close(r, &err), PM_ERR);
	said(&err, "closed");
	/* whoever closes the stream's reader gets an error from the stream */
	r = open_as("real.pug", 0, &err);
	assert_int_equal(pm_reader_arrow(r, &stream, &err), PM_OK);
	assert_int_equal(pm_reader_close(r, &err), PM_OK);
	assert_int_not_equal(stream.get_next(&stream, &a), 0);
	assert_string_equal(stream.get_last_error(&stream), "the reader is closed");
	stream.release(&stream);
	free(all.ev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keep), cmocka_unit_test(test_turns),
		cmocka_unit_test(test_wrong), cmocka_unit_test(test_notes),
		cmocka_unit_test(test_arrow), cmocka_unit_test(test_arrow_stream),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("kept", tests, make_blocks, remove_blocks);
}
