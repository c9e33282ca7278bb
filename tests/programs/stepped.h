/* SPDX-License-Identifier: MIT */
/* stepped.h - what tests/programs/i386/stepped.c shares with who steps it */
#ifndef PM_TEST_STEPPED_H
#define PM_TEST_STEPPED_H

#include <stdint.h>

struct stepped {
	uint32_t r[8], pc, flags;	/* r: in hardware order */
	uint32_t sig;			/* that it has stopped by */
};

#endif
