#!/usr/bin/env bash
# Compare two dumps in shards, one plain shell each: shells.sh PROBLEM BENCHMARK OUTPUT SHARDS
#
# Here all shells run on this machine. On several, start the same line on each of them with its own
# number, by ssh or pdsh; the dumps and OUTPUT lie where all of them see them.
set -euo pipefail
problem=$1 benchmark=$2 output=$3 shards=$4

msprobe graph_visualize -tp "$problem" -gp "$benchmark" -o "$output" --plan

for shard in $(seq 0 $((shards - 1))); do
    msprobe unit "$output/plan.json" --shard "$shard/$shards" --workers 1 &
done
# If a shell died, this does what it left undone; nothing is done twice.
for job in $(jobs -p); do wait "$job" || true; done
msprobe unit "$output/plan.json"

msprobe join "$output"
