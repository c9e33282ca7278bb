/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cache_sim.h"
#include "analyse/conf.h"
#include "analyse/follow.h"
#include "analyse/names.h"
#include "analyse/objects.h"
#include "base/bound.h"

#define STACK_REACH	(8u << 20)
#define HEAP_REACH	(1ull << 30)	/* no block is larger than this */
#define RING		8
#define TOUCHED		32
#define SYS_MMAP	9		/* of x86-64 */
#define MAP_IS_ANONYMOUS 0x20
#define FRESH		4096
#define KNOWN		1024
#define CALLS		64		/* those further out are forgotten */
#define FOLLOWED	4		/* allocations of a thread whose results are not known
					 * yet */

enum objects_kind { KIND_ALLOCATOR, KIND_STACK, KIND_VARIABLE, KIND_FILE, KIND_HEAP, KIND_OTHER };
static const char *const kinds[] = { "allocator", "stack", "variable", "file", "heap", "other" };

struct data_object {
	enum objects_kind kind;
	char *name;
	uint64_t at;			/* variable: its address; heap: the call that allocated */
	uint64_t reads, writes, miss[PM_CACHE_LEVELS], blocks;
	struct prefetches { uint64_t prefetched, useful, used, late; } pf[PM_CACHE_LEVELS];
};

struct object_thread {
	struct followed {
		struct pm_follow f;
		uint32_t object, was;	/* was: whose the guessed block was, PM_NONE: nobody's */
		uint64_t guess, site;	/* guess 0: none */
		bool moves;
	} followed[FOLLOWED];
	bool following;			/* any of them */
	uint32_t insn;			/* of the code table: the present one */
	uint64_t sp;			/* where the last call pushed; 0: none yet */
	uint64_t last_write, pc;
	uint64_t ret;			/* an allocating function runs and returns here; 0: none
					 * does */
	uint64_t site, alloc_sp;
	unsigned role;
	struct { uint64_t addr; bool write; } ring[RING];
	unsigned nring;
	uint64_t header[RING];		/* the last reads at 8 mod 16 */
	unsigned nheader;
	uint64_t cleared;		/* the last write right behind one of them; 0: none */
	uint64_t touched[TOUCHED];	/* the last references at 8 mod 16 */
	unsigned ntouched;
	uint64_t source, moved;		/* the last vector that was read, written right behind
					 * one of them; 0: none */
	uint64_t framed, framed_before;	/* what musl has written in front of, last and before
					 * that; 0: none */
	uint64_t mapping;		/* length of the mmap() that runs, 0: none */
	struct { uint64_t at, ret; } call[CALLS];	/* those that have not returned, by depth */
	unsigned depth;
	unsigned below;			/* the allocating function was jumped to: it has returned
					 * if depth is less; else 0 */
	uint64_t inner_ret;		/* the last return inside the allocating function; 0:
					 * none */
};

struct objects_sink {
	struct pm_cache *cache;
	unsigned levels;
	uint32_t accessed;		/* by the present reference */
	struct pm_map asked[PM_CACHE_LEVELS];	/* by line: the object that it was brought for */
	uint64_t top;
	struct pm_names names;
	struct data_object *o;
	size_t n, cap;
	struct pm_map by_key;		/* kind and place -> object */
	struct pm_map alloc;		/* call target -> ROLE_* */
	struct object_block { uint64_t addr; uint32_t object; } *block;	/* by address */
	size_t nblock, cap_block;
	struct { uint64_t addr; uint32_t object, epoch; } fresh[FRESH];
	uint32_t epoch;
	struct object_thread *thread;
	size_t nthread, cap_thread;
	uint64_t calls, resolved;
	char **wrapper;			/* names of functions that allocate for others */
	size_t nwrapper, cap_wrapper;
	uint64_t right, wrong;		/* guesses that following has confirmed, refuted */
	struct pm_follow_decoder *decoder;
	struct { struct pm_follow_op op; uint8_t bytes[15], len, isa; } known[KNOWN];	/* by pc */
	const struct pm_code *code;	/* of the batch */
};

