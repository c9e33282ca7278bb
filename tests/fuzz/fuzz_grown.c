/* SPDX-License-Identifier: MIT */
/* fuzz_grown.c - what a hostile traced program may write where its calling-context trees grow
 *
 * The bytes are a script. It writes contexts, frames and counts into the thread blocks of two
 * threads, says how many contexts there are and where control is, and writes over the functions and
 * rows that controller and runtime share; threads end meanwhile, again and again. In some inputs
 * another thread overwrites contexts all the time.
 *
 * Whatever there is must be a tree for the sink: parents come first, what the sink has sums up to
 * what it was given, and files of it can be written. Functions that the translator is told of have
 * as many slots as contexts can have. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/tree_sink.h"
#include "base/sanitizer.h"
#include "base/thread.h"
#include "collect/consume/trace_state.h"
#include "collect/control/requests.h"
#include "fuzz.h"
#include "report/tree_files.h"
#include "script.h"

const unsigned fuzz_inputs = 3000;
const uint64_t fuzz_room = 1ull << 46;

#define THREADS 2u			/* in thread blocks 1 and 2 */
#define CELLS 4096u			/* where the script writes */
#define TEXT 0x8000u

static uint8_t *data;			/* as large as the data file */
static char exe[4096];
static uint64_t given;			/* instructions, to the sink */
static uint32_t scribbles;		/* 0: the other thread ends */

/* Small, or near the end of something, or anything. */
static uint32_t value(struct script *s)
{
	const uint8_t how = byte(s);

	switch (how >> 5) {
	case 0: case 1: case 2:
		return how;
	case 3:
		return 0 - (how & 31u);
	case 4:
		return 1u << (how & 31);
	case 5:
		return RT_TREE_NODES + (how & 31u) * RT_TREE_CELL;
	case 6:
		return RT_TREE_IS_MADE | (how & 31);
	default:
		return word(s);
	}
}

/* Before main(), which limits addresses. */
__attribute__((constructor)) static void prepare(void)
{
	data = mmap(NULL, RT_DATA_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED || !peek_link("/proc/self/exe", exe))
		abort();
}

static struct rt_block *thread_block(unsigned i)
{
	return (struct rt_block *)(data + (i + 1) * RT_BLOCK_SIZE);
}

static uint8_t *at_block(unsigned i, uint64_t off)
{
	return (uint8_t *)thread_block(i) + off;
}

PM_ANOTHER_PROCESS static void *scribble(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15 | 1;

	while (__atomic_load_n(&scribbles, __ATOMIC_RELAXED)) {
		for (unsigned k = 0; k < 64; k++) {
			uint32_t *to = (uint32_t *)at_block(x & 1, RT_TREE_NODES) +
				(x >> 1) % (64 * RT_TREE_CELL / 4);

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			__atomic_store_n(to, (uint32_t)(x >> 32) >> (x >> 8 & 31),
					 __ATOMIC_RELAXED);
		}
		sched_yield();
	}
	return NULL;
}

static void write_context(struct script *s, unsigned i)
{
	const uint8_t how = byte(s);
	struct rt_block *b = thread_block(i);
	const uint32_t at = how & 1 ? b->tree_cells % CELLS : value(s) % CELLS;
	struct rt_tree_node *n = (void *)at_block(i, RT_TREE_NODES + (uint64_t)at * RT_TREE_CELL);

	n->self = how & 2 ? byte(s) : (uint64_t)value(s) << 32 | value(s);
	n->calls = byte(s);
	n->parent = how & 4 ? at - byte(s) : value(s);
	n->function = how & 8 ? byte(s) : value(s);
	n->depth = value(s);
	n->cells = how & 16 ? 1 + byte(s) % 4 : byte(s);
	b->tree_cells += how & 1 ? n->cells : 0;
}

static void write_state(struct script *s, unsigned i)
{
	struct rt_block *b = thread_block(i);
	const uint64_t frame = RT_TREE_FRAMES + 16 * (value(s) % 64);
	const uint8_t how = byte(s);

	b->tree_state = how & 1 ? (uint64_t)value(s) << 32 | value(s) : frame << 32 | byte(s);
	((struct rt_frame_of_call *)(void *)at_block(i, frame))[-1].node = value(s);
	if (how & 2)
		b->tree_cells = value(s);
	if (how & 4)
		b->tree = byte(s);
	if (how & 8)
		((uint64_t *)(void *)at_block(i, RT_TREE_MADE))[value(s) % RT_TREE_MADE_MAX] =
			word(s);
	if (how & 16)
		b->seen_pid = b->seen_tid = word(s);
}

