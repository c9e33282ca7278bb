/* SPDX-License-Identifier: MIT */
/* machine.h - the board around the processor: RAM, UART, disk, power, monitor window
 *
 *   physical     what                                    interrupt
 *   00000000     RAM
 *   1f000900     16550A UART, registers 4 bytes apart    IP4
 *   1f010000     virtio-mmio block device, version 2     IP3
 *   1f020000     power: 0x5555 off, 0x7777 reset
 *   1f030000     the bus monitor's window (window.h)
 *   CPU timer                                            IP7
 *
 * Units      time: cycles = ticks of the processor plus what WAIT skipped; never the host's clock.
 * Ownership  machine_new()/machine_free(); the monitor and files given to it are the machine's.
 * Threads    one. */
#ifndef PM_MACHINE_MACHINE_H
#define PM_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/machine/cpu.h"
#include "collect/machine/map.h"

#define UART_IRQ	4
#define VIRTIO_IRQ	3
#define TIMER_IRQ	7
#define CPU_HZ		20000000u
#define NEVER		UINT64_MAX

enum machine_stop { RUNNING, POWERED_OFF, RESET, LIMIT, INTERRUPTED, STUCK };

struct uart {
	uint8_t ier, lcr, mcr, scr, dll, dlm, fcr, rbr;
	bool ready, thre_pending;	/* a byte waits in rbr; the transmitter wants to say it
					 * is empty */
	uint64_t rx_at;			/* cycle at which the next input byte may arrive */
	uint64_t in_pos;		/* bytes of input taken */
};

struct virtio_queue {
	uint32_t num, ready;
	uint64_t desc, driver, device;
	uint16_t last_avail;
};

struct disk {
	uint8_t *map;			/* private copy-on-write mapping */
	int fd;				/* the image, to know it again */
	uint64_t sectors;
	uint8_t *written;		/* bit per sector: differs from the file */
	bool readonly;
};

struct virtio {
	uint32_t dev_sel, drv_sel, queue_sel, status, isr;
	uint64_t features;
	struct virtio_queue q;
	uint64_t done_at;		/* cycle at which pending requests complete */
	bool broken;			/* a bad ring: waits for a reset */
	struct disk disk;
};

struct monitor;
struct machine {
	struct cpu *cpu;
	uint8_t *ram;
	uint32_t ram_size;
	struct uart uart;
	struct virtio virtio;
	struct monitor *monitor;	/* NULL: nobody watches */
	FILE *console;			/* NULL: output is dropped */
	struct pm_buf out;		/* also kept here if `keep_output` */
	bool keep_output;
	const uint8_t *input;		/* scripted input; borrowed */
	size_t ninput;
	int input_fd;			/* interactive input, -1: none */
	enum machine_stop stop;
	bool timer_up;
	uint64_t stop_at;		/* cycle limit; NEVER */
	uint64_t halted_for;		/* cycles in WAIT with interrupts disabled */
	uint64_t insn_limit;		/* instruction limit; NEVER */
	volatile int *interrupted;	/* set by a signal handler; NULL: none */
	struct pm_err err;		/* first failure of a monitor or trace: the run stops */
	bool failed;
	struct machine_tracer *tracer;		/* NULL: none */
	struct guest_kernel *kernel;		/* NULL: nobody asks what the kernel reports */
};

struct machine_config {
	struct cpu_config cpu;
	uint32_t ram_size;
};

/* NULL: the memory is not to be had. */
struct machine *machine_new(const struct machine_config *cfg, struct pm_err *err);
void machine_free(struct machine *m);
/* Run until power-off, a limit, or a failure of the monitor or trace (PM_ERR). Also an error: the
 * processor takes one exception after another and can never do anything else (STUCK). */
enum pm_status machine_run(struct machine *m, struct pm_err *err);
/* At most @ticks ticks more, for debuggers; stops as machine_run() does. */
void machine_step(struct machine *m, uint64_t ticks);
static inline uint64_t machine_cycle(const struct machine *m)
{
	return cpu_ticks(m->cpu) + m->cpu->idle;
}