struct pm_names *pm_objects_names(void *self)
{
	return &((struct objects_sink *)self)->names;
}

static uint32_t object_of(struct objects_sink *s, enum objects_kind kind, uint64_t key, uint64_t at,
			  const char *name)
{
	bool fresh;
	uint64_t *i = pm_map_put(&s->by_key, key * 8 + kind, &fresh);

	if (fresh) {
		*i = s->n;
		pm_grow(s->o, s->n, s->cap);
		s->o[s->n++] = (struct data_object){ .kind = kind,
						     .name = pm_strdup(name),
						     .at = at };
	}
	return *i;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "?";
}

static size_t block_before(const struct objects_sink *s, uint64_t addr)
{
	return pm_upper_bound(s->block, s->nblock, .addr, addr);	/* + 1; 0: none */
}

static uint32_t find(struct objects_sink *s, const struct object_thread *t, uint64_t addr)
{
	struct pm_name n;
	size_t b;

	if (t->sp && addr - (t->sp - STACK_REACH) < 2ull * STACK_REACH)
		return object_of(s, KIND_STACK, 0, 0, "stack");
	if (pm_names_variable(&s->names, addr, &n)) {
		char name[300];

		if (n.function)
			return object_of(s, KIND_VARIABLE, n.lo, n.lo, n.function);
		snprintf(name, sizeof name, "%.280s (data)", base_name(n.object));
		return object_of(s, KIND_FILE, n.lo, n.lo, name);
	}
	b = block_before(s, addr);
	if (b && addr - s->block[b - 1].addr < HEAP_REACH)
		return s->block[b - 1].object;
	return object_of(s, KIND_OTHER, 0, 0, "?");
}

static uint32_t find_cached(struct objects_sink *s, const struct object_thread *t, uint64_t addr)
{
	unsigned k = (addr ^ addr >> 12) % FRESH;

	if (s->fresh[k].addr != addr || s->fresh[k].epoch != s->epoch) {
		s->fresh[k].object = find(s, t, addr);
		s->fresh[k].addr = addr;
		s->fresh[k].epoch = s->epoch;
	}
	return s->fresh[k].object;
}

/* ---- allocations ---------------------------------------------------------------------------- */

/* STORES: what it returns is not the block. WRAPS: what it touches tells nothing. OTHER: the
 * allocator's, nothing is read off it. */
enum { ROLE_NONE, ROLE_ALLOCATES, ROLE_CLEARS, ROLE_MOVES, ROLE_STORES, ROLE_WRAPS, ROLE_OTHER };

static unsigned role_of_name(const struct objects_sink *s, const char *name)
{
	static const struct { const char *name; unsigned role; } names[] = {
		{ "malloc", ROLE_ALLOCATES }, { "calloc", ROLE_CLEARS },
		{ "aligned_alloc", ROLE_ALLOCATES }, { "memalign", ROLE_ALLOCATES },
		{ "posix_memalign", ROLE_STORES }, { "valloc", ROLE_ALLOCATES },
		{ "operator new", ROLE_ALLOCATES }, { "realloc", ROLE_MOVES },
		{ "reallocarray", ROLE_MOVES }, { "free", ROLE_OTHER }, { "cfree", ROLE_OTHER },
		{ "operator delete", ROLE_OTHER },
	};
	size_t len;

	for (size_t i = 0; i < s->nwrapper; i++)
		if (!strcmp(s->wrapper[i], name))
			return ROLE_WRAPS;
	name += strncmp(name, "__libc_", 7) ? strncmp(name, "__", 2) ? 0 : 2 : 7;
	len = strcspn(name, "@([");
	while (len && name[len - 1] == ' ')
		len--;
	for (unsigned i = 0; i < NR(names); i++)
		if (strlen(names[i].name) == len && !strncmp(names[i].name, name, len))
			return names[i].role;
	return ROLE_NONE;
}

