#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the demo and checks that memcached performs as predicted in each of its three placements: the mean over their
# tasks. Needs an otherwise idle machine, so it has its own suite: meson test -C build --suite demo
. "$(dirname "$0")/../cli/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all "network namespaces need root"
command -v memcached >/dev/null || skip_all "memcached is not installed"
made=$source_root/demo-out
run bash "$source_root/lab/demo" "$source_root"
check "the demo runs" test "$code" -eq 0
check "with a report" test -s "$made/report.html"
for placement in nomora random apart; do
	judged=$(python3 - "$made/measured.csv" $placement <<-'END'
		import csv, statistics, sys
		rows = [row for row in csv.DictReader(open(sys.argv[1])) if row["placement"] == sys.argv[2]]
		predicted, measured = (statistics.mean(float(row[name]) for row in rows) for name in ("predicted", "measured"))
		print("ok" if abs(measured / predicted - 1) <= 0.1 else "bad", f"predicted {predicted:.3f}, measured {measured:.3f}")
	END
	)
	case $judged in
	ok*) pass "placement $placement performs as predicted, within 10 %: $judged" ;;
	*) fail "placement $placement performs as predicted, within 10 %: $judged" "$(cat /proc/loadavg)" ;;
	esac
done
plan
