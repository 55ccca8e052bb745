#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A sweep of memcached on hosts reached by ssh: two hosts of a lab with an sshd each (own keys, port and configuration),
# the sweep on a third. Refusals, processes left behind, and a host that vanishes during a run. The script runs under
# `nomora lab up --while`, so that the lab is removed with it, however it ends.
if [ -z "${NOMORA_SSH_LAB:-}" ]; then
	. "$(dirname "$0")/../cli/lib.sh"
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
	[ -x "$bin/nomora-injector" ] || skip_all "built without DPDK"
	for program in memcached ssh ssh-keygen /usr/sbin/sshd; do command -v $program >/dev/null || skip_all "$program is not installed"; done
	ip netns add "probe$$" 2>/dev/null && ip netns del "probe$$" || skip_all "network namespaces cannot be made here"
	lab=k$((BASHPID % 100000))
	at_exit "$nomora" lab down --name "$lab"
	export NOMORA_SSH_LAB=$lab
	"$nomora" lab up --name "$lab" --hosts 3 --racks 1 --inject h1 --delay-us 0 --while "$(printf '%q ' "$BASH" "$0" "$@")"
	code=$?
	planned=1 # printed by the script below
	exit "$code"
fi
. "$(dirname "$0")/../cli/lib.sh"
lab=$NOMORA_SSH_LAB
cd "$scratch" || exit 1
chmod 755 "$scratch"
on() { local host=$1; shift; "$nomora" lab exec "$host" --name "$lab" -- "$@"; }

# --- two hosts with sshd --- Under sshd, bash reads ~/.bashrc: a test that kills a session could leave files of root's
# real home half-written (such as a stale lock), and these could stop the test. So it has its own home.
ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -q -t ed25519 -N '' -f host-key && ssh-keygen -q -t ed25519 -N '' -f stranger
mkdir -p /run/sshd home # sshd requires the first one
for host in 1 2; do
	printf '%s\n' 'Port 2222' "ListenAddress 10.77.1.$host" "HostKey $scratch/host-key" "AuthorizedKeysFile $scratch/key.pub" \
		'StrictModes no' 'UsePAM no' 'PermitRootLogin prohibit-password' 'PidFile none' "SetEnv HOME=$scratch/home" >"sshd-h$host"
	on "h$host" /usr/sbin/sshd -D -e -f "$scratch/sshd-h$host" >"sshd-h$host.log" 2>&1 &
	printf 'Host h%s\n HostName 10.77.1.%s\n Port 2222\n User root\n' "$host" "$host"
	printf '[10.77.1.%s]:2222 %s\n' "$host" "$(cut -d' ' -f1,2 host-key.pub)" >>known
done >config
printf 'Host *\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n' "$scratch/key" "$scratch/known" >>config
for host in 1 2; do wait_for 10 grep -q listening "sshd-h$host.log"; done

cat >ssh.plan <<PLAN
application = memcached-by-ssh
delays = 0 500
any-delays = true
repetitions = 2
injector = /run/nomora/$lab-h1.sock
ssh-config = $scratch/config
server-host = ssh:h1
client-host = ssh:h2
server-address = 10.77.1.1
server = exec memcached -u nobody -l \$NOMORA_SERVER -p 11211 -m 64 -t 1
server-ready = $nomora load \$NOMORA_SERVER --keys 1000 --fill-only
client = $nomora load \$NOMORA_SERVER --keys 1000 --no-fill --connections 1 --warm-up 0.1 --duration 0.3 --json
metric = queries_per_second 1/s higher json:qps
metric = latency_min us lower json:latency_us.min
metric = tty - lower regex:^tty=([01])\$
rtt-check = true
attempts = 5
PLAN
sed -i 's|^client = \(.*\)|client = \1; test -t 1 \&\& echo tty=1 \|\| echo tty=0|' ssh.plan
sweep=(on h3 "$nomora" sweep "$scratch/ssh.plan" --share-machine)
# Sweeps that measure nothing: no round trip at the start, no pause, no gate.
unmeasured=('no-baseline = true' 'settle-s = 0' 'max-stall-percent = 100')
running() { ip netns pids "$lab-$1" | xargs -r -n1 -I{} cat /proc/{}/comm 2>/dev/null | grep -c "$2"; }
gone() { [ "$(running "$1" "$2")" -eq 0 ]; }

