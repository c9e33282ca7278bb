/* SPDX-License-Identifier: MIT */
/* rec_read.c - recordings are read: the chunks' heads at once, what is in them when it is wanted */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <zstd.h>

#include "base/cur.h"
#include "collect/record/chunk.h"
#include "collect/record/nr_i386.h"

#define MAX_STREAMS	0x10000u
#define MAX_FILES	0x10000u
#define MAX_START	(1ull << 30)	/* bytes of what a program began with */
#define USER_END	0x7ffffffff000ull
#define USER_END32	0xffffe000ull

struct rec_chunk {
	uint64_t at;			/* of its head */
	struct chunk_head h;
	bool cut;
};

struct rec_stream {
	struct rec_start *start;
	size_t *log;			/* indexes of chunks */
	size_t nlog, cap_log, next;
	struct rec_ended end;
};

struct rec_kept {
	struct rec_file f;
	size_t *data;			/* indexes of chunks */
	size_t ndata, cap_data;
	bool there;
};

struct rec_reader {
	const char *path;
	const uint8_t *p;		/* the whole file, mapped */
	size_t n;
	struct rec_chunk *chunk;
	size_t nchunk, cap_chunk;
	struct rec_stream *stream;
	size_t nstream, cap_stream;
	struct rec_kept *file;
	size_t nfile, cap_file;
	struct pm_arena mem;
	struct pm_buf raw;
	bool cut;
};

bool rec_is(const uint8_t *head, size_t n)
{
	return n >= 8 && !memcmp(head, REC_MAGIC, 8);
}

/* ---- chunks ---------------------------------------------------------------------------------- */
static bool chunk_head_get(const uint8_t *p, size_t n, struct chunk_head *h)
{
	uint32_t stream, check;
	uint64_t v[3];

	if (n < REC_CHUNK_HEAD || memcmp(p, "chnk", 4))
		return false;
	memcpy(&stream, p + 8, 4);
	memcpy(&check, p + 12, 4);
	memcpy(v, p + 16, sizeof v);
	*h = (struct chunk_head){ .kind = p[4], .packed = p[5], .stream = le32toh(stream),
				  .stored = le64toh(v[0]), .raw = le64toh(v[1]),
				  .check = le64toh(v[2]) };
	return le32toh(check) == chunk_head_check(p);
}

static uint64_t raw_limit(const struct chunk_head *h)
{
	switch (h->kind) {
	case REC_START:
		return MAX_START;
	case REC_LOG:
		return RT_LOG_SIZE;
	case REC_DATA:
		return REC_DATA_MAX + 16;
	default:
		return 1 << 20;
	}
}

static enum pm_status find_chunks(struct rec_reader *r, struct pm_err *err)
{
	size_t at = REC_HEAD;

	while (at < r->n) {
		struct rec_chunk c = { .at = at };

		if (r->n - at < REC_CHUNK_HEAD) {
			r->cut = true;
			break;
		}
		if (!chunk_head_get(r->p + at, r->n - at, &c.h))
			return pm_fail(err, at, "expected the head of a chunk, found other bytes");
		if (c.h.kind < REC_START || c.h.kind > REC_END || c.h.raw > raw_limit(&c.h) ||
		    c.h.stream >= MAX_STREAMS)
			return pm_fail(err, at, "a chunk of kind %u, stream %u, %llu bytes: not "
				       "one that a recording has", c.h.kind, c.h.stream,
				       (unsigned long long)c.h.raw);
		at += REC_CHUNK_HEAD;
		c.cut = c.h.stored > r->n - at;
		r->cut |= c.cut;
		pm_grow(r->chunk, r->nchunk, r->cap_chunk);
		r->chunk[r->nchunk++] = c;
		if (c.cut)
			break;
		at += c.h.stored;
	}
	return PM_OK;
}

/* What there is of the payload of chunk @c, into r->raw. False: what there is does not have its
 * check. */
