/* SPDX-License-Identifier: MIT */
/* i386.h - the kernel's ABI for 32-bit programs, as a 64-bit kernel serves it; only from rt.h */
#define MMAP_SHIFT 12			/* offsets are in pages */
#define CLONE_TID_AT ARG4
#define CLONE_TLS 3
#define CLONE_TLS_AT ARG3
#define RT_NGPR 8
#define CURSOR_REG RBP
#define RT_RED_ZONE 0
#define RT_AUDIT_ARCH 0x40000003u
#define RT_IMAGE_AT RT32_IMAGE
/* The end of a program's addresses; what is ours, as far as its place is known. */
#define PROGRAM_END 0xffffe000u
#define OURS_AT RT32_BLOCKS
#define OURS_END (RT32_CODE_VAULT + RT32_CODE_SIZE)
#define RT_SESSION_AT RT32_DATA_VAULT
#ifdef RT_IDT
extern word rt_image_block_size;
#define RT_BLOCK_ALIGN rt_image_block_size
#define TRACE_CHUNKS 1
#else
#define RT_BLOCK_ALIGN RT32_BLOCK_SIZE
#define TRACE_CHUNKS RT_CHUNKS
#endif
#define TRACE_AT RT32_TRACE
#define TRACE_CHUNK RT32_CHUNK
#define TRACE_STRIDE RT32_CHUNK_STRIDE
#define LOG_AT RT32_LOG
#define LOG_SIZE RT32_LOG_SIZE
#define LOAD_AT RT32_LOAD
#define COUNTERS_AT IMG32_COUNTERS
#define MANIFEST_AT IMG32_MANIFEST
#define IMG_BLOCKS 4096u
#define IMG_LEAVING IMG_BLOCKS
#define RECORD_UNITS(n) (2 + (n))	/* see trace/idt.h */
typedef u32 rt_count;

#define NR_exit 1
#define NR_fork 2
#define NR_read 3
#define NR_write 4
#define NR_open 5
#define NR_close 6
#define NR_unlink 10
#define NR_execve 11
#define NR_lseek 19
#define NR_readlink 85
#define NR_readlinkat 305
#define NR_getpid 20
#define NR_access 33
#define NR_kill 37
#define NR_brk 45
#define NR_signal 48
#define NR_sigaction 67
#define NR_sgetmask 68
#define NR_ssetmask 69
#define NR_old_mmap 90
#define NR_munmap 91
#define NR_ipc 117
#define NR_sigreturn 119
#define NR_clone 120
#define NR_mprotect 125
#define NR_sigprocmask 126
#define NR_modify_ldt 123
#define NR_personality 136
#define NR_ptrace 26
#define NR_mremap 163
#define NR_madvise 219
#define NR_prctl 172
#define NR_unshare 310
#define NR_setns 346
#define NR_rt_sigreturn 173
#define NR_rt_sigaction 174
#define NR_rt_sigprocmask 175
#define NR_rt_sigpending 176
#define NR_rt_sigtimedwait 177
#define NR_sigaltstack 186
#define NR_vfork 190
#define NR_mmap 192			/* mmap2: the offset in pages */
#define NR_gettid 224
#define NR_futex 240
#define NR_set_thread_area 243
#define NR_clock_gettime 265		/* of 32-bit seconds, like timer_settime */
#define NR_timer_create 259
#define NR_timer_settime 260
#define NR_timer_delete 263
#define NR_get_thread_area 244
#define NR_exit_group 252
#define NR_remap_file_pages 257
#define NR_tgkill 270
#define NR_openat 295
#define NR_rt_sigqueueinfo 178
#define NR_rt_tgsigqueueinfo 335
#define NR_seccomp 354
#define NR_memfd_create 356
#define NR_execveat 358
#define NR_pkey_mprotect 380
#define NR_rseq 386
#define NR_shmctl 396
#define NR_shmat 397
#define NR_shmdt 398
#define RT_SHM_SIZE 9			/* words in front of struct shmid_ds.shm_segsz */
#define NR_msync 144
#define NR_setrlimit 75
#define NR_getrlimit 191		/* ugetrlimit */
#define NR_prlimit64 340
#define NR_mlock 150
#define NR_munlock 151
#define NR_mlockall 152
#define NR_mlock2 376
#define NR_mseal 462
#define NR_clone3 435
#define NR_pread 180			/* these three: offsets of 64 bits in two words */
#define NR_pwrite 181
#define NR_ftruncate 194
#define NR_old_ftruncate 93		/* the length: 32 bits */
#define NR_getcwd 183
#define NR_stat 195			/* stat64, fstat64 */
#define NR_fstat 197
#define NR_mincore 218
#define NR_madvise 219
#define NR_fcntl 221
#define NR_getppid 64
#define NR_nanosleep 162
#define NR_getdents64 220
#define NR_wait4 114
#define O_LARGEFILE 0100000

