/* SPDX-License-Identifier: MIT */
/* sha256.h - SHA-256: names for contents that do not meet by chance */
#ifndef PM_BASE_SHA256_H
#define PM_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define PM_SHA256 32			/* bytes of a sum */

struct pm_sha256 {
	uint32_t sum[8];
	uint64_t n;			/* bytes so far */
	uint8_t rest[64];		/* n % 64 of them, not summed yet */
};
void pm_sha256_begin(struct pm_sha256 *h);
void pm_sha256_add(struct pm_sha256 *h, const void *p, size_t n);
void pm_sha256_end(struct pm_sha256 *h, uint8_t out[static PM_SHA256]);

/* In base64, as a page's Content-Security-Policy names its script and style. */
void pm_sha256_base64(const void *p, size_t n, char out[static 45]);
/* @n bytes as 2 * @n digits and a zero byte. */
void pm_sha256_hex(const uint8_t *p, size_t n, char *out);

#endif
