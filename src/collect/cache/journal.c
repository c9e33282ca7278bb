/* SPDX-License-Identifier: MIT */
/* journal.c - see journal.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/temp.h"
#include "base/kept.h"
#include "base/mix.h"
#include "collect/cache/journal.h"

#define HOLD (32u << 10)		/* bytes that are held until they are written */
/* record.pc: no unit, but as `code` the bits of module.used */
#define USED_PAGES UINT32_MAX
#define MOST (256u << 20)		/* bytes of a record that is what it seems */

struct journal {
	struct journal *next;		/* of the session */
	char name[128];
	struct journal_head head;
	int fd;				/* -1: no file */
	uint64_t size;			/* of it, as far as it has been looked at */
	bool bad;			/* there is something else behind that, or all of it is
					 * for somebody else */
	uint64_t put, most;		/* bytes that we have written there; that may be there */
	ino_t ino;			/* of the file that we have written to, */
	uint64_t end;			/* and up to where it is good */
	bool off;			/* it cannot be written, or has too much */
	struct pm_map at;		/* record.pc -> place of the record in the file */
	uint8_t *used;			/* as module.used, of all runs */
	size_t nused;
	struct pm_buf more;		/* records that are not in the file yet */
};

/* ---- the file ------------------------------------------------------------------------------ */
uint64_t journal_bytes(const struct journal_record *r)
{
	return (uint64_t)r->ncode + r->nblock * sizeof(struct xl_block) +
	       r->nmap * sizeof(struct xl_map) + r->nreloc * sizeof(struct xl_reloc) +
	       r->nlink * sizeof(struct xl_link);
}

static uint32_t head_sum(struct journal_record r)
{
	r.sum = 0;
	r.head_sum = 0;
	return (uint32_t)pm_mix(&r, sizeof r, 1);
}

/* What is behind it is @part. */
static uint64_t record_sum(struct journal_record r, const struct iovec *part, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (part[i].iov_len)
			sum = pm_mix(part[i].iov_base, part[i].iov_len, sum);
	r.sum = 0;
	return pm_mix(&r, sizeof r, sum);
}

void journal_sum(struct journal_record *r, const void *behind)
{
	const size_t n[] = { r->ncode, r->nblock * sizeof(struct xl_block),
			     r->nmap * sizeof(struct xl_map), r->nreloc * sizeof(struct xl_reloc),
			     r->nlink * sizeof(struct xl_link) };
	struct iovec part[NR(n)];
	const uint8_t *p = behind;

	for (unsigned i = 0; i < NR(n); p += n[i++])
		part[i] = (struct iovec){ (void *)(uintptr_t)p, n[i] };
	r->head_sum = head_sum(*r);
	r->sum = record_sum(*r, part, NR(n));
}

static bool read_at(int fd, void *p, size_t n, uint64_t at)
{
	return pread(fd, p, n, (off_t)at) == (ssize_t)n;
}

/* The record at @at of a file of @size bytes. */
static bool read_record(int fd, uint64_t at, uint64_t size, struct journal_record *r)
{
	return size - at >= sizeof *r && read_at(fd, r, sizeof *r, at) &&
	       r->head_sum == head_sum(*r) && journal_bytes(r) <= MOST &&
	       journal_bytes(r) <= size - at - sizeof *r;
}

/* What is behind a->size is looked at. */
static void scan(struct journal *a, uint64_t size)
{
	struct journal_head h;
	struct journal_record r;

	if (!a->size) {
		a->bad = size < sizeof h || !read_at(a->fd, &h, sizeof h, 0) ||
			 memcmp(&h, &a->head, sizeof h);
		if (a->bad)
			return;
		a->size = sizeof h;
	}
	while (!a->bad && a->size < size) {
		if (!read_record(a->fd, a->size, size, &r)) {
			a->bad = true;
			return;
		}
		if (r.pc != USED_PAGES) {
			*pm_map_put(&a->at, r.pc, NULL) = a->size;
		} else if (r.ncode == a->nused) {
			uint8_t *bits = pm_alloc(a->nused);

			if (read_at(a->fd, bits, r.ncode, a->size + sizeof r) &&
			    record_sum(r, &(struct iovec){ bits, r.ncode }, 1) == r.sum)
				for (size_t i = 0; i < a->nused; i++)
					a->used[i] |= bits[i];
			free(bits);
		}
		a->size += sizeof r + journal_bytes(&r);
	}
}

