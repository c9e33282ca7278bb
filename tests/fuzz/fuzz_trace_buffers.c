/* SPDX-License-Identifier: MIT */
/* fuzz_trace_buffers.c - what a hostile traced program may write into its threads' trace buffers
 *
 * A trace without a process: two threads, one of 64-bit and one of 32-bit code, and some blocks
 * with every way in which a record leads to addresses. The bytes are a script: it writes records,
 * notes and any words into buffers, moves cursors, says how full buffers are, lets the controller
 * write its notes, and lets the consumer go on, or not, so that it reads while the script writes.
 * In some inputs another thread overwrites buffers all the time.
 *
 * The consumer must come to its end ((4) and (6) of trace_state.h), and what goes wrong must be
 * that the buffers are damaged. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "base/thread.h"
#include "collect/consume/trace_state.h"
#include "fuzz.h"
#include "script.h"
#include "trace/format.h"
#include "trace/sinks.h"
#include "transform/region.h"

const unsigned fuzz_inputs = 500;
const uint64_t fuzz_room = 1ull << 46;

#define THREADS 2u			/* in thread blocks 1 and 2 */
#define PATIENCE_S 30

struct fuzz_block {
	const char *bytes;
	uint8_t n, size;		/* instructions, bytes */
	uint8_t continues;		/* 1 + the block before it in its chain */
	bool narrow;			/* 32-bit code */
};
#define CODE(n, s, ...) { s, n, sizeof s - 1, __VA_ARGS__ }
static const struct fuzz_block blocks[] = {
	CODE(2, "\x90\xc3"),
	CODE(2, "\x48\x8b\x07\xc3"),				/* mov rax, [rdi] */
	CODE(3, "\x50\x48\x89\x44\x8f\x10\xc3"),		/* push; [rdi + rcx * 4 + 16] */
	CODE(2, "\xf3\xa4\xc3"),				/* rep movsb */
	CODE(2, "\xf3\x48\xab\xc3"),				/* rep stosq */
	CODE(2, "\xf2\xae\xc3"),				/* repne scasb */
	CODE(2, "\xc4\xe2\x71\x90\x04\x90\xc3"),	/* vpgatherdd xmm0, [rax + xmm2 * 4] */
	CODE(2, "\x62\xf2\x7d\x49\xa0\x04\x88\xc3"),	/* vpscatterdd {k1} */
	CODE(2, "\xc4\xe2\x7b\x4b\x04\x08\xc3"),		/* tileloadd tmm0, [rax + rcx] */
	CODE(2, "\x0f\xae\x27\xc3"),				/* xsave [rdi] */
	CODE(2, "\x48\x0f\xab\x07\xc3"),			/* bts [rdi], rax */
	CODE(2, "\xd7\xc3"),					/* xlat */
	CODE(2, "\x48\x89\x07\x74\x00", 0),			/* mov [rdi], rax; je */
	CODE(3, "\x48\x8b\x06\xf3\xa4\xc3", 13),		/* continues the block before it */
	CODE(2, "\x8b\x07\xc3", 0, true),
	CODE(3, "\x50\xf3\xa4\xc3", 0, true),
};
#define BLOCKS (sizeof blocks / sizeof *blocks)

static uint8_t *data;			/* thread blocks: the session's header, and THREADS */
static struct rt_session *head;
static uint32_t high;
static uint16_t record_size[BLOCKS + 1];
static uint32_t scribbles;		/* 0: the other thread ends */
/* How much of each buffer may not be zero. Pages stay: new ones took half of the time. */
static uint32_t dirty[THREADS][RT_CHUNKS];
#define SCRIBBLED 4096u

static bool nobody_waits(void)
{
	return true;
}

static void too_long(int sig)
{
	(void)sig;
	abort();
}

/* Small, or near the ends of what there is, or anything. */
static uint64_t value(struct script *s)
{
	const uint8_t how = byte(s);
	const uint64_t v = how & 15;

	switch (how >> 4) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		return how;
	case 6: case 7: case 8:
		return 0x7ffff000 + v * 8;
	case 9:
		return 0 - v;
	case 10:
		return 1ull << 4 * v;
	case 11:
		return word(s);
	case 12:
		return word(s) & 0xfffffff;
	default:
		return how * 0x10001;
	}
}

