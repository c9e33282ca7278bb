void CACHE::prefetcher_initialize() {}
