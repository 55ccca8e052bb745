#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the helpers of these scripts: each check must be able to fail, and nothing may be left behind.
. "$(dirname "$0")/lib.sh"

# script NAME LINE...: a script that uses lib.sh.
script() {
	printf '%s\n' ". '$source_root/tests/cli/lib.sh'" "${@:2}" >"$scratch/$1"
}
run_script() { run env -u CI -u NOMORA_REQUIRE "${@:2}" bash "$scratch/$1" "$bin" "$source_root"; }

# near: medians and minima before and after adding a delay
near_is() { # CODE WANTED BEFORE AFTER
	near "$2" "$3" "$4"
	local code=$?
	if [ "$code" -eq "$1" ]; then pass "near: ${seen#* }"; else fail "near: ${seen#* }" "$code, wanted $1"; fi
}
near_is 0 1000 "60 50" "1060 1050"
near_is 0 10 "60 50" "71 60"
near_is 2 10 "60 50" "60 50"
near_is 2 20 "60 50" "64 54"
near_is 0 10 "60 50" "71 54"
near_is 2 1000 "60 50" "2300 1060"
near_is 2 1000 "60 50" "5060 1060"
near_is 1 1000 "60 50" "1400 1060"
near_is 2 1000 "60 50" "1060 700"
near_is 2 1000 "60 50" "1060 1300"
near_is 1 1000 "560 50" "1060 1050"
near_is 2 1000 "60 50" "60 50"
near_is 2 1000 "60 50" "60"
# judged_as VERDICT SLEEPS WANTED BEFORE AFTER: where a sleep ends 70 us late.
judged_as() {
	local verdict=$1 sleeps=$2 got
	shift 2
	got=$(
		sleep_error_us() { echo 70; }
		near "$@"
		judge_near x "$sleeps"
	)
	grep -q "^$verdict" <<<"$got" && pass "judged as $verdict: $*" || fail "judged as $verdict: $*" "$got"
}
judged_as 'ok .* # SKIP too busy' 2 400 "130 49.5" "607.3 585.1"
judged_as 'not ok' 0 400 "130 49.5" "607.3 585.1"
judged_as 'not ok' 2 400 "130 49.5" "807.3 785.1"
judged_as 'not ok' 2 400 "130 49.5" "607.3 285.1"
judged_as 'not ok' 2 400 "130" "607.3 285.1"
judged_as 'ok .*(median' 2 400 "130 49.5" "607.3 460"

script forgets 'pass one'
run_script forgets
[ "$code" -eq 99 ] && pass "a script without a plan fails" || fail "a script without a plan fails" "exit $code" "$out"
script skips 'skip_all "no such thing"'
mkdir "$scratch/lab"
cp "$scratch/skips" "$scratch/lab/skips"
run_script skips CI=1
[ "$code" -eq 0 ] && [ "$out" = "1..0 # SKIP no such thing" ] && pass "a script skips itself" || fail "a script skips itself" "$out"
for required in NOMORA_REQUIRE=lab CI=1 CI=true; do
	run_script lab/skips "$required"
	[ "$code" -eq 1 ] && pass "a script of the lab fails instead with $required" || fail "a script of the lab fails instead with $required" "exit $code" "$out"
done

script cleans "touch '$scratch/first'" "at_exit rm -f '$scratch/first'" 'at_exit sleep 0' 'echo "$scratch"' 'plan'
run_script cleans
folder=$(head -1 <<<"$out")
[ -n "$folder" ] && [ ! -e "$folder" ] && [ ! -e "$scratch/first" ] && pass "cleans up at its end" || fail "cleans up at its end" "$out"
for signal in TERM KILL; do
	script waits "touch '$scratch/first'" "at_exit rm -f '$scratch/first'" "echo \"\$scratch\" >'$scratch/folder'" 'sleep 60 & wait'
	rm -f "$scratch/folder"
	setsid bash "$scratch/waits" "$bin" "$source_root" >/dev/null 2>&1 &
	group=$!
	wait_for 60 test -s "$scratch/folder"
	folder=$(cat "$scratch/folder")
	kill "-$signal" -- "-$group" # the whole group, as meson does
	if wait_for 60 test ! -e "$folder" && [ ! -e "$scratch/first" ]; then
		pass "cleans up after SIG$signal"
	else
		fail "cleans up after SIG$signal" "$(ls -d "$folder" "$scratch/first" 2>&1)"
	fi
done

check "the results of a run are counted" python3 - "$source_root/tests/support" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from count_results import count
def of(stdout, result="OK", returncode=0, tap=True):
    total, _ = count([[dict(name="x / t", stdout=stdout, result=result, returncode=returncode)]], {"t"} if tap else set())
    return total.passed, total.failed, total.skipped
for seen, wanted in [
    (of("ok 1 - a\nok 2 - b\n1..2\n"), (2, 0, 0)),
    (of("1..2\nok 1 - a\nnot ok 2 - b\n", "FAIL", 1), (1, 1, 0)),
    (of("1..2\nok 1 - a\n", "ERROR", -11), (1, 1, 0)),
    (of("1..2\nok 1 - a\nnot ok 2 - b\n", "ERROR", -11), (1, 2, 0)),
    (of("ok 1 - a\n", "TIMEOUT", -9), (1, 1, 0)),
    (of("ok 1 - a\n"), (1, 1, 0)),
    (of(""), (0, 1, 0)),
    (of("1..3\nok 1 - a\nok 2 - b\n", "ERROR"), (2, 1, 0)),
    (of("1..1\nok 1 - a\n", "ERROR", 3), (1, 1, 0)),
    (of("ok 1 - a # SKIP why\n1..1\n"), (0, 0, 1)),
    (of("1..0 # SKIP why\n", "SKIP"), (0, 0, 1)),
    (of("", "OK", 0, False), (1, 0, 0)),
    (of("", "FAIL", 1, False), (0, 1, 0)),
    (of("", "TIMEOUT", -9, False), (0, 1, 0)),
    (of("", "SKIP", 77, False), (0, 0, 1)),
]:
    assert seen == wanted, (seen, wanted)
def test(name, result):
    return dict(name="x / " + name, stdout="", result=result, returncode=int(result != "OK"))
first = [test("a", "OK"), test("b", "FAIL"), test("c", "FAIL")]
total, failed = count([first], set())
assert (total.passed, total.failed, failed) == (1, 2, ["b", "c"])
total, failed = count([first, [test("b", "OK"), test("c", "FAIL")]], set())
assert (total.passed, total.failed, failed) == (2, 1, ["c"])
assert total.notes == ["again b: failed beside others, passed alone", "fail c: fail"], total.notes
END
plan
