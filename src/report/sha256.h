/* SPDX-License-Identifier: MIT */
/* sha256.h - SHA-256 in base64, as a page's Content-Security-Policy names its script and style */
#ifndef PM_REPORT_SHA256_H
#define PM_REPORT_SHA256_H

#include <stddef.h>

void pm_sha256_base64(const void *p, size_t n, char out[static 45]);

#endif
