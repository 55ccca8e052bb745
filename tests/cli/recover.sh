#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora recover: the answer and its reasons, exit codes, refusals, experiments.
. "$(dirname "$0")/lib.sh"

file=$scratch/s.json
cat >"$file" <<'END'
{"schema": "nomora.recovery/1",
 "servers": [
  {"name": "S1", "cpu": 9, "egress_MBps": 200, "ingress_MBps": 200},
  {"name": "S2", "cpu": 9, "egress_MBps": 200, "ingress_MBps": 200},
  {"name": "S3", "cpu": 9, "egress_MBps": 200, "ingress_MBps": 200},
  {"name": "S4", "cpu": 9, "egress_MBps": 200, "ingress_MBps": 200}],
 "applications": [{"name": "A",
  "tasks": [{"name": "1", "server": "S1"}, {"name": "2", "server": "S2"}, {"name": "3", "server": "S3"}, {"name": "4", "server": "S4"}],
  "flows": [{"from": "1", "to": "3", "MB": 200}, {"from": "1", "to": "4", "MB": 200},
            {"from": "2", "to": "3", "MB": 300},
            {"from": "2", "to": "4", "MB": 300}]}],
 "failed_servers": ["S2"]}
END
run "$nomora" recover "$file"
[ "$code" -eq 0 ] && pass "a placement" || fail "a placement" "exit $code" "$out" "$err"
for line in '^optimal: 1 failed task, ' '^p 2.5 s \(gap 0 %\), S\* 0.4; before the failure p 3 s' '^transfer times: A 2.5 s' \
	'^A.2 +S[34] .*next best|^A.2 +S[34] .* S[34]: p 2.5 '; do
	says "$out" "$line" && pass "it says $line" || fail "it says $line" "$out"
done
run "$nomora" recover --json --compare "$file"
check "JSON" python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["schema"] == "nomora.recover/1" and d["status"] == "optimal" and d["p"] == 2.5 and d["S"] == 0.4 and d["gap"] == 0
assert d["placement"]["A.2"] in ("S3", "S4") and d["transfer_time_s"] == {"A": 2.5}
assert sum(r["MBps"] for r in d["rates"] if r["to"] == "3") <= 200.0001 and len(d["rates"]) == 3
assert d["why"][0]["next_best"]["p"] == 2.5 and d["why"][0]["servers"] == 3
assert {c.get("sharing") for c in d["compare"]} >= {"performance", "work-conserving", "equal", "max-min"}
assert {c.get("placement") for c in d["compare"]} >= {"joint", "random", "filter and random"}' "$out"
# These two objects have names of the scenario as keys.
without_names() {
	"$nomora" recover --json --compare "$file" | python3 -c 'import json, sys; d = json.load(sys.stdin); d["placement"] = d["transfer_time_s"] = {}; print(json.dumps(d))'
}
documented "nomora.recover/1" without_names
documented "nomora.recover/1 of each server" "$nomora" recover --json --each-server "$file"
for filter in paper peers none; do
	run "$nomora" recover --json --filter $filter --eta 2 "$file"
	[ "$code" -eq 0 ] && pass "--filter $filter" || fail "--filter $filter" "exit $code" "$err"
done
run "$nomora" recover --each-server "$file"
[ "$code" -eq 0 ] && [ "$(printf '%s\n' "$out" | grep -cE '^S[1-4] ')" -eq 4 ] && pass "each server" || fail "each server" "$out" "$err"
run "$nomora" recover --generate servers=20,apps=3,tasks=6,failed=3,seed=9 --scenario "$scratch/made.json" --json
first=$(printf '%s' "$out" | grep -v solve_ms)
run "$nomora" recover --json "$scratch/made.json"
[ "$code" -eq 0 ] && [ "$first" = "$(printf '%s' "$out" | grep -v solve_ms)" ] && pass "a scenario that was written is the same" ||
	fail "a scenario that was written is the same" "$first" "$out" "$err"

printf '4 2\n1 0 2 0 1 2 2:120.0 3:60.0\n2 500000 1 0 1 1:5\n' >"$scratch/coflows"
run "$nomora" recover --coflows "$scratch/coflows" --at 0.1 --fail 0 --json
check "a trace of coflows" python3 -c 'import json, sys; d = json.loads(sys.argv[1]); sys.exit(d["status"] != "optimal" or list(d["placement"]) != ["c1.m0"])' "$out"
refuses "no coflow is active" 1 'coflows: no coflow is active at 100 s' "$nomora" recover --coflows "$scratch/coflows" --at 100 --fail 0
refuses "a port that is not there" 1 "unknown server '9'" "$nomora" recover --coflows "$scratch/coflows" --at 0.1 --fail 9
refuses "coflows without a second" 2 'needs --at S and --fail PORT' "$nomora" recover --coflows "$scratch/coflows"

