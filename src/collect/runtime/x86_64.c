/* SPDX-License-Identifier: MIT */
/* x86_64.c - what the runtime does otherwise in 64-bit programs: address
 * space, gs, signal frames */
#include "image.h"
#include "rt.h"

/* ---- address space --------------------------------------------------------------------------- */
#ifndef RT_IDT
static void map_file(const char *path, u32 kept, u64 at, u64 size, int prot)
{
	const word flags = prot & PROT_WRITE ? 02000002 : 02000000;	/* O_CLOEXEC */
	const long fd = kept ? (long)kept - 1 : rt_sys(NR_open, path, flags, 0);

	if (fd < 0 || rt_sys(NR_mmap, at, size, prot, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
			     0) !=
		      (long)at)
		rt_fail("pugmark: cannot map shared memory in the traced process\n");
	if (!kept)
		rt_sys(NR_close, fd);
}

struct rt_block *rt_map_all(const struct rt_boot *boot)
{
	struct rt_block *b;

	map_file(boot->data_path, boot->kept[0], RT_DATA_VAULT, RT_DATA_SIZE,
		 PROT_READ | PROT_WRITE);
	b = rt_block_map((u32)boot->block);
	rt_sys(NR_madvise, b, 4096, MADV_POPULATE_WRITE);
	rt_sys(NR_madvise, (word)b + RT_STACK_TOP - 4096, 4096, MADV_POPULATE_WRITE);
	map_file(boot->code_path, boot->kept[1], RT_CODE_VAULT, RT_CODE_SIZE,
		 PROT_READ | PROT_EXEC);
	/* MAP_FIXED_NOREPLACE: whoever lives there already (AddressSanitizer) is
	 * not to be replaced */
	if (rt_sys(NR_mmap, RT_SHADOW, RT_SHADOW_SIZE, PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | 0x100000, -1,
		   0) != (long)RT_SHADOW)
		rt_fail("pugmark: the program occupies addresses that tracing needs "
			"(0x70000000 on)\n");
	/* reading its holes for a core file would fill memory */
	rt_sys(NR_madvise, RT_DATA_VAULT, RT_DATA_SIZE, MADV_DONTDUMP);
	rt_sys(NR_madvise, RT_CODE_VAULT, RT_CODE_SIZE, MADV_DONTDUMP);
	rt_sys(NR_madvise, RT_SHADOW, RT_SHADOW_SIZE, MADV_DONTDUMP);
	return b;
}

