/* SPDX-License-Identifier: MIT */
/* x86_64.h - the kernel's ABI for 64-bit programs (arch/x86/include/uapi/asm); only from rt.h */
#define RT_NGPR 16
#define CURSOR_REG R11
#define RT_RED_ZONE 128
#define RT_AUDIT_ARCH 0xc000003eu
#define rt_is_vdso_return(b) 0
#define RT_IMAGE_AT RT_IMAGE
/* The end of a program's addresses; what is ours, as far as its place is known. */
#define PROGRAM_END 0x7ffffffff000ull
#define OURS_AT RT_IMAGE
#define OURS_END (RT_DATA_VAULT + RT_DATA_SIZE)
#define RT_SESSION_AT RT_DATA_VAULT
#define RT_BLOCK_ALIGN RT_BLOCK_SIZE
#define TRACE_AT RT_TRACE
#define TRACE_CHUNK RT_CHUNK
#define TRACE_STRIDE RT_CHUNK_STRIDE
#define TRACE_CHUNKS RT_CHUNKS
#define LOG_AT RT_LOG
#define LOG_SIZE RT_LOG_SIZE
#define LOAD_AT RT_LOAD
#define COUNTERS_AT RT_COUNTERS
#define MANIFEST_AT IMG_MANIFEST
#define IMG_BLOCKS (RT_BLOCKS / 2)	/* in front of IMG_STORE */
#define IMG_LEAVING 0
#define RECORD_UNITS(n) ((10 + 4 * (n) + 7) / 8)	/* see trace/idt.h */
typedef u64 rt_count;

#define MMAP_SHIFT 0
#define CLONE_TID_AT ARG3		/* of clone(): argument child_tid; which one tls is */
#define CLONE_TLS 4
#define CLONE_TLS_AT ARG4

#define NR_read 0
#define NR_write 1
#define NR_open 2
#define NR_fstat 5
#define NR_waitid 247
#define NR_writev 20
#define NR_dup 32
#define NR_dup2 33
#define NR_dup3 292
#define NR_close_range 436
#define NR_ioctl 16
#define NR_msgrcv 70
#define NR_getgroups 115
#define NR_getxattr 191
#define NR_lgetxattr 192
#define NR_fgetxattr 193
#define NR_listxattr 194
#define NR_llistxattr 195
#define NR_flistxattr 196
#define NR_name_to_handle_at 303
#define NR_close 3
#define NR_mmap 9
#define NR_mprotect 10
#define NR_munmap 11
#define NR_brk 12
#define NR_rt_sigaction 13
#define NR_rt_sigprocmask 14
#define NR_rt_sigreturn 15
#define NR_mremap 25
#define NR_madvise 28
#define NR_access 21
#define NR_msync 26
#define NR_getrlimit 97
#define NR_setrlimit 160
#define NR_prlimit64 302
#define NR_shmat 30
#define NR_shmctl 31
#define RT_SHM_SIZE 6			/* words in front of struct shmid_ds.shm_segsz */
#define NR_mlock 149
#define NR_munlock 150
#define NR_mlockall 151
#define NR_remap_file_pages 216
#define NR_mlock2 325
#define NR_mseal 462
#define NR_semctl 66
#define NR_msgctl 71
#define NR_shmdt 67
#define NR_getpid 39
#define NR_clone 56
#define NR_fork 57
#define NR_vfork 58
#define NR_execve 59
#define NR_exit 60
#define NR_wait4 61
#define NR_kill 62
#define NR_uname 63
#define NR_rt_sigpending 127
#define NR_rt_sigtimedwait 128
#define NR_rt_sigsuspend 130
#define NR_rt_sigqueueinfo 129
#define NR_sigaltstack 131
#define NR_personality 135
#define NR_prctl 157
#define NR_unshare 272
#define NR_setns 308
#define NR_arch_prctl 158
#define NR_gettid 186
#define NR_ptrace 101
#define NR_futex 202
#define NR_restart_syscall 219
#define NR_exit_group 231
#define NR_tkill 200
#define NR_tgkill 234
#define NR_pidfd_send_signal 424
#define NR_openat 257
#define NR_rt_tgsigqueueinfo 297
#define NR_process_vm_writev 311
#define NR_seccomp 317
#define NR_execveat 322
#define NR_pkey_mprotect 329
#define NR_rseq 334
#define NR_clone3 435
#define NR_memfd_create 319
#define NR_lseek 8
#define NR_ftruncate 77
#define NR_unlink 87
#define NR_readlink 89
#define NR_readlinkat 267
#define NR_openat2 437
#define NR_pread 17
#define NR_pwrite 18
#define NR_fcntl 72
#define NR_mincore 27
#define NR_nanosleep 35
#define NR_getdents64 217
#define NR_poll 7
#define NR_readv 19
#define NR_select 23
#define NR_sched_yield 24
#define NR_pause 34
#define NR_accept 43
#define NR_connect 42
#define NR_sendto 44
#define NR_recvfrom 45
#define NR_sendmsg 46
#define NR_recvmsg 47
#define NR_semop 65
#define NR_flock 73
#define NR_fsync 74
#define NR_fdatasync 75
#define NR_set_tid_address 218
#define NR_semtimedop 220
#define NR_clock_gettime 228
#define NR_timer_create 222
#define NR_timer_settime 223
#define NR_timer_delete 226
#define NR_clock_nanosleep 230
#define NR_epoll_wait 232
#define NR_pselect6 270
#define NR_ppoll 271
#define NR_set_robust_list 273
#define NR_get_robust_list 274
#define NR_process_vm_writev 311
#define NR_userfaultfd 323
#define NR_sendfile 40
#define NR_fallocate 285
#define NR_pwritev 296
#define NR_pwritev2 328
#define NR_splice 275
#define NR_copy_file_range 326
#define NR_epoll_pwait 281
#define NR_accept4 288
#define NR_epoll_pwait2 441
#define NR_futex_waitv 449
#define NR_futex_wait 455
#define NR_madvise 28
#define NR_getcwd 79
#define NR_stat 4
#define O_LARGEFILE 0

