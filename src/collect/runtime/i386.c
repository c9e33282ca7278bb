/* SPDX-License-Identifier: MIT */
/* i386.c - what the runtime does otherwise in 32-bit programs: address space, fs, old system calls,
 * signal frames
 *
 * fs is the runtime's because compilers use gs for the program's thread pointer. It is loaded from
 * the thread's own GDT entry RT32_SEGMENT; programs get the other two. */
#include "image.h"
#include "rt.h"

/* The GDT entry that is ours. */
static u32 segment = RT32_SEGMENT;
#define SELECTOR (segment * 8 + 3)

/* ---- address space --------------------------------------------------------------------------- */
static void map_at(word at, word size, int prot, int flags, long fd, word page)
{
	if (rt_sys(NR_mmap, at, size, prot, flags, fd, page) != (long)at)
		rt_fail("pugmark: the program occupies addresses that tracing needs "
			"(0x20000000 on)\n");
}

#ifndef RT_IDT
/* The kernel calls a mapping shared, as remap_file_pages() wants it, if its descriptor can write.
 * What is sealed cannot become writable for all that: (1). */
static void map_file(const char *path, u32 kept, word at, word size, int prot, u64 off)
{
	const long fd = kept ? (long)kept - 1 :
			rt_sys(NR_open, path, 02100002 /* O_RDWR | O_CLOEXEC | O_LARGEFILE */, 0);

	if (fd < 0)
		rt_fail("pugmark: cannot map shared memory in the traced process\n");
	map_at(at, size, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (word)(off >> 12));
	if (!kept)
		rt_sys(NR_close, fd);
}
#endif