static unsigned role_of(struct objects_sink *s, uint64_t target)
{
	bool fresh;
	uint64_t *known = pm_map_put(&s->alloc, target, &fresh);
	struct pm_name n;

	if (fresh)
		*known = pm_names_at(&s->names, target, false, &n) && n.function && n.lo == target ?
			role_of_name(s, n.function) : ROLE_NONE;
	return *known;
}

/* See the rules (2) in objects.h. 0: none of them fits. */
static uint64_t guessed(const struct object_thread *t)
{
	unsigned last = (t->nring + RING - 1) % RING;
	uint64_t a = t->ring[last].addr;

	if (t->role == ROLE_MOVES) /* musl's free() is the last one to write in front of a block */
		return t->framed_before ? t->framed_before : t->moved;
	if (t->framed)
		return t->framed;
	if (t->role == ROLE_CLEARS && t->cleared)
		return t->cleared;
	if (!t->ring[last].write && a % 16 == 8)
		return a + 8;
	for (unsigned i = 0; t->ring[last].write && a % 16 == 8 && i < RING; i++)
		if (!t->ring[i].write && t->ring[i].addr == a - 8)
			return a - 8;
	return 0;
}

/* From @p on there is a block of object @o. Whose it was, PM_NONE: nobody's. */
static uint32_t place_block(struct objects_sink *s, uint64_t p, uint32_t o)
{
	size_t b = block_before(s, p);
	uint32_t was = PM_NONE;

	s->o[o].blocks++;
	if (b && s->block[b - 1].addr == p) {
		was = s->block[b - 1].object;
		if (was != o)
			s->epoch++;
		s->block[b - 1].object = o;
		return was;
	}
	s->epoch++;
	pm_grow(s->block, s->nblock, s->cap_block);
	memmove(s->block + b + 1, s->block + b, (s->nblock - b) * sizeof *s->block);
	s->block[b] = (struct object_block){ p, o };
	s->nblock++;
	return was;
}

static uint32_t nobodys(struct objects_sink *s, uint64_t p)
{
	uint32_t o = object_of(s, KIND_OTHER, 0, 0, "?");

	place_block(s, p, o);
	return o;
}

/* There is no block of @o at @p after all. */
static void take_back(struct objects_sink *s, uint64_t p, uint32_t o, uint32_t was)
{
	size_t b = block_before(s, p);

	if (!b || s->block[b - 1].addr != p || s->block[b - 1].object != o)
		return;			/* it has been given away again */
	s->o[o].blocks--;
	s->epoch++;
	if (was != PM_NONE) {
		s->block[b - 1].object = was;
		return;
	}
	memmove(s->block + b - 1, s->block + b, (s->nblock - b) * sizeof *s->block);
	s->nblock--;
}

static uint32_t object_at(struct objects_sink *s, uint64_t site)
{
	char text[300], line[200];

	if (!pm_name_of(&s->names, site, text, sizeof text))
		snprintf(text, sizeof text, "0x%llx", (unsigned long long)site);
	if (pm_line_of(&s->names, site, line, sizeof line)) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof text - n, " (%s)", line);
	}
	return object_of(s, KIND_HEAP, site, site, text);
}

/* May the function that returns at @pc be the C library's, whose heap we know? Other libraries' are
 * not; what is in the program itself may be anybody's. */
static bool may_be_libc(struct objects_sink *s, uint64_t pc)
{
	struct pm_name n;
	const char *name;

	if (!pc || !pm_names_at(&s->names, pc, false, &n))
		return pc;
	name = base_name(n.object);
	return strncmp(name, "lib", 3) || !strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5);
}