# --- a sweep ---
run "${sweep[@]}" -o out.csv
swept && pass "memcached at 0 and 500 us over ssh" || fail "memcached at 0 and 500 us over ssh" "exit $code" "$err" "$(cat sshd-h1.log)"
verdict=$(python3 - out.csv <<'PYTHON'
import csv, statistics, sys
rows = list(csv.DictReader(open(sys.argv[1])))
mean = lambda d, m: statistics.mean(float(r["value"]) for r in rows if float(r["delay_us"]) == d and r["metric"] == m)
rise = mean(500, "latency_min") - mean(0, "latency_min")
print("ok" if len(rows) == 12 and 950 < rise < 1300 and all(float(r["value"]) == 0 for r in rows if r["metric"] == "tty") else "bad",
      f"the fastest request takes {rise:.0f} us more for 1000")
PYTHON
)
case $verdict in ok*) pass "the delay is there: $verdict; no command has a terminal" ;; *) fail "the delay is there: $verdict" "$(cat out.csv)" ;; esac
check "one login for each host, whatever the number of commands" test "$(cat sshd-h?.log | grep -c Accepted)" -eq 2
check "the server has ended with the sweep" gone h1 memcached
check "no session is left" wait_for 5 sh -c "test \$(ip netns pids $lab-h1 | wc -l) -eq 1 && test \$(ip netns pids $lab-h2 | wc -l) -eq 1"

# --- what commands leave running ---
sed -e '/^metric/d' -e '/^client =/d' -e '/^rtt-check/d' ssh.plan >leaves.plan
cat >leaves-after <<'END'
grep -q '^State:[[:space:]]*[^XZ]' "/proc/$(cat helper)/status" || exit 1
for file in child stray; do
	while grep -qs '^State:[[:space:]]*[^XZ]' "/proc/$(cat $file)/status"; do sleep 0.02; done
done
END
printf '%s\n' "before-run = sleep 985 >/dev/null 2>&1 & echo \$! >$scratch/helper" "client = sleep 985 & echo \$! >$scratch/child; setsid sleep 985 >/dev/null 2>&1 & echo \$! >$scratch/stray; echo value = 1" \
	"after-run = cd $scratch && sh leaves-after" 'ready-timeout-s = 5' 'metric = value 1 higher regex:value = (.)' "${unmeasured[@]}" >>leaves.plan
run on h3 "$nomora" sweep "$scratch/leaves.plan" --share-machine -o leaves.csv --delays 0 --repetitions 1 --attempts 1
swept && pass "over ssh, what the client leaves, also in a session of its own, is gone before after-run, what before-run leaves is not" ||
	fail "over ssh, what the client leaves, also in a session of its own, is gone before after-run, what before-run leaves is not" "exit $code" "$err"
check "which goes when the sweep ends" wait_for 5 gone h2 sleep

# ssh's own exit code, 255, can also be that of a command
sed -e '/^metric/d' -e '/^client =/d' -e '/^rtt-check/d' ssh.plan >exit.plan
printf '%s\n' 'client = echo done; exit 255' 'metric = code - lower exit' "${unmeasured[@]}" >>exit.plan
run on h3 "$nomora" sweep "$scratch/exit.plan" --share-machine -o exit.csv --delays 0 --repetitions 1
swept && grep -q '^0,both,0,code,-,lower,255,' exit.csv && pass "a command's own exit code of 255" ||
	fail "a command's own exit code of 255" "exit $code" "$err" "$(cat exit.csv)"

# --- what is refused ---
: >empty
sed "s|$scratch/known|$scratch/empty|" config >config-unknown
refuses "a host that nobody knows" 1 'cannot connect to ssh:h1: Host key verification failed' "${sweep[@]}" -o no.csv --ssh-config "$scratch/config-unknown"
sed "s|$scratch/key|$scratch/stranger|" config >config-stranger
refuses "a key that does not fit" 1 'cannot connect to ssh:h1: .*Permission denied' "${sweep[@]}" -o no.csv --ssh-config "$scratch/config-stranger"
sed 's/Port 2222/Port 2223/' config >config-port
refuses "nobody who listens" 1 'cannot connect to ssh:h1: .*Connection refused' "${sweep[@]}" -o no.csv --ssh-config "$scratch/config-port"