static void forget(struct journal *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->size = 0;
	a->bad = false;
	pm_map_release(&a->at);
	memset(&a->at, 0, sizeof a->at);
}

/* What is there under the name now. */
static void reopen(struct journal *a)
{
	struct stat st, had;
	const int fd = pm_kept_open(a->name, O_RDONLY, &st);

	if (fd >= 0 && a->fd >= 0 && !fstat(a->fd, &had) && had.st_dev == st.st_dev &&
	    had.st_ino == st.st_ino) {
		close(fd);
	} else {
		forget(a);
		a->fd = fd < 0 ? -1 : fd;
	}
	if (a->fd >= 0)
		scan(a, (uint64_t)st.st_size);
	a->put = 0;
}

static void journal_name(const struct module *m, char name[128])
{
	snprintf(name, 128, "pugmark-more-%s", m->stored.key + strlen("pugmark-code-"));
}

/* ---- what runs find there -------------------------------------------------------------------- */
struct journal *journal_open(struct spaces *s, const struct module *m,
			     const struct journal_head *head, uint64_t most)
{
	struct journal *a = s->cache->journal;
	char name[sizeof a->name];

	journal_name(m, name);
	while (a && (strcmp(a->name, name) || memcmp(&a->head, head, sizeof *head)))
		a = a->next;
	if (!a) {
		a = pm_alloc(sizeof *a);
		memcpy(a->name, name, sizeof name);
		a->head = *head;
		a->fd = -1;
		a->most = most;
		a->nused = shadow_bits(m);
		a->used = pm_alloc(a->nused);
		a->next = s->cache->journal;
		s->cache->journal = a;
	}
	journal_flush(s, a);
	pm_kept_use(name);
	reopen(a);
	for (size_t i = 0; i < a->nused && a->nused == shadow_bits(m); i++)
		m->stored.needed[i] |= a->used[i];
	return a;
}

bool journal_next(const struct journal *a, size_t *i, uint32_t *pc)
{
	uint64_t key, at;

	if (!pm_map_next(&a->at, i, &key, &at))
		return false;
	*pc = (uint32_t)key;
	return true;
}

static bool sound(const struct journal_record *r, const struct xl_unit *u, uint32_t text_len)
{
	if (!r->ncode || !r->nblock || u->block[0].pc - r->lo != r->pc)
		return false;
	for (uint32_t i = 0; i < r->nblock; i++) {
		const struct xl_block *b = &u->block[i];

		if (b->pc - r->lo >= text_len || b->size > text_len - (b->pc - r->lo) ||
		    b->code >= r->ncode || (b->indirect != XL_NONE && b->indirect >= r->ncode) ||
		    b->map > r->nmap || b->nmap > r->nmap - b->map ||
		    (b->flow.in != XL_OPEN && b->flow.in >= r->nblock) ||
		    (b->flow.out != XL_OPEN && b->flow.out >= r->nblock) ||
		    (b->prev != XL_NONE && b->prev >= r->nblock))
			return false;
	}
	for (uint32_t i = 0; i < r->nreloc; i++) {
		const struct xl_reloc *x = &u->reloc[i];

		if (x->at + 4ull > r->ncode ||
		    ((x->kind == XL_REL_COUNTER || x->kind == XL_REL_BLOCK) &&
		     x->addend >= r->nblock) ||
		    (x->kind == XL_REL_LINK && x->addend >= r->nlink))
			return false;
	}
	for (uint32_t i = 0; i < r->nlink; i++)
		if (u->link[i].site + 4ull > r->ncode || u->link[i].stub >= r->ncode)
			return false;
	return true;
}

bool journal_read(const struct journal *a, const struct module *m, uint32_t pc, struct xl_unit *u,
		  int64_t *distance)
{
	const uint64_t *at = pm_map_get(&a->at, pc);
	struct journal_record r;

	u->ncode = u->nblock = u->nmap = u->nreloc = u->nlink = 0;
	u->breaks_abi = false;
	if (!at || !read_record(a->fd, *at, a->size, &r) || r.pc != pc)
		return false;
#define ROOM(v, cap, n) do {						\
		if ((cap) < (n)) {					\
			(cap) = (n);					\
			(v) = pm_realloc((v), (cap) * sizeof *(v));	\
		}							\
	} while (0)
	ROOM(u->code, u->cap_code, r.ncode);
	ROOM(u->block, u->cap_block, r.nblock);
	ROOM(u->map, u->cap_map, r.nmap);
	ROOM(u->reloc, u->cap_reloc, r.nreloc);
	ROOM(u->link, u->cap_link, r.nlink);
