#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora mesh serve --history and nomora mesh history: figures over time, retention, bad files, a full disk, SIGKILL.
. "$(dirname "$0")/lib.sh"

command -v jq >/dev/null || skip_all "jq is not installed"
live=$scratch/live db=$scratch/mesh.db
# put SECONDS_AGO P50: writes a mesh of two racks measured at that time.
put() {
	local at
	at=$(($(date +%s) - $1))
	{
		echo 'src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at'
		for pair in h1,h2 h2,h1 h1,h3 h3,h1; do echo "$pair,$2,$(($2 * 2)),$(($2 * 3)),0,100,$at"; done
		echo "h2,h3,,,,1,0,$at"
	} >"$scratch/latency.csv"
	"$nomora" mesh merge "$scratch/latency.csv" --live "$live" --cluster "$scratch/cluster.json"
}
printf '{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r1", "slots": 1},
 {"name": "h2", "rack": "r1", "slots": 1}, {"name": "h3", "rack": "r2", "slots": 1}]}' >"$scratch/cluster.json"
start() {
	"$nomora" mesh serve "$live" --port 0 --history "$@" >"$scratch/serve.out" 2>"$scratch/serve.err" &
	server=$!
	at_exit kill -9 "$server"
}
end() { kill "$server"; wait "$server"; }
points() { [ "$("$nomora" mesh history "$db" "$@" --json 2>/dev/null | jq '.points | length')" = "${expected:-1}" ]; }

start "$db" --history-every 0.2
wait_for 60 grep -q "waiting for its first writer" "$scratch/serve.err" && pass "serve waits for the live matrix" ||
	fail "serve waits for the live matrix" "$(cat "$scratch/serve.err")"
end && pass "SIGTERM ends the wait" || fail "SIGTERM ends the wait" "$(cat "$scratch/serve.err")"
start "$db" --history-every 0.2
wait_for 60 grep -q "waiting for its first writer" "$scratch/serve.err"
put 100 10
wait_for 60 points h1 h2 && pass "a pair is recorded" || fail "a pair is recorded" "$(cat "$scratch/serve.err")"
put 50 20
expected=2 wait_for 60 points h1 h2 && pass "a new window is a new point" || fail "a new window is a new point" "$("$nomora" mesh history "$db" h1 h2 2>&1)"
expected=2 points h1 h2 && pass "and once only" || fail "and once only"
# The racks' maxima are updated after the pairs of a batch, so a query may return new pairs with old maxima.
racks() { "$nomora" mesh history "$db" --racks r1 r2 | grep -qE '20\.0 +40\.0 +60\.0 +1$'; }
wait_for 60 racks || :
kill -9 "$server"
wait "$server" 2>/dev/null
check "after SIGKILL it is whole" "$nomora" mesh history "$db" h1 h2
run "$nomora" mesh history "$db" h1 h2
says "$out" '20\.0 +40\.0 +60\.0 +0\.00 measured$' && pass "a table" || fail "a table" "$out"
run "$nomora" mesh history "$db" h2 h3
says "$out" '- +- +- +100\.00 unreachable$' && pass "an unreachable pair" || fail "an unreachable pair" "$out"
run "$nomora" mesh history "$db" --racks r1 r2
says "$out" '20\.0 +40\.0 +60\.0 +1$' && pass "racks" || fail "racks" "$out"
documented "mesh history --json" "$nomora" mesh history "$db" h1 h2 --json
check "a picture" "$nomora" mesh history "$db" h1 h2 -o "$scratch/history.svg"
grep -q 'h1 to h2' "$scratch/history.svg" && pass "with its title" || fail "with its title"

# Retention: the points are at least 50 s old.
start "$db" --history-every 0.2 --keep-pairs 0.0002
wait_for 60 "$nomora" mesh history "$db" --last 0 h1 h2 || :
gone() { "$nomora" mesh history "$db" --last 0 h1 h2; [ $? -eq 3 ]; }
wait_for 60 gone && pass "old points leave" || fail "old points leave" "$("$nomora" mesh history "$db" h1 h2)"
end && pass "SIGTERM ends it cleanly" || fail "SIGTERM ends it cleanly" "$(cat "$scratch/serve.err")"

