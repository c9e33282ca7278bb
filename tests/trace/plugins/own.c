/* SPDX-License-Identifier: MIT */
/* own.c - a plug-in whose functions are called as some of libraries that pugmark is linked with,
 * and one of pugmark's own: it must get its own, and pugmark must keep the libraries' */
#include <stdlib.h>
#include <unistd.h>

#include <pugmark/pugmark.h>

/* Their declarations are the library's matter: that is the point. */
unsigned ZSTD_versionNumber(void);
size_t ZSTD_compress(void *to, size_t room, const void *from, size_t size, int level);
size_t ZSTD_decompressStream(void *stream, void *to, void *from);
const char *BZ2_bzlibVersion(void);
unsigned long crc32(unsigned long crc, const unsigned char *p, unsigned n);
void *pm_pipeline_new(void);
unsigned ZydisDecoderInit(void *decoder, unsigned mode, unsigned width);
unsigned ZydisDecoderDecodeFull(void *decoder, const void *p, size_t n, void *insn, void *operands);
int isal_inflate(void *state);

unsigned ZSTD_versionNumber(void)
{
	return 1;
}

size_t ZSTD_compress(void *to, size_t room, const void *from, size_t size, int level)
{
	return 2;
}

size_t ZSTD_decompressStream(void *stream, void *to, void *from)
{
	return (size_t)-1;
}

const char *BZ2_bzlibVersion(void)
{
	return "own";
}

unsigned long crc32(unsigned long crc, const unsigned char *p, unsigned n)
{
	return 3;
}

void *pm_pipeline_new(void)
{
	static char four;

	return &four;
}

unsigned ZydisDecoderInit(void *decoder, unsigned mode, unsigned width)
{
	return 4;
}

unsigned ZydisDecoderDecodeFull(void *decoder, const void *p, size_t n, void *insn, void *operands)
{
	return 5;
}

int isal_inflate(void *state)
{
	return 6;
}

static void *create(const char *config, struct pm_err *err)
{
	return calloc(1, sizeof(uint64_t));
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	*(uint64_t *)self += b->n;
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	if (!r)
		return PM_OK;
	pm_result_u64(r, "events", *(uint64_t *)self, "events");
	pm_result_u64(r, "version", ZSTD_versionNumber(), NULL);
	pm_result_u64(r, "compress", ZSTD_compress(NULL, 0, NULL, 0, 0), NULL);
	pm_result_bool(r, "decompress", ZSTD_decompressStream(NULL, NULL, NULL) == (size_t)-1);
	pm_result_str(r, "bzip2", BZ2_bzlibVersion());
	pm_result_u64(r, "crc32", crc32(0, NULL, 0), NULL);
	pm_result_u64(r, "zydis", ZydisDecoderInit(NULL, 0, 0), NULL);
	pm_result_u64(r, "decode", ZydisDecoderDecodeFull(NULL, NULL, 0, NULL, NULL), NULL);
	pm_result_u64(r, "isal", isal_inflate(NULL), NULL);
	pm_result_bool(r, "environ", environ && getenv("PATH"));
	pm_result_bool(r, "pipeline", pm_pipeline_new() == pm_pipeline_new());
	return PM_OK;
}

const struct pm_sink_ops pm_plugin = {
	.abi = PM_ABI, .size = sizeof(struct pm_sink_ops), .flags = PM_SINK_BLOCKS, .name = "own",
	.create = create, .consume = consume, .finish = finish, .destroy = free,
};