static bool unpack(struct rec_reader *r, const struct rec_chunk *c)
{
	const uint8_t *p = r->p + c->at + REC_CHUNK_HEAD;
	const size_t there = (size_t)(r->p + r->n - p), n = c->cut ? there : c->h.stored;
	ZSTD_inBuffer in = { p, n, 0 };
	ZSTD_outBuffer out;
	ZSTD_DStream *z;
	size_t rc = 1;

	r->raw.n = 0;
	if (!c->cut && pm_mix(p, n, 0) != c->h.check)
		return false;
	/* at most a thousandth of what it unpacks to: zstd does no better than that */
	if (!c->h.packed || c->h.raw / 100000 > n + 64) {
		const size_t raw = n < c->h.raw ? n : c->h.raw;

		if (c->h.packed)
			return false;
		pm_buf_add(&r->raw, p, raw);
		return c->cut || raw == c->h.raw;
	}
	z = ZSTD_createDStream();
	if (!z)
		pm_out_of_memory(0);
	ZSTD_initDStream(z);
	out = (ZSTD_outBuffer){ pm_buf_room(&r->raw, c->h.raw), c->h.raw, 0 };
	while (rc && in.pos < in.size && out.pos < out.size) {
		rc = ZSTD_decompressStream(z, &out, &in);
		if (ZSTD_isError(rc))
			break;
	}
	ZSTD_freeDStream(z);
	r->raw.n = out.pos;
	return c->cut || out.pos == c->h.raw;
}

/* ---- what a program began with --------------------------------------------------------------- */
static const char *get_text(struct rec_reader *r, struct pm_cur *c, const char *what)
{
	const uint32_t n = pm_cur_u32(c, what);
	const uint8_t *p = pm_cur_bytes(c, n, what);
	char *s = pm_arena_alloc(&r->mem, p ? n + 1u : 1u);

	if (p)
		memcpy(s, p, n);
	return s;
}

/* Is [at, at + n) memory that a program can have? None of it is the runtime's. */
static bool is_programs(bool i386, uint64_t at, uint64_t n)
{
	static const uint64_t ours[2][2][2] = {
		{ { RT_SHADOW, RT_SHADOW + RT_SHADOW_SIZE },
		  { RT_IMAGE, RT_DATA_VAULT + RT_DATA_SIZE } },
		{ { RT32_BLOCKS, RT32_CODE_VAULT + RT32_CODE_SIZE } },
	};
	const uint64_t end = i386 ? USER_END32 : USER_END;

	if (at >= end || n > end - at)
		return false;
	for (size_t i = 0; i < 2; i++)
		if (n && at < ours[i386][i][1] && ours[i386][i][0] < at + n)
			return false;
	return true;
}

static bool map_is_sound(bool i386, const struct rec_map *m)
{
	return !(m->lo & 4095) && !(m->hi & 4095) && !(m->off & 4095) && m->lo < m->hi &&
	       is_programs(i386, m->lo, m->hi - m->lo) && m->prot < 8 &&
	       !(m->flags & ~(RT_START_STACK | RT_START_SHARED)) && m->file <= MAX_FILES;
}

static void get_maps(struct rec_reader *r, struct pm_cur *c, struct rec_start *s)
{
	uint64_t end = 0;

	s->nmap = pm_cur_u32(c, "mappings");
	s->npart = pm_cur_u32(c, "parts");
	if (s->nmap > RT_START_MAPS || s->npart > 4 * RT_START_MAPS) {
		pm_fail(c->err, pm_cur_at(c), "%zu mappings, %zu parts: too many", s->nmap,
			s->npart);
		s->nmap = s->npart = 0;
	}
	s->map = pm_arena_alloc(&r->mem, (s->nmap + 1) * sizeof *s->map);
	s->part = pm_arena_alloc(&r->mem, (s->npart + 1) * sizeof *s->part);
	for (size_t i = 0; i < s->nmap && !pm_failed(c->err); i++) {
		struct rec_map *m = &s->map[i];

		m->lo = pm_cur_u64(c, "a mapping");
		m->hi = pm_cur_u64(c, "a mapping");
		m->off = pm_cur_u64(c, "a mapping");
		m->prot = pm_cur_u32(c, "a mapping");
		m->flags = pm_cur_u32(c, "a mapping");
		m->file = pm_cur_u32(c, "a mapping");
		if (!pm_failed(c->err) && (!map_is_sound(s->i386, m) || m->lo < end))
			pm_fail(c->err, pm_cur_at(c), "a mapping that no program has");
		end = m->hi;
	}
}

/* Each part lies in a map, and they are in the same order. */
static void get_parts(struct rec_reader *r, struct pm_cur *c, struct rec_start *s)
{
	size_t m = 0;

	for (size_t i = 0; i < s->npart && !pm_failed(c->err); i++) {
		struct rec_part *p = &s->part[i];
		const uint8_t *bytes;

		p->at = pm_cur_u64(c, "a part");
		p->n = pm_cur_u64(c, "a part");
		while (m < s->nmap && s->map[m].hi <= p->at)
			m++;
		if (!pm_failed(c->err) && (m == s->nmap || p->at < s->map[m].lo ||
					   p->n > s->map[m].hi - p->at)) {
			pm_fail(c->err, pm_cur_at(c), "contents of what is not mapped");
			return;
		}
		bytes = pm_cur_bytes(c, p->n, "a part");
		if (!bytes)
			return;
		p->p = memcpy(pm_arena_alloc(&r->mem, p->n + 1), bytes, p->n);
	}
}

