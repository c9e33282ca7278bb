/* SPDX-License-Identifier: MIT */
/* arrow.c - events as tables, by Apache Arrow's C data interface
 *
 * A table's arrays can be moved and released one by one, in any order and by any thread. They lie
 * in one block of memory, which counts them. Indices of the dictionary are checked by nobody behind
 * us: kinds that this library does not know have one of their own. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "library/handle.h"
#include "trace/parcel.h"
#include "trace/pipeline.h"

/* ---- as arrow.apache.org has them ----------------------------------------------------------- */
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

/* ---- the table ------------------------------------------------------------------------------ */
enum { STREAM, KIND, FLAGS, SIZE, ID, ADDR, VALUE, COLUMNS };

static const struct { const char *name, *format; size_t width; } column[COLUMNS] = {
	[STREAM] = { "stream", "I", 4 }, [KIND] = { "kind", "c", 1 },
	[FLAGS] = { "flags", "C", 1 }, [SIZE] = { "size", "S", 2 }, [ID] = { "id", "I", 4 },
	[ADDR] = { "addr", "L", 8 }, [VALUE] = { "value", "L", 8 },
};

#define KINDS	(PM_EV_COUNT + 1)	/* the last: any other */
#define ALIGN	64			/* what Arrow recommends for columns */

static struct { int32_t at[KINDS + 1]; char text[KINDS * 16]; } kinds;

static void make_kinds(void)
{
	for (unsigned k = 0; k < KINDS; k++) {
		const char *name = pm_kind_name((enum pm_kind)k);
		const size_t n = strlen(name), at = (size_t)kinds.at[k];

		memcpy(kinds.text + at, name, n);
		kinds.at[k + 1] = (int32_t)(at + n);
	}
}

/* ---- schemas -------------------------------------------------------------------------------- */
struct arrow_schema {
	atomic_uint users;
	struct ArrowSchema child[COLUMNS], dictionary;
	struct ArrowSchema *children[COLUMNS];
};

static void release_schema(struct ArrowSchema *s)
{
	struct arrow_schema *all = s->private_data;

	for (int64_t i = 0; i < s->n_children; i++)
		if (s->children[i]->release)
			s->children[i]->release(s->children[i]);
	if (s->dictionary && s->dictionary->release)
		s->dictionary->release(s->dictionary);
	s->release = NULL;
	if (atomic_fetch_sub(&all->users, 1) == 1)
		free(all);
}

static void fill_schema(struct ArrowSchema *to)
{
	struct arrow_schema *all = pm_alloc(sizeof *all);

	all->users = COLUMNS + 2;
	for (unsigned i = 0; i < COLUMNS; i++) {
		all->child[i] = (struct ArrowSchema){
			.format = column[i].format, .name = column[i].name,
			.release = release_schema, .private_data = all,
		};
		all->children[i] = all->child + i;
	}
	all->dictionary = (struct ArrowSchema){
		.format = "u", .release = release_schema, .private_data = all,
	};
	all->child[KIND].dictionary = &all->dictionary;
	*to = (struct ArrowSchema){
		.format = "+s", .name = "", .n_children = COLUMNS, .children = all->children,
		.release = release_schema, .private_data = all,
	};
}

/* ---- arrays --------------------------------------------------------------------------------- */
struct arrow_array {
	atomic_uint users;
	struct ArrowArray child[COLUMNS], dictionary;
	struct ArrowArray *children[COLUMNS];
	const void *buffer[COLUMNS][2], *dictionary_buffer[3], *no_buffer[1];
};

static void release_array(struct ArrowArray *a)
{
	struct arrow_array *all = a->private_data;

	for (int64_t i = 0; i < a->n_children; i++)
		if (a->children[i]->release)
			a->children[i]->release(a->children[i]);
	if (a->dictionary && a->dictionary->release)
		a->dictionary->release(a->dictionary);
	a->release = NULL;
	if (atomic_fetch_sub(&all->users, 1) == 1)
		free(all);
}

