/* SPDX-License-Identifier: MIT */
/* fmt_pug.c - the row of pugmark's own container; docs/formats/pug.md specifies the bytes */
#include "trace/chain.h"
#include "trace/format.h"
#include "trace/pug.h"
#include "trace/pug_file.h"

static int probe(const uint8_t *head, size_t n)
{
	/* a file cut inside the magic is still one of ours */
	return n >= 4 && !memcmp(head, PUG_MAGIC, n < 8 ? n : 8) ? (int)(n < 8 ? n : 8) * 8 : 0;
}

static const struct pm_reader_ops read_ops = {
	.open = pug_read_open, .next = pug_read_next, .close = pug_read_close,
	.seek = pug_read_seek,
};

static const struct pm_writer_ops write_ops = {
	.open = pug_write_open, .write = pug_write, .packed = pug_write_packed,
	.finish = pug_write_finish, .close = pug_write_close,
};

const struct pm_format pm_fmt_pug = {
	.name = "pug",
	.about = "pugmark's own container, keeps everything",
	.options = "fast, default, dense  writing: how well it is packed\n"
		   "chunk=N  writing: events of a part that can be read by itself",
	.plural = "pug traces",
	.suffixes = ".pug",
	.has = UINT32_MAX,
	.sink_flags = PM_SINK_BLOCKS | PM_SINK_CHAINS | PM_SINK_LIGHT_CHAINS,
	.probe = probe,
	.read = &read_ops,
	.write = &write_ops,
};
