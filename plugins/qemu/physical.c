/* SPDX-License-Identifier: MIT */
#include "physical.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "guest.h"
#include "ring.h"

#define PAGE_SHIFT	12
#define PAGE		(1u << PAGE_SHIFT)

static struct stat file;		/* the guest's memory */
static const uint8_t *memory;		/* where QEMU has it; NULL: not found yet */

static struct { uint64_t virtual, physical; } page[QS_PAGES];	/* that pugmark has, too */

bool physical_open(int fd)
{
	for (unsigned i = 0; i < QS_PAGES; i++)
		page[i].virtual = page[i].physical = QS_NOWHERE;
	return !fstat(fd, &file);
}

/* Where QEMU has mapped it. */
static bool find_memory(void)
{
	unsigned long long begin, end, offset, inode;
	unsigned major_, minor_;
	char line[512];
	FILE *f;

	if (memory)
		return true;
	f = fopen("/proc/self/maps", "r");
	while (f && !memory && fgets(line, sizeof line, f))
		if (sscanf(line, "%llx-%llx %*s %llx %x:%x %llu", &begin, &end, &offset, &major_,
			   &minor_, &inode) == 6 &&
		    inode == file.st_ino && !offset && major_ == major(file.st_dev) &&
		    minor_ == minor(file.st_dev) && end - begin >= (uint64_t)file.st_size)
			memory = (const uint8_t *)(uintptr_t)begin;
	if (f)
		fclose(f);
	return memory;
}

static uint64_t walk(uint64_t addr)
{
	return find_memory() ? guest_walk(addr, memory, (uint64_t)file.st_size) : QS_NOWHERE;
}

uint64_t physical_code(const void *host, uint64_t addr)
{
	const uint8_t *p = host;

	if (p && find_memory() && p >= memory && p < memory + file.st_size)
		return (uint64_t)(p - memory);
	return walk(addr);
}

/* HOT */
static void say(uint64_t virtual, uint64_t physical)
{
	const unsigned i = virtual % QS_PAGES;

	if (__builtin_expect(page[i].virtual == virtual && page[i].physical == physical, 1))
		return;
	page[i].virtual = virtual;
	page[i].physical = physical;
	ring_room(3);
	ring_put(qs_record(QS_WHERE, 2, 0));
	ring_put(virtual);
	ring_put(physical);
}

void physical_say(const struct qemu_plugin_hwaddr *h, uint64_t addr, unsigned size)
{
	say(addr >> PAGE_SHIFT, qemu_plugin_hwaddr_phys_addr(h) >> PAGE_SHIFT);
	if (__builtin_expect(addr % PAGE + size > PAGE, 0)) {
		const uint64_t rest = walk((addr | (PAGE - 1)) + 1);

		say((addr >> PAGE_SHIFT) + 1, rest == QS_NOWHERE ? rest : rest >> PAGE_SHIFT);
	}
}