static struct rec_start *get_start(struct rec_reader *r, struct pm_cur *c)
{
	struct rec_start *s = pm_arena_alloc(&r->mem, sizeof *s);
	const char **argv;
	uint32_t argc, width;

	s->pid = pm_cur_u32(c, "the process");
	s->parent = pm_cur_u32(c, "the process");
	s->from = pm_cur_u32(c, "the process");
	width = pm_cur_u32(c, "the process");
	if (width > 3 || width == 2)
		pm_fail(c->err, pm_cur_at(c), "machine %u is not known", width);
	s->i386 = width & 1;
	s->exec_all = width >> 1;
	s->sp = pm_cur_u64(c, "registers");
	s->pc = pm_cur_u64(c, "registers");
	s->rax = pm_cur_u64(c, "registers");
	s->rdx = pm_cur_u64(c, "registers");
	s->mask = pm_cur_u64(c, "signals");
	s->ignored = pm_cur_u64(c, "signals");
	s->stack_limit = pm_cur_u64(c, "the stack's limit");
	s->program = get_text(r, c, "the program");
	argc = pm_cur_u32(c, "arguments");
	if (!pm_failed(c->err) && argc > pm_cur_left(c) / 4) {
		pm_fail(c->err, pm_cur_at(c), "%u arguments: too many", argc);
		return s;
	}
	argv = pm_arena_alloc(&r->mem, (argc + 1ull) * sizeof *argv);
	for (uint32_t i = 0; i < argc && !pm_failed(c->err); i++)
		argv[i] = get_text(r, c, "an argument");
	s->argv = argv;
	get_maps(r, c, s);
	get_parts(r, c, s);
	return s;
}

/* ---- the index ------------------------------------------------------------------------------- */
static struct rec_stream *stream_of(struct rec_reader *r, uint32_t number)
{
	while (r->nstream <= number) {
		pm_grow(r->stream, r->nstream, r->cap_stream);
		r->stream[r->nstream++] = (struct rec_stream){ 0 };
	}
	return &r->stream[number];
}

static struct rec_kept *file_of(struct rec_reader *r, uint32_t number, struct pm_cur *c)
{
	if (number >= MAX_FILES) {
		pm_fail(c->err, pm_cur_at(c), "file %u: too many", number);
		return NULL;
	}
	while (r->nfile <= number) {
		pm_grow(r->file, r->nfile, r->cap_file);
		r->file[r->nfile++] = (struct rec_kept){ 0 };
	}
	return &r->file[number];
}

static void get_file(struct rec_reader *r, struct pm_cur *c)
{
	struct rec_kept *f = file_of(r, pm_cur_u32(c, "a file"), c);

	if (!f)
		return;
	f->there = true;
	f->f.kept = pm_cur_u32(c, "a file") & 1;
	f->f.size = pm_cur_u64(c, "a file");
	f->f.check = pm_cur_u64(c, "a file");
	f->f.path = get_text(r, c, "a file's name");
}

static void get_end(struct rec_stream *s, struct pm_cur *c)
{
	s->end.why = pm_cur_u32(c, "the end");
	pm_cur_u32(c, "the end");
	s->end.more = pm_cur_u64(c, "the end");
	s->end.status = (int)pm_cur_u32(c, "the end");
	s->end.signal = (int)pm_cur_u32(c, "the end");
}

static void index_data(struct rec_reader *r, size_t i, struct pm_cur *c)
{
	struct rec_kept *f = file_of(r, pm_cur_u32(c, "a file"), c);

	if (f) {
		pm_grow(f->data, f->ndata, f->cap_data);
		f->data[f->ndata++] = i;
	}
}

static enum pm_status index_chunk(struct rec_reader *r, size_t i, struct pm_err *err)
{
	const struct rec_chunk *k = &r->chunk[i];
	struct rec_stream *s = stream_of(r, k->h.stream);
	struct pm_cur c;

