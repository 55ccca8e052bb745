#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The documentation matches the commands: the EXAMPLES of the man pages are run unchanged, transcripts in help texts
# give the printed output, and no command line anywhere uses an unknown option. Examples that need network namespaces
# are run by tests/lab/examples.sh.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || skip_all "needs jq"

prepare_examples
cd "$scratch/work" || exit 1
for i in 1 2; do cp "$source_root/docs/sweeps/memcached-$i.csv" .; done
mv memcached-1.csv memcached.csv
cp memcached.csv sweep.csv
cp "$source_root/docs/sweeps/redis-1.csv" redis.csv
cp -r "$source_root/curves" curves
cp "$source_root/tests/data/nist/nonlinear/Misra1a.dat" .
awk 'BEGIN {print "y,x"} NR > 60 && NF == 2 {print $1 "," $2}' Misra1a.dat >data.csv
cp "$source_root/lab/demo-jobs.jsonl" jobs.jsonl
header=src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at
printf '%s\nh1,h2,10,20,30,0,100,1000.5\nh1,h3,110,120,130,0.01,100,1000\n' $header >h1.csv
printf '%s\nh2,h1,11,21,31,0,100,1000\nh3,h2,111,,,1,0,1000\n' $header | sed 's/h3,h2,111/h3,h2,/' >h2.csv
printf '%s\nh2,h3,109,121,131,0,100,1000\n' $header >h3.csv
cp h1.csv mesh.csv
cat >cluster.json <<'JSON'
{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r1", "slots": 8}, {"name": "h2", "rack": "r1", "slots": 8},
 {"name": "h3", "rack": "r2", "slots": 8}]}
JSON
cat >sweep.csv.log <<'JSON'
{"event":"attempt","delay_us":0,"run":0,"attempt":1,"disturbed":false,"elapsed_s":1,"rtt_us":21,"rtt_expected_us":20,"injector":{"packets":1000,"dropped":0,"disturbed":3,"stalls":2,"stall_us":100}}
{"event":"accepted","delay_us":0,"run":0,"attempt":1,"disturbed":false}
JSON
command -v dot >/dev/null || printf '#!/bin/sh\ncp "$2" "$4"\n' >"$scratch/path/dot"
chmod 755 "$scratch/path"/*

for page in doctor fit mesh place report; do run_examples "nomora-$page"; done
check "fit wrote its curve and picture" test -s memcached.json -a -s memcached.svg -a -s curves/redis.json
check "place drew the network" test -s net.svg
check "report wrote its page" grep -q '</html>' report.html

documented doctor "$nomora" doctor --json
documented fit "$nomora" fit memcached.csv --json
documented "fit --expr" "$nomora" fit data.csv --expr 'b1*(1-exp(-b2*x))' --start b1=500,b2=1e-4 --json
documented "fit --compare" "$nomora" fit --compare memcached.json curves/redis.json --json
documented curve cat memcached.json
documented mesh "$nomora" mesh show latency.csv --cluster cluster.json --json
documented place "$nomora" place -c cluster.json -j jobs.jsonl -l latency.csv -C curves --json
documented "place --draw" sh -c "'$nomora' place -c cluster.json -j jobs.jsonl -C curves --draw net.json >/dev/null && cat net.json"
documented solve "$nomora" solve "$source_root/tests/data/mcf/S1.dmx.gz" --verify --json --flow
printf "p min 2 1\nn 1 5\nn 2 -5\na 1 2 0 4 1\n" >narrow.dimacs
documented "solve, infeasible" "$nomora" solve narrow.dimacs --json
documented "sweep --dry-run" "$nomora" sweep "$source_root/lab/demo.plan" --dry-run --json

# transcript NAME: reads a transcript on stdin: lines "$ cat FILE" with the file's content, "$ COMMAND" with its output,
# if any is shown. Runs the commands and compares.
transcript() {
	local line file='' command='' expected='' got
	try() {
		[ -n "$command" ] || return 0
		got=$(bash -c "$command" 2>&1) || fail "$1: $command" "$got"
		[ -z "$expected" ] || [ "$got" = "${expected%$'\n'}" ] && pass "$1: $command" || fail "$1: $command" "$got" "expected:" "$expected"
		command='' expected=''
	}
	while IFS= read -r line; do
		case $line in
		'$ cat '*) try "$1"; file=${line#'$ cat '}; : >"$file" ;;
		'$ '*) try "$1"; file='' command=${line#'$ '} ;;
		*) if [ -n "$file" ]; then printf '%s\n' "$line" >>"$file"; elif [ -n "$command" ]; then expected+=$line$'\n'; fi ;;
		esac
	done
	try "$1"
}
help_of() { "$nomora" "$@" --help | sed '1,/--version/d' | sed -n 's/^  //p'; }
export PATH=$scratch/path:$bin:$PATH
transcript "nomora-solve(1)" < <(examples nomora-solve)
mkdir help && cd help && ln -s ../curves ../mesh.csv . || exit 1
transcript "nomora solve --help" < <(echo '$ cat net.dimacs' && help_of solve | sed 's/ *(tail, head.*//')
transcript "nomora place --help" < <(help_of place)

python3 - "$nomora" "$source_root" <<'END' >"$scratch/unknown"
import glob, re, subprocess, sys
nomora, root = sys.argv[1:]
known = {}

def options(command):
    if command not in known:
        shown = subprocess.run([nomora, *command, "--help"], capture_output=True, text=True)
        known[command] = set(re.findall(r"^ +(-\w)\b", shown.stdout, re.M)) | set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", shown.stdout, re.M)) if shown.returncode == 0 else None
    return known[command]

def sources():
    for path in ["README.md", *glob.glob("docs/*.md", root_dir=root), *glob.glob("docs/man/*.1", root_dir=root), "lab/demo", *glob.glob("firmware-notes/*.md", root_dir=root)]:
        for folder in ("", "docs/"):
            try:
                text = open(f"{root}/{folder}{path}").read()
            except FileNotFoundError:
                continue
            yield path, text.replace("\\-", "-").replace("\\e\n", "\\\n")
            break
    for command in re.findall(r"^  ([a-z-]+)", subprocess.run([nomora, "--help"], capture_output=True, text=True).stdout, re.M):
        subs = {"dataflow": ["plan", "simulate", "apply", "run", "openflow"], "lab": ["up", "down", "status", "exec", "inventory"],
                "mesh": ["merge", "show", "draw", "export", "join", "leave", "members"]}.get(command, [None])
        for sub in subs:
            words = [command] + ([sub] if sub else [])
            yield " ".join(words) + " --help", subprocess.run([nomora, *words, "--help"], capture_output=True, text=True).stdout

lines = 0
for name, text in sources():
    for line in text.replace("\\\n", " ").split("\n"):
        for found in re.finditer(r"\bnomora (dataflow [a-z]+|lab [a-z]+|mesh [a-z]+|[a-z][a-z-]*)((?: [^|;&'`]*)?)", line):
            command, rest = tuple(found[1].split()), found[2].split(" -- ")[0]
            named = re.findall(r"(?<= )(--[a-z][a-z-]*|-\w)\b", rest)
            if not named:
                continue
            lines += 1
            there = options(command)
            for option in named:
                if there is None or option not in there | {"--help", "--version", "--config", "-h"}:
                    print(f"{name}: nomora {' '.join(command)} has no {option}: {line.strip()[:120]}")
if lines < 60:
    print(f"only {lines} command lines found: is this test blind?")
END
check "every option that a document shows is there" sh -c "cat '$scratch/unknown'; ! test -s '$scratch/unknown'"
plan
