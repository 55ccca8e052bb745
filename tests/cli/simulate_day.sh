#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora simulate: synthetic days with every policy, their files and reports, moves, what-if and sweeps,
# signals; the first hour of Google's trace if its data is available. simulate.sh has the formats.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/simulate_lib.sh"
without_wall() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); [p.pop("wall") for p in d["policies"]]; print(json.dumps(d))' "$1"; }

run "${simulate[@]}" "${small[@]}" -o day
[ "$code" -eq 0 ] && says "$out" '^nomora:p_m=105,p_r=110 +[0-9.]+%' && pass "a synthetic day" || fail "a synthetic day" "$code $out $err"
check "its files" ls day/summary.json day/jobs.csv day/rounds-1.csv day/rounds-4.csv day/report.html
check "the schema" test "$(field day/summary.json 'd["schema"], d["complete"], len(d["policies"])')" = "('nomora.simulate/1', True, 4)"
check "submitted = finished + running + waiting, as in the workload" test \
	"$(field day/summary.json 'all(p["tasks"]["submitted"] == d["workload"]["tasks"] == p["tasks"]["finished"] + p["tasks"]["running"] + p["tasks"]["waiting"] for p in d["policies"])')" = True
check "nomora's area is above random's" test \
	"$(field day/summary.json '(lambda a: min(a["nomora:p_m=105,p_r=110"], a["nomora:p_m=110,p_r=115"]) > a["random"] + 0.1)({p["name"]: p["performance"]["area"] for p in d["policies"]})')" = True
check "jobs.csv has the area" python3 -c '
import csv, json
rows = list(csv.DictReader(open("day/jobs.csv")))
for i, p in enumerate(json.load(open("day/summary.json"))["policies"]):
    values = [float(r["average"]) for r in rows if r["policy"] == str(i + 1)]
    assert len(values) == p["performance"]["jobs"] > 10
    assert abs(sum(values) / len(values) - p["performance"]["area"]) < 1e-6
    assert all(0 < float(r["worst_task"]) <= float(r["average"]) + 1e-6 <= 1 + 2e-6 for r in rows)'
check "rounds-N.csv has the rounds" python3 -c '
import csv, json
for i, p in enumerate(json.load(open("day/summary.json"))["policies"]):
    rows = list(csv.DictReader(line for line in open(f"day/rounds-{i + 1}.csv") if line[0] != "#"))
    assert len(rows) == p["rounds"] and sum(int(r["placed"]) for r in rows) >= p["placement_latency"]["count"]'
check "the page has figures 5 to 9" test "$(grep -c '<svg' day/report.html)" = 5
check "a distribution has a point for each of its values: performance, each policy's response time" python3 -c '
import re
figures = open("day/report.html").read().split("<svg")
def lines(figure):
    return [len(re.findall("[ML]", path)) for path in re.findall(r"<path[^>]*? d=\"([^\"]*)\"", figure)]
performance, response = lines(figures[1]), [n for n in lines(figures[-1]) if n >= 20]
assert 20 < max(performance) <= 800, performance
assert len(response) == 4 and max(response) <= 800, lines(figures[-1])'

# --gap: the bounds of the rounds add up to that of the summary, and the policy that uses round trips is near its own.
run "${simulate[@]}" "${small[@]}" -o gap --gap --roots best --spill best --unscheduled-capacity 0 -p nomora:p_m=1000,p_r=1000 -p random
check "--gap" python3 -c '
import csv, json
ours, other = json.load(open("gap/summary.json"))["policies"]
rows = list(csv.DictReader(line for line in open("gap/rounds-1.csv") if line[0] != "#"))
assert sum(int(r["cost"]) for r in rows) == ours["gap"]["cost"] and sum(int(r["cost_bound"]) for r in rows) == ours["gap"]["cost_bound"]
assert all(int(r["cost_bound"]) <= int(r["cost"]) for r in rows)
assert 0 <= ours["gap"]["mean"] < 0.1 < 0.3 < other["gap"]["mean"] <= other["gap"]["maximum"], (ours["gap"], other["gap"])'

