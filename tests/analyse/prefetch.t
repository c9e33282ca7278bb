# Prefetchers of a real program's first level: what they brought, how much of it was used, and was in time.
$ for p in next stride stream ipstride ampm spp berti pythia; do pugmark sim -q -s "cache:l1d=4k,4way,64,prefetch=$p,degree=2;l2=64k,8way,64" --csv csv "$TESTS/data/real.pug" >/dev/null; printf '%s' "$p"; awk -F, '/l1d.(read.misses|pf_)/ { sub(/.*l1d./, "", $1); printf " %s=%.4g", $1, $2 } END { print "" }' csv; done
> next read.misses=6083 pf_issued=1.326e+04 pf_useful=3217 pf_late=2428 pf_unused=1.001e+04 pf_accuracy=0.2427 pf_coverage=0.3229 pf_timeliness=0.2453
> stride read.misses=4088 pf_issued=1710 pf_useful=1609 pf_late=1514 pf_unused=97 pf_accuracy=0.9409 pf_coverage=0.2691 pf_timeliness=0.05904
> stream read.misses=4024 pf_issued=2748 pf_useful=1961 pf_late=1453 pf_unused=774 pf_accuracy=0.7136 pf_coverage=0.315 pf_timeliness=0.2591
> ipstride read.misses=3796 pf_issued=2192 pf_useful=1972 pf_late=1418 pf_unused=216 pf_accuracy=0.8996 pf_coverage=0.3282 pf_timeliness=0.2809
> ampm read.misses=4202 pf_issued=2418 pf_useful=1682 pf_late=240 pf_unused=734 pf_accuracy=0.6956 pf_coverage=0.2737 pf_timeliness=0.8573
> spp read.misses=3500 pf_issued=6248 pf_useful=3612 pf_late=3223 pf_unused=2618 pf_accuracy=0.5781 pf_coverage=0.4926 pf_timeliness=0.1077
> berti read.misses=3901 pf_issued=1871 pf_useful=1783 pf_late=35 pf_unused=88 pf_accuracy=0.953 pf_coverage=0.3006 pf_timeliness=0.9804
> pythia read.misses=5101 pf_issued=6463 pf_useful=2141 pf_late=1551 pf_unused=4295 pf_accuracy=0.3313 pf_coverage=0.2751 pf_timeliness=0.2756
# Instructions: what the 50 with the most misses brought and used is a part of what the level did.
$ pugmark sim -q -s 'cache:l1d=4k,4way,64,prefetch=spp;byinsn' --csv csv "$TESTS/data/real.pug" >/dev/null; awk -F, '/by_instruction.*_(prefetched|used|late)/ { sub(/.*l1d_/, "", $1); s[$1] += $2 } /l1d\.pf_(issued|useful|late)/ { sub(/.*pf_/, "", $1); t[$1] = $2 } END { print (s["prefetched"] > 0), (s["prefetched"] <= t["issued"]), (s["used"] > 0), (s["used"] <= t["useful"]), (s["late"] <= t["late"]) }' csv
> 1 1 1 1 1
