/* SPDX-License-Identifier: MIT */
/* err.h - errors are part of the public interface; see there */
#ifndef PM_BASE_ERR_H
#define PM_BASE_ERR_H
#include "pugmark/err.h"
#endif
