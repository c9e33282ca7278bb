/* SPDX-License-Identifier: MIT */
/* state.c - what all parts look at */
#include "standalone.h"

const struct img_text *rt_image_texts;
u8 rt_live[MAX_TEXTS];
u32 rt_image_threads, rt_root;
