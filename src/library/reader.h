/* SPDX-License-Identifier: MIT */
/* reader.h - a reader's handle for a call that reads all of it */
#ifndef PM_LIBRARY_READER_H
#define PM_LIBRARY_READER_H

#include "library/reading.h"

/* Its trace, of which nothing has been read; NULL on error. Its reader has it back with the end. */
struct pm_reading *pm_reader_begin(struct pm_reader *reader, struct pm_err *err);
void pm_reader_end(struct pm_reader *reader);

#endif