/* ---- loading ---- */
/* Put an ELF file (32 or 64 bits, the machine's byte order) into RAM by its physical addresses;
 * *entry: where it starts, *end: first physical address behind it. */
enum pm_status machine_load_elf(struct machine *m, const char *path, uint64_t *entry, uint32_t *end,
				struct pm_err *err);
/* The same from memory; fuzzers use it. */
enum pm_status machine_load_elf_bytes(struct machine *m, const uint8_t *p, size_t n,
				      uint64_t *entry, uint32_t *end, struct pm_err *err);
/* Boot Linux: kernel, initrd (NULL: none), command line (NULL: the default one), device tree. */
enum pm_status machine_boot(struct machine *m, const char *kernel, const char *initrd,
			    const char *append, struct pm_err *err);
/* A bare program: starts at its entry, in kernel mode, BEV = 0, kseg0 cached, sp at the end of
 * RAM. */
enum pm_status machine_boot_elf(struct machine *m, const char *path, struct pm_err *err);
enum pm_status machine_disk(struct machine *m, const char *path, bool readonly, struct pm_err *err);
void machine_disk_close(struct machine *m);
/* What tells the image from others of its size; 0: no disk. Reads all of it. */
enum pm_status machine_disk_sum(struct machine *m, uint64_t *sum, struct pm_err *err);
/* The board as a device tree blob; @buf of @size bytes. */
enum pm_status machine_fdt(const struct machine *m, void *buf, size_t size, const char *bootargs,
			   uint32_t initrd, uint32_t initrd_end, struct pm_err *err);
/* A whole file, or an error; free() it. */
uint8_t *machine_read_file(const char *path, size_t *n, struct pm_err *err);

static inline bool machine_has_ram(const struct machine *m, uint64_t pa, unsigned n)
{
	return pa < m->ram_size && n <= m->ram_size - pa;
}

/* ---- devices (uart.c, virtio.c) and what they do to the rest (device_bus.c) ---- */
/* A device raises or lowers its interrupt line @n; the monitor sees the change. */
void machine_line(struct machine *m, unsigned n, bool up);
uint32_t uart_read(struct machine *m, unsigned reg);
void uart_write(struct machine *m, unsigned reg, uint32_t v);
void uart_poll(struct machine *m);		/* due input arrives */
uint32_t virtio_read(struct machine *m, unsigned off, unsigned size);
void virtio_write(struct machine *m, unsigned off, unsigned size, uint32_t v);
void virtio_poll(struct machine *m);		/* due requests complete */
/* Memory access of a bus-mastering device; the monitor sees it. False: outside RAM. */
bool dma_read(struct machine *m, uint64_t pa, void *p, uint32_t n);
bool dma_write(struct machine *m, uint64_t pa, const void *p, uint32_t n);

/* ---- snapshots (snapshot.c): the whole machine in one file; disk contents as differences ----
 * A machine that was saved off or reset has m->stop set when it is loaded. */
enum pm_status machine_save(struct machine *m, const char *path, struct pm_err *err);
enum pm_status machine_load(struct machine *m, const char *path, struct pm_err *err);
/* The same from memory; fuzzers use it. */
enum pm_status machine_load_bytes(struct machine *m, const uint8_t *p, size_t n,
				  struct pm_err *err);
/* Processor, cache and RAM geometry that a snapshot was made with. */
enum pm_status machine_snapshot_config(const char *path, struct machine_config *cfg,
				       struct pm_err *err);

/* ---- gdb (gdb.c): serve one debugger on TCP port @port (0: any) of the loopback interface;
 * @waiting is told which */
enum pm_status machine_gdb(struct machine *m, unsigned port, void (*waiting)(unsigned port),
			   struct pm_err *err);

#endif