static const struct x86_at *nth(void *ctx, uint32_t i)
{
	return (const struct x86_at *)ctx + i;
}

/* How long the record of block @i is: of all of its chain. */
static uint16_t size_of_record(unsigned i)
{
	const bool wide = !blocks[i].narrow;
	struct x86_decoder *d = x86_decoder_new(wide ? X86_MODE_64 : X86_MODE_32);
	struct x86_plan plan = { 0 };
	struct x86_at at[64];
	unsigned chain[2] = { i }, nchain = 1, n = 0;
	uint16_t size;

	if (blocks[i].continues) {
		chain[0] = blocks[i].continues - 1u;
		chain[1] = i;
		nchain = 2;
	}
	for (unsigned k = 0; k < nchain; k++) {
		const struct fuzz_block *b = &blocks[chain[k]];
		unsigned off = 0;

		for (unsigned j = 0; j < b->n && off < b->size; j++, n++) {
			at[n].p = (const uint8_t *)b->bytes + off;
			at[n].pc = 0x1000 * (chain[k] + 1) + off;
			if (!x86_decode(d, at[n].p, b->size - off, &at[n].x))
				break;
			off += at[n].x.len;
		}
	}
	plan.rsp = X86_VAL_RSP;
	x86_plan(nth, at, n, wide, &plan);
	size = (uint16_t)(4 + plan.size);
	x86_plan_release(&plan);
	x86_decoder_free(d);
	return size;
}

static void prepare(void)
{
	if (data)
		return;
	signal(SIGALRM, too_long);
	data = mmap(NULL, (THREADS + 1) * RT_BLOCK_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		abort();
	head = (struct rt_session *)data;
	high = THREADS + 1;
	for (unsigned i = 0; i < BLOCKS; i++)
		record_size[i + 1] = size_of_record(i);
	record_size[0] = 4;
}

/* What trace_numbers() would publish. */
static void publish(struct tracer *t)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		t->source[i + 1] = (struct source){ .pc = 0x1000 * (i + 1),
						    .bytes = (const uint8_t *)blocks[i].bytes,
						    .size = blocks[i].size,
						    .object = PM_NONE,
						    .prev = blocks[i].continues,
						    .record = record_size[i + 1],
						    .n = blocks[i].n,
						    .wide = !blocks[i].narrow };
	__atomic_store_n(&t->nsource, BLOCKS + 1, __ATOMIC_RELEASE);
}

static struct rt_block *thread_block(unsigned i)
{
	return (struct rt_block *)(data + (i + 1) * RT_BLOCK_SIZE);
}

static uint8_t *buffer(unsigned i)
{
	const struct layout *l = &trace_layouts[!i];

	return (uint8_t *)thread_block(i) + l->trace;
}

/* Another thread of the program: words of no meaning, and of some, wherever buffers are. */
PM_ANOTHER_PROCESS static void *scribble(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15 | 1;

	while (__atomic_load_n(&scribbles, __ATOMIC_RELAXED)) {
		for (unsigned k = 0; k < 64; k++) {
			const unsigned i = (unsigned)(x >> 40) % THREADS;
			struct rt_block *b = thread_block(i);
			uint32_t *to = (uint32_t *)(buffer(i) + (x >> 44) % 8 *
						    trace_layouts[!i].stride);

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			if (x % 64 == 0)
				__atomic_store_n(&b->full[x >> 32 & 7], (uint32_t)(x >> 44),
						 __ATOMIC_RELAXED);
			else if (x % 64 == 1)
				b->cursor = x >> 20 & 0x3fffffff;
			else
				__atomic_store_n(to + (x >> 8) % (SCRIBBLED / 4),
						 x & 128 ? RT_RECORD(x >> 32 & 15,
								     4u << (x >> 30 & 3))
							 : (uint32_t)(x >> 16),
						 __ATOMIC_RELAXED);
		}
		sched_yield();
	}
	return NULL;
}

struct writer {				/* of one thread's buffers */
	uint32_t chunk, at;
};

static void add(unsigned i, struct writer *w, const void *p, size_t n)
{
	uint8_t *to = buffer(i) + w->chunk * trace_layouts[!i].stride;

	if (w->at + n > trace_layouts[!i].chunk)
		return;
	memcpy(to + w->at, p, n);
	w->at += (uint32_t)n;
	if (dirty[i][w->chunk] < w->at)
		dirty[i][w->chunk] = w->at;
}

