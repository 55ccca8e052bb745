#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nomora local-agent with real processes, a real schedd and, where sshd is installed, a machine over ssh. The tasks write
# files: each must run exactly once to its end, and no machine may have more tasks at a time than slots, also while agent
# and schedd are killed at random.
. "$(dirname "$0")/lib.sh"

cd "$scratch" || exit 1
export NOMORA_SCHEDD=$scratch/socket
start() { "$@" 2>>log </dev/null & at_exit kill -9 $!; started=$!; }
start_schedd() {
	start "$bin/nomora-schedd" schedd --state state --socket "$NOMORA_SCHEDD" --curves "$source_root/curves" --retry 0.2 "$@"
	schedd=$started
}
start_agent() { start "$nomora" local-agent --machines machines --state "$scratch/agent" --poll 0.1 --grace 4 "$@"; agent=$started; echo "$agent" >agent.pid; }
# The tasks outlive the agent: what is left of them ends with the test, by the numbers that their wrappers wrote.
end_tasks() { local pid; for pid in $(cat agent/*/runs/*/pid 2>/dev/null | cut -d' ' -f1); do kill -9 -- "-$pid"; done; }
at_exit end_tasks
soon() { local name=$1; shift; if wait_for 60 "$@"; then pass "$name"; else fail "$name" "$(tail -n 30 log)" "$("$nomora" jobs; "$nomora" nodes)"; fi; }
# schedd may just have been started, and refuses a job until the agent has reported enough slots.
send() { printf '%s\n' "$1" | "$nomora" submit "${@:2}" - >/dev/null 2>>log; }
submit() { wait_for 30 send "$@"; }
job() { printf '{"id": "%s", "curve": "memcached", "root": 0, "tasks": %s, "command": ["sh", "%s/task", "%s"]}' "$1" "$2" "$scratch" "$3"; }
running() { "$nomora" jobs "$1" --json 2>/dev/null | jq -r '[.tasks[] | select(.state == "running")] | length'; }
runs() { [ "$(running "$1")" = "$2" ]; }
gone() { ! "$nomora" jobs "$1" >/dev/null 2>&1; }
count() { grep -c "^$1\$" events; }
is_count() { [ "$(count "$2")" -eq "$1" ]; }
empty() { [ -z "$(ls -d agent/*/runs/* 2>/dev/null)" ]; }

# A task runs for $1 seconds, or until the file go exists. It takes a place on its machine, and notes if there are more than slots.
mkdir places
: >events
cat >task <<END
cd $scratch/places || exit
place=\$NOMORA_MACHINE.\$NOMORA_JOB.\$NOMORA_TASK
trap 'sleep 2; rmdir "\$place"; echo "term \$NOMORA_JOB \$NOMORA_TASK" >>../events; exit 1' TERM
mkdir "\$place" || echo "twice \$place" >>../wrong
set -- "\$1" "\$NOMORA_MACHINE".*
[ \$# -le 3 ] || echo "\$*" >>../wrong
echo "begin \$NOMORA_JOB \$NOMORA_TASK" >>../events
case \$1 in go) until [ -e ../go ]; do sleep 0.1; done ;; *) sleep "\$1" & wait \$! ;; esac
echo "end \$NOMORA_JOB \$NOMORA_TASK" >>../events
rmdir "\$place"
exit 7
END
printf '%s\n' '{"name": "n1", "slots": 2}' '{"name": "n2", "slots": 2, "rack": "r2"}' >machines
start_schedd
wait_for 60 "$nomora" jobs >/dev/null
start_agent

