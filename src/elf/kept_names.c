/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kept.h"
#include "base/mem.h"
#include "elf/kept_names.h"

static const struct pm_kept_kind kind = { "pugmkNM\n", 3 };

struct elf_identity {
	uint64_t dev, ino, size, mtime, mtime_ns, ctime, ctime_ns;
};

/* in front of the names, frames and texts */
struct kept_file {
	uint32_t nname, nframe, ntext, pad;
	struct elf_identity file, debug;
};

static struct elf_identity identity(const struct stat *st)
{
	return (struct elf_identity){ st->st_dev,
				      st->st_ino,
				      (uint64_t)st->st_size,
				      (uint64_t)st->st_mtim.tv_sec,
				      (uint64_t)st->st_mtim.tv_nsec,
				      (uint64_t)st->st_ctim.tv_sec,
				      (uint64_t)st->st_ctim.tv_nsec };
}

static size_t length(const struct kept_file *h)
{
	return sizeof *h + h->nname * sizeof(struct elf_name) +
	       h->nframe * sizeof(struct elf_frame) + h->ntext;
}

static void point(struct elf_kept *k, const struct kept_file *h)
{
	k->nname = h->nname;
	k->nframe = h->nframe;
	k->ntext = h->ntext;
	k->name = (const struct elf_name *)(h + 1);
	k->frame = (const struct elf_frame *)(k->name + k->nname);
	k->texts = (const char *)(k->frame + k->nframe);
}

/* Names and their surroundings lie inside. The sum says so, too, but only as long as nobody meant
 * harm. */
static bool sound(const struct elf_kept *k)
{
	for (size_t i = 0; i < k->nname; i++)
		if (k->name[i].text >= k->ntext ||
		    (k->name[i].outer != UINT32_MAX && k->name[i].outer >= i))
			return false;
	return k->ntext && !k->texts[k->ntext - 1];
}

static bool file_name(char *s, size_t size, const char *build_id)
{
	return build_id && (size_t)snprintf(s, size, "pugmark-names-%s", build_id) < size;
}

bool elf_kept_load(struct elf_kept *k, const char *build_id, const struct stat *file,
		   const struct stat *debug)
{
	const struct elf_identity id = identity(file), debug_id = identity(debug);
	const struct kept_file *h;
	struct pm_kept from;
	char name[128];

	if (!file_name(name, sizeof name, build_id) || !pm_kept_load(&from, name, &kind, 0))
		return false;
	*k = (struct elf_kept){ .from = from };
	h = from.p;
	if (from.n < sizeof *h || length(h) != from.n || memcmp(&h->file, &id, sizeof id) ||
	    memcmp(&h->debug, &debug_id, sizeof debug_id) || (point(k, h), !sound(k))) {
		elf_kept_release(k);
		return false;
	}
	return true;
}

void elf_kept_save(const struct elf_kept *k, const char *build_id, const struct stat *file,
		   const struct stat *debug)
{
	struct kept_file h = { .nname = (uint32_t)k->nname, .nframe = (uint32_t)k->nframe,
		.ntext = (uint32_t)k->ntext,
		.file = identity(file), .debug = identity(debug) };
	struct pm_buf all = { 0 };
	char name[128];

	if (!file_name(name, sizeof name, build_id) || !k->ntext || k->nname >= UINT32_MAX ||
	    k->ntext >= UINT32_MAX)
		return;
	pm_buf_room(&all, length(&h));
	pm_buf_add(&all, &h, sizeof h);
	pm_buf_add(&all, k->name, k->nname * sizeof *k->name);
	pm_buf_add(&all, k->frame, k->nframe * sizeof *k->frame);
	pm_buf_add(&all, k->texts, k->ntext);
	pm_kept_save(name, &kind, all.p, all.n);
	pm_buf_release(&all);
}

void elf_kept_release(struct elf_kept *k)
{
	if (k->from.map) {
		pm_kept_release(&k->from);
	} else {
		free((void *)(uintptr_t)k->name);
		free((void *)(uintptr_t)k->frame);
		free((void *)(uintptr_t)k->texts);
	}
	*k = (struct elf_kept){ 0 };
}