/* The rest is what recordings and the token look at. Some do not mean quite what the 64-bit call of
 * that name does: structures are those of 32-bit programs, times in NAME are of 32-bit seconds, in
 * NAME_time64 of 64-bit ones, and offsets of 64 bits are in two words. */
#define NR_restart_syscall 0
#define NR_pause 29
#define NR_dup 41
#define NR_ioctl 54
#define NR_old_fcntl 55
#define NR_dup2 63
#define NR_waitpid 7
#define NR_sigsuspend 72
#define NR_getgroups16 80		/* numbers of 16 bits */
#define NR_getgroups 205		/* getgroups32 */
#define NR_old_select 82		/* its arguments are in memory */
#define NR__llseek 140
#define NR_select 142			/* _newselect */
#define NR_socketcall 102
#define NR_fsync 118
#define NR_flock 143
#define NR_readv 145
#define NR_writev 146
#define NR_fdatasync 148
#define NR_sched_yield 158
#define NR_poll 168
#define NR_rt_sigsuspend 179
#define NR_sendfile 187			/* the offset: 32 bits */
#define NR_sendfile64 239
#define NR_getxattr 229
#define NR_lgetxattr 230
#define NR_fgetxattr 231
#define NR_listxattr 232
#define NR_llistxattr 233
#define NR_flistxattr 234
#define NR_tkill 238
#define NR_epoll_wait 256
#define NR_set_tid_address 258
#define NR_clock_nanosleep 267
#define NR_waitid 284
#define NR_pselect6 308
#define NR_ppoll 309
#define NR_set_robust_list 311
#define NR_get_robust_list 312
#define NR_splice 313
#define NR_epoll_pwait 319
#define NR_fallocate 324
#define NR_dup3 330
#define NR_pwritev 334			/* here, and in pwritev2: the offset in two words */
#define NR_recvmmsg 337
#define NR_sendmmsg 345
#define NR_name_to_handle_at 341
#define NR_process_vm_writev 348
#define NR_socket 359
#define NR_socketpair 360
#define NR_bind 361
#define NR_connect 362
#define NR_listen 363
#define NR_accept4 364
#define NR_getsockopt 365
#define NR_setsockopt 366
#define NR_getsockname 367
#define NR_getpeername 368
#define NR_sendto 369
#define NR_sendmsg 370
#define NR_recvfrom 371
#define NR_recvmsg 372
#define NR_shutdown 373
#define NR_userfaultfd 374
#define NR_copy_file_range 377
#define NR_pwritev2 379
#define NR_arch_prctl 384		/* CPUID, XCOMP_PERM: no segments */
#define NR_semctl 394
#define NR_msgrcv 401
#define NR_msgctl 402
#define NR_clock_gettime64 403
#define NR_clock_nanosleep_time64 407
#define NR_pselect6_time64 413
#define NR_ppoll_time64 414
#define NR_recvmmsg_time64 417
#define NR_semtimedop 420		/* semtimedop_time64: the only one */
#define NR_rt_sigtimedwait_time64 421
#define NR_futex_time64 422
#define NR_pidfd_send_signal 424
#define NR_close_range 436
#define NR_openat2 437
#define NR_epoll_pwait2 441
#define NR_futex_waitv 449
#define NR_futex_wait 455
/* Only socketcall() and ipc() do these: numbers of ours, which no call has. */
#define RT_OF_SOCKETCALL(n) (0x10000 + (n))
#define RT_OF_IPC(n) (0x20000 + (n))
#define NR_accept RT_OF_SOCKETCALL(5)
#define NR_semop RT_OF_IPC(1)