#undef ROOM
	struct iovec part[] = {
		{ u->code, r.ncode },
		{ u->block, r.nblock * sizeof *u->block },
		{ u->map, r.nmap * sizeof *u->map },
		{ u->reloc, r.nreloc * sizeof *u->reloc },
		{ u->link, r.nlink * sizeof *u->link },
	};
	if (preadv(a->fd, part, NR(part), (off_t)(*at + sizeof r)) != (ssize_t)journal_bytes(&r))
		return false;
	if (record_sum(r, part, NR(part)) != r.sum || !sound(&r, u, (uint32_t)m->text.len))
		return false;
	for (uint32_t i = 0; i < r.nblock; i++)
		u->block[i].pc += m->text.lo - r.lo;
	for (uint32_t i = 0; i < r.nlink; i++)
		u->link[i].target += m->text.lo - r.lo;
	u->ncode = r.ncode;
	u->nblock = r.nblock;
	u->nmap = r.nmap;
	u->nreloc = r.nreloc;
	u->nlink = r.nlink;
	*distance = r.distance;
	return true;
}

/* ---- what runs leave there ------------------------------------------------------------------- */
#define PARTS 6u

static uint64_t bytes_in(const struct iovec *part, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += part[i].iov_len;
	return sum;
}

/* A file of our own, which gets the name as a whole: what is good of @old, @n bytes, and @part
 * behind that. False and EEXIST: another process has just made one. */
static bool write_new(const struct spaces *s, struct journal *a, int old, uint64_t n,
		      const struct iovec part[PARTS])
{
	const int fd = pm_temp_unnamed(s->cache->fd, ".", 0600);
	struct pm_buf had = { 0 };
	struct iovec all[PARTS + 1] = { { &a->head, sizeof a->head } };
	struct stat st;
	bool good, another;

	if (fd < 0) {
		errno = 0;
		return false;
	}
	if (n && read_at(old, pm_buf_room(&had, n), n, 0))
		all[0] = (struct iovec){ had.p, n };
	memcpy(all + 1, part, PARTS * sizeof *part);
	good = writev(fd, all, NR(all)) == (ssize_t)bytes_in(all, NR(all)) && !fstat(fd, &st) &&
	       pm_temp_link(fd, s->cache->fd, a->name);
	another = !good && errno == EEXIST;
	if (good) {
		a->ino = st.st_ino;
		a->end = bytes_in(all, NR(all));
	}
	pm_buf_release(&had);
	close(fd);
	errno = another ? EEXIST : 0;
	return good;
}

/* How much of @fd, @st, is good. */
static uint64_t good_part(const struct journal *a, int fd, const struct stat *st)
{
	struct journal now = { .head = a->head,
			       .fd = fd,
			       .size = a->ino == st->st_ino ? a->end : 0 };

	scan(&now, (uint64_t)st->st_size);
	pm_map_release(&now.at);
	return now.size;
}

/* Whoever has the lock writes for some milliseconds, unless he is stopped: then nobody is to wait
 * for him. */
#define LOCK_WAIT 100u			/* ms */
static bool lock_soon(int fd)
{
	for (unsigned ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms++) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || ms >= LOCK_WAIT)
			return false;
		usleep(1000);
	}
	return true;
}

/* As pm_kept_open(), and nobody else writes to it until it is closed. */
#define CANNOT_LOCK (PM_KEPT_OTHER - 1)
static int open_locked(const struct journal *a, struct stat *st)
{
	for (int tries = 0; tries < 8; tries++) {
		const int fd = pm_kept_open(a->name, O_RDWR | O_APPEND, st);
		const bool locked = fd >= 0 && lock_soon(fd) && !fstat(fd, st);

		if (fd < 0 || (locked && st->st_nlink))
			return fd;
		close(fd);
		if (!locked)
			return CANNOT_LOCK;
		/* somebody has unlinked it while we waited */
	}
	return PM_KEPT_OTHER;
}

enum written { WRITTEN, ANOTHER_CAME, NOT_WRITTEN };