# --- cut off ---
"${sweep[@]}" -o killed.csv --delays 0..90/10 >/dev/null 2>&1 &
holder=$!
wait_for 30 sh -c 'test "$(wc -l <killed.csv)" -gt 3'
sweeper=$(ip netns pids "$lab-h3" | while read -r pid; do grep -qs sweep "/proc/$pid/cmdline" && echo "$pid"; done | head -1)
[ -z "$sweeper" ] || kill -KILL "$sweeper"
wait "$holder" 2>/dev/null
check "SIGKILL of the sweep ends the server at the other end" wait_for 10 gone h1 memcached
check "and the client" wait_for 10 gone h2 nomora

# Background processes left by hooks are not supervised; a lost connection alone is no reason to kill them.
sed -e '/^metric/d' -e '/^client =/d' -e '/^rtt-check/d' ssh.plan >hooks.plan
printf '%s\n' "setup = sleep 985 >/dev/null 2>&1 & echo \$! >$scratch/helper" "before-run = setsid sleep 985 >/dev/null 2>&1 & echo \$! >$scratch/daemon" \
	'client = sleep 0.2; echo value = 1' 'max-stall-percent = 100' 'metric = value 1 higher regex:value = (.)' >>hooks.plan
on h3 "$nomora" sweep "$scratch/hooks.plan" --share-machine -o hooks.csv --delays 0 --repetitions 600 >/dev/null 2>hooks.err &
holder=$!
wait_for 30 sh -c 'test "$(wc -l <hooks.csv)" -gt 3'
before=$(cat sshd-h?.log | grep -c Accepted)
ip netns pids "$lab-h3" | while read -r pid; do grep -qsz -- -MN "/proc/$pid/cmdline" && kill "$pid"; done
logged_in_again() { [ "$(cat sshd-h?.log | grep -c Accepted)" -gt "$before" ]; }
goes_on() { [ "$(wc -l <hooks.csv)" -gt "$rows" ]; }
check "a connection that is lost is made again" wait_for 60 logged_in_again
rows=$(wc -l <hooks.csv)
check "and the sweep goes on" wait_for 60 goes_on
check "with what setup has left" kill -0 "$(cat helper)"
sweeper=$(ip netns pids "$lab-h3" | while read -r pid; do grep -qs sweep "/proc/$pid/cmdline" && echo "$pid"; done | head -1)
[ -z "$sweeper" ] || kill -KILL "$sweeper"
wait "$holder" 2>/dev/null
ended() { ! grep -qs '^State:[[:space:]]*[^XZ]' "/proc/$(cat helper)/status" "/proc/$(cat daemon)/status"; }
check "SIGKILL of the sweep ends it at the other end, and what before-run has left" wait_for 20 ended
check "and what watched over it" wait_for 5 sh -c "test \$(ip netns pids $lab-h1 | wc -l) -eq 1 && test \$(ip netns pids $lab-h2 | wc -l) -eq 1"

# --- a host that vanishes ---
sed -i 's/--duration 0.3/--duration 60/' ssh.plan
"${sweep[@]}" -o lost.csv --force --delays 0 --attempts 1 >/dev/null 2>lost.err &
holder=$!
wait_for 20 sh -c "ip netns pids $lab-h2 | xargs -r -n1 -I{} cat /proc/{}/cmdline | tr '\\0' ' ' | grep -q 'duration 60'"
ip -n "$lab-h2" link set eth0 down
code=0
wait "$holder" || code=$?
[ "$code" -eq 1 ] && grep -q 'client: the connection to ssh:h2 broke: Timeout, server 10.77.1.2 not responding' lost.err &&
	pass "a host that vanishes in mid-run is named" || fail "a host that vanishes in mid-run is named" "exit $code" "$(cat lost.err)"
ip -n "$lab-h2" link set eth0 up
sed -i 's/--duration 60/--duration 0.3/' ssh.plan
check "the other host's server has ended with the sweep" gone h1 memcached
run "${sweep[@]}" -o killed.csv --delays "0 10" --repetitions 1
swept && [ "$(grep -c '^0,both,0,tty' killed.csv)" -eq 1 ] && pass "when it is back, the same file goes on" || fail "when it is back, the same file goes on" "$err"
plan
