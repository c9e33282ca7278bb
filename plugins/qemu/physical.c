/* SPDX-License-Identifier: MIT */
#include "physical.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

/* A page that is read gets an entry in the page table, and so do its neighbours, unless somebody may
 * want to know of each write to this memory. Nobody does. Where that is refused, more pages seem to
 * have been looked at. */
void physical_watch(void)
{
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_WP };

	if (fd < 0 || !find_memory() || ioctl(fd, UFFDIO_API, &api))
		return;
	r.range.start = (uintptr_t)memory;
	r.range.len = (uint64_t)file.st_size;
	if (ioctl(fd, UFFDIO_REGISTER, &r))
		close(fd);
}

/* Is some of it out of memory? What has gone there does not show as looked at. */
static bool is_swapped(void)
{
	unsigned long long begin, size;
	bool here = false, is = true;
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "r");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%llx-%*x ", &begin) == 1 && strchr(line, '-'))
			here = begin == (uintptr_t)memory;
		else if (here && sscanf(line, "Swap: %llu", &size) == 1)
			is = size;
	if (f)
		fclose(f);
	return is;
}

void physical_say_touched(int fd)
{
	const uint64_t pages = (uint64_t)file.st_size / PAGE;
	uint8_t *bits = calloc(1, pages / 8 + 1);
	uint64_t entry[512];
	int map;

	if (fd < 0 || !bits || !find_memory() || is_swapped()) {
		free(bits);
		return;
	}
	/* what has an entry in the page table was looked at, or is near to that */
	map = open("/proc/self/pagemap", O_RDONLY);
	for (uint64_t i = 0; map >= 0 && i < pages; ) {
		const ssize_t n = pread(map, entry, sizeof entry,
					(off_t)(((uintptr_t)memory / PAGE + i) * 8));

		if (n <= 0)
			break;
		for (ssize_t k = 0; k < n / 8 && i < pages; k++, i++)
			bits[i / 8] |= (uint8_t)((entry[k] >> 63) << i % 8);
		if (i == pages && write(fd, bits, pages / 8 + 1) < 0)
			perror("pugmark's plug-in");
	}
	if (map >= 0)
		close(map);
	free(bits);
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