#define IS_FUTEX(nr) ((nr) == NR_futex || (nr) == NR_futex_time64)
#define IS_SIGRETURN(nr) ((nr) == NR_sigreturn || (nr) == NR_rt_sigreturn)
#define CALL_CHANGES(reg) 0		/* registers that the kernel does not keep */
#define CALL_OFFSET(low, high) ((u64)(high) << 32 | (u32)(low))
struct k_stat {				/* struct stat64 */
	u64 dev, other[10], ino;
};
_Static_assert(offsetof(struct k_stat, ino) == 88 && sizeof(struct k_stat) == 96, "the kernel's");

#define RT_HALVES(v) (word)(v), (u64)(v) >> 32
#define rt_map(at, size, prot, flags, fd, off) \
	rt_sys(NR_mmap, at, size, prot, flags, fd, (u64)(off) >> 12)
#define rt_pread(fd, to, n, off) rt_sys(NR_pread, fd, to, n, RT_HALVES(off))
#define rt_pwrite(fd, from, n, off) rt_sys(NR_pwrite, fd, from, n, RT_HALVES(off))
#define rt_resize(fd, size) rt_sys(NR_ftruncate, fd, RT_HALVES(size))

struct k_sigcontext {
	uint16_t gs, gs_pad, fs, fs_pad, es, es_pad, ds, ds_pad;
	u32 gpr[8];			/* edi esi ebp esp ebx edx ecx eax: hardware order
					 * backwards */
	u32 trapno, err, ip;
	uint16_t cs, cs_pad;
	u32 flags, sp_at_signal;
	uint16_t ss, ss_pad;
	u32 fpstate, oldmask, cr2;
};
struct k_ucontext {
	u32 flags, link;
	struct k_stack stack;
	struct k_sigcontext sc;
	u64 sigmask;
};
struct k_frame {			/* struct rt_sigframe: of handlers with SA_SIGINFO */
	u32 pretcode, sig, pinfo, puc;
	struct k_siginfo info;
	struct k_ucontext uc;
	uint8_t retcode[8];
};
struct k_old_frame {			/* struct sigframe: of handlers without */
	u32 pretcode, sig;
	struct k_sigcontext sc;
	uint8_t unused[624];		/* where the x87 state was in Linux 2.4 */
	u32 extramask;
	uint8_t retcode[8];
};
_Static_assert(sizeof(struct k_sigcontext) == 88 && sizeof(struct k_ucontext) == 116,
	       "the kernel's");
struct rt_frame {			/* what a handler returns to */
	word at;
	int old;			/* a k_old_frame: uc has sc and sigmask of it */
	struct k_ucontext uc;
};
#define FRAME_HAS_STACK(f) (!(f)->old)

#define UC_GPR(uc, i) ((uc)->sc.gpr[7 - (i)])
#define UC_PC(uc) ((uc)->sc.ip)
#define UC_FLAGS(uc) ((uc)->sc.flags)
#define UC_ERR(uc) ((uc)->sc.err)
#define UC_TRAPNO(uc) ((uc)->sc.trapno)
#define UC_CR2(uc) ((uc)->sc.cr2)
#define UC_FX(uc) PTR((uc)->sc.fpstate ? (uc)->sc.fpstate + 112 : 0)

#define ARG0 b->ctx.gpr[RBX]
#define ARG1 b->ctx.gpr[RCX]
#define ARG2 b->ctx.gpr[RDX]
#define ARG3 b->ctx.gpr[RSI]
#define ARG4 b->ctx.gpr[RDI]
#define ARG5 b->ctx.gpr[RBP]

/* The indirect entry of the translation of @pc; 0: the controller is to be asked. */
static inline u64 rt_indirect_entry(u64 pc)
{
	(void)pc;
	return 0;
}

long rt_sys6(long nr, word a, word b, word c, word d, word e, word f);
