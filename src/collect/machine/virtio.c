/* SPDX-License-Identifier: MIT */
/* virtio.c - a virtio 1.x block device on virtio-mmio version 2; all its traffic is DMA on the bus
 *
 * A ring that makes no sense breaks the device until the driver resets it; it never harms the host:
 * chains are at most as long as the ring, requests at most MAX_REQUEST bytes, and every access goes
 * through dma_read() and dma_write(), which know where RAM ends. */
#include <endian.h>
#include <string.h>

#include "collect/machine/machine.h"

#define QUEUE_MAX	256
#define LATENCY		4000			/* cycles from notification to completion */
#define MAX_REQUEST	(16u << 20)
#define F_BLK_RO	(1ULL << 5)
#define F_BLK_FLUSH	(1ULL << 9)
#define F_VERSION_1	(1ULL << 32)
#define F_ACCESS_PLATFORM (1ULL << 33)		/* caches do not snoop: the driver must flush
						 * them */
#define NEEDS_RESET	64

enum { T_IN = 0, T_OUT = 1, T_FLUSH = 4, T_GET_ID = 8 };
enum { S_OK, S_IOERR, S_UNSUPP };
enum { D_NEXT = 1, D_WRITE = 2 };

struct desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};

static uint64_t features(const struct machine *m)
{
	return F_BLK_FLUSH | F_VERSION_1 | F_ACCESS_PLATFORM |
	       (m->virtio.disk.readonly ? F_BLK_RO : 0);
}

static void interrupt_line(struct machine *m)
{
	machine_line(m, VIRTIO_IRQ, m->virtio.isr != 0);
}

static void broken(struct machine *m)
{
	m->virtio.broken = true;
	m->virtio.status |= NEEDS_RESET;
	m->virtio.isr |= 2;
	interrupt_line(m);
}

static void reset(struct machine *m)
{
	struct virtio *v = &m->virtio;
	struct disk d = v->disk;

	memset(v, 0, sizeof *v);
	v->disk = d;
	v->done_at = NEVER;
	interrupt_line(m);
}

static uint32_t host(const struct machine *m, uint32_t v)
{
	return m->cpu->cfg.big_endian ? __builtin_bswap32(v) : v;
}

uint32_t virtio_read(struct machine *m, unsigned off, unsigned size)
{
	struct virtio *v = &m->virtio;
	uint8_t cfg[64] = { 0 };
	uint64_t cap = htole64(v->disk.sectors);
	uint32_t r = 0;

	if (off >= 0x100) {			/* configuration: bytes, little-endian */
		memcpy(cfg, &cap, 8);
		off -= 0x100;
		if (off + size > sizeof cfg || size > 4)
			return 0;
		memcpy(&r, cfg + off, size);
		return size == 4 ? host(m, le32toh(r)) : size == 2 && m->cpu->cfg.big_endian ?
			__builtin_bswap16((uint16_t)r) : r;
	}
	switch (off) {
	case 0x000: r = 0x74726976; break;
	case 0x004: r = 2; break;
	case 0x008: r = v->disk.map ? 2 : 0; break;
	case 0x00c: r = 0x4d475550; break;
	case 0x010: r = v->dev_sel < 2 ? (uint32_t)(features(m) >> 32 * v->dev_sel) : 0; break;
	case 0x034: r = v->queue_sel == 0 ? QUEUE_MAX : 0; break;
	case 0x044: r = v->queue_sel == 0 ? v->q.ready : 0; break;
	case 0x060: r = v->isr; break;
	case 0x070: r = v->status; break;
	default: break;
	}
	return host(m, r);
}

static void set_half(uint64_t *a, bool high, uint32_t w)
{
	*a = high ? (*a & 0xffffffffULL) | (uint64_t)w << 32 : (*a & ~0xffffffffULL) | w;
}

void virtio_write(struct machine *m, unsigned off, unsigned size, uint32_t w)
{
	struct virtio *v = &m->virtio;
	bool mine = v->queue_sel == 0;

	if (size != 4)
		return;
	w = host(m, w);
	switch (off) {
	case 0x014: v->dev_sel = w; break;
	case 0x020:
		if (v->drv_sel < 2)
			set_half(&v->features, v->drv_sel, w);
		break;
	case 0x024: v->drv_sel = w; break;
	case 0x030: v->queue_sel = w; break;
	case 0x038:
		if (mine && w && w <= QUEUE_MAX && !(w & (w - 1)))
			v->q.num = w;
		break;
	case 0x044:
		if (mine)
			v->q.ready = w & 1 && v->q.num;
		break;
	case 0x050:
		if (w == 0 && v->q.ready && v->status & 4 && !v->broken && v->done_at == NEVER) {
			v->done_at = machine_cycle(m) + LATENCY;
			m->cpu->attn = true;
		}
		break;
	case 0x064: v->isr &= ~w; interrupt_line(m); break;
	case 0x070:
		if (!w) {
			reset(m);
			break;
		}
		/* features that we did not offer are not accepted */
		if (w & 8 && v->features & ~features(m))
			w &= ~8u;
		v->status = (w & 0xff) | (v->status & NEEDS_RESET);
		break;
	case 0x080: case 0x084: if (mine) set_half(&v->q.desc, off & 4, w); break;
	case 0x090: case 0x094: if (mine) set_half(&v->q.driver, off & 4, w); break;
	case 0x0a0: case 0x0a4: if (mine) set_half(&v->q.device, off & 4, w); break;
	default: break;
	}
}

