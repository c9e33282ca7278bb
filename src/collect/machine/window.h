/* SPDX-License-Identifier: MIT */
/* window.h - the bus monitor's window: what guests store there is meant for the monitor
 *
 * Physical 0x1f030000, uncached 32-bit stores; reads give 0. No device is behind it. */
#ifndef PM_MACHINE_WINDOW_H
#define PM_MACHINE_WINDOW_H

#define WINDOW_BASE	0x1f030000u
#define WINDOW_SIZE	0x1000u

enum {
	WIN_EPC		= 0x00,	/* begins the report of an exception; fixes the branch count */
	WIN_CAUSE	= 0x04,		/* ends it; also a value that MFC0 read from Cause */
	WIN_STATUS	= 0x08,
	WIN_BADVADDR	= 0x0c,
	WIN_COUNT	= 0x10,		/* a value that MFC0 read from Count */
	WIN_ENTRYHI	= 0x14,
	WIN_CAUSE_READ	= 0x18,		/* a value that MFC0 read from Cause, outside a report */
	WIN_BEGIN	= 0x20,		/* the monitor starts recording */
	WIN_GO		= 0x24,		/* all state is stored; the traced part begins behind
					 * this store, which directly follows a write of Wired */
	WIN_END		= 0x28,		/* the monitor stops recording */
	WIN_SPACE	= 0x30,		/* the address space in use from here on: the physical
					 * address of its page directory >> 12; 0 unknown */
	WIN_STATE	= 0x400,	/* + 4k: state word k, numbered as in .ims files */
	/* An event of the kernel: what is stored of its arguments and name, then its tag. What is
	 * not stored is 0. No interrupt handler may report one meanwhile. */
	WIN_ARG		= 0xb00,	/* + 8k: argument k, low word; + 8k + 4: high word */
	WIN_NAME	= 0xb40,	/* + 4k: 4 bytes of its name, the first in bits 7:0 */
	WIN_EVENT	= 0xb80,	/* bits 7:0 its tag (docs/formats/laplace.md), 15:8 a file's
					 * type; this store completes the event */
};

#define WINDOW_ARGS		8
#define WINDOW_NAME		64	/* bytes */

/* 394 and those behind it: high halves of the TLB's EntryHi; who reports none has 32-bit
 * addresses */
#define WINDOW_TLB_HIGH		394
/* UserLocal, EBase and HWREna of mips32r2; who reports none has them as at power-on */
#define WINDOW_R2		442
#define WINDOW_STATE_WORDS	445

#endif
