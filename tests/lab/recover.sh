#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora recover --apply: the testbed at a quarter of its size, as real transfers on a lab with limited links.
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
lab=rec$((RANDOM % 1000))
"$nomora" lab up --name $lab --racks 1 --link-MBps 10 >/dev/null 2>"$scratch/said" || skip_all "no lab here: $(head -c 200 "$scratch/said")"
at_exit "$nomora" lab down --name $lab
quarter() {
	python3 - "$source_root/docs/recovery/testbed.json" "$1" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		for a in d["applications"]:
		    a["weight"] = float(sys.argv[2]) if a["name"] == "B" else 1
		    for f in a["flows"]:
		        f["MB"] /= 4
		json.dump(d, sys.stdout)
	END
}
# judge FILE LIMIT: the time of every flow is within LIMIT of its prediction.
judge() {
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
worst = max(abs(f["measured_s"] / f["predicted_s"] - 1) for f in d["flows"])
print(f"{len(d['"'flows'"'])} flows, worst {worst:.2%}", {k: v for k, v in d.items() if k.endswith("_ms")})
sys.exit(worst > float(sys.argv[2]) or d.get("noticed_ms", 0) > 1000 or d.get("in_force_ms", 0) > 200)' "$1" "$2"
}
for weight in 1 2; do
	quarter $weight >"$scratch/q.json"
	"$nomora" recover --apply --lab $lab --json "$scratch/q.json" >"$scratch/applied.json" 2>"$scratch/err"
	check "eq. 19, B weighs $weight: within 2 %" judge "$scratch/applied.json" 0.02
done
quarter 1 >"$scratch/q.json"
"$nomora" recover --apply --lab $lab --sharing equal --json "$scratch/q.json" >"$scratch/applied.json" 2>"$scratch/err"
check "equal shares: within 2.5 %" judge "$scratch/applied.json" 0.025
"$nomora" recover --apply --lab $lab --fail S0 --at 2 --json "$scratch/q.json" >"$scratch/applied.json" 2>"$scratch/err"
check "a failure in mid-transfer: noticed within 1 s, rates in force within 200 ms, within 3 %" judge "$scratch/applied.json" 0.03
"$nomora" lab down --name $lab >/dev/null
"$nomora" lab up --name $lab --racks 1 >/dev/null
refuses "links without a limit" 1 'the link of host h1 is not limited' "$nomora" recover --apply --lab $lab "$scratch/q.json"
plan
