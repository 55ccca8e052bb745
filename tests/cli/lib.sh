# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Helpers of the command-line tests: `. "$(dirname "$0")/lib.sh"`. Prints TAP; cleans up when the script ends.
set -u
bin=$1
source_root=$2
nomora=$bin/nomora
scratch=$(mktemp -d)
test_number=0
planned=
cleanup_list=$scratch/.cleanup
main_process=$BASHPID

# at_exit COMMAND...: registers a command for the end of the script, also if a signal ends it; the last one runs first.
# After SIGKILL a guard process runs the commands, without the script's shell functions.
at_exit() { printf '%q ' "$@" >>"$cleanup_list"; echo >>"$cleanup_list"; }
: >"$cleanup_list"
# A timeout of meson's is SIGTERM to the process group and SIGKILL 0.5 s later, which is too short for `lab down`: the
# guard is in a session of its own, and says when it is: before that, the group's SIGKILL would end it too. It ends with
# the script when nothing is left to do.
# shellcheck disable=SC2016
read -r _ < <( (setsid bash -c 'echo; exec >/dev/null
	tail --pid="$1" -s 0.2 -f /dev/null
	[ -e "$2/.cleanup" ] || exit
	tac "$2/.cleanup" | while read -r line; do eval "$line"; done
	rm -rf "$2"' guard "$main_process" "$scratch" 2>/dev/null </dev/null &) )

finish() {
	local status=$? line
	# A subshell that receives a signal right after the fork still has our traps: it must not clean up.
	[ "$BASHPID" -eq "$main_process" ] || exit "$status"
	trap - EXIT
	while read -r line; do eval "$line" >/dev/null 2>&1 </dev/null; done < <(tac "$cleanup_list")
	rm -rf "$scratch"
	if [ -z "$planned" ] && [ "$status" -eq 0 ]; then
		echo "Bail out! the script ended without a plan"
		status=99
	fi
	exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

pass() { test_number=$((test_number + 1)); printf 'ok %d - %s\n' "$test_number" "$1"; }
fail() {
	test_number=$((test_number + 1))
	printf 'not ok %d - %s\n' "$test_number" "$1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}
skip() { test_number=$((test_number + 1)); printf 'ok %d - %s # SKIP %s\n' "$test_number" "$1" "$2"; }
# skip_all REASON: skips the whole script. With NOMORA_REQUIRE=lab, or CI=1 or true, a script of tests/lab fails
# instead.
skip_all() {
	planned=1
	case ${NOMORA_REQUIRE:-}${CI:-},$0 in
	*lab,*/lab/* | *lab1,*/lab/* | 1,*/lab/* | *true,*/lab/*)
		printf 'not ok 1 - must not be skipped here: %s\n1..1\n' "$1"
		exit 1
		;;
	esac
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}
plan() { planned=1; printf '1..%d\n' "$test_number"; }

# check NAME COMMAND...: passes when the command succeeds.
check() {
	local name=$1 output
	shift
	if output=$("$@" 2>&1); then pass "$name"; else fail "$name" "$*" "$output"; fi
}

# jq 1.6 of Debian 12 succeeds with -e if it has no input at all, as from a command that failed.
jq() {
	local output
	case $1 in
	-[!-]*e* | -e*) output=$(command jq "$@") && [ -n "$output" ] && printf '%s\n' "$output" ;;
	*) command jq "$@" ;;
	esac
}

# run COMMAND...: leaves its exit code in $code, its output in $out and $err.
run() {
	code=0
	"$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
	out=$(<"$scratch/out")
	err=$(<"$scratch/err")
}

# says TEXT PATTERN: a line of the text matches the extended regular expression. Without grep: a process costs 5 ms.
says() {
	local - IFS=$'\n' line
	set -f
	for line in $1; do [[ ! $line =~ $2 ]] || return 0; done
	return 1
}

# refuses NAME CODE PATTERN COMMAND...: the command exits with CODE and prints one line (two for usage errors) on stderr
# that matches PATTERN.
refuses() {
	local name=$1 wanted=$2 pattern=$3
	shift 3
	run "$@"
	if [ "$code" -eq "$wanted" ] && says "$err" "$pattern" && [[ $err != *$'\n'*$'\n'* ]]; then
		pass "$name"
	else
		fail "$name" "$*" "exit $code, wanted $wanted; wanted a line like: $pattern" "$err"
	fi
}

# swept: the last run() was a complete sweep; exit code 3 means that a busy machine disturbed some of its runs.
swept() { [ "$code" -eq 0 ] || { [ "$code" -eq 3 ] && ! says "$out" 'left out'; }; }

# wait_for SECONDS COMMAND...: waits until the command succeeds; false after SECONDS.
wait_for() {
	local deadline=$((SECONDS + $1)) over=0 never
	shift
	exec {never}<> <(:)
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$deadline" ]; then
			over=1
			break
		fi
		read -rt 0.05 -u "$never" || :
	done
	exec {never}>&-
	return $over
}

# near WANTED_US "MEDIAN MIN" "MEDIAN MIN": the second round trip is longer than the first by WANTED, within 15 % + 30
# us. For a small WANTED, the median or the minimum must show at least half of it, so that no delay at all fails. On
# shared machines, the median may be off by 1 ms more if the fastest packet, which was not disturbed, is within the
# limits. Sets $seen, to the result and the two differences; 0 = median and minimum are within, 1 = only the minimum, 2
# = neither.
near() {
	seen=$(python3 - "$@" <<-'END'
		import sys
		wanted = float(sys.argv[1])
		before, after = ([float(x) for x in text.split()] for text in sys.argv[2:4])
		if len(before) != 2 or len(after) != 2:
		    print("2 no figures:", *sys.argv[2:])
		    sys.exit()
		added = [b - a for a, b in zip(before, after)]
		limit = 0.15 * wanted + 30
		none = max(added) < wanted / 2
		median_off, fastest_off = (abs(x - wanted) - limit for x in added)
		print(2 if none or fastest_off > 0 or median_off > 1000 else 1 if median_off > 0 else 0,
		      f"median {before[0]:.1f} -> {after[0]:.1f}, fastest {before[1]:.1f} -> {after[1]:.1f} us, {wanted:g} injected")
	END
	)
	return "${seen%% *}"
}
# sleep_error_us WANTED_US: by how much a sleep of that length ends late on this machine, the median of 200.
sleep_error_us() {
	chrt -r 1 taskset -c "0-$(($(nproc) - 2))" python3 - "$1" <<-'END'
		import statistics, sys, time
		wanted = float(sys.argv[1]) * 1e-6
		def late():
		    start = time.monotonic()
		    time.sleep(wanted)
		    return time.monotonic() - start - wanted
		print(round(1e6 * statistics.median(late() for _ in range(200))))
	END
}
# judge_near NAME [SLEEPS]: called after the last attempt of near(); fails when the fastest packet was outside the limits.
# SLEEPS (default 0): how often a program sleeps in a round trip until a held packet wakes it. Where the packet is late by
# no more than these sleeps are, the machine is too busy to judge. Early is always wrong.
judge_near() {
	local late sleeps=${2:-0}
	case $seen in
	0* | 1*) pass "$1 (${seen#* })" ;;
	*)
		late=$(sleep_error_us "$(sed -n 's/.* \([0-9.]*\) injected$/\1/p' <<<"$seen" | grep . || echo 100)")
		if awk -v late="$((sleeps * late))" '{
			for (i = 1; i < NF; i++) if ($i == "fastest") { wanted = $(NF - 1); excess = $(i + 3) - $(i + 1) - wanted - (0.15 * wanted + 30); found = 1 }
			exit !(found && excess > 0 && excess <= late) }' <<<"$seen"; then
			skip "$1" "too busy to judge: a sleep ends $late us late; ${seen#* }"
		else
			fail "$1" "${seen#* }; a sleep ends $late us late"
		fi
		;;
	esac
}

# examples PAGE: prints the commands under EXAMPLES in the man page, as a user would type them.
examples() {
	awk '/^\.SH EXAMPLE/ {part = 1; next} /^\.SH/ {part = 0} part && /^\.nf/ {copy = 1; next} /^\.fi/ {copy = 0} copy' \
		"$source_root/docs/man/$1.1" | sed 's/\\-/-/g; s/\\e/\\/g'
}

# Creates a folder $scratch/work to run examples in, and a nomora in $scratch/path that records failures (exit code 3 is
# not one).
prepare_examples() {
	mkdir "$scratch/work" "$scratch/path"
	cat >"$scratch/path/nomora" <<-END
		#!/bin/sh
		"$nomora" "\$@"
		code=\$?
		[ \$code -eq 0 ] || [ \$code -eq 3 ] || echo "exit \$code: nomora \$*" >>"$scratch/failed"
		exit \$code
	END
	chmod 755 "$scratch/path/nomora"
}

# run_examples PAGE [SED_ARGUMENT...]: runs the examples in one shell, edited by sed if arguments are given.
run_examples() {
	local page=$1
	shift
	rm -f "$scratch/failed"
	examples "$page" | sed "$@" -e '' >"$scratch/examples"
	(cd "$scratch/work" && PATH=$scratch/path:$bin:$PATH exec bash -o pipefail "$scratch/examples") >"$scratch/said" 2>&1 </dev/null
	if [ -s "$scratch/examples" ] && ! [ -e "$scratch/failed" ] && ! grep -q 'command not found' "$scratch/said"; then
		pass "$page(1): its examples"
	else
		fail "$page(1): its examples" "$(cat "$scratch/examples" "$scratch/failed")" "$(tail -n 20 "$scratch/said")"
	fi
}

# documented NAME COMMAND...: each key of the printed JSON (of its first line, if that is complete JSON) is in
# docs/formats.md.
documented() {
	local name=$1
	shift
	"$@" >"$scratch/documented.json" 2>/dev/null || [ $? -eq 3 ] || { fail "$name: prints JSON" "$*"; return; }
	check "$name: every key is documented" python3 -c '
import json, re, sys
text, known = open(sys.argv[1]).read(), set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`\n]+)`", open(sys.argv[2]).read()))))
try:
    value = json.loads(text)
except ValueError:
    value = json.loads(text.split("\n")[0])
def keys(v, under=""):
    if isinstance(v, dict):
        for k, x in v.items():
            if under != "metrics":
                yield k
            yield from keys(x, k)
    elif isinstance(v, list):
        for x in v:
            yield from keys(x, under)
unknown = sorted(set(keys(value)) - known - {"schema"})
print(value["schema"], "is not named" if value["schema"] not in open(sys.argv[2]).read() else "", *unknown)
sys.exit(bool(unknown) or value["schema"] not in open(sys.argv[2]).read())' "$scratch/documented.json" "$source_root/docs/formats.md"
}