refuses "a host that it does not know" 1 "has no host 'h9'" "$nomora" mesh history "$db" h1 h9
refuses "no such file" 1 'none.db: ' "$nomora" mesh history "$scratch/none.db" h1 h2
seq 5000 >"$scratch/bad.db"
refuses "no SQLite file" 1 'bad.db: file is not a database' "$nomora" mesh history "$scratch/bad.db" h1 h2
refuses "no SQLite file to write to" 1 'bad.db: file is not a database' "$nomora" mesh serve "$live" --port 0 --history "$scratch/bad.db"
if command -v python3 >/dev/null; then
	python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("CREATE TABLE t (x)").connection.commit()' "$scratch/other.db"
	refuses "another SQLite file" 1 'other.db: expected the history of a mesh' "$nomora" mesh serve "$live" --port 0 --history "$scratch/other.db"
fi
# While another program has locked the file, writing waits with a message and reading shows the old data; then both
# continue.
if command -v python3 >/dev/null; then
	start "$db" --history-every 0.1
	mkfifo "$scratch/hold"
	python3 -c 'import sqlite3, sys
held = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
held.execute("BEGIN IMMEDIATE")
open(sys.argv[1] + ".held", "w").close()
open(sys.argv[2]).read()' "$db" "$scratch/hold" &
	at_exit kill "$!"
	wait_for 60 test -e "$db.held"
	locked() { put 0 40 && grep -q 'cannot add to the history, .*mesh.db: .*locked' "$scratch/serve.err"; }
	wait_for 60 locked && pass "a locked file pauses it" || fail "a locked file pauses it" "$(cat "$scratch/serve.err")"
	: >"$scratch/hold"
	wait_for 60 grep -q 'adding to the history again' "$scratch/serve.err" && pass "unlocked, it goes on" || fail "unlocked, it goes on" "$(cat "$scratch/serve.err")"
	end
fi
cp "$db" "$scratch/cut.db" && truncate -s 5000 "$scratch/cut.db"
refuses "a cut file" 1 'cut.db: ' "$nomora" mesh history "$scratch/cut.db" h1 h2
if mkdir "$scratch/small" && mount -t tmpfs -o size=256k none "$scratch/small" 2>/dev/null; then
	at_exit umount -l "$scratch/small"
	start "$scratch/small/mesh.db" --history-every 0.1
	db=$scratch/small/mesh.db
	wait_for 60 "$nomora" mesh history "$db" --last 0 h1 h2 || :
	dd if=/dev/zero of="$scratch/small/fill" bs=1k 2>/dev/null
	full() { put 0 30 && grep -q 'cannot add to the history, .*mesh.db: ' "$scratch/serve.err"; }
	wait_for 60 full && pass "a full disk pauses it" || fail "a full disk pauses it" "$(cat "$scratch/serve.err")"
	rm "$scratch/small/fill"
	wait_for 60 grep -q 'adding to the history again' "$scratch/serve.err" && pass "and it goes on" || fail "and it goes on" "$(cat "$scratch/serve.err")"
	[ "$(grep -c 'cannot add to the history' "$scratch/serve.err")" -eq 1 ] && pass "the log says it once" || fail "the log says it once" "$(cat "$scratch/serve.err")"
	check "and the file is whole" "$nomora" mesh history "$db" --last 0 h1 h2
	end
	db=$scratch/small/late.db
	dd if=/dev/zero of="$scratch/small/fill" bs=1k 2>/dev/null
	start "$db" --history-every 0.1
	wait_for 60 grep -q 'cannot add to the history, .*late.db: ' "$scratch/serve.err" && kill -0 "$server" && grep -q http "$scratch/serve.out" &&
		pass "a disk that is full at the start does not stop the page" ||
		fail "a disk that is full at the start does not stop the page" "$(cat "$scratch/serve.err")"
	rm -rf "$scratch/small/fill" "$scratch"/small/mesh.db*
	put 0 50
	wait_for 60 "$nomora" mesh history "$db" --last 0 h1 h2 && pass "and the history begins later" ||
		fail "and the history begins later" "$(cat "$scratch/serve.err")"
	end
else
	skip "a full disk" "file systems cannot be mounted here"
fi
plan
