/* SPDX-License-Identifier: MIT */
/* pug_write.c - events into .pug
 *
 * Chunks are made and packed by a few threads, one job each, and written in the order of the jobs.
 * Of batches that are packed (chain.h) a job gets the numbers and addresses, and its thread runs
 * the model; of others the caller runs the model, for their code tables may move, and a thread
 * packs the columns. So does it if the producer has time for that (pm_packed.at_once). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "trace/format.h"
#include "trace/parcel.h"
#include "trace/pug_chunk.h"
#include "trace/pug_file.h"
#include "trace/pug_put.h"

#define HANDS	4		/* threads, at most */

static const struct pug_level_info levels[] = {
	{ "fast", PUG_FAST, 1, 1 << 22, 1 << 22, 14, 0 },
	{ "default", PUG_DEFAULT, 3, 1 << 22, 1 << 22, 15, 16 },
	{ "dense", PUG_DENSE, 9, 1 << 23, 1 << 22, 16, 18 },
};

struct item {				/* a packed batch, or what is left of it */
	struct pug_origin of;
	struct pug_chains k;
	uint32_t nid;			/* the next ones of job.id */
	uint32_t parcel;		/* 1 + index: its events; 0: it has none */
};

struct pug_job {			/* some records, in this order */
	enum { JOB_FREE, JOB_FILLING, JOB_WAITS, JOB_RUNS } state;
	uint64_t number;
	struct early {			/* records that stand before its chunks, not packed yet */
		enum pug_tag tag;
		size_t at, n;		/* their bytes in .raw */
	} *early;
	size_t nearly, cap_early;
	struct pm_buf raw;
	bool made;			/* .chunk is made, and is all; otherwise it is of the
					 * items */
	struct pug_chunk chunk;
	struct item *item;
	size_t nitem, cap_item;
	uint32_t *id;
	size_t nid, cap_id;
	uint64_t *addr;
	size_t naddr, cap_addr;
	struct pm_parcel *parcel;	/* all of them keep their room */
	size_t nparcel, cap_parcel;
	uint64_t insns;			/* of the items */
};

struct hand {				/* a thread; [0] is the caller's */
	struct pug_writer *w;
	pthread_t thread;
	struct pug_maker m;
	struct pug_job *job;
	ZSTD_CCtx *zstd;
	struct pm_buf planes, payload;
};

struct known_code {
	const struct pm_code *code;
	struct pug_code_mark done;
	bool written;
};

struct known_stream {
	const struct pm_stream *stream;
	struct pm_stream was;		/* as it was written */
	char *name;
	uint64_t insns;
	bool written;
};

struct pug_writer {
	struct pug_put put;		/* of whose job's turn it is, and of the caller once
					 * there are none */
	struct pug_level_info level;
	uint32_t chunk;			/* instructions, as the user wants it; 0: the level's */
	struct pm_write_opts opts;
	bool begun;
	bool making;			/* events are being put into job->chunk */
	struct pug_job *job;		/* being filled */
	struct known_code *code;
	size_t ncode, cap_code;
	struct known_stream *stream;	/* by pm_stream.index */
	size_t nstream;

	struct pug_job jobs[HANDS + 2];
	unsigned njob;
	struct hand hand[HANDS + 1];
	unsigned nthread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool quit;
	uint64_t ticked;     /* 1 + number of the job that was being filled at the last tick */
	uint64_t begun_jobs; /* numbers given; below: numbers of those that are written */
	uint64_t turn;
	struct pm_err err;		/* the first, under the lock */

	/* likewise */
	uint64_t kind[PM_EV_COUNT];
	struct pm_buf packed;
};

/* ---- records -------------------------------------------------------------------------------- */

static enum pm_status write_early(struct pug_writer *w, struct pug_job *j, ZSTD_CCtx *z,
				  struct pm_err *err)
{
	for (size_t i = 0; i < j->nearly; i++) {
		struct early *e = j->early + i;

		w->packed.n = 0;
		pug_pack(&w->packed, j->raw.p + e->at, e->n, z, 3);
		if (pug_put_record(&w->put, e->tag, 0, &w->packed, err) != PM_OK)
			return PM_ERR;
	}
	j->nearly = j->raw.n = 0;
	/* a whole program's code comes once */
	if (w->packed.cap > 1 << 20)
		pm_buf_release(&w->packed);
	if (j->raw.cap > 1 << 20)
		pm_buf_release(&j->raw);
	return PM_OK;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

/* Wait until all jobs before @j are written. PM_ERR: one of them failed. */
static enum pm_status wait_turn(struct pug_writer *w, const struct pug_job *j)
{
	enum pm_status s;