/* ANOTHER_CAME: there was none, and now there is one that we can add to. */
static enum written try_to_write(const struct spaces *s, struct journal *a,
				 const struct iovec part[PARTS], uint64_t n)
{
	struct stat st;
	uint64_t good = 0;
	bool done = false, another = false;
	const int fd = open_locked(a, &st);

	if (fd == CANNOT_LOCK)			/* it stays as it is, and we do without */
		return NOT_WRITTEN;
	if (fd >= 0) {
		good = good_part(a, fd, &st);
		done = good && good == (uint64_t)st.st_size &&
		       writev(fd, part, PARTS) == (ssize_t)n;
		a->ino = st.st_ino;
		a->end = good + n;
	}
	if (!done) {
		if (fd != -1)
			unlinkat(s->cache->fd, a->name, 0);
		done = write_new(s, a, fd, good, part);
		another = !done && errno == EEXIST;
	}
	if (fd >= 0)
		close(fd);
	return done ? WRITTEN : another ? ANOTHER_CAME : NOT_WRITTEN;
}

static void write_parts(struct spaces *s, struct journal *a, const struct iovec part[PARTS])
{
	const uint64_t n = bytes_in(part, PARTS);
	enum written how = ANOTHER_CAME;

	if (!n || a->off)
		return;
	for (int tries = 0; tries < 8 && how == ANOTHER_CAME; tries++)
		how = try_to_write(s, a, part, n);
	a->off = how != WRITTEN;
	a->put += n;
	s->cache->wrote |= how == WRITTEN;
}

bool journal_flush(struct spaces *s, struct journal *a)
{
	write_parts(s, a, (const struct iovec[PARTS]){ { a->more.p, a->more.n } });
	a->more.n = 0;
	return !a->off;
}

/* @part[0] is @r, which is completed; @n of them. */
static void add(struct spaces *s, struct journal *a, struct journal_record *r,
		const struct iovec part[PARTS], unsigned n)
{
	r->head_sum = head_sum(*r);
	r->sum = record_sum(*r, part + 1, n - 1);
	if (a->more.n + bytes_in(part, PARTS) > HOLD)
		journal_flush(s, a);
	if (bytes_in(part, PARTS) > HOLD)
		write_parts(s, a, part);
	else
		for (unsigned i = 0; i < PARTS; i++)
			pm_buf_add(&a->more, part[i].iov_base, part[i].iov_len);
}

void journal_note(struct spaces *s, struct journal *a, const struct module *m,
		  const struct xl_unit *u)
{
	struct journal_record r = {
		.lo = m->text.lo,
		.distance = (int64_t)(m->code.at + m->code.len - m->text.lo),
		.pc = (uint32_t)(u->block[0].pc - m->text.lo),
		.ncode = (uint32_t)u->ncode,
		.nblock = (uint32_t)u->nblock,
		.nmap = (uint32_t)u->nmap,
		.nreloc = (uint32_t)u->nreloc,
		.nlink = (uint32_t)u->nlink,
	};
	const struct iovec part[PARTS] = {
		{ &r, sizeof r }, { u->code, u->ncode }, { u->block, u->nblock * sizeof *u->block },
		{ u->map, u->nmap * sizeof *u->map }, { u->reloc, u->nreloc * sizeof *u->reloc },
		{ u->link, u->nlink * sizeof *u->link },
	};

	a->off |= journal_bytes(&r) > MOST ||
		  a->size + a->put + a->more.n + journal_bytes(&r) > a->most;
	if (!a->off)
		add(s, a, &r, part, PARTS);
}

void journal_used(struct spaces *s, struct journal *a, const struct module *m)
{
	struct journal_record r = { .pc = USED_PAGES, .ncode = (uint32_t)a->nused };

	add(s, a, &r, (const struct iovec[PARTS]){{&r, sizeof r}, {m->stored.needed, a->nused}}, 2);
}

void journal_remove(struct spaces *s, const struct module *m)
{
	struct journal *a = m->stored.journal;
	char name[128];

	journal_name(m, name);
	unlinkat(s->cache->fd, name, 0);
	if (!a)
		return;
	forget(a);
	a->more.n = a->put = 0;
	a->ino = 0;
	a->off = false;
}

void journal_close(struct spaces *s)
{
	for (struct journal *a; (a = s->cache->journal); ) {
		s->cache->journal = a->next;
		journal_flush(s, a);
		forget(a);
		free(a->used);
		pm_buf_release(&a->more);
		free(a);
	}
}