# --- a job, its end, its output ---
machines() { "$nomora" nodes --json | jq -c '[.machines[] | [.name, .rack, .slots, .state]]'; }
is_machines() { [ "$(machines)" = "$1" ]; }
soon "the machines of the file are schedd's" is_machines '[["n1","default",2,"up"],["n2","r2",2,"up"]]'
submit '{"id": "a/b c", "curve": "memcached", "root": "it'\''s", "tasks": ["x", "it'\''s"], "command": ["sh", "-c", "echo \"$0\" \"$1\" $NOMORA_JOB $NOMORA_TASK; exit 4", "one  two", "'\''\"$"]}'
soon "a job runs and ends, whatever is in its names" sh -c "! ls agent/*/ended/a%2Fb%20c.x.* 2>/dev/null | grep -c nothing && test -e agent/*/ended/a%2Fb%20c.it%27s.*/verdict"
check "its words come through" grep -qFx "one  two '\"\$ a/b c it's" agent/*/ended/a%2Fb%20c.it%27s.*/output
check "the exit code is logged" grep -q "job a/b c: task x on n.: exit 4" log
check "and stored" grep -qx "exit 4" agent/*/ended/a%2Fb%20c.x.*/verdict
soon "the job is gone" gone "a%2Fb%20c"

# --- cancel ---
submit "$(job long 4 1000)"
soon "a long job runs" runs long 4
"$nomora" jobs long --cancel >/dev/null
submit "$(job next 4 0)"
soon "it is cancelled: its tasks get SIGTERM" is_count 1 "term long t1"
soon "its slots are free for the next job once they have ended" is_count 1 "end next t3"
check "and not before" test ! -e wrong
submit "$(job deaf 1 1000 | sed 's/"sh", "[^"]*", "1000"/"sh", "-c", "trap : TERM; echo $$ >deaf.pid; while :; do sleep 0.1; done"/; s|>deaf|>'"$scratch"'/deaf|')"
soon "a job that ignores it runs" runs deaf 1
"$nomora" jobs deaf --cancel >/dev/null
soon "and gets SIGKILL" sh -c '! kill -0 "$(cat deaf.pid)" 2>/dev/null || grep -q "^State:.Z" "/proc/$(cat deaf.pid)/status"'
soon "nothing is left" empty

# --- a lost task, a moved task ---
submit "$(job lost 1 go)"
soon "a job runs" runs lost 1
pid=$(cut -d' ' -f1 agent/*/runs/lost.t0.*/pid)
kill -9 -- "-$pid"
rmdir places/*.lost.t0
soon "its process is killed from outside: it starts again" is_count 2 "begin lost t0"
touch go
soon "and ends" is_count 1 "end lost t0"
rm go
submit "$(job moves 1 go)" --move
soon "a job that may move runs" runs moves 1
from=$("$nomora" jobs moves --json | jq -r '.tasks[0].machine')
sed "s/\"$from\", /&\"state\": \"draining\", /" machines >machines.new && mv machines.new machines
kill "$agent"
wait "$agent"
check "SIGTERM ends the agent with 0" test $? -eq 0
check "the task goes on" test "$(count "term moves t0")" -eq 0
start_agent
soon "its machine is drained: it stops there, starts elsewhere" is_count 2 "begin moves t0"
touch go
soon "and ends once" is_count 1 "end moves t0"
check "after one SIGTERM" is_count 1 "term moves t0"
check "never two at a time, nor more tasks than slots" test ! -e wrong
soon "the job is gone" gone moves

rm go
submit "$(job kept 1 go)"
soon "a job runs" runs kept 1
kill "$agent"
wait "$agent"
rm agent/runs.json
start_agent
soon "the records are lost: the run is adopted" grep -q kept agent/runs.json
touch go
soon "ends, and the job is gone" gone kept
check "it began once" is_count 1 "begin kept t0"

# --- agent and schedd are killed at random ---
printf '%s\n' '{"name": "n1", "slots": 2}' '{"name": "n2", "slots": 2, "rack": "r2"}' >machines
RANDOM=20261129
jobs=15 kills=20
restart_agent() { kill -9 "$agent" 2>/dev/null; wait "$agent" 2>/dev/null; start_agent "$@"; }
restart_schedd() { kill -9 "$schedd" 2>/dev/null; wait "$schedd" 2>/dev/null; start_schedd "$@"; }
restart_agent
for n in $(seq $jobs); do submit "$(job "r$n" 3 0.$((RANDOM % 8)))"; done
for n in $(seq $kills); do
	sleep 0.$((RANDOM % 5))$((RANDOM % 10))
	case $((RANDOM % 3)) in 0) restart_agent ;; 1) restart_schedd ;; *) restart_agent; restart_schedd ;; esac
done
all_ended() { [ "$(grep -c '^end r' events)" -ge $((3 * jobs)) ]; }
soon "$kills kills: all tasks end" all_ended
no_jobs() { [ "$("$nomora" jobs --json | jq '.jobs | length')" = 0 ]; }
soon "schedd has no job left" no_jobs
check "each task began once" test "$(grep '^begin r' events | sort | uniq | wc -l) $(grep -c '^begin r' events)" = "$((3 * jobs)) $((3 * jobs))"
check "and ended once" test "$(grep '^end r' events | sort | uniq | wc -l) $(grep -c '^end r' events)" = "$((3 * jobs)) $((3 * jobs))"
check "never more tasks than slots" test ! -e wrong

# --- over ssh ---
if [ -x /usr/sbin/sshd ] && command -v ssh-keygen >/dev/null; then
	ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -q -t ed25519 -N '' -f host-key
	mkdir -p /run/sshd home 2>/dev/null
	port=$((20000 + BASHPID % 20000))
	printf '%s\n' "Port $port" 'ListenAddress 127.0.0.1' "HostKey $scratch/host-key" "AuthorizedKeysFile $scratch/key.pub" 'StrictModes no' \
		'UsePAM no' 'PermitRootLogin prohibit-password' 'PidFile none' "SetEnv HOME=$scratch/home PATH=$scratch/programs:$PATH" >sshd-config
	mkdir programs # a setsid that kills the agent before a task begins there, if the file cut exists
	printf '#!/bin/sh\nif rm "%s/cut" 2>/dev/null; then kill -9 "$(cat "%s/agent.pid")"; fi\nexec %s "$@"\n' "$scratch" "$scratch" "$(command -v setsid)" >programs/setsid
	chmod +x programs/setsid
	printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 host-key.pub)" >known
	printf '%s\n' 'Host far' 'HostName 127.0.0.1' "Port $port" "User $(id -un)" "IdentityFile $scratch/key" 'IdentitiesOnly yes' "UserKnownHostsFile $scratch/known" >ssh-config
	start_sshd() { start /usr/sbin/sshd -D -e -f "$scratch/sshd-config"; sshd=$started; echo "$sshd" >sshd.pid; }
	kill_sshd() { kill -9 "$sshd"; wait "$sshd" 2>/dev/null; ssh -F ssh-config -o ControlPath="$scratch/agent/ssh-%C" -O exit far 2>/dev/null; }
	start_sshd
	at_exit ssh -F "$scratch/ssh-config" -o ControlPath="$scratch/agent/ssh-%C" -O exit far
	kill "$agent"
	wait "$agent"
	printf '%s\n' '{"name": "n1", "slots": 0, "state": "down"}' '{"name": "n2", "slots": 0, "state": "down"}' '{"name": "n3", "slots": 2, "ssh": "far"}' >machines
	start_agent --ssh-config "$scratch/ssh-config"
	rm go
	submit "$(job far 2 go)"
	soon "over ssh, a job runs" runs far 2
	kill_sshd
	drains() { [ "$("$nomora" nodes --json | jq -r '.machines[] | select(.name == "n3") | .state')" = "$1" ]; }
	soon "the machine is unreachable: no new tasks" drains draining
	restart_agent --ssh-config "$scratch/ssh-config"
	touch go
	soon "meanwhile the tasks end" is_count 1 "end far t1"
	check "the agent, restarted, does not know it yet" runs far 2
	start_sshd
	soon "the machine is back: their ends are reported" gone far
	check "each ran once" test "$(grep -c '^begin far' events) $(grep -c '^end far' events)" = "2 2"
	soon "and new tasks may come" drains up

	# The agent is killed before it can report the start, then sshd: schedd decides again, for another machine.
	rm go
	touch cut
	restart_schedd --start-timeout 2 --attempts 1000 --retry 0.01
	submit "$(job cut 1 go)"
	soon "a task starts, the agent is killed" is_count 1 "begin cut t0"
	kill_sshd
	sed -i 's/"n1", "slots": 0, "state": "down"/"n1", "slots": 1/' machines
	restart_agent --ssh-config "$scratch/ssh-config"
	decided_here() { "$nomora" jobs cut --json | jq -e '.tasks[0] | .state == "decided" and .machine == "n1"' >/dev/null; }
	soon "schedd decides for another machine" decided_here
	sleep 1
	check "the first run may live: no second one begins" is_count 1 "begin cut t0"
	start_sshd
	soon "the machine is back: the first run is ended" is_count 1 "term cut t0"
	soon "then the second begins" is_count 2 "begin cut t0"
	touch go
	soon "and ends" is_count 1 "end cut t0"
	# On a busy machine, the second one's start may also be reported later than --start-timeout: then there is a third.
	check "in this order" grep -Eqx '(begin term )+begin end ' <<<"$(grep ' cut ' events | cut -d' ' -f1 | tr '\n' ' ')"
else
	skip "over ssh" "sshd is not installed"
fi

# --- the orders, by themselves ---
orders() { HOME=$scratch sh -c "$(cat "$source_root/integrations/local/machine.sh")
enter '$scratch/by itself' $1
$2
list" 2>&1; }
once="start R.1 sh -c 'echo x >>./times; exit 5'"
for _ in 1 2 3 4 5 6; do orders "1 1" "$once" >/dev/null & orderings+=($!); done
wait "${orderings[@]}"
exits() { orders "1 0" "$once" | grep -qx 'R.1 exit 5'; }
soon "a repeated order" exits
check "has no effect" test "$(wc -l <./times)" -eq 1
orders "2 1" "clean R.1" >/dev/null
check "an order of an earlier agent that comes late is refused" test "$(orders "1 0" "$once")" = "another agent has taken over"
check "and not carried out" test "$(wc -l <./times)" -eq 1
mkdir "by itself/runs/R.2"
check "a start that was cut off is lost" test "$(orders "2 0" "")" = "$(printf 'R.2 lost\ndone')"
check "and cannot begin later" sh -c '. "$1"; sh -c "$wrapper" sh "$2/by itself/runs/R.2" touch "$2/late"; ! test -e "$2/late"' sh "$source_root/integrations/local/machine.sh" "$scratch"

# --- what is refused ---
refused() { printf '%s\n' "$2" >bad; refuses "$1" 1 "$3" "$nomora" local-agent --machines bad --state "$scratch/other"; }
refused "an empty file" '' 'bad: no machines'
refused "a line without slots" '{"name": "n1"}' 'bad:1: slots: '
refused "too many slots" '{"name": "n1", "slots": 1000000}' 'bad:1: slots: '
refused "a state that does not exist" '{"name": "n1", "slots": 1, "state": "open"}' "bad:1: state: unknown state 'open'"
refused "a name that leaves the folder" '{"name": "../x", "slots": 1}' 'bad:1: name: bad name'
refused "an option for ssh" '{"name": "n1", "slots": 1, "ssh": "-oProxyCommand=x"}' 'bad:1: ssh: bad name'
refused "a machine twice" '{"name": "n1", "slots": 1}
{"name": "n1", "slots": 1}' "bad:2: name: duplicate machine 'n1'"
refuses "no machines" 2 "missing option --machines" "$nomora" local-agent
refuses "a second agent" 1 "another agent uses this state" "$nomora" local-agent --machines machines --state "$scratch/agent"
submit_bad() { printf '%s\n' '{"id": "x", "curve": "memcached", "root": 0, "tasks": 1, "command": '"$1"'}' >bad; "$nomora" submit bad; }
refuses "a command that is no list" 1 "command: found a string, expected an array" submit_bad '"sh"'
refuses "an empty command" 1 "command: expected" submit_bad '[]'
refuses "a word that is no text" 1 "command: expected" submit_bad '["sh", 1]'
plan
