#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora simulate and tracegen: the formats of workloads, a trace written and read, journals, bad traces; a short day with
# most options, for the sanitizers. simulate_day.sh has the days.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/simulate_lib.sh"

# Without a look at the results.
short=(--machines 60 --slots 4 --hours 0.1 --topology 4x10 --check)
for options in "--gap -p random -p load_spreading -p nomora -p nomora:preemption,round_s=20" "--migrate on --migrate-gain 0.1 --no-return 0 -p nomora" \
	"--what-if slots=3 --seeds 2 -p random" "--sweep rack-us=40,120 -j 2 -p nomora" "--processes 2 --solver-time work -p random -p nomora" \
	"-p nomora:preemption,round_s=20"; do
	# shellcheck disable=SC2086 # words
	check "a short day: $options" "${simulate[@]}" "${short[@]}" -o day $options
done

# The summary is that of the rounds and jobs in the other files.
run "${simulate[@]}" "${short[@]}" -p nomora:round_s=20 --migrate on --gap --seed 3 -o day
check "the summary adds up" python3 - <<'END'
import csv, json
d = json.load(open("day/summary.json"))
p, t = d["policies"][0], d["policies"][0]["tasks"]
rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(l for l in open("day/rounds-1.csv") if l[0] != "#")]
jobs = [l for l in open("day/jobs.csv") if l[0].isdigit()]
def total(key): return sum(r[key] for r in rows)
def near(a, b): return abs(a - b) < 1e-9 * max(1, abs(b))
assert d["complete"] and p["complete"] and (p["name"], p["policy"]) == ("nomora:round_s=20", "nomora")
assert (p["p_m"], p["p_r"], p["preemption"], p["beta_per_s"], p["round_s"], p["simulated_s"]) == (105, 110, False, 0, 20, 360)
assert p["rounds"] == len(rows) == p["round_virtual"]["count"] == p["wall"]["round"]["count"] == p["wall"]["round_cpu"]["count"]
assert len(rows) <= p["solves"] <= 2 * len(rows)
assert t["submitted"] == t["finished"] + t["running"] + t["waiting"] and t["running"] == rows[-1]["running"]
assert p["placement_latency"]["count"] == total("placed") == t["submitted"] - t["waiting"] and p["response_time"]["count"] == t["finished"]
assert near(p["placement_latency"]["mean_s"], sum(p["wait_for_" + k]["mean_s"] for k in ("root", "slot", "solver")))
assert p["moves"]["migrations"] == total("migrated") == p["moves"]["allowed"] > 0 and p["moves"]["preemptions"] == total("preempted")
assert p["moves"]["evictions"] == p["moves"]["ping_pongs"] == 0 < sum(p["moves"]["refused"].values())
assert near(p["moves"]["migrations_per_task_hour"], total("migrated") / t["task_hours"])
assert 0 < p["migrated_share_of_running"]["mean"] < p["migrated_share_of_running"]["p99"] <= p["migrated_share_of_running"]["maximum"] < 0.1
g = p["gap"]
assert g["cost"] == total("cost") and g["cost_bound"] == total("cost_bound") and near(g["mean"], g["cost"] / g["cost_bound"] - 1)
assert near(g["maximum"], max(r["cost"] / r["cost_bound"] - 1 for r in rows if r["cost"]))
assert near(p["utilisation"]["maximum"], max(r["running"] for r in rows) / 240) and 0 < p["utilisation"]["mean"] <= p["utilisation"]["maximum"]
assert p["waiting_tasks"]["maximum"] >= max(r["waiting"] for r in rows) and p["waiting_tasks"]["mean"] <= p["waiting_tasks"]["maximum"]
assert p["machines"] == {"added": 60, "removed": 0} and len(jobs) == p["performance"]["jobs"]
f = p["performance"]
assert 0 < f["area_worst_task"] <= f["area"] <= f["area_best_other"] <= 1 and 0 < f["task_mean"] <= 1
assert 0 < f["area_first_second"] <= 1 and 0 < f["task_mean_first_second"] <= 1
assert p["wall"]["total_s"] > p["wall"]["solver_s"] > 0 and p["wall"]["cpu_s"] > 0 and p["wall"]["solver_cpu_s"] > 0
END