static void add_word(unsigned i, struct writer *w, uint32_t v)
{
	add(i, w, &v, 4);
}

static void write_record(struct script *s, unsigned i, struct writer *w)
{
	const unsigned number = byte(s) % (BLOCKS + 2);
	const unsigned size = number <= BLOCKS ? record_size[number] : 8;
	const uint8_t seed = byte(s);
	const uint32_t wrong = byte(s) == 0xff;

	add_word(i, w, RT_RECORD(number, size) + (wrong << 24));
	for (unsigned k = 4; k < size; k += 4) {
		/* mostly 64-bit values with little in their upper halves */
		const bool upper = k % 8 == 0;
		const uint64_t v = seed < 0x80 && k < 64 ? value(s) : seed < 0xc0 ? 0x40 : seed * k;

		add_word(i, w, upper && !(seed & 1) ? 0 : (uint32_t)v);
	}
}

static void write_note(struct script *s, unsigned i, struct writer *w)
{
	static const uint8_t nargs[] = { 0, 3, 3, 7, 1, 3, 1, 4, 2, 2, 1, 1, 2, 4, 1, 0, 1 };
	const uint8_t how = byte(s), type = how % 17, narg = nargs[type];
	uint64_t v;

	add_word(i, w, RT_NOTE(type, 8u * narg + (how & 0x80 ? byte(s) : 0u)));
	for (unsigned k = 0; k < narg; k++) {
		v = value(s);
		add(i, w, &v, 8);
	}
}

static void wait_for(const struct rt_block *b, uint32_t chunk)
{
	for (unsigned k = 0; k < 50 && __atomic_load_n(&b->full[chunk], __ATOMIC_ACQUIRE); k++)
		usleep(20);
}

PM_ANOTHER_PROCESS static void control(struct script *s, struct tracer *t, unsigned i,
				       struct writer *w)
{
	struct rt_block *b = thread_block(i);
	const uint64_t base = RT_DATA_VAULT + (i + 1) * RT_BLOCK_SIZE;
	const struct layout *l = &trace_layouts[!i];
	const uint64_t arg[3] = { word(s), 1, 2 };
	const uint8_t how = byte(s);

	switch (how % 8) {
	case 0:
	case 1:				/* as the runtime does */
		b->stamp[w->chunk] = __builtin_ia32_rdtsc();
		__atomic_store_n(&b->full[w->chunk], 1 + w->at, __ATOMIC_RELEASE);
		trace_ring(t);
		w->chunk = (w->chunk + 1) % RT_CHUNKS;
		w->at = 0;
		b->chunk = w->chunk;
		wait_for(b, w->chunk);
		break;
	case 2:
		b->stamp[how >> 5] = arg[0] * 0x100000001;
		__atomic_store_n(&b->full[how >> 5], (uint32_t)(arg[0] >> (how >> 3 & 3) * 8),
				 __ATOMIC_RELEASE);
		trace_ring(t);
		break;
	case 3:
		b->cursor = base + l->trace + (arg[0] & 0xffffff);
		break;
	case 4:
		b->cursor = value(s);
		b->chunk = word(s);
		break;
	case 5:
		b->cursor = base + l->trace + w->chunk * l->stride + w->at;
		trace_note(t, i + 1, RT_N_MMAP, (const uint64_t[4]){ 1, 2, 3, 4 }, 4, "a name");
		trace_note(t, i + 1, RT_N_THREAD, arg, 1, NULL);
		break;
	case 6:
		b->seen_pid = b->seen_tid = (uint32_t)arg[0];
		b->grant = b->budget = b->told = arg[0];
		head->bell_asleep = how >> 3 & 1 ? (uint32_t)arg[0] : 0;
		break;
	case 7:
		usleep(100);
		break;
	}
}