void rt_forget_entries(void)
{
	rt_sys(NR_mmap, RT_SHADOW, RT_SHADOW_SIZE, PROT_READ,
	       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Code near texts. What is not remembered, where there are more, is not looked after either. */
static struct code_place {
	u64 lo, hi;
} places[1024];
static u32 nplace, places_lock;

static void lock_places(void)
{
	while (__atomic_exchange_n(&places_lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void unlock_places(void)
{
	__atomic_store_n(&places_lock, 0, __ATOMIC_RELEASE);
}

static void remember(u64 lo, u64 hi)
{
	lock_places();
	if (nplace < NR_OF(places))
		places[nplace++] = (struct code_place){ lo, hi };
	unlock_places();
}

void rt_unplace(u64 lo, u64 hi)
{
	lock_places();
	for (u32 i = 0; i < nplace; ) {
		const struct code_place p = places[i];

		if (p.hi <= lo || hi <= p.lo) {
			i++;
			continue;
		}
		rt_sys(NR_munmap, p.lo, p.hi - p.lo);
		places[i] = places[--nplace];
	}
	unlock_places();
}

long rt_map_data(u64 at, u64 n, u64 off)
{
	/* as often as wanted, where the old size is 0 */
	return rt_sys(NR_mremap, RT_DATA_VAULT + off, 0, n, MREMAP_MAYMOVE | MREMAP_FIXED, at);
}

void rt_begin_space(u64 base)
{
	if (rt_sys(NR_mmap, RT_SHADOW, RT_SHADOW_SIZE, PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != RT_SHADOW)
		rt_fail("pugmark: no room for translated code in the traced process\n");
}

void rt_no_segments(void)
{
	rt_sys(NR_arch_prctl, 0x1002 /* ARCH_SET_FS */, 0);
}

void rt_forget_places(void)
{
	nplace = 0;
}

int rt_place(const struct rt_cmd *c)
{
	if (!(c->a[3] & RT_OVER)) {
		/* MAP_FIXED_NOREPLACE: the program may have mapped something since
		 * the place was chosen */
		long r = rt_sys(NR_mmap, c->a[2], c->a[1], 0,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | 0x100000, -1, 0);

		if (r != (long)c->a[2]) {
			if (!rt_failed(r))
				rt_sys(NR_munmap, r, c->a[1]);
			return 0;
		}
		if (c->a[3] & PROT_EXEC)
			remember(c->a[2], c->a[2] + c->a[1]);
	}
	if (rt_sys(NR_mremap, RT_CODE_VAULT + c->a[0], 0, c->a[1], MREMAP_MAYMOVE | MREMAP_FIXED,
		   c->a[2]) != (long)c->a[2])
		rt_fail("pugmark: no room for translated code in the traced process\n");
	if (!(c->a[3] & PROT_EXEC))
		rt_sys(NR_mprotect, c->a[2], c->a[1], c->a[3] & 7);
	return 1;
}

static long open_file(const struct rt_cmd *c)
{
	char path[48];
	u64 st[18] = { 0 };		/* struct stat: device and inode come first */
	long fd;

	rt_controllers_file(path, (u32)(c->a[3] >> 16));
	fd = rt_sys(NR_open, path, 02000000 /* O_CLOEXEC */, 0);
	if (fd < 0 || (!rt_sys(NR_fstat, fd, st) && RT_FILE_ID(st[0], st[1]) == c->a[4]))
		return fd;
	rt_sys(NR_close, fd);
	return -1;
}

u32 rt_place_files(const struct rt_cmd *c, u32 n)
{
	const long fd = open_file(c);
	u32 done = 0;

	if (fd < 0)
		return 0;
	while (done < n && c[done].op == CMD_PLACE_FILE && c[done].a[4] == c->a[4] &&
	       rt_sys(NR_mmap, c[done].a[2], c[done].a[1], c[done].a[3] & 7,
		      MAP_SHARED | MAP_FIXED | (c[done].a[3] & RT_POPULATE ? MAP_POPULATE : 0), fd,
		      c[done].a[0]) == (long)c[done].a[2])
		done++;
	rt_sys(NR_close, fd);
	return done;
}
#endif

struct rt_block *rt_block_map(u32 number)
{
	return PTR(RT_DATA_VAULT + number * RT_BLOCK_SIZE);
}

void rt_block_unmap(struct rt_block *b)
{
}

void rt_block_forked(struct rt_block *b)
{
#ifndef RT_IDT
	places_lock = 0;		/* of a thread that is not here */
#endif
}

extern void rt_exit_raw(long nr, word status, u32 *state) __attribute__((noreturn));

void rt_exit_thread(struct rt_block *b, long nr, word status)
{
	rt_exit_raw(nr, status, &b->state);
}

static void find_fixed(struct rt_ours *o)
{
	static const struct { u64 at, size; } mine[] = {
		{ RT_SHADOW, RT_SHADOW_SIZE }, { RT_IMAGE, RT_IMAGE_SIZE },
		{ RT_CODE_VAULT, RT_CODE_SIZE }, { RT_DATA_VAULT, RT_DATA_SIZE },
	};

	o->at = o->hi;
	for (u32 i = 0; i < NR_OF(mine); i++)
		rt_ours_meet(o, mine[i].at, mine[i].at + mine[i].size);
}

#ifdef RT_IDT
void rt_find_fixed(struct rt_ours *o)
{
	find_fixed(o);
}

int rt_only_placed(u64 lo, u64 hi)
{
	return 0;
}

void rt_unplace(u64 lo, u64 hi)
{
}
#else
int rt_find_ours(struct rt_ours *o)
{
	find_fixed(o);
	lock_places();
	for (u32 i = 0; i < nplace; i++)
		rt_ours_meet(o, places[i].lo, places[i].hi);
	unlock_places();
	return o->at < o->hi;
}

int rt_only_placed(u64 lo, u64 hi)
{
	struct rt_ours o = { .lo = lo, .hi = hi };

	find_fixed(&o);
	return o.at == o.hi;
}
#endif

#ifdef RT_IDT
/* ---- of instrumented executables ------------------------------------------------------------- */
struct rt_block *rt_image_block(u32 number)
{
	return rt_block_map(number);
}

u32 rt_image_number(const struct rt_block *b)
{
	return (u32)(((word)b - RT_DATA_VAULT) >> RT_BLOCK_SHIFT);
}

int rt_image_in_use(u32 number)
{
	return rt_image_block(number)->state == BLK_LIVE;
}

void rt_image_leaving(u32 number)
{
	(void)number;			/* its state says so, which rt_exit_raw() changes last */
}

/* Another mapping of what is in the store, of which nothing can be accessed yet. */
static void map_again(u64 from, u64 size, u64 to, const char *name)
{
	rt_image_map(to, size, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, name);
	if (rt_sys(NR_mremap, from, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != (long)to ||
	    rt_sys(NR_mprotect, to, size, 0))
		rt_image_stop("no memory for its code", name);
}

void rt_image_map_data(const struct img_manifest *man)
{
	const u64 flags = MAP_ANONYMOUS | MAP_NORESERVE;

	rt_image_map(RT_DATA_VAULT, RT_DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | flags, -1, 0,
		     0);
	map_again(IMG_STORE(0), (u64)man->ntext << 32, IMG_TABLES(0), 0);
	for (u32 i = 0; i < man->ntext; i++)
		if (TEXTS[i].code_pack)
			map_again(IMG_STORE(i) + IMG_STORE_CODE, img_whole(TEXTS[i].code_len),
				  TEXTS[i].code, FILES[TEXTS[i].file].path);
		else
			rt_image_map(TEXTS[i].code, img_whole(TEXTS[i].code_len), 0,
				     MAP_PRIVATE | flags, -1, 0, FILES[TEXTS[i].file].path);
	rt_image_map(RT_SHADOW, RT_SHADOW_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1, 0,
		     0);
	/* reading its holes for a core file would fill memory */
	rt_sys(NR_madvise, RT_DATA_VAULT, RT_DATA_SIZE, MADV_DONTDUMP);
	rt_sys(NR_madvise, RT_SHADOW, RT_SHADOW_SIZE, MADV_DONTDUMP);
}

void rt_image_shadow(u64 pc, u64 to)
{
	int32_t *e = (int32_t *)(RT_SHADOW + 4 * (u64)(u32)pc);

	__atomic_store_n(e, (int32_t)(to - pc), __ATOMIC_RELEASE);
}

void rt_image_clear_shadow(u64 lo, u64 hi)
{
	while (lo < hi) {
		const u64 wrap = (lo | 0xffffffffu) + 1, end = hi < wrap ? hi : wrap;

		rt_sys(NR_mmap, RT_SHADOW + 4 * (u64)(u32)lo, (4 * (end - lo) + 4095) & ~4095ull,
		       PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		lo = end;
	}
}

void rt_image_shadow_room(u64 pc, u64 n)
{
	const u64 at = RT_SHADOW + 4 * (u64)(u32)pc, end = at + 4 * n, huge = 0x200000;

	if (4 * n >= huge / 8)
		rt_sys(NR_madvise, at & ~(huge - 1),
		       ((end + huge - 1) & ~(huge - 1)) - (at & ~(huge - 1)),
		       14 /* MADV_HUGEPAGE */);
	rt_sys(NR_madvise, at, end - at, MADV_POPULATE_WRITE);
}

/* ---- pieces of code and tables
 * -------------------------------------------------------------------- They are unpacked once, into
 * the store, for all processes; what executes or reads them is another mapping of it. The kernel
 * copies them there, whose page faults cost less than ours. */
static int unpack_to(u64 to, const u8 *p, u32 n)
{
	static uint8_t scratch[IMG_PIECE];
	static u32 taken;
	const u64 from[2] = { (word)scratch, IMG_PIECE }, at[2] = { to, IMG_PIECE };
	int ok;

	if (__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
		return img_unpack(p, n, PTR(to));
	ok = img_unpack(p, n, scratch);
	if (ok && rt_sys(NR_process_vm_writev, rt_sys(NR_getpid, 0), from, 1, at, 1,
			 0) != IMG_PIECE)
		rt_memcpy(PTR(to), scratch, IMG_PIECE);
	__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
	return ok;
}

int rt_image_unpack(u32 i, const struct img_pack *p, u64 at, u32 k, u64 prot)
{
	const int code = (word)p == TEXTS[i].code_pack;
	uint8_t *stored = PTR(RT_DATA_VAULT + IMG_STORED + k);

	for (u32 m = 0; m < i; m++)
		stored += (img_whole(TEXTS[m].code_len) +
			   img_whole(TEXTS[m].tables_len)) / IMG_PIECE;
	stored += code ? img_whole(TEXTS[i].tables_len) / IMG_PIECE : 0;
	if (!__atomic_load_n(stored, __ATOMIC_ACQUIRE)) {
		if (!unpack_to(IMG_STORE(i) + (code ? IMG_STORE_CODE : 0) + (u64)IMG_PIECE * k,
			       (const u8 *)p + p->at[k], p->at[k + 1] - p->at[k]))
			return 0;
		__atomic_store_n(stored, 1, __ATOMIC_RELEASE);
	}
	rt_sys(NR_mprotect, at, IMG_PIECE, prot);
	rt_sys(NR_madvise, at, IMG_PIECE, MADV_POPULATE_READ);
	return 1;
}

void rt_image_unmap(u32 i)
{
	rt_sys(NR_mprotect, TEXTS[i].code, img_whole(TEXTS[i].code_len), 0);
	rt_sys(NR_mprotect, TEXTS[i].tables, img_whole(TEXTS[i].tables_len), 0);
}

long rt_spawn(const char *path, const char **argv, const char **environment)
{
	register u64 a4 __asm__("r10") = 0;
	register u64 a5 __asm__("r8") = 0;
	register const char *r12 __asm__("r12") = path;
	register const char **r13 __asm__("r13") = argv;
	register const char **r14 __asm__("r14") = environment;
	long r;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "mov %%r13, %%rsi\n\t"
			 "mov %%r14, %%rdx\n\t"
			 "mov $59, %%eax\n\t"		/* execve */
			 "syscall\n\t"
			 "mov $127, %%edi\n\t"
			 "mov $231, %%eax\n\t"		/* exit_group */
			 "syscall\n"
			 "1:"
			 : "=a"(r)
			 : "a"((long)NR_clone), "D"((u64)CLONE_VM | CLONE_VFORK), "S"(0ul),
			 "d"(0ul), "r"(a4), "r"(a5),
			   "r"(r12), "r"(r13), "r"(r14)
			 : "rcx", "r11", "memory");
	return r;
}

long rt_stat(const char *path, long fd, struct rt_stat *to)
{
	u64 st[18];			/* struct stat: device, inode, links, u32 mode, ..., size at
					 * 48, mtime at 88 */
	const long r = path ? rt_sys(NR_stat, path, st) : rt_sys(NR_fstat, fd, st);

	*to = (struct rt_stat){ st[0], st[1], st[6], st[11] << 32 | st[12], (u32)st[3] };
	return r;
}
#endif

/* ---- gs -------------------------------------------------------------------------------------- */
#define ARCH_SET_GS 0x1001
#define ARCH_GET_GS 0x1004
#define ARCH_REQ_XCOMP_PERM 0x1023

void rt_switch_segment(struct rt_block *b)
{
	rt_sys(NR_arch_prctl, ARCH_SET_GS, b);
}

#define ARCH_GET_FS 0x1003

void rt_segments(struct rt_block *b, u64 base[2])
{
	rt_sys(NR_arch_prctl, ARCH_GET_FS, &base[0]);
	base[1] = b->app_gs;
}

int rt_sets_segments(u32 nr)
{
	return nr == NR_arch_prctl;
}

void rt_load_program_segment(struct rt_block *b, struct k_ucontext *uc)
{
	rt_sys(NR_arch_prctl, ARCH_SET_GS, b->app_gs);
}

void rt_save_program_segment(struct rt_block *b, struct k_ucontext *uc)
{
	rt_sys(NR_arch_prctl, ARCH_GET_GS, &b->app_gs);
	rt_switch_segment(b);
}

/* ---- system calls ---------------------------------------------------------------------------- */
int rt_syscall_entry(struct rt_block *b, int int80)
{
	if (int80)
		return 0;
	b->ctx.pc = b->ctx.gpr[RCX];
	b->ctx.gpr[R11] = b->ctx.flags;
	b->resume = b->cont;
	return 1;
}

int rt_mmap_arguments(struct rt_block *b, u64 arg[6])
{
	const u64 a[6] = { ARG0, ARG1, ARG2, ARG3, ARG4, ARG5 };

	if (b->syscall != NR_mmap)
		return 0;
	rt_memcpy(arg, a, sizeof a);
	return 1;
}

int rt_arch_syscall(struct rt_block *b)
{
	switch (RET) {
	case NR_arch_prctl:
		if (ARG0 == ARCH_SET_GS) {
			if (ARG1 >> 47)
				RET = -(word)EPERM;
			else
				b->app_gs = ARG1, RET = 0;
			return 0;
		}
		if (ARG0 == ARCH_GET_GS) {
			RET = (word)rt_put(ARG1, &b->app_gs, 8);
			return 0;
		}
		if (ARG0 == ARCH_REQ_XCOMP_PERM) {
			RET = (word)rt_request_tiles(b);
			return 0;
		}
		return 1;
	}
	return -1;
}

/* ---- frames ---------------------------------------------------------------------------------- */
/* The saved extended state of a frame: its size, 0 if none. */
static word fp_size(const struct k_ucontext *uc)
{
	const u32 *sw = PTR(uc->fpstate + FX_SW);

	if (!uc->fpstate)
		return 0;
	return sw[0] == FP_XSTATE_MAGIC1 ? sw[1] : 512;
}

int rt_push_frame(struct rt_block *b, u32 sig, const struct k_siginfo *info, struct k_ucontext *uc,
		  const struct k_stack *ss, word sp, word pc, word flags)
{
	const struct k_sigaction *act = &((struct rt_sighand *)PTR(b->sighand))->act[sig];
	word fpn = fp_size(uc), fp;
	struct k_frame f;

	f.uc = *uc;
	f.info = *info;
	f.pretcode = act->restorer;
	f.uc.greg[G_RIP] = pc;
	f.uc.greg[G_EFL] = flags;
	f.uc.sigmask = b->app_mask;
	f.uc.stack = *ss;
	fp = (sp - fpn) & ~63ull;
	sp = ((fp - sizeof f) & ~15ull) - 8;
	f.uc.fpstate = fpn ? fp : 0;
	if (fpn && rt_put(fp, PTR(uc->fpstate), fpn))
		return 0;
	if (rt_put(sp, &f, sizeof f))
		return 0;
	if (fpn > 512) {				/* handlers begin with clean vector state */
		*(u64 *)PTR(uc->fpstate + 512) = 0;
		*(u32 *)PTR(uc->fpstate + 24) = 0x1f80;
	}
	uc->greg[G_RSP] = sp;
	uc->greg[G_RDI] = sig;
	uc->greg[G_RSI] = sp + offsetof(struct k_frame, info);
	uc->greg[G_RDX] = sp + offsetof(struct k_frame, uc);
	uc->greg[G_RAX] = 0;
	return 1;
}

long rt_frame_get(const struct rt_block *b, struct rt_frame *f)
{
	f->at = b->ctx.gpr[RSP];		/* ucontext: pretcode has been popped */
	return rt_get(&f->uc, f->at, sizeof f->uc);
}

extern void rt_sigreturn_raw(word uc) __attribute__((noreturn));

#define USER_END 0x7ffffffff000ull
#define MOST_FP 16384u			/* bytes of vector state, the most that there may be */

/* Linux wants room below the end of user addresses for as much state as the thread has now, not as
 * the frame has: if its handler is the first to use tiles (AMX) it cannot return to where the stack
 * begins. With ASLR that is far from the end, without, as here, it is not. So the state is in
 * another place then, to which nothing points that the program will see. */
void rt_frame_leave(struct rt_block *b, struct rt_frame *f)
{
	uint8_t copy[MOST_FP] __attribute__((aligned(64)));
	const u64 fp = f->uc.fpstate;

	if (fp < USER_END && fp > USER_END - MOST_FP && !(fp & 63) &&
	    !rt_get(copy, fp, USER_END - fp))
		f->uc.fpstate = (word)copy;
	rt_put(f->at, &f->uc, sizeof f->uc);
	rt_flush_pending(b);
	rt_sigreturn_raw(f->at);
}