# A trace that was written and read gives the same day.
check "tracegen" "$nomora" tracegen --machines 200 --slots 4 --hours 0.2 --seed 3 trace
run "${simulate[@]}" --trace trace --slots 4 --hours 0.2 --topology 4x10 -p nomora --seed 3 --strict --json
printf '%s\n' "$out" >from_trace.json
run "${simulate[@]}" "${small[@]}" -p nomora --seed 3 --json
printf '%s\n' "$out" >from_memory.json
check "its tasks are those of the synthetic day" test "$(field from_trace.json 'd["workload"]["tasks"]')" = "$(field from_memory.json 'd["workload"]["tasks"]')"
check "and its area" test "$(field from_trace.json 'd["policies"][0]["performance"]')" = "$(field from_memory.json 'd["policies"][0]["performance"]')"

# A day that was recorded and replayed gives the same results.
run "${simulate[@]}" "${small[@]}" -p nomora:preemption,round_s=60 --record day.jsonl
check "--record" test "$code" -eq 0
run "$nomora" simulate --journal day.jsonl --hours 0.2 --check -p nomora:preemption,round_s=60 --record replayed.jsonl
[ "$code" -eq 0 ] && cmp -s day.jsonl replayed.jsonl && pass "a journal replayed is the same journal" || fail "a journal replayed is the same journal" "$code $err"
head -c -5 day.jsonl >cut.jsonl
run "$nomora" simulate --journal cut.jsonl --hours 0.2 -p random
[ "$code" -eq 0 ] && says "$err" "the last line is incomplete" && pass "a journal cut off" || fail "a journal cut off" "$code $err"
# Recorded round trips: all machines except one are far from the root's; later another one becomes near.
python3 - >mesh.jsonl <<'END'
import json
def line(**event): print(json.dumps(event))
line(schema="nomora.journal/1")
names = [f"h{i}" for i in range(6)]
for i, name in enumerate(names): line(t_us=0, event="machine", machine=name, rack=f"r{i}", pod="p", slots=1, state="up" if i == 0 else "down")
def mesh(t, near):
    for name in names: line(t_us=t, event="latency", **{"from": name}, to=[n for n in names if n != name], rtt_us=[20 if near in (n, name) else 700 for n in names if n != name])
mesh(0, "h4")
line(t_us=1, event="job", job="a", curve="memcached", root="s")
line(t_us=1, event="task", job="a", task="s", state="waiting", run_us=-1)
for i, name in enumerate(names[1:]): line(t_us=500000, event="machine", machine=name, rack=f"r{i + 1}", pod="p", slots=1, state="up")
line(t_us=600000, event="task", job="a", task="c", state="waiting", run_us=3000000)
mesh(1500000, "h2")
line(t_us=5000000, event="task", job="a", task="d", state="waiting", run_us=-1)
END
run "$nomora" simulate --journal mesh.jsonl --curves "$curves" --hours 0.003 --check -p nomora --record mesh2.jsonl
check "tasks go where the recorded round trips are short" test "$(grep '"place"' mesh2.jsonl | grep -oE '"to": "h[0-9]"' | tr -d '\n')" = '"to": "h0""to": "h4""to": "h2"'
run "$nomora" simulate --journal mesh2.jsonl --hours 0.003 --check -p nomora --record mesh3.jsonl
check "and again in the replay of the replay" cmp mesh2.jsonl mesh3.jsonl
sed '300s/"t_us": [0-9]*/"t_us": -1/' day.jsonl >bad.jsonl
refuses "a journal with a bad time" 1 "bad.jsonl:300: t_us: " "$nomora" simulate --journal bad.jsonl -p random
refuses "two ways to round costs" 2 "mutually exclusive" "${simulate[@]}" --interpolate --two-significant-digits
refuses "a journal of two policies" 2 "--record: expected one --policy, found 4" "${simulate[@]}" --record x
refuses "a trace and a journal" 2 "mutually exclusive" "${simulate[@]}" --trace trace --journal day.jsonl

# The tasks of a job arrive one by one, a microsecond apart, while one rack has a single free slot: the root is placed for
# the whole job, in the other rack.
mkdir -p mini/machine_events mini/task_events
for machine in 1 2 3 4; do echo "0,$machine,0,x,0.5,0.5"; done | gzip >mini/machine_events/part-00000-of-00001.csv.gz
python3 - <<'END' | gzip >mini/task_events/part-00000-of-00500.csv.gz
def events(job, tasks, begin, step, end):
    for kind, at in (0, begin), (1, begin + 100), (4, end):
        for t in range(tasks if at else 0):
            yield at + t * step, f"{at + t * step},,{job},{t},{1 if kind else ''},{kind},u,0,0,0.1,0.1,0.1,0"
