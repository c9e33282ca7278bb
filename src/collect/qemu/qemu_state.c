/* SPDX-License-Identifier: MIT */
#include "collect/qemu/qemu_state.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/qemu/guest_memory.h"

#define CLUSTER_BITS	16
#define CLUSTER		(1u << CLUSTER_BITS)
#define DISK		(1u << 20)	/* bytes of the disk in the image, which nobody uses */

struct asked { struct qmp *q; qemu_meanwhile *meanwhile; void *ctx; struct pm_err *err; };

enum pm_status qemu_state_image(int fd, struct pm_err *err)
{
	/* Four clusters: this header, a table of one cluster of counts, these counts, and a table
	 * of where the disk's clusters are: nowhere. */
	const struct __attribute__((packed)) {
		uint32_t magic, version;
		uint64_t backing;
		uint32_t backing_size, cluster_bits;
		uint64_t size;
		uint32_t crypt, l1_size;
		uint64_t l1, counts;
		uint32_t count_clusters, snapshots;
		uint64_t snapshot_table;
	} head = {
		.magic = htobe32(0x514649fb), .version = htobe32(2),
		.cluster_bits = htobe32(CLUSTER_BITS), .size = htobe64(DISK),
		.l1_size = htobe32(1), .l1 = htobe64(3 * CLUSTER), .counts = htobe64(CLUSTER),
		.count_clusters = htobe32(1),
	};
	const uint64_t table = htobe64(2 * CLUSTER);
	const uint16_t counts[4] = { htobe16(1), htobe16(1), htobe16(1), htobe16(1) };

	if (ftruncate(fd, 4 * CLUSTER) || pwrite(fd, &head, sizeof head, 0) != sizeof head ||
	    pwrite(fd, &table, sizeof table, CLUSTER) != sizeof table ||
	    pwrite(fd, counts, sizeof counts, 2 * CLUSTER) != sizeof counts)
		return pm_fail_errno(err, "cannot make an image for the guest's state");
	return PM_OK;
}

static enum pm_status ask(const struct asked *a, const char *command, const char *arguments)
{
	return qmp_ask(a->q, command, arguments, NULL, a->meanwhile, a->ctx, a->err);
}

/* Memory is in a file that all share: a snapshot need not have it. */
static enum pm_status without_memory(const struct asked *a)
{
	return ask(a, "migrate-set-capabilities",
		   "{\"capabilities\":[{\"capability\":\"x-ignore-shared\",\"state\":true}]}");
}

/* A command about snapshots says nothing if it is done. */
static enum pm_status snapshot(const struct asked *a, const char *line)
{
	struct pm_buf said = { 0 };
	enum pm_status st = qmp_ask_human(a->q, line, &said, a->meanwhile, a->ctx, a->err);

	if (st == PM_OK && said.p[0])
		st = pm_fail_file(a->err, "cannot do \"%s\" with the guest's state: %.*s", line,
				  (int)strcspn((char *)said.p, "\n"), (char *)said.p);
	pm_buf_release(&said);
	return st;
}

enum pm_status qemu_state_load(const struct qemu_state *s, uint64_t ram_size, bool again,
			       struct qmp *q, qemu_meanwhile *meanwhile, void *ctx,
			       struct pm_err *err)
{
	const struct asked a = { q, meanwhile, ctx, err };

	/* Memory comes before, for a device that is loaded looks at it (kvm-tpr-opt, at its ROM),
	 * and behind, for QEMU has reset the machine, and put the kernel there if that is an ELF
	 * file. */
	if (without_memory(&a) != PM_OK ||
	    guest_memory_fill(s->memory, s->memory_fd, ram_size, err) != PM_OK ||
	    snapshot(&a, "loadvm begin") != PM_OK ||
	    guest_memory_fill(s->memory, s->memory_fd, ram_size, err) != PM_OK)
		return PM_ERR;
	if (again &&
	    (snapshot(&a, "delvm begin") != PM_OK || snapshot(&a, "savevm begin") != PM_OK))
		return PM_ERR;
	return ask(&a, "cont", NULL);
}

/* "GDT=     fffffe0000001000 0000007f" */
static bool find_table(const char *text, const char *name, struct guest_table *t)
{
	const char *p = strstr(text, name);
	uint32_t limit;

	if (!p || sscanf(p + strlen(name), " %" SCNx64 " %" SCNx32, &t->at, &limit) != 2)
		return false;
	t->bytes = limit + 1;
	return true;
}

static enum pm_status find_tables(struct qemu_state *s, const struct asked *a)
{
	struct pm_buf said = { 0 };
	enum pm_status st = qmp_ask_human(a->q, "info registers", &said, a->meanwhile, a->ctx,
					  a->err);

	if (st == PM_OK && (!find_table((char *)said.p, "GDT=", &s->gdt) ||
			    !find_table((char *)said.p, "IDT=", &s->idt)))
		st = pm_fail_file(a->err, "does not say where the processor's tables are");
	pm_buf_release(&said);
	return st;
}

enum pm_status qemu_state_save(struct qemu_state *s, struct qmp *q, qemu_meanwhile *meanwhile,
			       void *ctx, struct pm_err *err)
{
	const struct asked a = { q, meanwhile, ctx, err };

	s->saved = true;
	if (ask(&a, "stop", NULL) != PM_OK || find_tables(s, &a) != PM_OK ||
	    without_memory(&a) != PM_OK ||
	    (s->memory && snapshot(&a, "delvm begin") != PM_OK) ||
	    snapshot(&a, "savevm begin") != PM_OK)
		return PM_ERR;
	return ask(&a, "quit", NULL);
}