static void allocated(struct objects_sink *s, struct object_thread *t, uint64_t pc)
{
	/* an allocator in the program that lays out its heap otherwise is found out soon */
	uint64_t p = t->role != ROLE_WRAPS && s->wrong <= 4 + s->right / 8 &&
				     (may_be_libc(s, pc) || may_be_libc(s, t->inner_ret))
			     ? guessed(t)
			     : 0;
	struct followed *w = t->followed;
	uint32_t o = PM_NONE, was = PM_NONE;

	t->ret = 0;
	if (t->role == ROLE_OTHER)
		return;
	s->calls++;
	if (p || t->role != ROLE_MOVES)
		o = object_at(s, t->site);
	s->resolved += p || t->role == ROLE_MOVES; /* it may be where it was, and whose it was */
	if (p)
		was = place_block(s, p, o);
	if (t->role == ROLE_STORES || !s->code || t->insn >= s->code->ninsn ||
	    s->code->insn[t->insn].isa > PM_ISA_X86_32)
		return;
	/* the one that has been followed longest makes room */
	for (unsigned i = 0; i < FOLLOWED; i++)
		if (t->followed[i].f.left < w->f.left)
			w = t->followed + i;
	*w = (struct followed){
		.object = o, .was = was, .guess = p, .moves = t->role == ROLE_MOVES
	};
	w->site = t->site;
	pm_follow_start(&w->f, s->code->insn[t->insn].isa == PM_ISA_X86_64 ? 8 : 4);
	t->following = true;
}

/* The block of @w begins at @p. */
static void followed(struct objects_sink *s, struct followed *w, uint64_t p)
{
	size_t b;

	if (p % 8 || p < 4096)
		return;
	if (w->guess == p) {
		s->right++;
		return;
	}
	if (w->guess) {
		s->wrong++;
		take_back(s, w->guess, w->object, w->was);
	}
	b = block_before(s, p);
	if (w->moves && b && s->block[b - 1].addr == p)
		return;			/* it did not move */
	if (w->object == PM_NONE)
		w->object = object_at(s, w->site);
	s->resolved += !w->guess && !w->moves;
	place_block(s, p, w->object);
}

static void stop_following(struct object_thread *t)
{
	for (unsigned i = 0; i < FOLLOWED; i++)
		t->followed[i].f.left = 0;
	t->following = false;
}

static void follow_insn(struct objects_sink *s, struct object_thread *t, const struct pm_event *e)
{
	const struct pm_insn *in = s->code && e->id < s->code->ninsn ? s->code->insn + e->id : NULL;
	unsigned k = (e->addr ^ e->addr >> 10) % KNOWN;

	if (!in) {
		stop_following(t);
		return;
	}
	if (s->known[k].len != in->len || s->known[k].isa != in->isa ||
	    memcmp(s->known[k].bytes, in->bytes, in->len)) {
		pm_follow_decode(s->decoder, in, &s->known[k].op);
		memcpy(s->known[k].bytes, in->bytes, sizeof in->bytes);
		s->known[k].len = in->len;
		s->known[k].isa = in->isa;
	}
	t->following = false;
	for (unsigned i = 0; i < FOLLOWED; i++) {
		if (t->followed[i].f.left)
			pm_follow_insn(&t->followed[i].f, &s->known[k].op, !t->ret);
		t->following |= t->followed[i].f.left > 0;
	}
}

static void follow_ref(struct objects_sink *s, struct object_thread *t, const struct pm_event *e)
{
	for (unsigned i = 0; i < FOLLOWED; i++) {
		struct followed *w = t->followed + i;
		uint64_t p;

		if (w->f.left && pm_follow_ref(&w->f, e, &p))
			followed(s, w, p);
	}
}