print("\n".join(line for _, line in sorted([*events(10, 7, 600000000, 0, 2400000000), *events(20, 6, 660500000, 1, 1200000000)])))
END
for round in 0 1; do
	run "$nomora" simulate --trace mini --curves "$curves" --curve-mix memcached=100 --hours 0.5 --slots 4 --topology 1x2 --roots best --spill best \
		-p nomora:p_m=1000,p_r=1000 --unscheduled-capacity 0 --round-s $round -o mini-day
	check "a root is placed for tasks that arrive after it, rounds every $round s" test \
		"$(awk -F, '$2 == 20 { print ($6 > 0.96) }' mini-day/jobs.csv)" = 1
done

# With next-round, the workers wait for a round more than their root.
for workers in same-round next-round; do
	run "$nomora" simulate --trace mini --curves "$curves" --curve-mix memcached=100 --hours 0.5 --slots 4 --topology 1x2 \
		-p nomora --round-s 10 --workers $workers --json
	printf '%s\n' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["policies"][0]["placement_latency"]["maximum_s"])' >wait-$workers
done
check "workers are placed a round after their root: after $(cat wait-same-round) and $(cat wait-next-round) s" \
	awk 'NR == 1 { same = $1 } NR == 2 { exit !($1 > same + 9.9 && $1 < same + 10.1) }' wait-same-round wait-next-round

# A middle part of a trace begins at its first event, with the tasks that run then; a batch trace ends with its last job.
mkdir -p late/task_events && cp -r mini/machine_events late
python3 - <<'END'
import gzip
begin = 1178232 * 10**6
with gzip.open("mini/task_events/part-00000-of-00500.csv.gz", "rt") as file:
    rows = [line.strip().split(",", 1) for line in file]
