/* SPDX-License-Identifier: MIT */
/* lanes.c - gathers and scatters under masks */
#include <immintrin.h>
#include <stdio.h>
static int data[4096];
static double out[4096];
__attribute__((target("avx2"))) static int gathers(void)
{
	__m256i sum = _mm256_setzero_si256();
	for (int k = 0; k < 300; k++) {
		__m256i at = _mm256_mullo_epi32(_mm256_set_epi32(7, 1, 5, 0, 3, 2, 6, 4),
						_mm256_set1_epi32(k));
		__m256i mask = _mm256_cmpgt_epi32(_mm256_set_epi32(1, 2, 3, 4, 5, 6, 7, 8),
						  _mm256_set1_epi32(k % 10));
		sum = _mm256_add_epi32(sum, _mm256_mask_i32gather_epi32(sum, data, at, mask, 4));
	}
	return _mm256_extract_epi32(sum, 0) + _mm256_extract_epi32(sum, 5);
}
__attribute__((target("avx512f"))) static double scatters(void)
{
	for (int k = 0; k < 300; k++) {
		__m256i at = _mm256_set_epi32(k, k + 9, k + 3, 2 * k, 3 * k, k + 100, 4 * k + 2, 5);
		_mm512_mask_i32scatter_pd(out, (__mmask8)k, at, _mm512_set1_pd(k), 8);
	}
	return out[5] + out[109];
}
int main(void)
{
	for (int i = 0; i < 4096; i++)
		data[i] = i * 37 % 1001;
	printf("%d\n", __builtin_cpu_supports("avx2") ? gathers() : 0);
	printf("%.0f\n", __builtin_cpu_supports("avx512f") ? scatters() : 0);
	return 0;
}