static void watch(struct object_thread *t, const struct pm_event *e, bool write)
{
	const uint64_t addr = e->addr;

	if (addr - (t->alloc_sp - STACK_REACH) < 2ull * STACK_REACH)
		return;
	if (!write && addr % 16 == 8)
		t->header[t->nheader++ % RING] = addr;
	for (unsigned i = 0; write && i < RING && i < t->nheader; i++)
		if (t->header[i] + 8 == addr)
			t->cleared = addr;
	/* lists of free blocks are made of words; what is copied is more, or it is not worth
	 * following */
	for (unsigned i = 0; addr % 16 == 0 && e->size >= 16 && i < TOUCHED && i < t->ntouched; i++)
		if (t->touched[i] + 8 == addr && !write)
			t->source = addr;
		else if (t->touched[i] + 8 == addr && addr != t->source)
			t->moved = addr;
	if (addr % 16 == 8)
		t->touched[t->ntouched++ % TOUCHED] = addr;
	for (unsigned i = 0; write && i < RING; i++)
		if (t->ring[i].write &&
		    ((addr % 16 == 13 && e->size == 1 && t->ring[i].addr == addr + 1) ||
		     (addr % 16 == 14 && e->size == 2 && t->ring[i].addr == addr - 1)) &&
		    t->framed != addr / 16 * 16 + 16) {
			t->framed_before = t->framed;
			t->framed = addr / 16 * 16 + 16;
		}
	t->ring[t->nring].addr = addr;
	t->ring[t->nring].write = write;
	t->nring = (t->nring + 1) % RING;
}

/* What the kernel maps for the program itself is a block, too; what it maps for an allocator is the
 * allocator's to give away. */
static void mapped(struct objects_sink *s, struct object_thread *t, const struct pm_batch *b,
		   const struct pm_event *e)
{
	if (e->kind == PM_EV_SYSCALL) {
		const struct pm_rare *r = e->id < b->nrare ? b->rare + e->id : NULL;

		t->mapping = r && e->value == SYS_MMAP && r->nargs >= 4 &&
					     r->arg[3] & MAP_IS_ANONYMOUS
				     ? r->arg[1]
				     : 0;
	} else if (t->mapping && e->value < UINT64_MAX - 4095) {
		if (t->ret)	/* nobody's yet, and not part of the block in front */
			s->o[nobodys(s, e->value)].blocks--;
		else
			place_block(s, e->value, object_at(s, t->call[(t->depth - 1) % CALLS].at));
		t->mapping = 0;
	}
}

/* ---- events --------------------------------------------------------------------------------- */

static struct object_thread *thread_of(struct objects_sink *s, uint32_t index)
{
	while (s->nthread <= index) {
		pm_grow(s->thread, s->nthread, s->cap_thread);
		s->thread[s->nthread++] = (struct object_thread){ 0 };
	}
	return s->thread + index;
}

static void brought(void *self, unsigned level, uint64_t line)
{
	struct objects_sink *s = self;

	s->o[s->accessed].pf[level].prefetched++;
	*pm_map_put(s->asked + level, line, NULL) = s->accessed;
}

static void used(void *self, unsigned level, uint64_t line, bool late)
{
	struct objects_sink *s = self;
	struct prefetches *p = s->o[s->accessed].pf + level;

	p->used++;
	p->late += late;
	s->o[*pm_map_get(s->asked + level, line)].pf[level].useful++;
}

static void account(struct objects_sink *s, struct object_thread *t, const struct pm_event *e,
		    bool read, bool write)
{
	uint32_t i = t->ret ? object_of(s, KIND_ALLOCATOR, 0, 0, "allocator")
			    : find_cached(s, t, e->addr);
	struct data_object *o = s->o + i;
	unsigned reach;

	s->accessed = i;
	reach = !s->cache ? 0 :
		pm_cache_access(s->cache, write && !read ? PM_OP_WRITE : PM_OP_READ, e->addr,
				e->size ? e->size : 1, false, t->pc);
	o->reads += read;
	o->writes += write;
	for (unsigned l = 0; l < reach && l < s->levels; l++)
		o->miss[l]++;
	if (t->ret)
		watch(t, e, write);
}

