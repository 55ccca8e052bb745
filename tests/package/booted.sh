#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs in the container that boot.sh boots, and prints TAP.
set -u
number=0
check() { # NAME COMMAND...
	local name=$1
	shift
	number=$((number + 1))
	if "$@" >/srv/log 2>&1; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		tail -n 20 /srv/log | sed 's/^/# /'
	fi
}
# within SECONDS COMMAND...: waits until the command succeeds.
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}
pid_of() { systemctl show -p MainPID --value "$1"; }
# runs UNIT: it is active, with one process for two seconds.
runs() {
	local pid
	within 20 systemctl is-active --quiet "$1" && pid=$(pid_of "$1") && sleep 2 && systemctl is-active "$1" && [ "$pid" = "$(pid_of "$1")" ] && return
	journalctl --sync
	journalctl --no-pager --output cat -u "$1"
	return 1
}
exposure() { # UNIT MOST: systemd's measure of what the unit may do
	systemd-analyze security --no-pager "$1" | tail -n 1 | tee /dev/stderr | awk -v most="$2" '{ for (i = 1; i < NF; i++) if ($i == "level") exit !($(i + 3) + 0 <= most) }'
}
install_package() { DEBIAN_FRONTEND=noninteractive dpkg -i /srv/nomora.deb; }

check "dpkg installs it" install_package
check "no unit is enabled or runs" sh -c '! systemctl list-units --all --no-legend "nomora-*" | grep -E "running|failed"'

# Two hosts on one link: h1 probes h2, which reflects; an injector between two other links.
for link in h1:h2 a1:a2 b1:b2; do
	ip link add "${link%:*}" type veth peer name "${link#*:}"
	ip link set "${link%:*}" up
	ip link set "${link#*:}" up
done
ip address add 10.9.0.2/24 dev h2 # the unit must be allowed to take port 862 of an address that the kernel has
printf 'h1 10.9.0.1\nh2 10.9.0.2\n' >/etc/nomora/peers.txt # for the plan
cat >/etc/nomora/cluster.json <<'EOF'
{"schema": "nomora.cluster/1", "machines": [{"name": "h1", "rack": "r1", "slots": 2}, {"name": "h2", "rack": "r1", "slots": 2}]}
EOF
echo 'OPTIONS="--address 10.9.0.2/24 --twamp"' >/etc/nomora/reflect-h2.env
printf 'PORT_A=a2\nPORT_B=b2\nOPTIONS="--delay-us 20"\n' >/etc/nomora/inject-line.env
echo 'OPTIONS="--cluster /etc/nomora/cluster.json --latency /run/nomora-mesh/live --admin-group adm --no-executor"' >/etc/nomora/schedd.env
printf 'PEERS=/etc/nomora/peers.txt\nOPTIONS="--cluster /etc/nomora/cluster.json --output /var/lib/nomora/lists"\n' >/etc/nomora/mesh-plan.env
systemctl start nats-server
units="nomora-schedd nomora-reflect@h2 nomora-inject@line"
check "units are enabled and started" systemctl enable --now $units
check "setup of a page" nomora setup page --server nats://127.0.0.1:4222
check "setup of a host" nomora setup host --server nats://127.0.0.1:4222 --interface h1 --address 10.9.0.1/24 --name h1
units+=" nomora-mesh-members nomora-mesh-collect nomora-mesh-serve nomora-mesh-join nomora-mesh-agent@h1 nomora-mesh-publish"
for unit in $units; do check "$unit runs" runs "$unit"; done
check "a second host joins" systemd-run --quiet --unit second nomora mesh join /run/second.txt --server nats://127.0.0.1:4222 --address 10.9.0.2 --name h2
check "the mesh has a measured pair" within 30 sh -c 'curl -fsS http://127.0.0.1:8862/metrics | grep -q h2'
check "its page answers" within 10 curl -fsS http://127.0.0.1:8862/
check "the plan is made" systemctl start nomora-mesh-plan
check "and written" test -s /var/lib/nomora/plan.json
check "the injector is controlled by root" nomora inject-ctl /run/nomora/line.sock stats
check "another user submits a job" runuser -u alice -- sh -c \
	'printf "%s\n" "{\"id\": \"web\", \"curve\": \"memcached\", \"root\": \"s\", \"tasks\": [\"s\", \"c\"]}" >/tmp/jobs.jsonl && nomora submit /tmp/jobs.jsonl'
