/* SPDX-License-Identifier: MIT */
/* fuzz.h - what a fuzzer is: a function that survives any bytes
 *
 * tests/fuzz/fuzz_NAME.c defines LLVMFuzzerTestOneInput(); driver.c feeds it the files of
 * tests/fuzz/corpus/NAME/ and mutations of them - without files, random bytes. An input that
 * crashes, takes more than ten seconds or eats more than two gigabytes fails the test and is kept
 * as fuzz_NAME.crash. `make check` runs a fixed number of inputs, `make fuzz` a fixed time with
 * sanitizers. */
#ifndef PM_TESTS_FUZZ_H
#define PM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0. Must not keep state that would make the next input behave differently. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A fuzzer may define this: how many inputs `make check` feeds it (default 20000). Weak, so that
 * the driver sees whether it did; a weak default in the driver would be folded there. */
extern const unsigned fuzz_inputs __attribute__((weak));
/* ... and this, where tables are reserved that are not used: bytes of address space instead of two
 * gigabytes. */
extern const uint64_t fuzz_room __attribute__((weak));

#endif