	if (k->h.kind == REC_LOG) {
		pm_grow(s->log, s->nlog, s->cap_log);
		s->log[s->nlog++] = i;
		return PM_OK;
	}
	if (k->cut)
		return PM_OK;
	if (!unpack(r, k))
		return pm_fail(err, k->at, "the chunk does not have its check: the recording is "
			       "damaged");
	c = pm_cur_init(r->raw.p, r->raw.n, k->at, err);
	if (k->h.kind == REC_START)
		s->start = get_start(r, &c);
	else if (k->h.kind == REC_FILE)
		get_file(r, &c);
	else if (k->h.kind == REC_DATA)
		index_data(r, i, &c);
	else
		get_end(s, &c);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* A descriptor of file @f, as it was when it was recorded; -1: it is not. *error: 0, or why it
 * cannot be opened. */
static int open_same(const struct rec_file *f, int *error)
{
	const int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t *const piece = pm_alloc_unset(REC_CHECK_PIECE);
	uint64_t check = 0;
	struct stat st;
	bool same;

	*error = fd < 0 ? errno : 0;
	same = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == f->size &&
	       rec_check_file(fd, f->size, piece, &check) && check == f->check;
	free(piece);
	if (same || fd < 0)
		return fd;
	close(fd);
	return -1;
}

static enum pm_status check_files(const struct rec_reader *r, struct pm_err *err)
{
	for (size_t i = 0; i < r->nfile; i++) {
		const struct rec_file *f = &r->file[i].f;
		int fd, error;

		if (!r->file[i].there || f->kept)
			continue;
		fd = open_same(f, &error);
		errno = error;
		if (error)
			return pm_fail_errno(err, "the recorded program had mapped '%s', which "
					     "cannot be opened", f->path);
		if (fd >= 0)
			close(fd);
		else
			return pm_fail_file(err, "the recorded program had mapped '%s', which has "
					    "changed since (`pugmark record --portable` keeps it)",
					    f->path);
	}
	return PM_OK;
}

static enum pm_status check_references(const struct rec_reader *r, struct pm_err *err)
{
	if (!r->nstream || !r->stream[0].start || !r->stream[0].start->nmap)
		return pm_fail(err, r->n, "the recording ends before the program began");
	for (size_t k = 0; k < r->nstream; k++) {
		const struct rec_start *s = r->stream[k].start;

		for (size_t i = 0; s && i < s->nmap; i++)
			if (s->map[i].file && (s->map[i].file > r->nfile ||
					       !r->file[s->map[i].file - 1].there))
				return pm_fail_file(err, "file %u was mapped, and is not in the "
						    "recording", s->map[i].file - 1);
	}
	return check_files(r, err);
}

static enum pm_status load(struct rec_reader *r, int fd, struct pm_err *err)
{
	struct stat st;
	uint32_t version;

	if (fstat(fd, &st))
		return pm_fail_errno(err, "cannot read");
	if (!S_ISREG(st.st_mode))
		return pm_fail_file(err, "a recording has to be an ordinary file");
	r->n = (size_t)st.st_size;
	r->p = r->n ? mmap(NULL, r->n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	if (r->n && r->p == MAP_FAILED) {
		r->p = NULL;
		return pm_fail_errno(err, "cannot map");
	}
	if (r->n < 8 || !rec_is(r->p, r->n))
		return pm_fail(err, 0, "not a recording");
	if (r->n < REC_HEAD)
		return pm_fail(err, r->n, "the recording ends before the program began");
	memcpy(&version, r->p + 8, 4);
	if (le32toh(version) != REC_VERSION)
		return pm_fail(err, 8, "a recording of version %u; this pugmark replays version %u",
			       le32toh(version), REC_VERSION);
	if (find_chunks(r, err) != PM_OK)
		return PM_ERR;
	for (size_t i = 0; i < r->nchunk; i++)
		if (index_chunk(r, i, err) != PM_OK)
			return PM_ERR;
	return check_references(r, err);
}

enum pm_status rec_open(const char *path, struct rec_reader **to, struct pm_err *err)
{
	struct rec_reader *r = pm_alloc(sizeof *r);
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum pm_status st;