static void reference(struct objects_sink *s, struct object_thread *t, const struct pm_event *e,
		      bool read, bool write)
{
	if (t->following)		/* whose it is may follow from it */
		follow_ref(s, t, e);
	account(s, t, e, read, write);
}

static void enter(struct object_thread *t, unsigned role, uint64_t site, uint64_t ret)
{
	t->role = role;
	t->ret = ret;
	t->site = site;
	t->alloc_sp = t->sp;
	memset(t->ring, 0, sizeof t->ring);
	t->nring = t->nheader = 0;
	t->cleared = t->source = t->moved = t->framed = t->framed_before = 0;
	t->ntouched = 0;
	t->inner_ret = 0;
	t->below = 0;
}

static void branch(struct objects_sink *s, struct object_thread *t, const struct pm_event *e)
{
	const uint8_t jump = e->flags & (PM_BR_COND | PM_BR_CALL | PM_BR_RET | PM_BR_TAKEN);
	unsigned role;

	if (e->flags & PM_BR_CALL && e->flags & PM_BR_TAKEN) {
		if (t->last_write) {
			/* far from the last one: another stack */
			if (!t->sp || t->last_write - (t->sp - STACK_REACH) >= 2ull * STACK_REACH)
				s->epoch++;
			t->sp = t->last_write;
		}
		if (!t->ret && (role = role_of(s, e->value)) != ROLE_NONE)
			enter(t, role, e->addr, e->addr + e->size);
		t->call[t->depth % CALLS].at = e->addr;
		t->call[t->depth++ % CALLS].ret = e->addr + e->size;
	} else if (jump == PM_BR_TAKEN && !t->ret && t->depth &&
		   (role = role_of(s, e->value)) != ROLE_NONE) {
		/* a tail call: whoever called its function gets the block */
		const unsigned k = (t->depth - 1) % CALLS;

		enter(t, role, t->call[k].at, t->call[k].ret);
		t->below = t->depth;
	} else if (e->flags & PM_BR_RET) {
		t->depth -= t->depth > 0;
		if (t->ret && e->value == t->ret)
			allocated(s, t, e->addr);
		else if (t->ret && t->depth < t->below)	/* not where that call was: it was none
							 * of this stack */
			t->ret = 0;
		else if (t->ret)
			t->inner_ret = e->addr;
	}
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct objects_sink *s = self;
	struct object_thread *t = thread_of(s, b->stream ? b->stream->index : 0);
	size_t before = s->names.n;

	pm_names_learn(&s->names, b->code);
	s->code = b->code;
	if (s->names.n != before) {
		s->epoch++;
		pm_map_release(&s->alloc);
	}
	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++)
		switch (e->kind) {
		case PM_EV_INSN:
			t->pc = e->addr;
			t->last_write = 0;
			t->insn = e->id;
			if (t->following)
				follow_insn(s, t, e);
			break;
		case PM_EV_READ:
			reference(s, t, e, true, false);
			break;
		case PM_EV_MODIFY:
			reference(s, t, e, true, true);
			break;
		case PM_EV_WRITE:
			reference(s, t, e, false, true);
			t->last_write = e->addr;
			break;
		case PM_EV_BRANCH:
			branch(s, t, e);
			break;
		case PM_EV_SYSCALL:
		case PM_EV_SYSRET:
			mapped(s, t, b, e);
			break;
		case PM_EV_SIGNAL:	/* its handler has other registers */
			stop_following(t);
			break;
		case PM_EV_EXEC:
			*t = (struct object_thread){ 0 };
			s->nblock = 0;
			s->epoch++;
			break;
		default:
			break;
		}
	return PM_OK;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static void destroy(void *self)
{
	struct objects_sink *s = self;

	if (!s)
		return;
	pm_cache_free(s->cache);
	pm_names_release(&s->names);
	for (size_t i = 0; i < s->n; i++)
		free(s->o[i].name);
	free(s->o);
	free(s->block);
	for (size_t i = 0; i < s->nwrapper; i++)
		free(s->wrapper[i]);
	free(s->wrapper);
	free(s->thread);
	pm_follow_decoder_free(s->decoder);
	pm_map_release(&s->by_key);
	pm_map_release(&s->alloc);
	for (size_t i = 0; i < NR(s->asked); i++)
		pm_map_release(s->asked + i);
	free(s);
}

