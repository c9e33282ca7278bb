/* SPDX-License-Identifier: MIT */
/* insn_mix.h - the mix of instructions, and how few blocks most of them are in
 *
 * Classes are those of the IDtrace report's Table 2: mnemonics with their conditions left out
 * (jcc). Where a trace has no instruction bytes only blocks are counted. A block begins behind a
 * control transfer or where control does not come from the instruction before it; blocks may
 * overlap, which the profile of `pugmark run` avoids (profile.h). Locality: the fewest blocks that
 * make 90 % of all instructions, as in Table 3. Configuration: top=N (30) mnemonics listed. */
#ifndef PM_ANALYSE_INSN_MIX_H
#define PM_ANALYSE_INSN_MIX_H

#include "pugmark/pugmark.h"

extern const struct pm_sink_ops pm_sim_insns;

#endif