static void reserve(word at, word size, int fixed)
{
	map_at(at, size, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

#ifndef RT_IDT
/* The pieces of a file that is mapped at [at, at + size) become those from @off on, in one go. */
static long remap(word at, word size, u64 off)
{
	return rt_sys(NR_remap_file_pages, at, size, 0, off >> 12, 0x10000 /* MAP_NONBLOCK */);
}

struct rt_block *rt_map_all(const struct rt_boot *boot)
{
	struct rt_block *b;

	reserve(RT32_BLOCKS, RT32_NBLOCKS * RT32_BLOCK_SIZE, 0x100000 /* MAP_FIXED_NOREPLACE */);
	reserve(RT32_DATA_VAULT, RT32_CODE_VAULT + RT32_CODE_SIZE - RT32_DATA_VAULT, 0x100000);
	map_at(RT32_ZERO, RT32_TABLE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
	       0);
	map_file(boot->data_path, boot->kept[0], RT32_DATA_VAULT, RT_HEADER_SIZE,
		 PROT_READ | PROT_WRITE, 0);
	map_file(boot->code_path, boot->kept[1], RT32_CODE_VAULT, RT32_CODE_SIZE,
		 PROT_READ | PROT_EXEC, boot->code);
	b = rt_block_map((u32)boot->block);
	if (!b)
		rt_fail("pugmark: cannot map shared memory in the traced process\n");
	return b;
}

/* Every table of the shadow's directory becomes that of zeros, in one go. */
void rt_forget_entries(void)
{
	const long r = rt_sys(NR_mmap, 0, RT32_DIR_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u32 *directory = PTR(r);

	if (rt_failed(r))
		return;
	for (u32 i = 0; i < RT32_DIR_SIZE / 4; i++)
		directory[i] = RT32_ZERO - 4 * (i << 16);
	rt_sys(NR_mremap, r, RT32_DIR_SIZE, RT32_DIR_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
	       RT32_SHADOW);
}

/* Only ever the whole region: another space of the code file takes this one's place. */
int rt_place(const struct rt_cmd *c)
{
	if (remap((word)c->a[2], (word)c->a[1], c->a[0]))
		rt_fail("pugmark: no room for translated code in the traced process\n");
	return 1;
}

void rt_begin_space(u64 base)
{
	if (remap(RT32_CODE_VAULT, RT32_CODE_SIZE, base))
		rt_fail("pugmark: no room for translated code in the traced process\n");
}

void rt_no_segments(void)
{
	__asm__ volatile("mov %0, %%gs" : : "r"(0));
}

void rt_forget_places(void)
{
}

u32 rt_place_files(const struct rt_cmd *c, u32 n)
{
	return 0;			/* addresses are in the code: it is relocated, not mapped */
}
#endif

/* An aligned place out of twice as much; 0: there is none. */
static word find_place(void)
{
	const word size = RT_BLOCK_ALIGN;
	long r = rt_sys(NR_mmap, 0, 2 * size, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			0);
	word at = ((word)r + size - 1) & ~(size - 1);

	if (rt_failed(r))
		return 0;
	if (at > (word)r)
		rt_sys(NR_munmap, r, at - (word)r);
	rt_sys(NR_munmap, at + size, (word)r + size - at);
	return at;
}

extern void rt_exit_raw(long nr, word status, u32 *state, u32 *used) __attribute__((noreturn));

static void find_fixed(struct rt_ours *o)
{
	o->at = o->hi;
	rt_ours_meet(o, RT32_BLOCKS, RT32_CODE_VAULT + RT32_CODE_SIZE);
}

int rt_only_placed(u64 lo, u64 hi)
{
	return 0;
}

void rt_unplace(u64 lo, u64 hi)
{
}

#ifndef RT_IDT
long rt_map_data(u64 at, u64 n, u64 off)
{
	const long r = rt_sys(NR_mremap, RT32_DATA_VAULT, 0, n, MREMAP_MAYMOVE | MREMAP_FIXED, at);

	return rt_failed(r) || !remap((word)at, (word)n, off) ? r : -ENOMEM;
}

/* Block @number of the data file comes to @at, which is ours. */
static int map_block(word at, u32 number)
{
	if (rt_map_data(at, RT_BLOCK_ALIGN, number * RT_BLOCK_SIZE) == (long)at)
		return 1;
	reserve(at, RT_BLOCK_ALIGN, MAP_FIXED);
	return 0;
}

/* Where thread blocks lie. The first places are reserved, others are looked for
 * when they are needed. */
static struct slot {
	word at;
	u32 used;
} slot[1024];

struct rt_block *rt_block_map(u32 number)
{
	struct slot *s = slot;

	while (s < slot + NR_OF(slot) && __atomic_exchange_n(&s->used, 1, __ATOMIC_ACQUIRE))
		s++;
	if (s == slot + NR_OF(slot))
		return 0;
	if (!s->at)
		s->at = s < slot + RT32_NBLOCKS ? RT32_BLOCKS + (s - slot) * RT32_BLOCK_SIZE :
			find_place();
	if (s->at && map_block(s->at, number))
		return PTR(s->at);
	__atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
	return 0;
}

static struct slot *slot_of(const struct rt_block *b)
{
	struct slot *s = slot;

	while (s->at != (word)b)
		s++;
	return s;
}

static void slot_free(struct slot *s)
{
	reserve(s->at, RT32_BLOCK_SIZE, MAP_FIXED);
	__atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
}

void rt_block_unmap(struct rt_block *b)
{
	slot_free(slot_of(b));
}

void rt_block_forked(struct rt_block *b)
{
	for (struct slot *s = slot; s < slot + NR_OF(slot); s++)
		if (s->used && s->at && s->at != (word)b)
			slot_free(s);
}

void rt_exit_thread(struct rt_block *b, long nr, word status)
{
	u32 kept;		/* the parent, which waits for a vfork child, unmaps its block */

	rt_exit_raw(nr, status, &b->state, b->origin == BLK_VFORKED ? &kept : &slot_of(b)->used);
}

int rt_find_ours(struct rt_ours *o)
{
	find_fixed(o);
	for (u32 i = RT32_NBLOCKS; i < NR_OF(slot); i++)
		if (slot[i].at)
			rt_ours_meet(o, slot[i].at, slot[i].at + RT32_BLOCK_SIZE);
	return o->at < o->hi;
}
#else
/* ---- of instrumented executables ------------------------------------------------------------- */
word rt_image_block_size;

/* Where this process has blocks. Their places are handed out in turn, first those
 * that are reserved. */
static word block_place[IMG_BLOCKS];
static u32 places;			/* taken of the reserved ones */

/* The shadow: a table comes when the first entry of its 64 KiB does. */
static word shadow_next, shadow_end;
static u32 shadow_lock;

struct rt_block *rt_image_block(u32 number)
{
	return PTR(block_place[number]);
}

u32 rt_image_number(const struct rt_block *b)
{
	u32 i = 0;

	while (block_place[i] != (word)b)
		i++;
	return i;
}

int rt_image_in_use(u32 number)
{
	return (int)__atomic_load_n(&LEDGER->leaving[number], __ATOMIC_ACQUIRE);
}

void rt_image_leaving(u32 number)
{
	LEDGER->leaving[number] = 1;
}

struct rt_block *rt_block_map(u32 number)
{
	const u32 n = RT32_NBLOCKS * RT32_BLOCK_SIZE / RT_BLOCK_ALIGN;
	word at = block_place[number];
	u32 k;

	if (at)
		return PTR(at);
	k = __atomic_fetch_add(&places, 1, __ATOMIC_RELAXED);
	at = k < n ? RT32_BLOCKS + k * RT_BLOCK_ALIGN : find_place();
	/* shared by a process with the one that it forks only, which has it from its parent */
	if (!at || rt_failed(rt_sys(NR_mmap, at, RT_BLOCK_ALIGN, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)))
		return 0;
	block_place[number] = at;
	return PTR(at);
}

void rt_block_unmap(struct rt_block *b)
{
	const u32 k = ((word)b - RT32_BLOCKS) / RT_BLOCK_ALIGN, number = rt_image_number(b);
	u32 last = k + 1;

	block_place[number] = 0;
	LEDGER->owner[number] = LEDGER->leaving[number] = 0;
	rt_sys(NR_munmap, b, RT_BLOCK_ALIGN);
	if (k >= RT32_NBLOCKS * RT32_BLOCK_SIZE / RT_BLOCK_ALIGN)
		return;
	reserve((word)b, RT_BLOCK_ALIGN, 0x100000);
	__atomic_compare_exchange_n(&places, &last, k, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void rt_block_forked(struct rt_block *b)
{
	shadow_lock = 0;
	for (u32 i = 1; i < IMG_BLOCKS; i++)
		if (block_place[i] && block_place[i] != (word)b)
			rt_block_unmap(PTR(block_place[i]));
}

void rt_exit_thread(struct rt_block *b, long nr, word status)
{
	rt_exit_raw(nr, status, &b->state, &LEDGER->leaving[rt_image_number(b)]);
}

void rt_find_fixed(struct rt_ours *o)
{
	find_fixed(o);
	rt_ours_meet(o, MAN->later, MAN->later_end);
	rt_ours_meet(o, MAN->shadow, MAN->shadow_end);
	for (u32 i = 1; i < IMG_BLOCKS; i++)
		if (block_place[i])
			rt_ours_meet(o, block_place[i], block_place[i] + RT_BLOCK_ALIGN);
}

void rt_image_map_data(const struct img_manifest *man)
{
	const u64 flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	u32 *dir = PTR(RT32_SHADOW);

	rt_image_block_size = (word)man->block_size;
	rt_image_map(RT32_BLOCKS, RT32_NBLOCKS * RT32_BLOCK_SIZE, 0, flags, -1, 0, 0);
	rt_image_map(RT32_DATA_VAULT, RT_SHARED_AT, PROT_READ | PROT_WRITE, flags, -1, 0, 0);
	rt_image_map(RT32_DATA_VAULT + RT_SHARED_AT, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0, 0);
	rt_image_map(RT32_ZERO, RT32_TABLE_SIZE, PROT_READ, flags, -1, 0, 0);
	rt_image_map(RT32_SHADOW, RT32_DIR_SIZE, PROT_READ | PROT_WRITE, flags, -1, 0, 0);
	for (u32 i = 0; i < RT32_DIR_SIZE / 4; i++)
		dir[i] = RT32_ZERO - 4 * (i << 16);
	for (u32 i = 0; i < man->ntext; i++) {
		rt_image_map(TEXTS[i].code, img_whole(TEXTS[i].code_len), 0, flags, -1, 0, 0);
		rt_image_map(TEXTS[i].tables, img_whole(TEXTS[i].tables_len), 0, flags, -1, 0, 0);
	}
	if (man->later)
		rt_image_map(man->later, man->later_end - man->later, 0, flags, -1, 0, 0);
	shadow_next = (word)man->shadow;
	shadow_end = (word)man->shadow_end;
	if (shadow_end > shadow_next)
		rt_image_map(shadow_next, shadow_end - shadow_next, PROT_READ | PROT_WRITE, flags,
			     -1, 0, 0);
}

/* Where other threads may execute there or look at it meanwhile, a piece comes at once; what
 * several of them bring is the same. */
int rt_image_unpack(u32 i, const struct img_pack *p, u64 place, u32 k, u64 prot)
{
	const word to = (word)place;
	long at = (long)to;

	if (rt_image_threads)
		at = rt_map(0, IMG_PIECE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	else if (!rt_sys(NR_mprotect, to, IMG_PIECE, PROT_READ | PROT_WRITE))
		rt_sys(NR_madvise, to, IMG_PIECE, MADV_POPULATE_WRITE);
	else
		at = -1;
	if (rt_failed(at))
		rt_image_stop("no memory for its code", 0);
	if (!img_unpack((const u8 *)p + p->at[k], p->at[k + 1] - p->at[k], PTR(at)))
		return 0;
	if (rt_sys(NR_mprotect, at, IMG_PIECE, prot) ||
	    ((word)at != to && rt_failed(rt_sys(NR_mremap, at, IMG_PIECE, IMG_PIECE,
						MREMAP_MAYMOVE | MREMAP_FIXED, to))))
		rt_image_stop("no memory for its code", 0);
	return 1;
}

void rt_image_unmap(u32 i)
{
	reserve((word)TEXTS[i].code, (word)img_whole(TEXTS[i].code_len), MAP_FIXED);
	reserve((word)TEXTS[i].tables, (word)img_whole(TEXTS[i].tables_len), MAP_FIXED);
}

void rt_image_shadow_room(u64 pc, u64 n)
{
	(void)pc;
	(void)n;
}

void rt_image_shadow(u64 pc, u64 to)
{
	const u32 i = (u32)pc >> 16;
	u32 *dir = PTR(RT32_SHADOW), none = RT32_ZERO - 4 * (i << 16);

	while (__atomic_exchange_n(&shadow_lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
	if (dir[i] == none && shadow_next < shadow_end) {
		const word at = shadow_next;

		shadow_next += RT32_TABLE_SIZE;		/* first: another thread may fork */
		__atomic_store_n(&dir[i], at - 4 * (i << 16), __ATOMIC_RELEASE);
	}
	if (dir[i] != none)
		__atomic_store_n((u32 *)PTR((u32)(dir[i] + 4 * (u32)pc)), (u32)(to - pc),
				 __ATOMIC_RELEASE);
	__atomic_store_n(&shadow_lock, 0, __ATOMIC_RELEASE);
}

void rt_image_clear_shadow(u64 lo, u64 hi)
{
	const u32 *dir = PTR(RT32_SHADOW);

	for (u64 at = lo, end; at < hi; at = end) {
		end = (at | 0xffff) + 1 < hi ? (at | 0xffff) + 1 : hi;
		if (dir[at >> 16] != RT32_ZERO - 4 * ((u32)at & 0xffff0000))
			memset(PTR((u32)(dir[at >> 16] + 4 * (u32)at)), 0, 4 * (word)(end - at));
	}
}

long rt_stat(const char *path, long fd, struct rt_stat *to)
{
	u32 st[24];			/* struct stat64: u64 device, ..., u32 mode at 16, u64 size
					 * at 44, mtime at 72, u64 inode at 88 */
	const long r = path ? rt_sys(NR_stat, path, st) : rt_sys(NR_fstat, fd, st);

	*to = (struct rt_stat){ st[0] | (u64)st[1] << 32, st[22] | (u64)st[23] << 32,
				st[11] | (u64)st[12] << 32,
				(u64)st[18] << 32 | st[19], st[4] };
	return r;
}
#endif

/* ---- fs -------------------------------------------------------------------------------------- */
void rt_switch_segment(struct rt_block *b)
{
	/* struct user_desc: entry, base, limit, and seg_32bit | limit_in_pages | useable */
	u32 desc[4] = { segment, (word)b, 0xfffff, 0x51 };

	if (rt_failed(rt_sys(NR_set_thread_area, desc))) {	/* a 32-bit kernel */
		desc[0] = segment = RT32_SEGMENT_OF_32;
		rt_sys(NR_set_thread_area, desc);
	}
	__asm__ volatile("mov %0, %%fs" : : "r"(SELECTOR));
}

/* Of the descriptor that @selector names. The LDT is read as the processor has it,
 * bases in three pieces. */
static u32 base_of(u32 selector)
{
	u32 desc[4] = { selector >> 3 };

	if (selector & 4) {
		const u32 *d = desc;
		static u32 table[2 * 256];		/* whoever has more descriptors: base 0 */
		const u32 i = selector >> 3, n = (u32)rt_sys(NR_modify_ldt, 0, table, sizeof table);

		if (rt_failed((long)n) || 8 * i + 8 > n)
			return 0;
		d = &table[2 * i];
		return d[0] >> 16 | (d[1] & 0xff) << 16 | (d[1] & 0xff000000);
	}
	/* others than the thread's own are flat */
	return rt_failed(rt_sys(NR_get_thread_area, desc)) ? 0 : desc[1];
}

void rt_segments(struct rt_block *b, u64 base[2])
{
	u32 gs;

	__asm__("mov %%gs, %0" : "=r"(gs));
	base[0] = base_of((uint16_t)b->app_gs);
	base[1] = base_of((uint16_t)gs);
}

int rt_sets_segments(u32 nr)
{
	return nr == NR_set_thread_area || nr == NR_modify_ldt;
}

/* The way back from our signal handler loads fs from the frame. */
void rt_load_program_segment(struct rt_block *b, struct k_ucontext *uc)
{
	uc->sc.fs = (uint16_t)b->app_gs;
}

void rt_save_program_segment(struct rt_block *b, struct k_ucontext *uc)
{
	b->app_gs = uc->sc.fs;
	uc->sc.fs = SELECTOR;
}

/* ---- system calls ---------------------------------------------------------------------------- */
int rt_is_our_segment(u32 entry)
{
	return entry == segment;
}

int rt_mmap_arguments(struct rt_block *b, u64 arg[6])
{
	word a[6] = { ARG0, ARG1, ARG2, ARG3, ARG4, ARG5 };

	if (b->syscall != NR_mmap && (b->syscall != NR_old_mmap || rt_get(a, ARG0, sizeof a)))
		return 0;
	for (u32 i = 0; i < 6; i++)
		arg[i] = a[i];
	if (b->syscall == NR_mmap)
		arg[5] <<= 12;
	return 1;
}

/* ---- frames ---------------------------------------------------------------------------------- */
#define FSAVE 112		/* bytes of struct _fpstate_32 before the fxsave area */

static word fp_size(const struct k_ucontext *uc)
{
	const u32 *sw = PTR(uc->sc.fpstate + FSAVE + FX_SW);

	if (!uc->sc.fpstate)
		return 0;
	return sw[0] == FP_XSTATE_MAGIC1 ? sw[1] : FSAVE + 512;
}

/* Handlers begin with clean x87 and vector state. */
static void clear_fp(word at, word size)
{
	const u32 fsave[7] = { 0xffff037f, 0xffff0000, 0xffffffff };

	rt_memcpy(PTR(at), fsave, sizeof fsave);
	memset(PTR(at + FSAVE), 0, 24);
	*(uint16_t *)PTR(at + FSAVE) = 0x37f;
	*(u32 *)PTR(at + FSAVE + 24) = 0x1f80;
	memset(PTR(at + FSAVE + 32), 0, 256);		/* registers, eight of each kind */
	if (size > FSAVE + 512)
		*(u64 *)PTR(at + FSAVE + 512) = 0;
}

/* Where handlers without a restorer of their own return to: the vDSO's __kernel_sigreturn and
 * __kernel_rt_sigreturn, known by their code as they are to debuggers. */
static const uint8_t sigreturn_code[8] = { 0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80 };
static const uint8_t rt_sigreturn_code[8] = { 0xb8, 173, 0, 0, 0, 0xcd, 0x80, 0 };

static int same(const uint8_t *a, const uint8_t *b, word n)
{
	while (n && *a == *b)
		a++, b++, n--;
	return !n;
}

static u32 restorer(const struct k_sigaction *act, const uint8_t *code, word n, u32 on_stack)
{
	static u32 found[2];
	u32 *at = &found[code == rt_sigreturn_code];
	const uint8_t *vdso = PTR(rt_boot_info.vdso);

	if (act->flags & SA_RESTORER)
		return act->restorer;
	for (u32 i = 0; vdso && !*at && i < 4096; i++)
		if (same(vdso + i, code, n))
			*at = (word)vdso + i;
	return *at ? *at : on_stack;
}

/* One that the kernel never dispatches. */
int rt_is_vdso_return(const struct rt_block *b)
{
	const u64 vdso = rt_boot_info.vdso;

	return vdso && b->ctx.pc - vdso < 8192 && (RET == NR_sigreturn || RET == NR_rt_sigreturn);
}

int rt_push_frame(struct rt_block *b, u32 sig, const struct k_siginfo *info, struct k_ucontext *uc,
		  const struct k_stack *ss, word sp, word pc, word flags)
{
	const struct k_sigaction *act = &((struct rt_sighand *)PTR(b->sighand))->act[sig];
	word fpn = fp_size(uc), fp = fpn ? ((sp - (fpn - FSAVE)) & ~63ul) - FSAVE : sp;
	const int rt = act->flags & SA_SIGINFO ? 1 : 0;
	struct k_sigcontext sc = uc->sc;

	sp = ((fp - (rt ? sizeof(struct k_frame) : sizeof(struct k_old_frame)) + 4) & ~15ul) - 4;
	sc.ip = pc;
	sc.flags = flags;
	sc.fs = (uint16_t)b->app_gs;
	sc.sp_at_signal = UC_GPR(uc, RSP);
	sc.fpstate = fpn ? fp : 0;
	sc.oldmask = (u32)b->app_mask;
	if (fpn && rt_put(fp, PTR(uc->sc.fpstate), fpn))
		return 0;
	if (rt) {
		struct k_frame f = {
			.sig = sig, .pinfo = sp + offsetof(struct k_frame, info),
			.puc = sp + offsetof(struct k_frame, uc), .info = *info, .uc = *uc,
		};

		f.pretcode = restorer(act, rt_sigreturn_code, 7,
				      sp + offsetof(struct k_frame, retcode));
		f.uc.sc = sc;
		f.uc.stack = *ss;
		f.uc.sigmask = b->app_mask;
		rt_memcpy(f.retcode, rt_sigreturn_code, 8);
		if (rt_put(sp, &f, sizeof f))
			return 0;
		UC_GPR(uc, RDX) = f.pinfo;
		UC_GPR(uc, RCX) = f.puc;
	} else {
		struct k_old_frame f = { .sig = sig, .sc = sc,
					 .extramask = (u32)(b->app_mask >> 32) };

		f.pretcode = restorer(act, sigreturn_code, 8,
				      sp + offsetof(struct k_old_frame, retcode));
		rt_memcpy(f.retcode, sigreturn_code, 8);
		if (rt_put(sp, &f, sizeof f))
			return 0;
		UC_GPR(uc, RDX) = UC_GPR(uc, RCX) = 0;
	}
	if (fpn)
		clear_fp(uc->sc.fpstate, fpn);
	UC_GPR(uc, RSP) = sp;
	UC_GPR(uc, RAX) = sig;
	return 1;
}

long rt_frame_get(const struct rt_block *b, struct rt_frame *f)
{
	const word sp = (word)b->ctx.gpr[RSP];		/* pretcode has been popped, ... */
	u32 mask;

	f->old = RET == NR_sigreturn;
	if (!f->old) {
		f->at = sp - 4;
		return rt_get(&f->uc, f->at + offsetof(struct k_frame, uc), sizeof f->uc);
	}
	f->at = sp - 8;					/* ... and the signal's number */
	if (rt_get(&f->uc.sc, f->at + offsetof(struct k_old_frame, sc), sizeof f->uc.sc) ||
	    rt_get(&mask, f->at + offsetof(struct k_old_frame, extramask), 4))
		return -EFAULT;
	f->uc.sigmask = (u64)mask << 32 | f->uc.sc.oldmask;
	return 0;
}

extern void rt_sigreturn_raw(word sp, long nr) __attribute__((noreturn));

void rt_frame_leave(struct rt_block *b, struct rt_frame *f)
{
	const u32 mask = (u32)(f->uc.sigmask >> 32);

	b->app_gs = f->uc.sc.fs;
	f->uc.sc.fs = SELECTOR;
	if (!f->old) {
		rt_put(f->at + offsetof(struct k_frame, uc), &f->uc, sizeof f->uc);
		rt_flush_pending(b);
		rt_sigreturn_raw(f->at + 4, NR_rt_sigreturn);
	}
	f->uc.sc.oldmask = (u32)f->uc.sigmask;
	rt_put(f->at + offsetof(struct k_old_frame, sc), &f->uc.sc, sizeof f->uc.sc);
	rt_put(f->at + offsetof(struct k_old_frame, extramask), &mask, 4);
	rt_flush_pending(b);
	rt_sigreturn_raw(f->at + 8, NR_sigreturn);
}