static void run_script(struct script *s, struct tracer *t)
{
	struct writer w[THREADS] = { { 0 } };

	while (s->n) {
		const uint8_t op = byte(s);
		const unsigned i = op >> 7;

		switch (op % 8) {
		case 0: case 1: case 2: case 3:
			write_record(s, i, &w[i]);
			break;
		case 4: case 5:
			write_note(s, i, &w[i]);
			break;
		case 6:
			add_word(i, &w[i], word(s));
			break;
		case 7:
			control(s, t, i, &w[i]);
			break;
		}
	}
	for (unsigned i = 0; i < THREADS; i++) {
		struct rt_block *b = thread_block(i);

		if (b->cursor % RT_BLOCK_SIZE == trace_layouts[!i].trace)
			b->cursor += w[i].chunk * trace_layouts[!i].stride + w[i].at;
	}
}

static struct pm_pipeline *pipeline(uint8_t how)
{
	struct pm_pipeline *p = pm_pipeline_new();
	struct pm_err err = { 0 };
	const struct pm_region some = { .after = how & 2 ? 1u << 30 : 5, .length = 20,
					.every = 50 };
	const uint32_t facts = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_BRANCHES | PM_HAS_BLOCKS |
			       PM_HAS_THREADS | PM_HAS_SPACES | PM_HAS_KERNEL | PM_HAS_REFS |
			       PM_HAS_SIZES | PM_HAS_REPS;

	if (how & 1)			/* some is dropped */
		pm_pipeline_transform(p, &pm_region_ops, pm_region_new(&some));
	if (!(how & 4))			/* packed, if nothing is dropped */
		pm_trace_create(p, "/dev/null", "pug", facts, &err);
	if (how & 12)
		pm_pipeline_sink_new(p, &pm_count_ops.ops, "", &err);
	if (how & 16)
		pm_pipeline_sink_new(p, &pm_digest_ops, "", &err);
	if (how & 32)
		pm_pipeline_threads(p, 2);
	if (pm_pipeline_start(p, facts, "fuzz", &err) != PM_OK)
		abort();
	return p;
}

static bool is_expected(const struct pm_err *err)
{
	return !strncmp(err->msg, "the trace buffer of a traced process is damaged: ", 49) ||
	       !strncmp(err->msg, "interrupted: ", 13);
}

static void clean(void)
{
	head->bell_asleep = 0;
	for (unsigned i = 0; i < THREADS; i++) {
		memset(thread_block(i), 0, sizeof(struct rt_block));
		for (unsigned k = 0; k < RT_CHUNKS; k++) {
			memset(buffer(i) + k * trace_layouts[!i].stride, 0, dirty[i][k]);
			dirty[i][k] = SCRIBBLED;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	struct script s = { p, size };
	const uint8_t how = byte(&s), what = byte(&s);
	struct pm_err err = { 0 }, none = { 0 };
	struct pm_arena mem = { 0 };
	struct spaces spaces = { 0 };
	struct pm_pipeline *to;
	struct tracer *t;
	uint64_t bytes, insns;
	pthread_t other;
	enum pm_status st;
	bool others;

	prepare();
	clean();
	alarm(PATIENCE_S);
	to = pipeline(how);
	if (trace_open(&(struct trace_opts){ .kind = XL_EXEC, .pipeline = to, .mem = &mem,
					     .data = data, .head = head, .block_high = &high,
					     .spaces = &spaces, .interrupted = nobody_waits },
		       &t, &err) != PM_OK)
		abort();
	publish(t);
	trace_thread(t, 1, false);
	trace_thread(t, 2, true);
	others = what % 8 == 1;
	__atomic_store_n(&scribbles, others, __ATOMIC_RELAXED);
	if (others && !pm_thread_start(&other, scribble, (void *)(uintptr_t)(how * 256u + what)))
		abort();
	run_script(&s, t);
	if (!(what & 16))
		trace_over(t, 1, 0, 0);
	if (!(what & 32))
		trace_over(t, 2, 9, PM_EXIT_SIGNAL);
	st = trace_close(t, &bytes, &insns, &err);
	if (st != PM_OK && !is_expected(&err))
		abort();
	if ((!(what & 16) && trace_busy(t, 1)) || (!(what & 32) && trace_busy(t, 2)))
		abort();
	__atomic_store_n(&scribbles, 0, __ATOMIC_RELAXED);
	if (others)
		pthread_join(other, NULL);
	pm_pipeline_finish(to, NULL, &none);
	pm_pipeline_free(to);
	trace_free(t);
	pm_arena_release(&mem);
	alarm(0);
	return 0;
}