sed 's/"failed_servers": \["S2"\]/"failed_servers": ["S9"]/' "$file" >"$scratch/s9.json"
refuses "an unknown failed server" 1 "s9.json:12: failed_servers: unknown server 'S9'" "$nomora" recover "$scratch/s9.json"
sed 's/"from": "2", "to": "4"/"from": "2", "to": "2"/' "$file" >"$scratch/self.json"
refuses "a flow to itself" 1 'self.json:11: applications\[0\].flows\[3\].to: a task does not send to itself' "$nomora" recover "$scratch/self.json"
refuses "nothing on standard input" 1 'standard input:1: not valid JSON' "$nomora" recover -
sed 's/"name": "2", "server": "S2"/&, "backups": ["S2"]/' "$file" >"$scratch/none.json"
cat >"$scratch/links.json" <<'TEXT'
{"schema": "nomora.recovery/1", "servers": [{"name": "S0", "cpu": 2, "egress_MBps": 10, "ingress_MBps": 10},
 {"name": "S1", "cpu": 1, "egress_MBps": 10, "ingress_MBps": 10}, {"name": "S2", "cpu": 4, "egress_MBps": 0, "ingress_MBps": 0}],
 "applications": [{"name": "A", "weight": 1, "tasks": [{"name": "a", "cpu": 2, "server": "S0"}, {"name": "b", "cpu": 1, "server": "S1"}],
 "flows": [{"from": "a", "to": "b", "MB": 10}]}], "failed_servers": ["S0"]}
TEXT
refuses "only a server without links has CPU" 3 '^infeasible: task A.a \(CPU 2\) cannot be placed: .* a link without capacity' "$nomora" recover "$scratch/links.json"
refuses "no surviving backup" 3 '^infeasible: task A.2 \(CPU 1\) cannot be placed: no backup survives' "$nomora" recover "$scratch/none.json"
says "$out" '^infeasible: 1 failed task' && pass "its status" || fail "its status" "$out"
python3 - "$source_root/docs/recovery/testbed.json" >"$scratch/one.json" <<-'END'
	import json, sys
	d = json.load(open(sys.argv[1]))
	d["applications"][0]["tasks"][0]["backups"] = ["S0"]
	json.dump(d, sys.stdout, indent=1)
END
refuses "the task without a backup is named, of three" 3 '^infeasible: task A.1 \(CPU 1\) cannot be placed: no backup survives' \
	"$nomora" recover "$scratch/one.json"
sed 's/"cpu": 9/"cpu": 1/' "$file" >"$scratch/tight.json"
refuses "no CPU" 3 'no surviving server has enough CPU' "$nomora" recover "$scratch/tight.json"
run "$nomora" recover --json "$scratch/tight.json"
[ "$code" -eq 3 ] && says "$out" '"A.2"' && pass "the proof as JSON" || fail "the proof as JSON" "$out"
refuses "no source" 2 'expected exactly one of SCENARIO.json' "$nomora" recover
refuses "two sources" 2 'expected exactly one of' "$nomora" recover "$file" --generate servers=9
refuses "a bad recipe" 2 "found 'sevrers'" "$nomora" recover --generate sevrers=9
# Other users may have no access to the build folder: use a copy in an accessible folder.
open_folder=$(mktemp -d)
at_exit rm -rf "$open_folder"
cp "$nomora" "$source_root/docs/recovery/testbed.json" "$open_folder" && chmod -R a+rX "$open_folder"
as_other=()
[ "$(id -u)" -ne 0 ] || as_other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
refuses "real transfers without root" 1 'needs root' "${as_other[@]}" "$open_folder/nomora" recover --apply "$open_folder/testbed.json"
run python3 "$source_root/reproduction/papers.py" --nomora "$nomora" testbed
[ "$code" -eq 0 ] && says "$out" 'figure 6: optimal placement A1 on S3 B1 on S4 C3 on S6' && pass "figure 6" || fail "figure 6" "$out" "$err"
says "$out" 'C3, per-flow fairness: fixed equal shares +42 s +40 s' && says "$out" 'C3, per-flow fairness: max-min +not printed +26\.56 s' &&
	pass "figure 10" || fail "figure 10" "$out"
prepare_examples
run_examples nomora-recover
plan