check "and sees it placed" within 20 runuser -u alice -- sh -c 'nomora jobs web | tee /dev/stderr | grep -q running'
check "but drains no machine" sh -c '! runuser -u alice -- nomora drain h1'
check "a member of the admin group does" runuser -u olga -- nomora drain h1
check "another user does not read the state" sh -c '! runuser -u alice -- cat /var/lib/private/nomora-schedd/schedd.state'
check "nor writes to the mesh" sh -c 'test -s /run/nomora-mesh/live && ! runuser -u alice -- sh -c ": >>/run/nomora-mesh/live"'
# Two daemons with one state, as on two hosts with shared storage: docs/slurm.md.
mkdir /shared
chown olga /shared
sed -e 's/^RuntimeDirectory=.*/RuntimeDirectory=pair-%i/' -e '/^StateDirectory/d' -e 's|/schedd.env|/pair.env|' /lib/systemd/system/nomora-schedd.service \
	>/run/systemd/system/pair@.service
mkdir /run/systemd/system/pair@.service.d
printf '[Service]\nDynamicUser=no\nUser=olga\nReadWritePaths=/shared\n' >/run/systemd/system/pair@.service.d/shared.conf
printf 'STATE=/shared/schedd.state\nOPTIONS="--standby --no-executor"\n' >/etc/nomora/pair.env
waits() { systemctl status "pair@$1" | grep -q 'Status: "on standby'; }
serves() { NOMORA_SCHEDD=/run/pair-$1/schedd.sock nomora nodes; }
systemctl daemon-reload
systemctl start pair@one
check "a unit with its state elsewhere" within 20 serves one
systemctl start pair@two
check "a second one is on standby" within 20 waits two
check "and runs" runs pair@two
systemctl kill -s KILL pair@one
check "it takes over when the first is killed" within 20 serves two
check "which comes back as standby" within 20 waits one
systemctl stop pair@one pair@two
rm -r /run/systemd/system/pair@.service* /etc/nomora/pair.env /shared
for unit in nomora-schedd nomora-mesh-serve nomora-mesh-publish nomora-mesh-plan nomora-mesh-collect nomora-mesh-join nomora-mesh-members; do
	check "exposure of $unit" exposure "$unit" 2.0
done
for unit in nomora-inject@line nomora-reflect@h2 nomora-mesh-agent@h1; do
	check "exposure of $unit: its port needs capabilities" exposure "$unit" 4.3
done

declare -A before
for unit in $units; do before[$unit]=$(pid_of "$unit"); done
printf NOMORAL1 | dd of=/run/nomora-mesh/live conv=notrunc status=none
check "an upgrade" install_package
for unit in $units; do
	check "the upgrade restarts $unit" test "$(pid_of "$unit")" != "${before[$unit]}"
	check "$unit runs again" runs "$unit"
done
check "the mesh is measured again, though its file has the format of another version" within 30 sh -c 'curl -fsS http://127.0.0.1:8862/metrics | grep -q h2'
check "the job is still there" within 20 sh -c 'nomora jobs | grep -q web'
check "the second host leaves" sh -c 'systemctl stop second && nomora mesh leave --server nats://127.0.0.1:4222 --address 10.9.0.2 --name h2'
check "and is no peer then" within 30 sh -c '! grep -q h2 /var/lib/nomora-mesh/peers.txt'
check "the host's setup is removed" nomora setup host --server nats://127.0.0.1:4222 --interface h1 --address 10.9.0.1/24 --name h1 --remove
check "and the host leaves the mesh" within 30 test ! -e /var/lib/nomora-members/members.txt
check "its units have stopped" sh -c '! pgrep -f "nomora-(live|probe) (join|publish|mesh|agent)"'
check "and are not enabled" sh -c '! systemctl is-enabled nomora-mesh-join nomora-mesh-agent@h1 nomora-mesh-publish | grep -q "^enabled"'
check "removal stops all" sh -c 'dpkg --remove nomora && ! pgrep -a nomora'
check "options are kept" test -s /etc/nomora/schedd.env
check "purge" dpkg --purge nomora
check "nothing is left" sh -c '! find / -xdev \( -path /proc -o -path /sys -o -path /var/lib/dpkg -o -path /var/log -o -path /srv -o -path "/tmp/*" \) \
	-prune -o -name "*nomora*" -print | grep .'
check "no unit is known" sh -c '! systemctl list-units --all --no-legend "nomora-*" | grep -E "running|failed|active"'
echo "1..$number"