	pthread_mutex_lock(&w->lock);
	while (w->turn != j->number)
		pthread_cond_wait(&w->wake, &w->lock);
	s = pm_failed(&w->err) ? PM_ERR : PM_OK;
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* The hand's chunk, which is complete. PM_ERR without an error: an earlier job has failed. */
static enum pm_status write_chunk(struct hand *h, struct pm_err *err)
{
	struct pug_writer *w = h->w;
	const struct pug_chunk *c = &h->job->chunk;

	h->payload.n = 0;
	if (pug_chunk_pack(&h->payload, c, &w->level, &h->planes, h->zstd, err) != PM_OK ||
	    wait_turn(w, h->job) != PM_OK || write_early(w, h->job, h->zstd, err) != PM_OK ||
	    pug_put_record(&w->put, PUG_DATA, c->insns, &h->payload, err) != PM_OK)
		return PM_ERR;
	w->put.insns += c->insns;
	w->put.events += c->events;
	w->put.time = c->time ? c->time : w->put.time;
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		w->kind[k] += c->kind[k];
	/* whoever kills us from now on leaves this chunk readable */
	return pm_output_flush(w->put.out, err);
}

static enum pm_status chunk_of_job_is_full(void *hand, struct pm_err *err)
{
	struct hand *h = hand;

