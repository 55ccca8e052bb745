# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154 # lab, controller and hosts are the script's
# Starts a Slurm cluster in a lab. The script sources tests/cli/lib.sh, sets lab, controller (a host) and hosts (one slurmd
# each), sources this file, starts the lab and calls start_slurm. Slurm's own traffic uses a management network, as in
# real racks: a bridge in the controller's namespace. On the fabric it would use equal-cost routes that nobody repairs:
# with a link cut, a quarter of Slurm's connections over it would be lost. slurmctld, slurmd and munged run in the lab and
# end with it.
for program in slurmctld slurmd munged; do command -v $program >/dev/null || skip_all "needs $program"; done
dir=$(mktemp -d /tmp/nomora-slurm.XXXXXX) # the paths of unix sockets are short
at_exit rm -rf "$dir"
mkdir -p "$dir"/{state,spool}
export SLURM_CONF=$dir/slurm.conf
declare -A node_options # the options of a host's line in slurm.conf, instead of the default ones

# launch HOST COMMAND...: replaces the (background) shell by the command, in the host's network, with its name. Not 'ip
# netns exec', which would remount /sys.
launch() { exec nsenter --net="/run/netns/$lab-$1" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "$@"; }
on() { (launch "$@"); }
# ctl COMMAND...: a Slurm command, on the controller's host.
ctl() { nsenter --net="/run/netns/$lab-$controller" timeout 60 "$@"; }
management() { echo "10.99.0.$((${1#h} + 1))"; }
make_management_network() {
	local host
	ip -n "$lab-$controller" link add management type bridge
	ip -n "$lab-$controller" address add "$(management "$controller")/24" dev management
	ip -n "$lab-$controller" link set management up
	for host in "${hosts[@]}"; do
		ip -n "$lab-$controller" link add "to-$host" master management type veth peer name management netns "$lab-$host"
		ip -n "$lab-$controller" link set "to-$host" up
		ip -n "$lab-$host" address add "$(management "$host")/24" dev management
		ip -n "$lab-$host" link set management up
	done
}
write_conf() {
	local host
	cat <<-END
		ClusterName=nomora
		SlurmctldHost=$controller($(management "$controller"))
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.sock,cred_expire=5
		CredType=cred/munge
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool/%n
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd.%n.pid
		SlurmctldLogFile=$dir/slurmctld.log
		SlurmdLogFile=$dir/slurmd.%n.log
		ProctrackType=proctrack/pgid
		TaskPlugin=task/none
		MpiDefault=none
		SelectType=select/cons_tres
		SelectTypeParameters=${NOMORA_CONSUMES:-CR_CPU}
		SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,bf_interval=1
		ReturnToService=2
		SlurmdParameters=config_overrides
		SlurmdTimeout=300
		MessageTimeout=60
		BatchStartTimeout=60
		InactiveLimit=0
		KillWait=2
		MinJobAge=60
		PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
	END
	for host in "${hosts[@]}"; do echo "NodeName=$host NodeAddr=$(management "$host") ${node_options[$host]-CPUs=2 RealMemory=100}"; done
}
start_controller() { on "$controller" slurmctld "$@" -f "$SLURM_CONF"; }
stop_controller() {
	local pid
	pid=$(cat "$dir/slurmctld.pid") # it removes the file when it ends
	kill "$pid" && tail --pid="$pid" -s 0.05 -f /dev/null
}
# start_slurm [LINE...]: starts Slurm with these additional lines in slurm.conf, and with $dir/topology.conf if it exists.
start_slurm() {
	local host
	make_management_network
	{ write_conf; [ $# -eq 0 ] || printf '%s\n' "$@"; } >"$SLURM_CONF"
	(umask 077 && head -c 128 /dev/urandom >"$dir/munge.key")
	on "$controller" munged --force --key-file="$dir/munge.key" --socket="$dir/munge.sock" --pid-file="$dir/munged.pid" \
		--log-file="$dir/munged.log" --seed-file="$dir/munge.seed" --origin=127.0.0.1
	[ -z "${accounts:-}" ] || start_accounting
	start_controller -c
	# PMIx keeps a step's files below /tmp, under the same name on each host, but these hosts share /tmp. mpi.conf is
	# next to slurm.conf.
	for host in "${hosts[@]}"; do
		mkdir "$dir/spool/$host"
		cp "$dir"/*.conf "$dir/spool/$host"
		echo "PMIxCliTmpDirBase=$dir/spool/$host" >"$dir/spool/$host/mpi.conf"
		on "$host" env -u SLURM_CONF slurmd -N "$host" -f "$dir/spool/$host/slurm.conf"
	done
}
# With accounts=1, jobs have accounts and QOS with limits: slurmdbd, and a MariaDB without users on the controller's own loopback.
mariadb_tables=/usr/share/mysql/mysql_system_tables.sql # of Debian's mariadb-server-core, whose own script needs the client
has_accounting() { command -v slurmdbd mariadbd sacctmgr >/dev/null && [ -e "$mariadb_tables" ] && [ -n "$(find /usr/lib -name accounting_storage_mysql.so -print -quit 2>/dev/null)" ]; }
start_accounting() {
	cat >>"$SLURM_CONF" <<-END
		AccountingStorageType=accounting_storage/slurmdbd
		AccountingStorageHost=$(management "$controller")
		AccountingStoragePass=$dir/munge.sock
		AccountingStorageEnforce=associations,limits,qos
	END
	(umask 077 && cat >"$dir/slurmdbd.conf" <<-END
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge.sock
		DbdHost=$controller
		DbdAddr=$(management "$controller")
		SlurmUser=root
		LogFile=$dir/slurmdbd.log
		PidFile=$dir/slurmdbd.pid
		StorageType=accounting_storage/mysql
		StorageHost=127.0.0.1
		StorageUser=root
	END
	)
	mkdir "$dir/db"
	{ printf 'create database mysql;\nuse mysql;\n'; cat "$mariadb_tables"; } |
		mariadbd --no-defaults --bootstrap --user=root --datadir="$dir/db" >"$dir/db.log" 2>&1
	launch "$controller" mariadbd --no-defaults --user=root --datadir="$dir/db" --socket="$dir/db.sock" --bind-address=127.0.0.1 --skip-grant-tables \
		--innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=0 --pid-file="$dir/db.pid" >>"$dir/db.log" 2>&1 &
	wait_for 60 test -S "$dir/db.sock"
	on "$controller" env SLURM_CONF="$SLURM_CONF" slurmdbd
	wait_for 60 accounting -n list cluster
	accounting add cluster nomora
}
accounting() { ctl sacctmgr -i "$@" >>"$dir/accounting.log" 2>&1; }
# add_limits: QOS and accounts, each of which has a limit, as its name says. Account "main" is the default and has none;
# jobs of an account that has the name of a QOS are of this QOS. QOS "urgent" preempts others, but not itself.
add_limits() {
	local name
	accounting add qos one MaxJobsPerUser=1
	accounting add qos narrow MaxTRESPerJob=cpu=4
	accounting add qos denied MaxTRESPerJob=cpu=4 Flags=DenyOnLimit
	accounting add qos group GrpTRES=cpu=8
	accounting add qos user MaxTRESPerUser=cpu=8
	accounting add qos short MaxWall=10
	accounting add qos urgent Preempt=normal,one,narrow,group Priority=100
	accounting add account main
	accounting add account few MaxJobs=1
	accounting add account small GrpTRES=cpu=6
	accounting add account capped MaxTRESPerJob=cpu=2
	for name in one narrow denied group user short urgent; do accounting add account $name QOS=normal,$name DefaultQOS=$name; done
	for name in main few small capped one narrow denied group user short urgent; do accounting add user root account=$name; done
	accounting modify user root set DefaultAccount=main
	accounting modify user root where account=main set QOS=normal,one,narrow,denied,group,user,short,urgent
}
all_idle() { [ "$(ctl sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)" -eq ${#hosts[@]} ]; }

# --- schedd and the agent beside it, on the controller's host
export NOMORA_SCHEDD=$dir/schedd.sock NOMORA_SLURM_SOCKET=$dir/slurm.sock
# use_plugin: sets plugin_lines, the lines of slurm.conf that load the plug-in.
use_plugin() {
	mkdir "$dir/plugins"
	cp "$bin/../integrations/slurm/job_submit_nomora.so" "$dir/plugins"
	plugin_lines=(JobSubmitPlugins=nomora "PluginDir=$dir/plugins:$(dirname "$(find /usr/lib /usr/local/lib -name select_cons_tres.so -print -quit 2>/dev/null)")")
}
# random_mesh: writes round trips between the hosts.
random_mesh() {
	local a b us now
	now=$(date +%s)
	{
		echo "src,dst,rtt_p50_us,rtt_p99_us,rtt_max_us,loss,samples,updated_at"
		for a in "${hosts[@]}"; do
			for b in "${hosts[@]}"; do
				us=$((20 + RANDOM % 400))
				[ "$a" = "$b" ] || echo "$a,$b,$us,$us,$us,0,8,$now"
			done
		done
	} >"$dir/latency.csv"
}
# start_schedd: with the mesh in $dir/latency.csv.
start_schedd() {
	launch "$controller" "$bin/nomora-schedd" schedd --state "$dir/state.db" --socket "$NOMORA_SCHEDD" --curves "$source_root/curves" \
		--latency "$dir/latency.csv" --max-age 0 --retry 0.2 2>>"$dir/schedd.log" &
	echo $! >"$dir/schedd.pid"
	wait_for 60 "$nomora" jobs
}
# start_agent OPTION...: without capabilities, as in the unit.
start_agent() {
	launch "$controller" setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$bin/nomora-slurm" slurm-agent --socket "$NOMORA_SLURM_SOCKET" "$@" 2>>"$dir/agent.log" &
	echo $! >"$dir/agent.pid"
	wait_for 60 test -S "$NOMORA_SLURM_SOCKET"
}
# has_slots N: schedd has all hosts, each with this number of slots.
has_slots() { [ "$("$nomora" nodes --json | jq -c "[.machines[] | select(.slots == $1 and .state == \"up\")] | length")" -eq ${#hosts[@]} ]; }
# job ID FIELD: of scontrol show job.
job() { ctl scontrol -o show job "$1" 2>/dev/null | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
is_job() { [ "$(job "$1" "$2")" = "$3" ]; }
mark() { ctl scontrol show job "$1" 2>/dev/null | sed -n 's/^ *AdminComment=nomora://p'; }
submit() { ctl sbatch --parsable "$@" 2>>"$dir/sbatch.log"; }
# is_placed ID: schedd decided about the job while sbatch waited.
is_placed() { mark "$1" | grep -qE '^slurm-[0-9a-f]+-[0-9]+ '; }
# submit_placed ARGUMENT...: submits jobs until schedd decides about one while sbatch waits, for which a busy machine may
# be too slow.
submit_placed() {
	local id
	for _ in $(seq 50); do
		id=$(submit "$@")
		is_placed "$id" && break
		ctl scancel "$id"
		sleep 0.5
	done
	echo "$id"
}
# within SECONDS NAME COMMAND...: passes when the command succeeds in time, and prints after how long; otherwise shows
# the state of both sides and ends the script, as the checks that follow need that state.
within() {
	local limit=$1 name=$2 began
	shift 2
	began=$(date +%s%N)
	if wait_for "$limit" "$@"; then
		pass "$name"
		echo "# after $((($(date +%s%N) - began) / 1000000)) ms"
		return
	fi
	fail "$name" "not after $limit s: $*" "$(ctl scontrol -o show job 2>&1)" "$("$nomora" jobs --json 2>&1 | jq -c '.jobs[]')" \
		"$(tail -n 20 "$dir/agent.log")" "$(tail -n 5 "$dir/schedd.log")" "$(tail -n 40 "$dir/slurmctld.log")" "the checks that follow are left out"
	plan
	exit
}