#define IS_FUTEX(nr) ((nr) == NR_futex)
#define IS_SIGRETURN(nr) ((nr) == NR_rt_sigreturn)
#define CALL_CHANGES(reg) ((reg) == RCX || (reg) == R11)
#define CALL_OFFSET(low, high) ((u64)(low))	/* of pwrite(), pwritev() */
struct k_stat {				/* struct stat */
	u64 dev, ino, more[16];
};

#define rt_map(at, size, prot, flags, fd, off) rt_sys(NR_mmap, at, size, prot, flags, fd, off)
#define rt_pread(fd, to, n, off) rt_sys(NR_pread, fd, to, n, off)
#define rt_pwrite(fd, from, n, off) rt_sys(NR_pwrite, fd, from, n, off)
#define rt_resize(fd, size) rt_sys(NR_ftruncate, fd, size)

enum { G_R8, G_R9, G_R10, G_R11, G_R12, G_R13, G_R14, G_R15, G_RDI, G_RSI, G_RBP, G_RBX, G_RDX,
       G_RAX, G_RCX, G_RSP, G_RIP, G_EFL, G_CSGSFS, G_ERR, G_TRAPNO, G_OLDMASK, G_CR2 };
struct k_ucontext {
	u64 flags, link;
	struct k_stack stack;
	u64 greg[23];
	u64 fpstate;
	u64 reserved[8];
	u64 sigmask;
};
struct k_frame {			/* struct rt_sigframe */
	u64 pretcode;
	struct k_ucontext uc;
	struct k_siginfo info;
};
_Static_assert(sizeof(struct k_sigaction) == RT_SIGHAND_ACT, "as abi.h says");

struct rt_frame {			/* what a handler returns to */
	u64 at;
	struct k_ucontext uc;
};
#define FRAME_HAS_STACK(f) 1

static const uint8_t greg_of[16] = {
	G_RAX, G_RCX, G_RDX, G_RBX, G_RSP, G_RBP, G_RSI, G_RDI,
	G_R8, G_R9, G_R10, G_R11, G_R12, G_R13, G_R14, G_R15,
};
#define UC_GPR(uc, i) ((uc)->greg[greg_of[i]])
#define UC_PC(uc) ((uc)->greg[G_RIP])
#define UC_FLAGS(uc) ((uc)->greg[G_EFL])
#define UC_FX(uc) PTR((uc)->fpstate)
#define UC_ERR(uc) ((uc)->greg[G_ERR])
#define UC_TRAPNO(uc) ((uc)->greg[G_TRAPNO])
#define UC_CR2(uc) ((uc)->greg[G_CR2])

#define ARG0 b->ctx.gpr[RDI]
#define ARG1 b->ctx.gpr[RSI]
#define ARG2 b->ctx.gpr[RDX]
#define ARG3 b->ctx.gpr[R10]
#define ARG4 b->ctx.gpr[R8]
#define ARG5 b->ctx.gpr[R9]

/* The indirect entry of the translation of @pc, from the shadow; 0: it has none, so far. */
static inline u64 rt_indirect_entry(u64 pc)
{
	const int32_t distance = __atomic_load_n((const int32_t *)PTR(RT_SHADOW +
						 4 * (u64)(u32)pc), __ATOMIC_ACQUIRE);

	return distance ? pc + (u64)(int64_t)distance : 0;
}

static inline long rt_sys6(long nr, word a, word b, word c, word d, word e, word f)
{
	register word r10 __asm__("r10") = d;
	register word r8 __asm__("r8") = e;
	register word r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