static enum pm_status parse(struct objects_sink *s, struct pm_conf *c, struct pm_buf *caches,
			    struct pm_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;

		if (!strcmp(it->name, "wrap")) {
			if (!it->n)
				return pm_conf_fail(c, it, err,
						    "the name of a function is missing, as in "
						    "wrap=xmalloc,zmalloc");
			for (size_t k = 0; k < it->n; k++) {
				pm_grow(s->wrapper, s->nwrapper, s->cap_wrapper);
				s->wrapper[s->nwrapper++] = pm_strdup(it->field[k].key);
			}
			continue;
		}
		if (strcmp(it->name, "top")) {
			pm_conf_put(it, caches);
			continue;
		}
		if (pm_conf_u64(c, it, it->n == 1 ? it->field[0].key : "", "entries listed", 1,
				1000000, &s->top, err))
			return PM_ERR;
	}
	return PM_OK;
}

static void *create(const char *config, struct pm_err *err)
{
	struct objects_sink *s = pm_alloc(sizeof *s);
	struct pm_cache_conf cc = { 0 };
	struct pm_buf caches = { 0 };
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "objects", config, err);

	s->top = 20;
	s->epoch = 1;
	s->decoder = pm_follow_decoder_new();
	if (!st)
		st = parse(s, &c, &caches, err);
	pm_conf_release(&c);
	if (!caches.n)
		pm_buf_printf(&caches, "l1d=32k,8way,64;l2=8m,16way,64");
	pm_buf_add(&caches, "", 1);
	if (!st)
		st = pm_cache_conf_parse(&cc, "objects", (const char *)caches.p, err);
	pm_buf_release(&caches);
	if (!st && cc.first_d < 0)
		st = pm_fail_request(err,
				"objects: no cache takes data; allowed: l1d=... or l1=..., "
				       "then l2=...");
	for (unsigned i = 0; !st && i < cc.n; i++)
		if (cc.level[i].policy == PM_OPT)
			st = pm_fail_request(err,
					  "objects: %s: opt knows of misses only at the end; any "
					  "other policy",
					  cc.level[i].name);
		else if (cc.level[i].drain)
			st = pm_fail_request(err, "objects: %s: drain is for `cache`: what it "
					     "writes back is no reference to an object",
					     cc.level[i].name);
	if (st) {
		destroy(s);
		return NULL;
	}
	s->cache = pm_cache_from(&cc);
	s->levels = cc.level[cc.n - 1].depth;
	pm_cache_watch(s->cache, &(struct pm_cache_watch){ brought, used, s });
	return s;
}

static int by_misses(const void *a, const void *b)
{
	const struct data_object *x = a, *y = b;

	for (unsigned l = PM_CACHE_LEVELS; l-- > 0; )
		if (x->miss[l] != y->miss[l])
			return x->miss[l] < y->miss[l] ? 1 : -1;
	return x->reads + x->writes != y->reads + y->writes ?
		(x->reads + x->writes < y->reads + y->writes ? 1 : -1) : strcmp(x->name, y->name);
}

static void prefetch_result(const struct objects_sink *s, const struct data_object *o,
			    struct pm_result *r)
{
	const struct pm_cache_conf *cc = pm_cache_config(s->cache);