# Each figure of the table and of the report is that of the summary.
run "${simulate[@]}" "${small[@]}" -o table --solver-time 5 -p random -p load_spreading -p nomora -p "nomora:p_m=110,p_r=115" \
	-p nomora:preemption,beta=1,round_s=60 -p nomora:preemption,beta=0,round_s=60 -p nomora:p_m=110,p_r=110 -p nomora:p_m=105,p_r=111 \
	-p nomora:preemption,p_m=110,p_r=115
printf '%s\n' "$out" >table.txt
check "the table's and the report's figures" python3 -c '
import json, re
policies = json.load(open("table/summary.json"))["policies"]
lines = open("table.txt").read().splitlines()
rows = re.findall(r"<tr><td>(.*?)</tr>", open("table/report.html").read())
assert len(policies) == len(rows) == 9
def cell(value, digits):
    return f"{value:.{digits}f}"
def duration(seconds):
    return f" {seconds * 1e3:7.1f} ms" if seconds < 1 else f" {seconds:8.1f} s"
for p, row, line in zip(policies, rows, lines[4:]):
    performance, placed, wall = p["performance"], p["placement_latency"], p["wall"]
    expected = [p["name"], cell(100 * performance["area"], 1), cell(100 * performance["area_worst_task"], 1), cell(100 * performance["task_mean"], 1),
                cell(1e3 * wall["round"]["p50_s"], 2), cell(1e3 * wall["round"]["p99_s"], 2),
                cell(placed["p50_s"], 3), cell(placed["p99_s"], 3),
                cell(100 * p["migrated_share_of_running"]["mean"], 3), cell(p["waiting_tasks"]["mean"], 0), cell(100 * p["utilisation"]["mean"], 1)]
    assert row.replace("</td>", "").split("<td>") == expected, (row, expected)
    text = "%-38s %5.1f%% %5.1f%% %5.1f%%" % (p["name"], 100 * performance["area"], 100 * performance["area_worst_task"], 100 * performance["task_mean"])
    text += "".join(duration(s) for s in (placed["p50_s"], placed["p99_s"], wall["round_cpu"]["p50_s"], wall["round_cpu"]["p99_s"]))
    text += " %9d %7.0f" % (p["moves"]["migrations"], p["waiting_tasks"]["mean"])
    assert line == text, (line, text)
assert any(p["moves"]["migrations"] > 0 for p in policies) and any(p["placement_latency"]["p99_s"] > 1 for p in policies)'
run "${simulate[@]}" "${small[@]}" -o again --processes 2
[ "$code" -eq 0 ] && [ "$(without_wall day/summary.json)" = "$(without_wall again/summary.json)" ] && cmp -s day/jobs.csv again/jobs.csv &&
	pass "the same bytes again, in two processes" || fail "the same bytes again, in two processes" "$code $err"
run "${simulate[@]}" "${small[@]}" -o other --seed 2 -p random
[ "$(field day/summary.json 'd["policies"][0]["performance"]["area"]')" != "$(field other/summary.json 'd["policies"][0]["performance"]["area"]')" ] &&
	pass "another seed, another day" || fail "another seed, another day"
for time in 0.5 work published measured; do
	run "${simulate[@]}" "${small[@]}" -p nomora --solver-time $time --json
	[ "$code" -eq 0 ] && pass "--solver-time $time" || fail "--solver-time $time" "$err"
done
run "${simulate[@]}" "${small[@]}" -p nomora:preemption,beta=0,round_s=60 -p nomora --json
printf '%s\n' "$out" >moves.json
check "with preemption tasks move, and the area rises" test \
	"$(field moves.json '(lambda a, b: a["moves"]["migrations"] > 0 == b["moves"]["migrations"] and a["performance"]["area"] > b["performance"]["area"])(*d["policies"])')" = True
