#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On demand: dataflow jobs on 30-host Jellyfish networks, one for each of SEEDS seeds (default 10). A tenth of the links
# in use fails at 50 s and is repaired at 80 s, a tenth of the paper's times; 120 s in total. Then R-Storm's and random
# placement of the same jobs run for SHORT seconds (default 60) without a fault. OUT (default: a folder that is removed)
# gets the lines of every run, a chart of each seed's throughput and summary.json. JOBS (default 2) is the number of
# jobs, MBPS (default 1) the links' rate.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
seeds=${SEEDS:-10} out_folder=${OUT:-$scratch/out} jobs=${JOBS:-2} MBps=${MBPS:-1} short=${SHORT:-60}
mkdir -p "$out_folder"
lab=j$((BASHPID % 1000000))
at_exit "$nomora" lab down --name $lab
lossless='.schema == "nomora.dataflow-run/1" and .complete and .lost == 0 and .duplicated == 0'

# Valid on a machine on which two disjoint flows over five switches reach 90 of 100 Mbit.
"$nomora" lab up --name $lab --fabric fattree:4 --rate-mbit 100 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
"$nomora" lab inventory --name $lab --topology "$scratch/network.json" >/dev/null
jq '{schema: "nomora.dataflow/1", topology: ., slots: 1, jobs: [["h0", "h8"], ["h5", "h15"] | {name: .[0], components: [{name: "a"}, {name: "b"}],
	edges: [{from: "a", to: "b"}], placement: {"a.0": .[0], "b.0": .[1]}}]}' "$scratch/network.json" >"$scratch/disjoint.json"
slowest=$("$nomora" dataflow run --lab $lab --seconds 5 --tuple-bytes 8000 --json "$scratch/disjoint.json" |
	tail -n 1 | jq '[.sinks[].measured_MBps * 8] | min')
echo "# the slower of two disjoint flows: $slowest of 100 Mbit"
"$nomora" lab down --name $lab >/dev/null
jq -en "$slowest >= 90" >/dev/null || skip_all "the machine is too slow or too busy: a flow reaches $slowest of 100 Mbit"

# run_engine SEED ENGINE OPTION...
run_engine() {
	local name=$out_folder/seed$1-$2
	"$nomora" dataflow run --lab $lab --engine "$2" --seed "$1" --generate "storm,jobs=$jobs,seed=$1" --slots 2 --local-MBps "$MBps" \
		--json "${@:3}" >"$name.json" 2>"$name.err"
	check "seed $1, $2: no tuple is lost or doubled" jq -e "$lossless" <<<"$(tail -n 1 "$name.json")"
}

for seed in $(seq "$seeds"); do
	"$nomora" dataflow plan --topology jellyfish:30,5,30 --seed "$seed" --generate "storm,jobs=1,seed=1" --scenario "$scratch/scenario.json"
	jq .topology "$scratch/scenario.json" >"$scratch/network.json"
	"$nomora" lab down --name $lab >/dev/null 2>&1
	"$nomora" lab up --name $lab --fabric "$scratch/network.json" --link-MBps "$MBps" >/dev/null 2>"$scratch/said" ||
		skip_all "no lab here: $(head -c 200 "$scratch/said")"
	run_engine "$seed" rate --seconds 120 --fail used:10@50-80 --throughput "$out_folder/seed$seed.svg"
	for engine in rstorm random; do run_engine "$seed" $engine --seconds "$short"; done
done

# shellcheck disable=SC2016
python3 - "$out_folder" "$seeds" <<'PYTHON' >"$out_folder/summary.json"
import json, math, statistics, sys
folder, seeds = sys.argv[1], int(sys.argv[2])
def lines(seed, engine): return [json.loads(line) for line in open(f"{folder}/seed{seed}-{engine}.json")]
def mean(run, first, last): return statistics.mean(s["sink_MBps"] for s in run if "s" in s and first < s["s"] <= last)
during, after, gain, reroute, gap = [], [], {"rstorm": [], "random": []}, [], []
errors = {"rate": [], "rstorm": [], "random": []} # of sinks' rates; the "rate" run includes the fault
def add_errors(engine, run): errors[engine] += [abs(s["measured_MBps"] / s["predicted_MBps"] - 1) for s in run[-1]["sinks"] if s["predicted_MBps"] > 0]
for seed in range(1, seeds + 1):
    own = lines(seed, "rate")
    before = mean(own, 25, 50)
    add_errors("rate", own)
    during.append(100 * (mean(own, 52, 80) / before - 1))
    after.append(100 * (mean(own, 85, 118) / before - 1))
    reroute.append(max(s["reroute_ms"] for s in own if "s" in s))
    gap.append(max(s["gap_ms"] for s in own if "s" in s and 50 < s["s"] <= 52))
    for engine in gain:
        other = lines(seed, engine)
        add_errors(engine, other)
        seconds = [s["s"] for s in other if "s" in s]
        gain[engine].append(before / mean(other, max(seconds) / 2, max(seconds) - 1))
def interval(values): # 95 % confidence interval of the mean, Student's t
    t = [0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26][min(len(values) - 1, 9)]
    half = t * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return statistics.mean(values), half
def gains(values):
    centre, half = interval([math.log(v) for v in values])
    percent = lambda x: round(100 * (math.exp(x) - 1), 1) if math.isfinite(x) else None
    return {"geometric_mean": percent(centre), "low": percent(centre - half), "high": percent(centre + half),
            "median": percent(math.log(statistics.median(values))), "worst": percent(math.log(min(values)))}
print(json.dumps({"seeds": seeds, "gain_percent": {engine: gains(values) for engine, values in gain.items()},
    "links_down_percent": {"median": round(statistics.median(during), 1), "worst": round(min(during), 1)},
    "after_repair_percent": {"median": round(statistics.median(after), 1), "worst": round(min(after), 1)},
    "reroute_ms": {"median": round(statistics.median(reroute), 1), "worst": round(max(reroute), 1)},
    "gap_ms": {"median": round(statistics.median(gap)), "worst": round(max(gap))},
    "sinks": {engine: {"count": len(of), "error_median_percent": round(100 * statistics.median(of), 1),
                       "within_30_percent": round(100 * sum(e <= 0.3 for e in of) / len(of), 1)} for engine, of in errors.items()}}))
PYTHON
sed 's/^/# /' "$out_folder/summary.json"
holds() { check "$1" jq -e "$2" "$out_folder/summary.json"; }
holds "predicted rates of sinks, own engine: median error at most 15 %" '.sinks.rate.error_median_percent <= 15'
holds "and 90 % within 30 %" '.sinks.rate.within_30_percent >= 90'
if [ "$seeds" -gt 1 ]; then
	for engine in rstorm random; do holds "own engine above $engine, by its interval" ".gain_percent.$engine.low > 0"; done
fi
plan