	for (unsigned l = 0; l < cc->n; l++) {
		const struct prefetches *p = o->pf + l;
		const unsigned depth = cc->level[l].depth;
		const uint64_t wanted = p->used + o->miss[depth - 1];
		const struct { const char *name; uint64_t n; } counts[] = {
			{ "prefetched", p->prefetched }, { "useful", p->useful },
			{ "used", p->used }, { "late", p->late },
		};
		const struct { const char *name; uint64_t a, b; const char *of; } ratios[] = {
			{ "accuracy", p->useful, p->prefetched, "used/brought" },
			{ "coverage", p->used, wanted, "used/(used + misses)" },
			{ "timeliness", p->used - p->late, p->used, "in time/used" },
		};
		char name[32];

		if (!cc->level[l].prefetch || cc->level[l].side == 'i')
			continue;
		for (size_t i = 0; i < NR(counts); i++) {
			snprintf(name, sizeof name, "l%u_%s", depth, counts[i].name);
			pm_result_u64(r, name, counts[i].n, "lines");
		}
		for (size_t i = 0; i < NR(ratios); i++) {
			snprintf(name, sizeof name, "l%u_%s", depth, ratios[i].name);
			pm_result_f64(r, name,
				      ratios[i].b ? (double)ratios[i].a / ratios[i].b : 0,
				      ratios[i].of);
		}
	}
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct objects_sink *s = self;

	if (!r)
		return PM_OK;
	if (s->n)
		qsort(s->o, s->n, sizeof *s->o, by_misses);
	pm_map_release(&s->by_key);	/* objects have moved */
	pm_result_begin(r, "objects");
	pm_result_u64(r, "objects", s->n, "objects");
	pm_result_u64(r, "allocations", s->calls, "calls");
	pm_result_u64(r, "resolved", s->resolved, "calls");
	pm_result_begin_list(r, "by_object");
	for (size_t i = 0; i < s->n && i < s->top; i++) {
		const struct data_object *o = s->o + i;

		pm_result_begin(r, NULL);
		for (unsigned l = 0; l < s->levels; l++) {
			char name[24];

			snprintf(name, sizeof name, "l%u_misses", l + 1);
			pm_result_u64(r, name, o->miss[l], "references");
		}
		prefetch_result(s, o, r);
		pm_result_u64(r, "reads", o->reads, "references");
		pm_result_u64(r, "writes", o->writes, "references");
		pm_result_str(r, "kind", kinds[o->kind]);
		pm_result_u64(r, "blocks", o->blocks, "allocations");
		pm_result_str(r, "object", o->name);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

/* ---- for others ------------------------------------------------------------------------------ */

struct pm_objects { struct objects_sink s; };

struct pm_objects *pm_objects_new(void)
{
	struct pm_objects *o = pm_alloc(sizeof *o);

	o->s.epoch = 1;
	o->s.decoder = pm_follow_decoder_new();
	return o;
}

void pm_objects_batch(struct pm_objects *o, const struct pm_batch *b)
{
	struct pm_err never;

	consume(&o->s, b, &never);
}

const char *pm_objects_at(struct pm_objects *o, uint32_t stream, uint64_t addr, char *buf,
			  size_t size)
{
	const struct data_object *d = o->s.o + find(&o->s, thread_of(&o->s, stream), addr);
	const size_t b = block_before(&o->s, addr);

	if (d->kind == KIND_OTHER)
		return NULL;
	if (d->kind == KIND_HEAP)
		snprintf(buf, size, "heap block of %s, offset %llu", d->name,
			 (unsigned long long)(addr - o->s.block[b - 1].addr));
	else if (d->kind == KIND_VARIABLE && addr != d->at)
		snprintf(buf, size, "%s+%llu", d->name, (unsigned long long)(addr - d->at));
	else
		snprintf(buf, size, "%s", d->name);
	return buf;
}

void pm_objects_free(struct pm_objects *o)
{
	destroy(o ? &o->s : NULL);	/* its first member: this is the whole */
}

const struct pm_sink_ops pm_sim_objects = {
	.abi = PM_ABI, .needs = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_BRANCHES, .name = "objects",
	.about = "misses by data object: variables, heap by allocation site, stack",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