rows = [(int(time) + begin - 600 * 10**6, rest) for time, rest in rows]
rows += [(begin + 400 * 10**6 + t, f",30,{t},1,4,u,0,0,0.1,0.1,0.1,0") for t in range(3)]  # they began before these parts
rows.sort()
for part in range(5):
    with gzip.open(f"late/task_events/part-{235 + part:05}-of-00500.csv.gz", "wt") as file:
        file.writelines(f"{time},{rest}\n" for time, rest in rows[part * len(rows) // 5:(part + 1) * len(rows) // 5])
END
run "$nomora" simulate --trace late --curves "$curves" --hours 0.4 --slots 4 --topology 1x2 -p random -o late-day
[[ $out == *"3 jobs, 16 tasks"* && $err == *"is submitted at hour 327.1"* ]] && pass "parts 235 to 239 are simulated from their own start" ||
	fail "parts 235 to 239 are simulated from their own start" "$out" "$err"
check "their task-hours: of 0.4 h, 539.5 s and 400 s" test "$(field late-day/summary.json 'round(d["policies"][0]["tasks"]["task_hours"] * 3600)')" = \
	$((7 * 1440 + 6 * 539 + 3 + 3 * 400))
run "$nomora" simulate --trace mini --curves "$curves" --from 0.1 --hours 0.3 --slots 4 --topology 1x2 -p random --json
check "--from: the tasks that run then" test "$(printf '%s\n' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["workload"]["tasks"])')" = 13
printf '; MaxNodes: 4\n1 0 0 100 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n2 9000 0 7200 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n' >long.swf
run "$nomora" simulate --swf long.swf --curves "$curves" -p random --json
check "a batch trace ends with its last job" test "$(printf '%s\n' "$out" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["settings"]["hours"], 2))')" = 4.5
run "$nomora" simulate --swf long.swf --curves "$curves" -p random --hours 1
[[ $out == *"4 tasks submitted after the simulated time (--until, --hours)"* ]] && pass "what is outside the window is counted" ||
	fail "what is outside the window is counted" "$out"

# Windows by hour, date and time, in traces that state their date; tasks and task-seconds by an independent count.
python3 - <<'END'
import random
random.seed(45)
start = 1_790_027_000  # 2026-09-21T21:43:20Z
jobs = sorted((random.randrange(26000), random.randrange(1, 10000), random.randrange(2, 6)) for _ in range(400))
jobs[0] = (0, 5000, 4)
with open("dated.swf", "w") as swf, open("dated.csv", "w") as table, open("dated.sacct", "w") as sacct:
    print(f"; UnixStartTime: {start - 500}\n; MaxNodes: 100", file=swf)
    print("job,submit,run,tasks", file=table)
    print("JobID|Submit|Start|End|NTasks", file=sacct)
    for i, (submit, run, tasks) in enumerate(jobs, 1):
        print(i, submit + 500, 0, run, tasks, *[-1] * 5, 1, *[-1] * 7, file=swf)
        print(i, start + submit, run, tasks, sep=",", file=table)
        print(i, start + submit, start + submit, start + submit + run, tasks, sep="|", file=sacct)
with open("dated.txt", "w") as file:
    for submit, run, tasks in jobs:
        print(submit, run, tasks, file=file)
END
window() { # NAME FROM UNTIL OPTION...: FROM and UNTIL in seconds; an hour takes 60 ms, and 350 ms with sanitizers
	local name=$1 from=$2 until=$3 format
	shift 3
	for format in ${formats:-swf}; do
		TZ=${zone:-UTC} "$nomora" simulate --$format dated.$format --curves "$curves" -p random --machines 200 --slots 40 --json "$@" >window.json 2>window.err
		check "$name, $format" python3 - "$from" "$until" <<'END'
import json, sys
begin, end = map(float, sys.argv[1:])
jobs = [tuple(map(int, line.split())) for line in open("dated.txt")]
kept = [(max(s, begin), s + r, n) for s, r, n in jobs if s < end and (s >= begin or s + r > begin)]
found = json.load(open("window.json"))
assert found["workload"]["tasks"] == sum(n for *_, n in kept), (found["workload"], sum(n for *_, n in kept))
left = found["workload"]["left_out"]
assert left["tasks_submitted_too_late"] == sum(n for s, r, n in jobs if s >= end)
assert left["tasks_that_ended_too_early"] == sum(n for s, r, n in jobs if s < begin and s + r <= begin)
hours = sum(n * (min(e, end) - s) for s, e, n in kept) / 3600
assert abs(found["policies"][0]["tasks"]["task_hours"] - hours) < 1e-3 * hours + 0.01, (found["policies"][0]["tasks"], hours)
END
	done
}
formats="swf csv sacct" window "from and until by hour" 3600 7200 --from 1 --until 2
window "and --hours instead" 3600 7200 --from 1 --hours 1
formats="swf csv sacct" window "by time in UTC" 8200 13240 --from 2026-09-22T00:00:00Z --until 2026-09-22T01:24Z
window "by date" 8200 19000 --from 2026-09-22 --until 2026-09-22T03:00
zone=America/New_York window "dates are local" $((8200 + 4 * 3600)) $((10900 + 4 * 3600)) --from 2026-09-22 --until 2026-09-22T00:45
window "an hour and a date" 3600 19000 --from 1 --until 2026-09-22T03:00Z
window "to the end of the trace" 8200 "$(awk '{ e = $1 + $2; if (e > m) m = e } END { print m + 1 }' dated.txt)" --from 2026-09-22
window "all of it" 0 "$(awk '{ e = $1 + $2; if (e > m) m = e } END { print m + 1 }' dated.txt)"
run "$nomora" simulate --swf dated.swf --curves "$curves" -p random --from 2026-09-22Z --until 2026-09-22T04:00Z
check "the window is printed" grep -qF 'simulated: hour 2.28 (2026-09-22T00:00:00Z) to 6.28 (2026-09-22T04:00:00Z) of the workload' <<<"$out"
refuses "a date of a trace without dates" 1 "the workload does not state at which date" "$nomora" simulate --swf long.swf -C "$curves" --from 2026-09-22
refuses "a synthetic workload has none" 1 "the workload does not state at which date" "${simulate[@]}" --until 2026-09-22
refuses "a day that is none" 2 "from '2026-02-31': expected hours" "$nomora" simulate --swf dated.swf --from 2026-02-31
refuses "a time that is none" 2 "until '2026-02-21T7pm': expected hours" "$nomora" simulate --swf dated.swf --until 2026-02-21T7pm
refuses "an end before the beginning" 2 "until '3': expected a time after --from" "$nomora" simulate --swf dated.swf --from 4 --until 3
refuses "the same by a date" 1 "nothing to simulate: the workload's hours are 0.00 to" "$nomora" simulate --swf dated.swf -C "$curves" --from 40 --until 2026-09-22
refuses "a window after the end" 1 "nothing to simulate: the workload's hours are 0.00 to" "$nomora" simulate --swf dated.swf -C "$curves" --from 2027-09-22
refuses "--until and --hours" 2 "until and --hours are mutually exclusive" "$nomora" simulate --swf dated.swf --until 4 --hours 3
# A part of Google's trace is simulated from its first row to its last one.
run "$nomora" simulate --trace late --curves "$curves" --slots 4 --topology 1x2 -p random
check "a part of a trace has its own extent" grep -qE 'simulated: hour 327.12 to 327\.[0-9]+ of the workload' <<<"$out"

# Recorded series: far racks all day, then near ones.
mkdir series && seq 1 60 | sed 's/.*/300/' >series/rack-1 && seq 1 60 | sed 's/.*/30/' >near
run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p nomora --series series --json
printf '%s\n' "$out" >far.json
run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p nomora --series near --rack-us 30 --json
printf '%s\n' "$out" >near.json
check "--series: performance follows it" test "$(field near.json 'd["policies"][0]["performance"]["area"] > 0.9')" = True
check "and falls where it is high" test "$(field far.json 'd["policies"][0]["performance"]["area"] < 0.9')" = True
python3 -c 'import json
print(json.dumps({"schema": "nomora.mesh_history/1", "between": "hosts", "src": "a", "dst": "b", "points": [
    {"at": 1000.5, "rtt_p99_us": 30}, {"at": 1030.2, "rtt_p99_us": None}, {"at": 1059.9, "rtt_p99_us": 30}]}))' >near.json
run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p nomora --series near.json --rack-us 30 --json
printf '%s\n' "$out" >history.json
run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p nomora --series near --rack-us 30 --json
printf '%s\n' "$out" >near_again.json
check "a mesh's history as a series" test "$(field history.json 'd["policies"][0]["performance"]')" = "$(field near_again.json 'd["policies"][0]["performance"]')"
cat >two.json <<'END'
{"schema": "nomora.cluster/1", "racks": [{"name": "r", "pod": "p"}], "machines": [
  {"name": "a", "rack": "r", "slots": 1}, {"name": "b", "rack": "r", "slots": 1}]}
END
mesh() { printf 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at\na,b,%s,%s,%s,0,1,1\nb,a,%s,%s,%s,0,1,1\n' "$@"; }
for us in 30 300; do
	mesh $us $us $us $us $us $us >mesh.csv
	rm -f live
	run "$nomora" mesh merge mesh.csv --live live --cluster two.json
	run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p nomora --series live --json
	printf '%s\n' "$out" >live$us.json
done
check "a live matrix as levels: performance follows it" python3 -c '
import json
near, far = (json.load(open(f"live{us}.json"))["policies"][0]["performance"]["area"] for us in (30, 300))
assert near > far + 0.05, (near, far)'
mesh 300 300 300 300 300 300 >mesh.csv
run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p nomora --spread 0 --json
printf '%s\n' "$out" >drawn.json
run "${simulate[@]}" --machines 60 --slots 4 --hours 0.05 -p nomora --spread 0 --series mesh.csv --json
printf '%s\n' "$out" >equal.json
check "pairs that are all alike, without racks: the levels themselves" test "$(field equal.json 'd["policies"][0]["performance"]')" = "$(field drawn.json 'd["policies"][0]["performance"]')"
sed -i 's/1059.9/900/' near.json
refuses "a history that goes backwards" 1 "near.json: points\[2\].at: time goes backwards" "${simulate[@]}" --machines 60 --series near.json

# Curves of jobs: those of an earlier day, where the mix would assign others.
run "${simulate[@]}" "${small[@]}" -p random -p load_spreading -o mixed
run "${simulate[@]}" "${small[@]}" -p random -p load_spreading --curve-mix spark=1 --job-curves mixed/jobs.csv -o mapped
check "--job-curves" cmp mixed/jobs.csv mapped/jobs.csv
printf 'job,curve\n1,strads\n1,memcached\n' >two.csv
run "${simulate[@]}" "${small[@]}" -p nomora --curve-mix spark=1 -o uncut
run "${simulate[@]}" "${small[@]}" -p nomora --curve-mix spark=1 --machine-arcs 20 -o cut
scans() { awk -F, '$11 ~ /^[0-9]+$/ {sum += $11} END {print sum}' "$1/rounds-1.csv"; }
check "--machine-arcs: the solver has other arcs" test "$(scans cut)" -ne "$(scans uncut)"
refuses "a job with two curves" 1 "two.csv:3: job: this job has another curve already" "${simulate[@]}" --machines 10 --job-curves two.csv
printf 'job;curve\n' >two.csv
refuses "curves of jobs without a header" 1 "two.csv:1: expected a header with the columns job and curve" "${simulate[@]}" --machines 10 --job-curves two.csv
for number in x -1 1.5; do
	printf 'job,curve\n%s,strads\n' "$number" >two.csv
	refuses "a curve of job '$number'" 1 "two.csv:2: job: expected the number of a job" "${simulate[@]}" --machines 10 --job-curves two.csv
done
printf 'job,curve\n1,none\n' >two.csv
refuses "a curve of a job that is not there" 1 "none.json" "${simulate[@]}" --machines 10 --job-curves two.csv

echo >>near
seq 3 >three
refuses "a series of three values" 1 "three: 3 values; expected at least 60" "${simulate[@]}" --machines 60 --series three
sed '2s/.*/nan/' near >not_a_number
refuses "a series with NaN" 1 "not_a_number:2: 'nan': expected microseconds" "${simulate[@]}" --machines 60 --series not_a_number
refuses "a series with a gap" 1 "near:61: '': expected microseconds" "${simulate[@]}" --machines 60 --series near

# Accounting of batch systems.
run "${simulate[@]}" --swf "$source_root/tests/data/fuzz/batch_swf_1" --hours 0.1 --check -p nomora --write-trace swf_trace --json
printf '%s\n' "$out" >swf.json
check "--swf" test "$code" -eq 0
check "its tasks on its machines" test "$(field swf.json 'd["workload"]["tasks"], d["workload"]["machines"], d["settings"]["slots"], d["policies"][0]["tasks"]["finished"]')" = "(9, 2, 4, 9)"
run "${simulate[@]}" --trace swf_trace --hours 0.1 --slots 4 --strict -p nomora --json
printf '%s\n' "$out" >swf2.json
check "--write-trace writes the same workload" test "$(field swf2.json 'd["policies"][0]["performance"], d["policies"][0]["response_time"]')" = "$(field swf.json 'd["policies"][0]["performance"], d["policies"][0]["response_time"]')"
printf '; MaxNodes: 1\n; MaxProcs: 4\n' >three.swf
for job in 1 2 3; do echo "$job $((job * 60)) 0 100 1 -1 -1 1 -1 -1 1 1 1 1 1 -1 -1 -1"; done >>three.swf
run "${simulate[@]}" --swf three.swf --hours 0.1 --keep-single --speed-up 4 --check -p random -o speed
check "--speed-up 4: submissions after a quarter of the time, durations as they are" test \
	"$(awk -F, '$6 == 1 { printf "%d ", $2 }' speed/rounds-1.csv)$(field speed/summary.json 'd["policies"][0]["response_time"]["mean_s"]')" = "0 15 30 100.0"
run "$nomora" tracegen --like "$source_root/tests/data/fuzz/batch_csv_1" like_trace
[[ $code -eq 0 && $out == *"taken: 3 jobs (0 of one task, 1 at the start), 15 tasks (8 without an end), 6.1 task-hours"*"2 machines, 3 jobs, 15 tasks" ]] &&
	pass "tracegen --like: what was taken, and the totals" || fail "tracegen --like" "$out" "$err"
run "$nomora" simulate --trace like_trace --keep-single --strict -C "$curves" -p random --json
printf '%s\n' "$out" >like.json
check "its trace is read" test "$(field like.json 'd["workload"]["jobs"], d["workload"]["tasks"]')" = "(3, 15)"
run "${simulate[@]}" --csv "$source_root/tests/data/fuzz/batch_csv_1" --hours 0.1 --slots 4 --check -p nomora --json
printf '%s\n' "$out" >csv.json
check "--csv: jobs, tasks, and machines for the peak" test "$(field csv.json 'd["workload"]["source"], d["workload"]["jobs"], d["workload"]["tasks"], d["workload"]["machines"]')" = "('csv', 3, 15, 4)"
printf 'job,submit,run,tasks,gang\n1,0,60,3,\n2,10,60,4,4\n' >gang.csv
run "${simulate[@]}" --csv gang.csv --machines 1 --slots 5 --check -p nomora --record gang.jsonl --json
check "a gang starts when it has all its slots" test \
	"$(grep '"place"' gang.jsonl | grep '"job": "2"' | grep -o '"t_us": [0-9]*' | sort | uniq -c | xargs)" = "4 t_us: 60000000"
run "$nomora" simulate --journal gang.jsonl --hours "$(printf '%s\n' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["settings"]["hours"])')" \
	--check -p nomora --record again.jsonl
check "and in the replay of its journal" cmp gang.jsonl again.jsonl

# Two racks of four machines; the job's 32 tasks take all slots. In the best order, 2 edges of the ring are between racks.
printf 'job,submit,run,tasks,curve,graph\n1,0,60,32,memcached,ring\n' >ring.csv
ring=(--csv ring.csv --machines 8 --slots 4 --topology 4x4 --across-us 400 --check -p nomora --json)
run "${simulate[@]}" "${ring[@]}" --record ring.jsonl
printf '%s\n' "$out" >ring.json
check "a ring's tasks are beside those that they talk to" python3 - ring.jsonl <<'END'
import json, sys
racks, at = {}, {}
for line in open(sys.argv[1]):
    event = json.loads(line)
    if event.get("event") == "machine": racks[event["machine"]] = event["rack"]
    if event.get("decision") == "place": at[int(event["task"])] = racks[event["to"]]
crossing = sum(at[t] != at[(t + 1) % 32] for t in range(32))
assert len(at) == 32 and crossing == 2, crossing
END
sed 's/,ring$/,all-to-all/' ring.csv >all.csv
run "${simulate[@]}" "${ring[@]}" --csv all.csv
check "and its performance is above that of all-to-all" test \
	"$(printf '%s\n' "$out" | python3 -c 'import json, sys; a, b = json.load(open("ring.json")), json.load(sys.stdin); print(*(d["policies"][0]["performance"]["area"] for d in (a, b)))' |
		awk '{ print ($1 > $2 + 0.1) }')" = 1
run "$nomora" simulate --journal ring.jsonl --hours "$(field ring.json 'd["settings"]["hours"]')" --check -p nomora --record again.jsonl
check "a ring in the replay of its journal" cmp ring.jsonl again.jsonl
refuses "a gang whose workers come a round after their root" 1 "the trace has gangs" "${simulate[@]}" --csv gang.csv --workers next-round
printf 'job,submit,run,tasks\n1,0,10,4\n2,5,ten,4\n' >bad.csv
run "${simulate[@]}" --csv bad.csv -p nomora
check "a bad row of --csv is refused with line and column" test "$code" -eq 1 -a "$(grep -c "bad.csv:3: run: 'ten': expected seconds" <<<"$err")" -eq 1
# A real history of Slurm: nine jobs ran for a second or more; one of them still runs; two were started twice, and job 18
# (28 tasks) was cancelled before its start, which its row gives as the time of its end.
run "${simulate[@]}" --sacct "$source_root/tests/data/slurm/history.txt" --slots 2 --check -p nomora --json
printf '%s\n' "$out" >sacct.json
check "--sacct: the jobs that ran, and as many machines as their peak takes" test \
	"$(field sacct.json 'd["workload"]["jobs"], d["workload"]["tasks"], d["workload"]["left_out"]["tasks_that_never_ran"], d["workload"]["machines"]')" = "$(
		python3 -c 'import csv, datetime, sys
rows = [r for r in csv.DictReader(open(sys.argv[1]), delimiter="|") if "." not in r["JobID"]]
seconds = lambda text, late: datetime.datetime.fromisoformat(text).timestamp() if text[0].isdigit() else late
ran = [r for r in rows if int(r["ElapsedRaw"]) > 0]
jobs = {r["JobID"].split("+")[0] for r in ran}
tasks = {r["JobID"]: int(r["AllocCPUS"]) for r in ran}
times = [(seconds(r["Start"], 0), seconds(r["Start"], 0) + (int(r["ElapsedRaw"]) if r["State"] != "RUNNING" else 9e9), tasks[r["JobID"]]) for r in ran]
peak = max(sum(n for a, b, n in times if a <= t < b) for t, _, _ in times)
never = sum(int(r["AllocCPUS"]) for r in rows if r["JobID"] not in tasks)
print((len(jobs), sum(tasks.values()), never, -(-peak // 2)))' "$source_root/tests/data/slurm/history.txt")"

# Bad traces.
part=trace/task_events/part-00000-of-00001.csv
refuses "a folder that is no trace" 1 "machine_events.*expected a folder of Google clusterdata" "${simulate[@]}" --trace day
mkdir -p empty/machine_events empty/task_events
refuses "an empty one" 1 "empty/machine_events: expected files part-NNNNN" "${simulate[@]}" --trace empty
bad() { # NAME PATTERN: a copy of the trace in bad/ was changed
	run "${simulate[@]}" --trace bad --slots 4 --hours 0.2 -p random --json
	[ "$code" -eq 0 ] && says "$err" "warning: $2" && pass "$1: counted, the rest counts" || fail "$1" "$code $err"
	refuses "$1: refused with --strict" 1 "bad/.*" "${simulate[@]}" --trace bad --strict
	rm -rf bad
}
cp -r trace bad && sed -i '5s/,[^,]*$//' bad/${part#*/} && bad "a column missing" "1 rows with a wrong number of columns; the first: .*part-00000-of-00001.csv:5: "
cp -r trace bad && sed -i '5s/$/,1/' bad/${part#*/} && bad "a column too many" "1 rows with a wrong number of columns; the first: .*:5: "
cp -r trace bad && head -n 5 $part >>bad/${part#*/} && bad "time that goes backwards" "5 rows whose time goes backwards; the first: .*:$(($(wc -l <$part) + 1)): "
# on_machine MACHINE: the first task of the copy runs there
on_machine() { sed -i "2s/^\([^,]*,[^,]*,[^,]*,[^,]*\),[^,]*/\1,$1/" bad/${part#*/}; }
cp -r trace bad && on_machine 999999 && bad "an unknown machine" "1 tasks on an unknown machine; the first: .*part-00000-of-00001.csv:2: "
cp -r trace bad && on_machine 1000 && echo 0,1000,1,,, >>bad/machine_events/part-00000-of-00001.csv &&
	bad "a removed machine" "1 tasks on a removed machine; the first: .*part-00000-of-00001.csv:2: "
cp -r trace bad && { sed -n '2s/,1,,,0,,,,$/,4,,,0,,,,/p' $part && cat $part; } >bad/${part#*/} &&
	bad "an end before its start" "1 tasks that end without a start; the first: .*part-00000-of-00001.csv:1: "
cp -r trace bad && sed -i '7s/^[0-9]*/nan/' bad/${part#*/} && bad "NaN for a time" "1 rows with a bad number; the first: .*:7: "
cp -r trace bad && gzip -c bad/${part#*/} | head -c 3000 >bad/${part#*/}.gz && rm bad/${part#*/} && bad "a truncated gzip" "1 damaged parts; the first: .*csv.gz:[0-9]+: "
cp -r trace bad && gzip -k bad/${part#*/} && bad "a part twice" "1 repeated parts; the first: "
cp -r trace bad && mkdir bad/x && split -n l/3 -d -a 1 bad/${part#*/} bad/x/ && rm bad/${part#*/} &&
	mv bad/x/0 bad/task_events/part-00000-of-00003.csv && mv bad/x/2 bad/task_events/part-00002-of-00003.csv && bad "a missing part" "1 missing parts; the first: .*part-00002-of-00003"
cp -r trace bad && mkdir bad/x && split -n l/3 -d -a 1 bad/${part#*/} bad/x/ && rm bad/${part#*/} &&
	mv bad/x/1 bad/task_events/part-00000-of-00003.csv && mv bad/x/2 bad/task_events/part-00001-of-00003.csv &&
	mv bad/x/0 bad/task_events/part-00002-of-00003.csv && bad "shuffled parts" "[0-9]+ rows whose time goes backwards; the first: .*part-0000[12]-of-00003.csv:1: "
cp -r trace bad && sed -i 's/,[^,]*$//' bad/${part#*/} &&
	refuses "nothing useful" 1 "no task ran; expected rows of task_events" "${simulate[@]}" --trace bad
rm -rf bad
(trap '' XFSZ && ulimit -f 8 && exec "${simulate[@]}" --machines 60 --slots 4 --hours 0.1 -p random -o full) >full.txt 2>&1
code=$?
check "a full disk" test $code -eq 1
check "names the file" grep -q "cannot write full/" full.txt
check "every file that is there is whole" test -z "$(find full -name '*.*.*')"
check "a machine in a rack, a rack in a pod" "${simulate[@]}" --machines 20 --slots 4 --hours 0.05 --topology 1x1 -p random
refuses "a topology that is none" 2 "topology '16y48': expected RACKSxMACHINES" "${simulate[@]}" --topology 16y48
refuses "a policy that is not there" 2 "expected one of nomora, random, .*first_fit.* with" "${simulate[@]}" -p best
refuses "a parameter that is not there" 2 "policy parameter 'q=1'" "${simulate[@]}" -p nomora:q=1
refuses "a curve that is not there" 1 "none.json" "${simulate[@]}" --machines 10 --curve-mix none=1
refuses "a series that is not there" 1 "nowhere: No such file" "${simulate[@]}" --machines 60 --series nowhere -o unused
refuses "a sweep of one" 1 "nowhere: No such file" "${simulate[@]}" --machines 60 --series nowhere --sweep slots=2,3 -o unused
check "no folder is left" test ! -e unused
refuses "a folder that cannot be made" 1 "cannot create /no/such/day" "${simulate[@]}" -o /no/such/day
run "$nomora" simulate --machines 60 --slots 4 --hours 0.05 -p nomora --json
printf '%s\n' "$out" >shipped.json
check "without --curves, those that come with it" test "$(field shipped.json 'd["policies"][0]["performance"]["jobs"] > 0')" = True

plan
