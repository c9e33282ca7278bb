/* SPDX-License-Identifier: MIT */
/* map.h - which physical addresses answer on the board's bus; what answers is machine.h's
 * business */
#ifndef PM_MACHINE_MAP_H
#define PM_MACHINE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/machine/window.h"

#define UART_BASE	0x1f000900u
#define UART_SIZE	0x40u
#define VIRTIO_BASE	0x1f010000u
#define VIRTIO_SIZE	0x200u
#define POWER_BASE	0x1f020000u
#define POWER_SIZE	0x1000u
#define RAM_MAX		0x1f000000u

/* A device that answers data reads; stores elsewhere vanish, reads elsewhere are bus errors. */
static inline bool map_device(uint64_t pa)
{
	return pa - UART_BASE < UART_SIZE || pa - VIRTIO_BASE < VIRTIO_SIZE ||
	       pa - POWER_BASE < POWER_SIZE || pa - WINDOW_BASE < WINDOW_SIZE;
}

#endif