static bool get_desc(struct machine *m, unsigned i, struct desc *d)
{
	const struct virtio_queue *q = &m->virtio.q;
	uint8_t raw[16];

	if (i >= q->num || !dma_read(m, q->desc + 16ULL * i, raw, 16))
		return false;
	memcpy(&d->addr, raw, 8);
	memcpy(&d->len, raw + 8, 4);
	memcpy(&d->flags, raw + 12, 2);
	memcpy(&d->next, raw + 14, 2);
	d->addr = le64toh(d->addr);
	d->len = le32toh(d->len);
	d->flags = le16toh(d->flags);
	d->next = le16toh(d->next);
	return true;
}

/* Data of one descriptor to or from the disk at byte @at. */
static int transfer(struct machine *m, bool to_guest, uint64_t at, const struct desc *d)
{
	struct disk *disk = &m->virtio.disk;
	uint64_t size = disk->sectors * 512;

	if (!disk->map || d->len % 512 || at > size || d->len > size - at)
		return S_IOERR;
	if (to_guest)
		return dma_write(m, d->addr, disk->map + at, d->len) ? S_OK : -1;
	if (disk->readonly)
		return S_IOERR;
	if (!dma_read(m, d->addr, disk->map + at, d->len))
		return -1;
	for (uint64_t s = at / 512; s < (at + d->len) / 512; s++)
		disk->written[s / 8] |= (uint8_t)(1u << s % 8);
	return S_OK;
}

/* One request; false: the ring is broken. *written: bytes put into the guest's memory. */
static bool request(struct machine *m, unsigned head, uint32_t *written)
{
	static const char id[20] = "pugmark";
	struct desc d;
	uint8_t hdr[16], status = S_OK;
	uint32_t type, total = 0;
	uint64_t at;
	int r;

	*written = 0;
	if (!get_desc(m, head, &d) || d.len < 16 || d.flags & D_WRITE || !(d.flags & D_NEXT) ||
	    !dma_read(m, d.addr, hdr, 16))
		return false;
	memcpy(&type, hdr, 4);
	type = le32toh(type);
	memcpy(&at, hdr + 8, 8);
	at = le64toh(at);
	at = at > UINT64_MAX / 512 ? UINT64_MAX : at * 512;
	for (unsigned hops = 0; ; hops++) {
		if (hops > m->virtio.q.num || !get_desc(m, d.next, &d))
			return false;
		if (!(d.flags & D_NEXT))
			break;
		if (d.len > MAX_REQUEST - total)
			return false;
		total += d.len;
		if (status != S_OK)
			continue;
		switch (type) {
		case T_IN: case T_OUT:
			if ((type == T_IN) != !!(d.flags & D_WRITE))
				return false;
			r = transfer(m, type == T_IN, at, &d);
			if (r < 0)
				return false;
			status = (uint8_t)r;
			if (r == S_OK) {
				at += d.len;
				*written += type == T_IN ? d.len : 0;
			}
			break;
		case T_GET_ID:
			if (!(d.flags & D_WRITE) || d.len < sizeof id ||
			    !dma_write(m, d.addr, id, sizeof id))
				return false;
			*written += sizeof id;
			break;
		case T_FLUSH:
			break;
		default:
			status = S_UNSUPP;
		}
	}
	if (type != T_IN && type != T_OUT && type != T_GET_ID && type != T_FLUSH)
		status = S_UNSUPP;
	if (!(d.flags & D_WRITE) || !d.len || !dma_write(m, d.addr, &status, 1))
		return false;
	*written += 1;
	return true;
}

static bool get16(struct machine *m, uint64_t pa, uint16_t *v)
{
	uint8_t raw[2];

	if (!dma_read(m, pa, raw, 2))
		return false;
	*v = (uint16_t)(raw[0] | raw[1] << 8);
	return true;
}

void virtio_poll(struct machine *m)
{
	struct virtio *v = &m->virtio;
	struct virtio_queue *q = &v->q;
	uint16_t avail, used;
	bool any = false;

	if (machine_cycle(m) < v->done_at)
		return;
	v->done_at = NEVER;
	if (!q->ready || v->broken)
		return;
	if (!get16(m, q->driver + 2, &avail) || !get16(m, q->device + 2, &used) ||
	    (uint16_t)(avail - q->last_avail) > q->num) {
		broken(m);
		return;
	}
	while (q->last_avail != avail) {
		uint16_t head;
		uint32_t elem[2], n;
		uint8_t raw[2];

		if (!get16(m, q->driver + 4 + 2ULL * (q->last_avail & (q->num - 1)), &head) ||
		    !request(m, head, &n)) {
			broken(m);
			return;
		}
		q->last_avail++;
		elem[0] = htole32(head);
		elem[1] = htole32(n);
		if (!dma_write(m, q->device + 4 + 8ULL * (used & (q->num - 1)), elem, 8)) {
			broken(m);
			return;
		}
		used++;
		raw[0] = (uint8_t)used;
		raw[1] = (uint8_t)(used >> 8);
		if (!dma_write(m, q->device + 2, raw, 2)) {
			broken(m);
			return;
		}
		any = true;
	}
	if (any) {
		v->isr |= 1;
		interrupt_line(m);
	}
}