check "and the share that moves in a round is one of the running tasks" test \
	"$(field moves.json '(lambda s: 0 < s["mean"] <= s["maximum"] <= 1)(d["policies"][0]["migrated_share_of_running"])')" = True

# Moves by the rules of schedd.
moves=(--machines 200 --slots 4 --hours 0.2 --topology 4x10 --check -p nomora)
"${simulate[@]}" "${moves[@]}" --migrate on --migrate-gain 0.1 --migrate-rate 5 --json >on.json
check "--migrate on: tasks move, none is preempted" test \
	"$(field on.json '(lambda m: m["migrations"] == m["allowed"] > 10 and m["preemptions"] == 0)(d["policies"][0]["moves"])')" = True
"${simulate[@]}" "${moves[@]}" --json >off.json
check "and the area is above that without moves" test \
	"$(python3 -c 'import json; a, b = (json.load(open(f))["policies"][0]["performance"]["area"] for f in ("on.json", "off.json")); print(a > b + 0.02)')" = True
check "the settings are in the summary" test "$(field on.json 'd["settings"]["migrate"]["gain"], d["settings"]["migrate"]["rate"], d["settings"]["migrate"]["hold_s"]')" = "(0.1, 5, 5.0)"
for rule in "hold --migrate-hold 1000" "restart --restart-cost 5000" "window --migrate-window 01:00-02:00"; do
	"${simulate[@]}" "${moves[@]}" --migrate on ${rule#* } --json >rule.json
	check "the rule ${rule% --*} lets no task move" test "$(field rule.json "(lambda m: m['migrations'] == 0 < m['refused']['${rule%% *}'])(d['policies'][0]['moves'])")" = True
done
"${simulate[@]}" "${moves[@]}" --migrate on --migrate-gain 0.95 --json >rule.json
check "a gain that no move has" test "$(field rule.json 'd["policies"][0]["moves"]["migrations"]')" = 0
"${simulate[@]}" "${moves[@]}" --migrate on --migrate-rate 5 --migrate-window 00:00-02:00 --json >rule.json
check "a window at the beginning of the simulated day" test "$(field rule.json 'd["policies"][0]["moves"]')" = "$(field on.json 'd["policies"][0]["moves"]')"
"${simulate[@]}" "${moves[@]}" --migrate advise --json >rule.json
check "advised moves are counted, not made" test "$(field rule.json '(lambda m: m["migrations"] == 0 < m["allowed"])(d["policies"][0]["moves"])')" = True
"${simulate[@]}" "${moves[@]}" --migrate on --migrate-rate 2 --migration-cost-s 30 --migrate-hold 0 -o rate >rate.txt
check "at most --migrate-rate tasks move within --migration-cost-s" python3 -c '
import csv
rows = [(float(r["begin_s"]), int(r["migrated"])) for r in csv.DictReader(line for line in open("rate/rounds-1.csv") if line[0] != "#")]
moves = [begin for begin, count in rows for _ in range(count)]
assert len(moves) > 10 and all(b - a >= 30 for a, b in zip(moves, moves[2:])), moves'
"${simulate[@]}" "${moves[@]}" --migrate on --migrate-hold 0 --migrate-gain 0.02 --no-return 0 --json >free.json
"${simulate[@]}" "${moves[@]}" --migrate on --migrate-hold 0 --migrate-gain 0.02 --json >kept.json
check "--no-return keeps tasks from returning" test \
	"$(python3 -c 'import json; a, b = (json.load(open(f))["policies"][0]["moves"] for f in ("free.json", "kept.json")); print(a["refused"]["return"] == 0 < a["ping_pongs"], b["ping_pongs"] == 0 < b["refused"]["return"])')" = "True True"
run "${simulate[@]}" "${moves[@]}" --migrate on --sweep migrate-gain=0.05,0.3
[ "$code" -eq 0 ] && says "$out" '^0.3 .*nomora' && pass "a sweep of --migrate-gain" || fail "a sweep of --migrate-gain" "$code $out $err"
refuses "moves by two rules" 2 "preemption cannot be used with --migrate" "${simulate[@]}" -p nomora:preemption --migrate on
refuses "old round trips of a journal" 2 "cannot be used with --journal" "${simulate[@]}" --journal x.jsonl --latency-age 10
refuses "a bad window" 2 "--migrate-window: bad windows '25:00'" "${simulate[@]}" --migrate on --migrate-window 25:00

run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p random --what-if roots=best --what-if slots=3 --seeds 3
[ "$code" -eq 0 ] && says "$out" '^  area, % +[0-9.]+ +[0-9.]+ +[+-][0-9.]+ +[0-9.]+$' && pass "--what-if" || fail "--what-if" "$code $out $err"
run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p random -p nomora --sweep rack-us=40,120 -j 2 -o rack
check "--sweep" test "$code" -eq 0
check "its table" python3 -c '
import csv
rows = {(r["rack-us"], r["policy"]): float(r["area"]) for r in csv.DictReader(open("rack/sweep.csv"))}
assert len(rows) == 4 and rows["40", "nomora"] > rows["120", "nomora"] > 0, rows'
check "its chart" grep -q '<svg' rack/sweep.svg
refuses "a sweep of an option that is not there" 2 "" "${simulate[@]}" --sweep racks=1,2
refuses "a sweep without values" 2 "expected KEY=V1,V2" "${simulate[@]}" --sweep slots
refuses "a sweep of more values than it holds" 2 "expected at most 64 values" "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p random --sweep "rack-us=$(seq -s, 65)" -o rack

# A signal: partial results, marked as incomplete.
"${simulate[@]}" --machines 3000 --hours 24 -p nomora:preemption,beta=1 -o stopped >stopped.txt 2>&1 &
pid=$!
for _ in $(seq 300); do ls stopped/rounds-1.csv.* >/dev/null 2>&1 && break; sleep 0.1; done
kill -INT $pid
wait $pid
code=$?
[ $code -eq 0 ] && [ "$(field stopped/summary.json 'd["complete"], d["policies"][0]["simulated_s"] < 86400')" = "(False, True)" ] &&
	grep -q stopped stopped.txt && pass "SIGINT leaves partial results" || fail "SIGINT leaves partial results" "$code" "$(cat stopped.txt)"
# The performance of a job of one task is not known.
printf 'job,submit,run,tasks\na,0,10,1\n' >single.csv
single=("$nomora" simulate --csv single.csv --keep-single --machines 2 --topology 1x2 -p random)
check "jobs of one task" "${single[@]}" -o single
"${single[@]}" >single.txt && "${single[@]}" --sweep seed=1,2 -o single_sweep >>single.txt
check "what is not known is - in tables" test "$(grep -Ec '^([12] +)?random +- +- +- ' single.txt)" -eq 3
"${single[@]}" --what-if slots=3 --seeds 2 >>single.txt
check "also as a difference" test "$(grep -Ec ' %( +-){4}$' single.txt)" -eq 3
check "and an empty field in sweep.csv" test "$(grep -Ec '^[12],"random",,,,[0-9]' single_sweep/sweep.csv)" -eq 2
check "and never nan" test -z "$(grep -rIlw -e nan -e -nan single single_sweep single.txt)"

data=${NOMORA_DATA:-$source_root/../shared/data}
if [ -d "$data/google2011" ]; then
	run "${simulate[@]}" --trace "$data/google2011" --fraction 0.1 --hours 1 -p random -p nomora --json --check
	printf '%s\n' "$out" >google.json
	check "a tenth of Google's first hour" test \
		"$(field google.json 'd["workload"]["machines"] > 1000 and d["policies"][1]["performance"]["area"] > d["policies"][0]["performance"]["area"] + 0.1')" = True
else
	skip "a tenth of Google's first hour" "$data/google2011 is not there"
fi
plan
