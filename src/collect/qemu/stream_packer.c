/* SPDX-License-Identifier: MIT */
#include "collect/qemu/stream_packer.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collect/qemu/stream.h"

#define IDS		8192u		/* of a batch */
#define ADDRESSES	(4 * IDS)	/* ... and those of one more block fit behind */
#define MAX_REFS	512u		/* of a chain */
#define MAX_LEARNT	4u		/* chains of one block: it may have been unlike itself the
					 * first time */
#define MAX_CHAINS	(MAX_LEARNT * QS_MAX_BLOCKS)
#define MAX_CHAIN_REFS	(1u << 28)

struct stream_packer *stream_packer_new(bool addresses)
{
	struct stream_packer *k = pm_alloc(sizeof *k);

	k->addresses = addresses;
	k->chain = pm_reserve(MAX_CHAINS * sizeof *k->chain);
	k->part = pm_reserve(MAX_CHAINS * sizeof *k->part);
	k->ref = pm_reserve(MAX_CHAIN_REFS * sizeof *k->ref);
	if (!k->chain || !k->part || !k->ref) {
		stream_packer_free(k);
		return NULL;
	}
	k->id = pm_alloc_unset((IDS + 2) * sizeof *k->id);
	k->addr = pm_alloc_unset((ADDRESSES + MAX_REFS) * sizeof *k->addr);
	return k;
}

void stream_packer_free(struct stream_packer *k)
{
	if (!k)
		return;
	pm_unreserve(k->chain, MAX_CHAINS * sizeof *k->chain);
	pm_unreserve(k->part, MAX_CHAINS * sizeof *k->part);
	pm_unreserve(k->ref, MAX_CHAIN_REFS * sizeof *k->ref);
	free(k->id);
	free(k->addr);
	free(k->tag);
	free(k);
}

/* ---- what blocks do -------------------------------------------------------------------------- */

static bool tag_of(const struct pm_event *ev, const struct qemu_block *b, uint16_t *tag)
{
	if ((ev->kind != PM_EV_READ && ev->kind != PM_EV_WRITE) || ev->flags || ev->id >= b->n ||
	    !ev->size || ev->size & (ev->size - 1) || ev->size > 1u << 7)
		return false;
	*tag = (uint16_t)(ev->id << QS_SLOT_SHIFT | (ev->kind == PM_EV_WRITE ? QS_WRITE : 0) |
			  (unsigned)__builtin_ctz(ev->size) << QS_SIZE_SHIFT);
	return true;
}

void stream_packer_learn(struct stream_packer *k, struct qemu_block *b, uint32_t number,
			 const struct pm_event *ev, size_t n)
{
	uint16_t tag[MAX_REFS];
	uint32_t reads = 0;

	if (b->rep || b->learnt == MAX_LEARNT || n > MAX_REFS || k->nchain_ref + n > MAX_CHAIN_REFS)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!tag_of(ev + i, b, tag + i))
			return;
		reads += ev[i].kind == PM_EV_READ;
	}
	if (b->chain != PM_NONE && b->nref == n &&
	    (!n || !memcmp(k->tag + b->tag, tag, n * sizeof *tag)))
		return;
	b->learnt++;
	b->chain = k->nchain++;
	b->tag = (uint32_t)k->ntag;
	b->nref = (uint16_t)n;
	b->reads = (uint16_t)reads;
	k->part[b->chain] = (struct pm_chain_part){ number, b->nref };
	k->chain[b->chain] = (struct pm_chain){
		.pc = b->pc, .part = b->chain, .npart = 1, .ref = k->nchain_ref, .nref = b->nref,
		.kinds = 1 | (uint64_t)reads << PM_CHAIN_KIND_BITS |
			 (uint64_t)(n - reads) << 2 * PM_CHAIN_KIND_BITS,
	};
	for (size_t i = 0; i < n; i++) {
		k->ref[k->nchain_ref++] = (struct pm_chain_ref){
			.insn = b->first + ev[i].id, .size = ev[i].size, .kind = ev[i].kind,
		};
		pm_grow(k->tag, k->ntag, k->cap_tag);
		k->tag[k->ntag++] = tag[i];
		if (i < QS_TAGS)
			b->first_tag[i] = tag[i];
	}
}

/* ---- batches --------------------------------------------------------------------------------- */

/* HOT */
struct stream_pack stream_packer_take(struct stream_packer *k, const struct qemu_block *block,
				      size_t nblock, const uint64_t *w, size_t n, uint64_t left,
				      size_t nev)
{
	const struct qemu_block *b = block + qs_number(*w), *next;
	const uint64_t *at = w, *end = w + n;
	uint64_t *addr = k->addr + k->nref;
	uint32_t *id = k->id + k->nid + (nev != k->placed);
	const uint32_t *const full = k->id + IDS;
	struct stream_pack p = { .insns = 0 };

	for (; id < full && addr < k->addr + ADDRESSES; b = next) {
		const uint16_t *tag = b->nref <= QS_TAGS ? b->first_tag : k->tag + b->tag;
		const uint64_t *ref = at + 1, *behind = ref;
		uint64_t differs = 0;

		/* the words alone say where the next block is, so that the processor need not wait
		 * for this one */
		while (behind < end && (*behind & 3) == QS_REF)
			behind++;
		if (behind == end || (*behind & 3) != QS_BLOCK || qs_number(*behind) >= nblock)
			break;
		next = block + qs_number(*behind);
		if (b->chain == PM_NONE || behind - ref != b->nref || p.insns + b->n >= left ||
		    (next->pc != b->fall && next->pc != b->target && !b->anywhere))
			break;
		for (unsigned j = 0; j < b->nref; j++) {
			differs |= ref[j] ^ tag[j];
			addr[j] = (uint64_t)((int64_t)ref[j] >> QS_ADDR_SHIFT);
		}
		if (differs & 0xffff)
			break;
		*id++ = b->chain;
		if (k->addresses)
			addr += b->nref;
		p.insns += b->n;
		p.refs += b->nref;
		p.reads += b->reads;
		at = behind;
	}
	p.words = (size_t)(at - w);
	if (!p.words)
		return p;
	stream_packer_place(k, nev);
	k->nid = (size_t)(id - k->id);
	k->nref = (size_t)(addr - k->addr);
	return p;
}

bool stream_packer_full(const struct stream_packer *k)
{
	return k->nid >= IDS || k->nref >= ADDRESSES;
}

void stream_packer_place(struct stream_packer *k, size_t nev)
{
	if (nev == k->placed)
		return;
	k->id[k->nid++] = PM_CHAIN_EVENTS | (uint32_t)(nev - k->placed);
	k->placed = nev;
}

struct pm_packed stream_packer_batch(struct stream_packer *k, uint64_t insns)
{
	const struct pm_packed p = {
		.chains = { k->chain, k->part, k->ref, k->nchain },
		.id = k->id, .n = k->nid, .addr = k->addr, .nref = k->nref, .insns = insns,
		.at_once = true,
	};

	k->nid = k->nref = k->placed = 0;
	return p;
}