/* HOT: once per event. */
static void fill_columns(const struct pm_batch *b, void *const *to)
{
	uint32_t *const stream = to[STREAM], *const id = to[ID];
	uint8_t *const kind = to[KIND], *const flags = to[FLAGS];
	uint16_t *const size = to[SIZE];
	uint64_t *const addr = to[ADDR], *const value = to[VALUE];
	const uint32_t index = b->stream->index;

	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *ev = b->ev + i;

		stream[i] = index;
		kind[i] = ev->kind < PM_EV_COUNT ? ev->kind : PM_EV_COUNT;
		flags[i] = ev->flags;
		size[i] = ev->size;
		id[i] = ev->id;
		addr[i] = ev->addr;
		value[i] = ev->value;
	}
}

static size_t round_up(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static void fill_array(struct ArrowArray *to, const struct pm_batch *b)
{
	size_t bytes = round_up(sizeof(struct arrow_array)) + ALIGN;
	struct arrow_array *all;
	void *at[COLUMNS];
	uintptr_t p;

	for (unsigned i = 0; i < COLUMNS; i++)
		bytes += round_up(b->n * column[i].width);
	all = pm_realloc(NULL, bytes);
	memset(all, 0, sizeof *all);
	all->users = COLUMNS + 2;
	p = round_up((uintptr_t)all + sizeof *all);
	for (unsigned i = 0; i < COLUMNS; i++) {
		at[i] = (void *)p;
		all->buffer[i][1] = at[i];
		p += round_up(b->n * column[i].width);
		all->child[i] = (struct ArrowArray){
			.length = (int64_t)b->n, .n_buffers = 2, .buffers = all->buffer[i],
			.release = release_array, .private_data = all,
		};
		all->children[i] = all->child + i;
	}
	all->dictionary_buffer[1] = kinds.at;
	all->dictionary_buffer[2] = kinds.text;
	all->dictionary = (struct ArrowArray){
		.length = KINDS, .n_buffers = 3, .buffers = all->dictionary_buffer,
		.release = release_array, .private_data = all,
	};
	all->child[KIND].dictionary = &all->dictionary;
	fill_columns(b, at);
	*to = (struct ArrowArray){
		.length = (int64_t)b->n, .n_buffers = 1, .buffers = all->no_buffer,
		.n_children = COLUMNS, .children = all->children,
		.release = release_array, .private_data = all,
	};
}

static void begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_kinds);
}

enum pm_status pm_kept_arrow(struct pm_kept *k, struct ArrowSchema *schema,
			     struct ArrowArray *array, struct pm_err *err)
{
	const struct pm_parcel *p;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	p = pm_handle_get(k, PM_HANDLE_KEPT, err);
	if (!p)
		return PM_ERR;
	begin();
	if (!array)
		pm_fail_file(err, "the place for the array is NULL");
	else
		fill_array(array, &p->b);
	if (array && schema)
		fill_schema(schema);
	pm_handle_release(k);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* ---- streams -------------------------------------------------------------------------------- */
struct arrow_stream {
	struct pm_reader *reader;
	char text[400];			/* the last error; "": none */
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	(void)stream;
	fill_schema(out);
	return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct arrow_stream *s = stream->private_data;
	const struct pm_batch *b;
	struct pm_kept *kept = NULL;
	enum pm_status st = PM_OK;
	struct pm_err err;

	*out = (struct ArrowArray){ 0 };
	while (st == PM_OK && !kept)
		st = pm_reader_keep(s->reader, &kept, &b, &err);
	if (st == PM_OK) {
		fill_array(out, b);
		pm_kept_close(kept, NULL);
	}
	if (st != PM_ERR)
		return 0;
	pm_err_format(&err, s->text, sizeof s->text);
	return EIO;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
	const struct arrow_stream *s = stream->private_data;

	return s->text[0] ? s->text : NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
	struct arrow_stream *s = stream->private_data;

	pm_reader_close(s->reader, NULL);
	free(s);
	stream->release = NULL;
}

enum pm_status pm_reader_arrow(struct pm_reader *r, struct ArrowArrayStream *stream,
			       struct pm_err *err)
{
	struct arrow_stream *s;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	if (!pm_handle_get(r, PM_HANDLE_READER, err))
		return PM_ERR;
	pm_handle_release(r);
	if (!stream)
		return pm_fail_file(err, "the place for the stream is NULL");
	begin();
	s = pm_alloc(sizeof *s);
	s->reader = r;
	*stream = (struct ArrowArrayStream){
		.get_schema = get_schema, .get_next = get_next,
		.get_last_error = get_last_error, .release = release_stream, .private_data = s,
	};
	return PM_OK;
}