	if (write_chunk(h, err) != PM_OK)
		return PM_ERR;
	pug_make_begin(&h->m, &h->job->chunk);
	return PM_OK;
}

/* What @id[0..nid) says of chains and of the events of @b, whose code table is @k's. */
static enum pm_status make_packed(struct pug_maker *m, struct pug_origin of,
				  const struct pug_chains *k, struct pm_batch b, const uint32_t *id,
				  size_t nid, const uint64_t **addr, struct pm_err *err)
{
	const struct pm_event *ev = b.ev;
	uint64_t insns;

	b.code = &k->code;
	for (size_t i = 0, n; i < nid; i += n, of.insns += insns) {
		if (id[i] & PM_CHAIN_EVENTS) {
			n = 1;
			b.ev = ev;
			b.n = id[i] & ~PM_CHAIN_EVENTS;
			ev += b.n;
			if (pug_make(m, &of, &b, &insns, err) != PM_OK)
				return PM_ERR;
			continue;
		}
		for (n = 1; i + n < nid && !(id[i + n] & PM_CHAIN_EVENTS); )
			n++;
		if (pug_make_chains(m, &of, k, id + i, n, addr, &insns, err) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

static enum pm_status make_item(struct hand *h, const struct item *item, const uint32_t *id,
				const uint64_t **addr, struct pm_err *err)
{
	struct pm_batch b = { 0 };

	if (item->parcel)
		b = h->job->parcel[item->parcel - 1].b;
	return make_packed(&h->m, item->of, &item->k, b, id, item->nid, addr, err);
}

static enum pm_status make_items(struct hand *h, struct pm_err *err)
{
	const struct pug_job *j = h->job;
	const uint64_t *addr = j->addr;
	const uint32_t *id = j->id;

	h->m.level = h->w->level;
	h->m.full = chunk_of_job_is_full;
	h->m.arg = h;
	pug_make_begin(&h->m, &h->job->chunk);
	for (size_t i = 0; i < j->nitem; id += j->item[i++].nid)
		if (make_item(h, j->item + i, id, &addr, err) != PM_OK)
			return PM_ERR;
	pug_make_end(&h->m);
	return PM_OK;
}

static void do_job(struct hand *h, struct pug_job *j)
{
	struct pug_writer *w = h->w;
	struct pm_err err = { 0 };

	h->job = j;
	if (j->made || (j->nitem && make_items(h, &err) == PM_OK)) {
		if (j->chunk.events)
			write_chunk(h, &err);
	}
	if (wait_turn(w, j) == PM_OK && !pm_failed(&err))
		write_early(w, j, h->zstd, &err);	/* of a job that has no more */
	pthread_mutex_lock(&w->lock);
	if (pm_failed(&err) && !pm_failed(&w->err))
		w->err = err;
	w->turn++;
	j->state = JOB_FREE;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

static struct pug_job *find_job(struct pug_writer *w, unsigned state)
{
	struct pug_job *first = NULL;

	for (struct pug_job *j = w->jobs; j < w->jobs + w->njob; j++)
		if (j->state == state && (!first || j->number < first->number))
			first = j;
	return first;
}

static void *hand_main(void *arg)
{
	struct hand *h = arg;
	struct pug_writer *w = h->w;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct pug_job *j;

		while (!(j = find_job(w, JOB_WAITS)) && !w->quit)
			pthread_cond_wait(&w->wake, &w->lock);
		if (!j)
			break;
		j->state = JOB_RUNS;
		pthread_mutex_unlock(&w->lock);
		do_job(h, j);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static enum pm_status failure(struct pug_writer *w, struct pm_err *err)
{
	if (pm_failed(&w->err) && !pm_failed(err))
		*err = w->err;
	return pm_failed(&w->err) ? PM_ERR : PM_OK;
}

/* Another job to be filled. */
static enum pm_status begin_job(struct pug_writer *w, struct pm_err *err)
{
	enum pm_status s;
	struct pug_job *j;

	pthread_mutex_lock(&w->lock);
	while (!(j = find_job(w, JOB_FREE)))
		pthread_cond_wait(&w->wake, &w->lock);
	j->state = JOB_FILLING;
	j->number = w->begun_jobs;
	s = failure(w, err);
	pthread_mutex_unlock(&w->lock);
	j->nearly = j->raw.n = 0;
	j->made = false;
	j->nitem = j->nid = j->naddr = j->nparcel = 0;
	j->insns = 0;
	w->job = j;
	return s;
}

/* What was added to the job's .raw since @at becomes a record. */
static void add_record(struct pug_writer *w, enum pug_tag tag, size_t at)
{
	struct pug_job *j = w->job;

	pm_grow(j->early, j->nearly, j->cap_early);
	j->early[j->nearly++] = (struct early){ tag, at, j->raw.n - at };
}

static void put_codes(struct pug_writer *w)
{
	for (size_t i = 0; i < w->ncode; i++) {
		struct known_code *k = w->code + i;
		size_t at = w->job->raw.n;

		/* an empty table has a record, too: chunks name it */
		if (k->written && k->done.ninsn == k->code->ninsn &&
		    k->done.nblock == k->code->nblock && k->done.nobject == k->code->nobject)
			continue;
		k->written = true;
		pug_code_put(&w->job->raw, (uint32_t)i, k->code, &k->done);
		add_record(w, PUG_CODE, at);
	}
}

/* The job is complete, if there is anything in it. */
static enum pm_status end_job(struct pug_writer *w, struct pm_err *err)
{
	struct pug_job *j = w->job;

	if (w->making) {
		pug_make_end(&w->hand->m);
		w->making = false;
		j->made = true;
	}
	put_codes(w);
	if (!j->nearly && !j->nitem && !(j->made && j->chunk.events)) {
		j->made = false;
		return PM_OK;
	}
	w->begun_jobs++;
	w->job = NULL;
	if (!w->nthread) {
		do_job(w->hand, j);
	} else {
		pthread_mutex_lock(&w->lock);
		j->state = JOB_WAITS;
		pthread_cond_broadcast(&w->wake);
		pthread_mutex_unlock(&w->lock);
	}
	return begin_job(w, err);
}

/* Nobody but the caller has anything to do any more. */
static enum pm_status drain(struct pug_writer *w, struct pm_err *err)
{
	enum pm_status s;

	pthread_mutex_lock(&w->lock);
	while (w->turn != w->begun_jobs)
		pthread_cond_wait(&w->wake, &w->lock);
	s = failure(w, err);
	pthread_mutex_unlock(&w->lock);
	return s;
}

/* ---- the caller's side ---------------------------------------------------------------------- */

static void put_stream(struct pug_writer *w, const struct pm_stream *s, struct known_stream *k)
{
	struct pm_buf *raw = &w->job->raw;
	size_t at = raw->n;

	free(k->name);
	k->was = *s;
	k->name = s->name ? pm_strdup(s->name) : NULL;
	k->written = true;
	pug_varint(raw, s->index);
	pug_varint(raw, s->pid);
	pug_varint(raw, s->tid);
	pug_varint(raw, s->space);
	pug_string_put(raw, s->name);
	add_record(w, PUG_STRM, at);
}

static struct known_stream *known_stream(struct pug_writer *w, const struct pm_stream *s)
{
	struct known_stream *k;

	if (s->index >= w->nstream) {
		size_t n = w->nstream ? w->nstream : 8;

		while (n <= s->index)
			n *= 2;
		w->stream = pm_realloc(w->stream, n * sizeof *w->stream);
		memset(w->stream + w->nstream, 0, (n - w->nstream) * sizeof *w->stream);
		w->nstream = n;
	}
	k = w->stream + s->index;
	if (!k->written || k->was.pid != s->pid || k->was.tid != s->tid ||
	    k->was.space != s->space || !k->name != !s->name ||
	    (s->name && strcmp(k->name, s->name)))
		put_stream(w, s, k);
	return k;
}

static uint32_t known_code(struct pug_writer *w, const struct pm_code *code)
{
	if (!code)
		return PM_NONE;
	for (size_t i = w->ncode; i--; )
		if (w->code[i].code == code)
			return (uint32_t)i;
	pm_grow(w->code, w->ncode, w->cap_code);
	w->code[w->ncode++] = (struct known_code){ .code = code };
	return (uint32_t)w->ncode - 1;
}

static enum pm_status pug_begin(struct pug_writer *w, struct pm_err *err)
{
	const unsigned want = pm_processors() < HANDS ? pm_processors() : HANDS;

	w->begun = true;
	if (pug_put_header(&w->put, w->opts.facts, err) != PM_OK ||
	    pm_output_keep(w->put.out, err) != PM_OK)
		return PM_ERR;
	while (w->nthread < want && pm_thread_start(&w->hand[w->nthread + 1].thread, hand_main,
						    w->hand + w->nthread + 1))
		w->nthread++;
	pthread_mutex_lock(&w->lock);
	w->njob = w->nthread + 1;
	pthread_mutex_unlock(&w->lock);
	if (begin_job(w, err) != PM_OK)
		return PM_ERR;
	pug_put_info(&w->job->raw, w->level.name, w->opts.info);
	add_record(w, PUG_INFO, 0);
	/* whoever is killed early leaves at least a file that says what it was to be */
	return write_early(w, w->job, w->hand->zstd, err) == PM_OK ?
		pm_output_flush(w->put.out, err) : PM_ERR;
}

static enum pm_status made_chunk_is_full(void *writer, struct pm_err *err)
{
	struct pug_writer *w = writer;

	/* it has been ended */
	w->making = false;
	w->job->made = true;
	if (end_job(w, err) != PM_OK)
		return PM_ERR;
	pug_make_begin(&w->hand->m, &w->job->chunk);
	w->making = true;
	return PM_OK;
}

/* The caller runs the model. */
static enum pm_status begin_making(struct pug_writer *w, struct pm_err *err)
{
	struct pug_maker *m = &w->hand->m;

	if (w->job->nitem && end_job(w, err) != PM_OK)
		return PM_ERR;
	if (w->making)
		return PM_OK;
	m->level = w->level;
	m->full = made_chunk_is_full;
	m->arg = w;
	pug_make_begin(m, &w->job->chunk);
	w->making = true;
	return PM_OK;
}

static enum pm_status write_events(struct pug_writer *w, const struct pm_batch *b,
				   struct pm_err *err)
{
	struct known_stream *k;
	struct pug_origin of;
	uint64_t insns;

	if (begin_making(w, err) != PM_OK)
		return PM_ERR;
	k = known_stream(w, b->stream);
	of = (struct pug_origin){ b->stream->index, known_code(w, b->code), k->insns };
	if (pug_make(&w->hand->m, &of, b, &insns, err) != PM_OK)
		return PM_ERR;
	k->insns += insns;
	return PM_OK;
}

static enum pm_status write_at_once(struct pug_writer *w, const struct pm_batch *b,
				    const struct pm_packed *p, struct pm_err *err)
{
	const struct pug_chains chains = { p->chains, *b->code };
	const uint64_t *addr = p->addr;
	struct known_stream *k;
	struct pug_origin of;

	if (begin_making(w, err) != PM_OK)
		return PM_ERR;
	k = known_stream(w, b->stream);
	of = (struct pug_origin){ b->stream->index, known_code(w, b->code), k->insns };
	k->insns += p->insns;
	return make_packed(&w->hand->m, of, &chains, *b, p->id, p->n, &addr, err);
}

enum pm_status pug_write_packed(void *self, const struct pm_batch *b, const struct pm_packed *p,
				struct pm_err *err)
{
	struct pug_writer *w = self;
	/* a few instructions more would make a little chunk of their own */
	const uint32_t most = w->level.insns - w->level.insns / 32;
	struct known_stream *k;
	struct item *item;
	struct pug_job *j;

	if (!w->begun && pug_begin(w, err) != PM_OK)
		return PM_ERR;
	if (p->at_once)
		return write_at_once(w, b, p, err);
	if ((w->making || w->job->insns >= most) && end_job(w, err) != PM_OK)
		return PM_ERR;
	j = w->job;
	k = known_stream(w, b->stream);
	pm_grow(j->item, j->nitem, j->cap_item);
	item = j->item + j->nitem++;
	*item = (struct item){ .of = { b->stream->index, known_code(w, b->code), k->insns },
			       .k = { p->chains, *b->code }, .nid = (uint32_t)p->n };
	k->insns += p->insns;
	j->insns += p->insns;
	if (j->cap_id - j->nid < p->n) {
		j->cap_id = (j->nid + p->n) * 2;
		j->id = pm_realloc(j->id, j->cap_id * sizeof *j->id);
	}
	memcpy(j->id + j->nid, p->id, p->n * sizeof *p->id);
	j->nid += p->n;
	if (j->cap_addr - j->naddr < p->nref) {
		j->cap_addr = (j->naddr + p->nref) * 2;
		j->addr = pm_realloc(j->addr, j->cap_addr * sizeof *j->addr);
	}
	if (p->nref)
		memcpy(j->addr + j->naddr, p->addr, p->nref * sizeof *p->addr);
	j->naddr += p->nref;
	if (!b->n)
		return PM_OK;
	if (j->nparcel == j->cap_parcel) {
		j->cap_parcel = j->cap_parcel ? j->cap_parcel * 2 : 64;
		j->parcel = pm_realloc(j->parcel, j->cap_parcel * sizeof *j->parcel);
		memset(j->parcel + j->nparcel, 0, (j->cap_parcel - j->nparcel) * sizeof *j->parcel);
	}
	pm_parcel_fill(j->parcel + j->nparcel, b, NULL);
	item->parcel = (uint32_t)++j->nparcel;
	return PM_OK;
}

/* What has been collected since the tick before the last is worth a chunk, however small: the
 * program may sleep, and pugmark may be killed. Files that are made of others have no ticks, so
 * that these do not change what is in them. */
static enum pm_status pug_tick(struct pug_writer *w, struct pm_err *err)
{
	if (w->ticked == w->begun_jobs + 1)
		return end_job(w, err);
	w->ticked = w->begun_jobs + 1;
	return PM_OK;
}

enum pm_status pug_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pug_writer *w = self;

	if (!w->begun && pug_begin(w, err) != PM_OK)
		return PM_ERR;
	return b->n ? write_events(w, b, err) : pug_tick(w, err);
}

static enum pm_status put_index(struct pug_writer *w, struct pm_err *err)
{
	struct pug_put_stream *v = pm_alloc((w->nstream + 1) * sizeof *v);
	enum pm_status s;
	size_t n = 0;

	for (size_t i = 0; i < w->nstream; i++)
		if (w->stream[i].written)
			v[n++] = (struct pug_put_stream){ i, w->stream[i].insns };
	s = pug_put_index(&w->put, w->kind, v, n, w->hand->zstd, err);
	free(v);
	return s;
}

enum pm_status pug_write_mark(void *self, uint64_t *at, struct pm_err *err)
{
	struct pug_writer *w = self;

	if ((!w->begun && pug_begin(w, err) != PM_OK) || end_job(w, err) != PM_OK ||
	    drain(w, err) != PM_OK || pm_output_flush(w->put.out, err) != PM_OK)
		return PM_ERR;
	*at = pm_output_offset(w->put.out);
	return PM_OK;
}

enum pm_status pug_write_finish(void *self, struct pm_err *err)
{
	struct pug_writer *w = self;

	if (!w->begun && pug_begin(w, err) != PM_OK)
		return PM_ERR;
	if (end_job(w, err) != PM_OK || drain(w, err) != PM_OK)
		return PM_ERR;
	w->job = NULL;
	return put_index(w, err);
}

/* LEVEL or level=LEVEL, chunk=N, separated by commas. */
static enum pm_status parse_options(struct pug_writer *w, const char *o, struct pm_err *err)
{
	w->level = levels[1];
	for (size_t n; *o; o += n + (o[n] == ',')) {
		unsigned i = 0;

		n = strcspn(o, ",");
		if (!strncmp(o, "chunk=", 6)) {
			char *end;
			unsigned long v = strtoul(o + 6, &end, 10);

			if (end != o + n || v < 16 || v > 1 << 23)
				return pm_fail_request(err,
						    "chunk expects a number of instructions from "
						    "16 to %u, not '%.*s'",
						    1u << 23, (int)n - 6, o + 6);
			w->chunk = (uint32_t)v;
			continue;
		}
		if (!strncmp(o, "level=", 6)) {
			o += 6;
			n -= 6;
		}
		while (i < NR(levels) &&
		       (strlen(levels[i].name) != n || strncmp(levels[i].name, o, n)))
			i++;
		if (i == NR(levels))
			return pm_fail_request(err,
					    "'%.*s' is not a level of .pug: fast, default or dense",
					    (int)n, o);
		w->level = levels[i];
	}
	if (w->chunk)
		w->level.insns = w->level.events = w->chunk;
	return PM_OK;
}

void *pug_write_open(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct pug_writer *w = pm_alloc(sizeof *w);

	if (parse_options(w, o->options ? o->options : "", err) != PM_OK) {
		free(w);
		return NULL;
	}
	w->put.out = out;
	w->opts = *o;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	for (unsigned i = 0; i < NR(w->hand); i++) {
		w->hand[i].w = w;
		w->hand[i].zstd = ZSTD_createCCtx();
	}
	return w;
}

static void job_release(struct pug_job *j)
{
	for (size_t i = 0; i < j->cap_parcel; i++)
		pm_parcel_release(j->parcel + i);
	pug_chunk_release(&j->chunk);
	pm_buf_release(&j->raw);
	free(j->early);
	free(j->item);
	free(j->id);
	free(j->addr);
	free(j->parcel);
}

void pug_write_close(void *self)
{
	struct pug_writer *w = self;
	struct pm_err err = { 0 };

	if (!w)
		return;
	/* without finish() the file stays cut, but what was collected is worth a chunk */
	if (w->job && end_job(w, &err) == PM_OK && drain(w, &err) == PM_OK)
		pm_output_flush(w->put.out, &err);
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 1; i <= w->nthread; i++)
		pthread_join(w->hand[i].thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	for (unsigned i = 0; i < NR(w->hand); i++) {
		pug_maker_release(&w->hand[i].m);
		ZSTD_freeCCtx(w->hand[i].zstd);
		pm_buf_release(&w->hand[i].planes);
		pm_buf_release(&w->hand[i].payload);
	}
	for (unsigned i = 0; i < NR(w->jobs); i++)
		job_release(w->jobs + i);
	for (size_t i = 0; i < w->nstream; i++)
		free(w->stream[i].name);
	free(w->stream);
	free(w->code);
	pm_buf_release(&w->packed);
	pug_put_release(&w->put);
	free(w);
}