	*to = NULL;
	err->file = path;
	r->path = path;
	st = fd < 0 ? pm_fail_errno(err, "cannot open") : load(r, fd, err);
	if (fd >= 0)
		close(fd);
	if (st != PM_OK) {
		rec_close(r);
		return PM_ERR;
	}
	err->file = NULL;
	*to = r;
	return PM_OK;
}

void rec_close(struct rec_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nstream; i++)
		free(r->stream[i].log);
	for (size_t i = 0; i < r->nfile; i++)
		free(r->file[i].data);
	free(r->stream);
	free(r->file);
	free(r->chunk);
	pm_buf_release(&r->raw);
	pm_arena_release(&r->mem);
	if (r->p)
		munmap((void *)(uintptr_t)r->p, r->n);
	free(r);
}

/* ---- what is asked for ----------------------------------------------------------------------- */
const struct rec_start *rec_start_of(const struct rec_reader *r, uint32_t stream)
{
	return stream < r->nstream ? r->stream[stream].start : NULL;
}

uint32_t rec_nstream(const struct rec_reader *r)
{
	return (uint32_t)r->nstream;
}

uint32_t rec_nfile(const struct rec_reader *r)
{
	return (uint32_t)r->nfile;
}

const struct rec_file *rec_file_of(const struct rec_reader *r, uint32_t number)
{
	return number < r->nfile && r->file[number].there ? &r->file[number].f : NULL;
}

static bool put_kept(struct rec_reader *r, const struct rec_kept *f, int fd)
{
	if (f->f.size > 1ull << 40 || ftruncate(fd, (off_t)f->f.size))
		return false;
	for (size_t i = 0; i < f->ndata; i++) {
		uint64_t off;

		if (!unpack(r, &r->chunk[f->data[i]]) || r->raw.n < 16)
			return false;
		memcpy(&off, r->raw.p + 8, 8);
		off = le64toh(off);
		if (off > f->f.size || r->raw.n - 16 > f->f.size - off ||
		    pwrite(fd, r->raw.p + 16, r->raw.n - 16, (off_t)off) !=
			    (ssize_t)(r->raw.n - 16))
			return false;
	}
	return true;
}

int rec_file_open(const struct rec_reader *r, uint32_t number, struct pm_err *err)
{
	const struct rec_kept *f = number < r->nfile ? &r->file[number] : NULL;
	int fd, error;

	err->file = r->path;
	if (!f || !f->there) {
		pm_fail_file(err, "file %u is not in the recording", number);
		return -1;
	}
	fd = f->f.check || !f->f.kept ? open_same(&f->f, &error) : -1;
	if (fd >= 0)
		return fd;
	if (!f->f.kept) {
		pm_fail_file(err, "'%s' cannot be opened, or has changed", f->f.path);
		return -1;
	}
	fd = memfd_create("pugmark-kept", MFD_CLOEXEC);
	if (fd >= 0 && put_kept((struct rec_reader *)r, f, fd))
		return fd;
	if (fd < 0)
		pm_fail_errno(err, "no memory file for what is kept of '%s'", f->f.path);
	else
		pm_fail_file(err, "what is kept of '%s' cannot be read", f->f.path);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* ---- logs ------------------------------------------------------------------------------------ */
bool rec_is_i386(const struct rec_reader *r, uint32_t stream)
{
	const struct rec_start *s = rec_start_of(r, stream);

	return s && s->i386;
}

bool rec_is_fork(const struct rec_reader *r, uint32_t stream, uint64_t child)
{
	const struct rec_start *s = NULL;

	if (child && child <= r->nstream)
		s = r->stream[child - 1].start;
	return s && s->from == stream + 1 && !s->nmap && s->i386 == rec_is_i386(r, stream);
}

/* Does the call @e name what it may: a file, a process, a segment of shared memory? */
static bool name_is_sound(const struct rec_reader *r, uint32_t stream, const struct rt_event *e)
{
	const uint64_t n = RT_SEGMENT_BYTES(e->a[4]);
	const bool i386 = rec_is_i386(r, stream);

	if (rec_maps_files(i386, e->nr)) {
		if (RT_IS_SEGMENT(e->a[4]))	/* how much of it is mapped, the program says */
			return RT_SEGMENT_NUMBER(e->a[4]) < MAX_FILES;
		return e->a[4] <= r->nfile && r->file[e->a[4] - 1].there;
	}
	if (i386 && e->nr == NR32_ipc)		/* where, the runtime checks */
		return RT_SEGMENT_NUMBER(e->a[4]) < MAX_FILES && n;
	if (e->nr == (i386 ? NR32_shmat : SYS_shmat))
		return RT_SEGMENT_NUMBER(e->a[4]) < MAX_FILES && n && !(e->a[0] & 4095) &&
		       is_programs(i386, e->a[0], n);
	return rec_is_fork(r, stream, e->a[4]);
}

static bool event_is_sound(const struct rec_reader *r, uint32_t stream, const struct rt_event *e)
{
	const bool i386 = rec_is_i386(r, stream);

	switch (e->type) {
	case RT_E_CALL:
		return !e->a[4] || name_is_sound(r, stream, e);
	case RT_E_DATA:
		return e->a[1] <= RT_DATA_MAX && e->size >= sizeof *e + e->a[1] &&
		       is_programs(i386, e->a[0], e->a[1]);
	case RT_E_INSN:
		return true;
	case RT_E_SIGNAL:
		return e->nr >= 1 && e->nr <= 64 && e->size == sizeof *e + 128 &&
		       e->a[1] < 1ull << 62;
	case RT_E_SWITCH:
		return e->nr >= RT_PLACE_CALL && e->nr <= RT_PLACE_EXIT && e->size == sizeof *e &&
		       e->a[1] < 1ull << 62 &&
		       !e->a[1] == (e->nr != RT_PLACE_SAFEPOINT);
	case RT_E_GROUP:
		return e->nr <= RT_PLACE_SAFEPOINT && e->size == sizeof *e &&
		       e->a[1] < 1ull << 62 && !e->a[1] == (e->nr != RT_PLACE_SAFEPOINT) &&
		       e->a[2] <= UINT32_MAX;
	case RT_E_MEMORY:
		return e->a[2] <= RT_DATA_MAX && e->size >= sizeof *e + e->a[2] && !e->a[1] &&
		       is_programs(i386, e->a[0], e->a[2]);
	case RT_E_GONE:
		return e->size == sizeof *e && !e->a[1] && !(e->a[0] % 4096) &&
		       is_programs(i386, e->a[0], 4096);
	case RT_E_CHECK:
		return e->size == sizeof *e && e->a[1] && e->a[1] < 1ull << 62;
	case RT_E_STACK:
		return e->size == sizeof *e && !e->a[1];
	case RT_E_LOST:
		return e->size == sizeof *e && !e->a[1] &&
		       (!e->a[2] || rec_is_fork(r, stream, e->a[2]));
	}
	return false;
}

/* Of @n bytes at @p: those of whole events that make sense. */
static size_t sound_events(const struct rec_reader *r, uint32_t stream, const uint8_t *p, size_t n)
{
	size_t at = 0;

	while (n - at >= sizeof(struct rt_event)) {
		struct rt_event e;

		memcpy(&e, p + at, sizeof e);
		if (e.size < sizeof e || e.size % 8 || e.size > n - at ||
		    !event_is_sound(r, stream, &e))
			break;
		at += e.size;
	}
	return at;
}

size_t rec_next(struct rec_reader *r, uint32_t stream, void *to)
{
	struct rec_stream *s = stream < r->nstream ? &r->stream[stream] : NULL;

	while (s && s->next < s->nlog && !s->end.damaged) {
		const struct rec_chunk *c = &r->chunk[s->log[s->next++]];
		const bool good = unpack(r, c) &&
				  (r->raw.n <= RT32_LOG_SIZE || !rec_is_i386(r, stream));
		const size_t n = good ? sound_events(r, stream, r->raw.p, r->raw.n) : 0;

		s->end.damaged |= !good || (n < r->raw.n && !c->cut);
		if (!n)
			continue;
		memcpy(to, r->raw.p, n);
		return n;
	}
	return 0;
}

bool rec_has_more(const struct rec_reader *r, uint32_t stream)
{
	return stream < r->nstream && r->stream[stream].next < r->stream[stream].nlog &&
	       !r->stream[stream].end.damaged;
}

size_t rec_tell(const struct rec_reader *r, uint32_t stream)
{
	return stream < r->nstream ? r->stream[stream].next : 0;
}

void rec_seek(struct rec_reader *r, uint32_t stream, size_t to)
{
	if (stream >= r->nstream || to > r->stream[stream].nlog)
		return;
	r->stream[stream].next = to;
	r->stream[stream].end.damaged = false;	/* it will be found again */
}

struct rec_ended rec_why(const struct rec_reader *r, uint32_t stream)
{
	struct rec_ended e = { 0 };

	if (stream < r->nstream)
		e = r->stream[stream].end;
	e.cut = r->cut && e.why == REC_RUNNING;
	e.i386 = rec_is_i386(r, stream);
	return e;
}

uint32_t rec_executed(const struct rec_reader *r, uint32_t stream)
{
	for (size_t k = stream + 1; k < r->nstream; k++)
		if (r->stream[k].start && r->stream[k].start->from == stream + 1 &&
		    r->stream[k].start->nmap)
			return (uint32_t)k;
	return 0;
}