static void write_functions(struct script *s)
{
	uint32_t *info = (void *)(data + (RT_BLOCKS - 1) * RT_BLOCK_SIZE);
	uint32_t *row = info + RT_TREE_ROWS / 4;
	const uint32_t at = value(s);

	info[at % 4096] = value(s);
	row[at % 4096] = value(s);
}

static void segment(struct script *s, struct session *session, const struct module *m)
{
	struct xl_segment g;

	functions_segment(&session->spaces, m, m->text.lo + value(s) % TEXT, &g);
	if (!g.slots || g.slots > RT_TREE_SLOTS_OF(RT_TREE_MOST_CELLS))
		abort();
}

static void run_script(struct script *s, struct tracer *t, struct session *session,
		       const struct module *m)
{
	while (s->n) {
		const uint8_t op = byte(s);
		const unsigned i = op >> 7;

		switch (op % 8) {
		case 0: case 1: case 2: case 3:
			write_context(s, i);
			break;
		case 4:
			write_state(s, i);
			break;
		case 5:
			write_functions(s);
			break;
		case 6:
			segment(s, session, m);
			break;
		case 7:
			if (op & 8)
				grow_end(t, i + 1);
			else
				trace_mapped(t, i + 1);
			break;
		}
	}
	for (unsigned i = 0; i < THREADS; i++)
		grow_end(t, i + 1);
}

/* ---- the sink, and who looks at what it is given --------------------------------------------- */
static struct pm_growing sink_growing;

static void grown(void *self, const struct pm_stream *stream, const struct pm_grown *v, size_t n)
{
	if (!n || n > RT_TREE_CELLS_MAX)
		abort();
	for (size_t i = 1; i < n; i++) {
		if (v[i].parent >= i)
			abort();
		given += v[i].self;
	}
	sink_growing.grown(self, stream, v, n);
}

static void look(const struct pm_tree *tree)
{
	uint64_t *all = pm_tree_inclusive(tree, 0);
	struct pm_err err = { 0 };
	struct pm_buf b = { 0 };

	if (all[0] != given)
		abort();
	free(all);
	pm_tree_folded(tree, 0, &b);
	b.n = 0;
	pm_tree_speedscope(tree, 0, true, "fuzz", &b);
	b.n = 0;
	if (pm_tree_pprof(tree, 0, true, "fuzz", &b, &err) != PM_OK)
		abort();
	pm_buf_release(&b);
}

static void clean(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		madvise(thread_block(i), RT_BLOCK_SIZE, MADV_REMOVE);
	madvise(data + (RT_BLOCKS - 1) * RT_BLOCK_SIZE, RT_BLOCK_SIZE, MADV_REMOVE);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	static const char *const config[] = { "contexts=20", "threads;depth=3", "recursion", "" };
	struct script s = { p, size };
	const uint8_t how = byte(&s);
	struct pm_err err = { 0 };
	void *sink = pm_sim_tree.ops.create(config[how & 3], &err);
	struct pm_growing growing;
	const struct pm_run_opts opts = { .grow = &growing };
	struct session session = { .opts = &opts, .data = data };
	struct pm_stream streams[THREADS] = { { .index = 0 }, { .index = 1 } };
	struct stream stream[THREADS + 1] = { { 0 }, { .s = streams }, { .s = streams + 1 } };
	struct tracer t = { .o = { .data = data, .grow = &growing }, .stream = stream };
	const struct module m = { .text.lo = 0x555555554000, .text.hi = 0x555555554000 + TEXT,
				  .text.bias = 0x555555554000 - TEXT, .text.path = exe };
	pthread_t other;

	if (!sink)
		abort();
	pm_tree_growing(sink, &growing);
	sink_growing = growing;
	growing.grown = grown;
	given = 0;
	for (unsigned i = 0; i < THREADS; i++)
		grow_begin(&t, thread_block(i));
	__atomic_store_n(&scribbles, how >> 2 & 1, __ATOMIC_RELAXED);
	if (scribbles && pthread_create(&other, NULL, scribble, (void *)(uintptr_t)(how + 1u)))
		abort();
	if (how & 8)
		functions_hash(&session.spaces, &m);
	run_script(&s, &t, &session, &m);
	if (scribbles) {
		__atomic_store_n(&scribbles, 0, __ATOMIC_RELAXED);
		pthread_join(other, NULL);
	}
	if (pm_sim_tree.ops.finish(sink, NULL, &err) != PM_OK)
		abort();
	look(pm_sim_tree_of(sink));
	pm_sim_tree.ops.destroy(sink);
	functions_close(&session);
	clean();
	return 0;
}
