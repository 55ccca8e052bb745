# SPDX-License-Identifier: BSD-3-Clause
"""Why the jobs of a simulated day lose performance: by the free slots at the moment when each job's root got its machine.

Reads the journal of the run (nomora simulate --record) and the rows of its jobs.csv.
"""

import collections
import json

REASONS = ["larger than a pod", "fewer free slots in the cluster than tasks", "fewer in every pod", "fewer in every rack",
           "root restarted", "other tasks restarted", "tasks that arrived over a minute after the root", "other roots in the same round",
           "none of these"]
MINUTE_US = 60_000_000


class Slots:
    """The free slots of the machines, by cluster, pod and rack; places[task]: machine of a running task."""

    def __init__(self):
        self.machines, self.up, self.places = {}, set(), {}
        self.arrived = {}  # [(job, task)] time of the first arrival
        self.free, self.pods, self.racks, self.size = 0, collections.Counter(), collections.Counter(), collections.Counter()

    def add(self, machine, count):
        rack, pod, _ = self.machines[machine]
        self.free += count
        self.pods[pod] += count
        self.racks[rack] += count

    def machine_event(self, event):
        name = event["machine"]
        if name not in self.machines:
            self.machines[name] = (event["rack"], event["pod"], event["slots"])
            self.size[event["pod"]] += event["slots"]
        if (event["state"] == "up") != (name in self.up):
            self.up ^= {name}
            self.add(name, self.machines[name][2] * (1 if name in self.up else -1))

    def task_event(self, event):
        task = event["job"], event["task"]
        self.arrived.setdefault(task, event["t_us"])
        if event["state"] == "running":
            self.places[task] = event["machine"]
            self.add(event["machine"], -1)
        elif task in self.places:
            self.add(self.places.pop(task), 1)

    def room(self):
        return self.free, max(self.pods.values()), max(self.racks.values())


def replay(journal):
    """Returns for each job its roots, [(time, free slots of the cluster, of the roomiest pod, of the roomiest rack)], the number of
    placements of its tasks, the time between the arrivals of its root and its last task, and the slots of a pod."""
    slots, root_of, roots, placed, room, time = Slots(), {}, collections.defaultdict(list), collections.Counter(), None, None
    with open(journal, encoding="utf-8") as file:
        for event in map(json.loads, file):
            kind = event.get("event")
            if kind == "machine":
                slots.machine_event(event)
            elif kind == "task":
                slots.task_event(event)
            elif kind == "job":
                root_of[event["job"]] = event["root"]
            elif kind == "decision" and event["decision"] == "place":
                placed[event["job"]] += 1
                if event["task"] != root_of[event["job"]]:
                    continue
                if event["t_us"] != time:
                    time, room = event["t_us"], slots.room()
                roots[event["job"]].append((time, *room))
    late = collections.Counter()
    for (job, _), arrival in slots.arrived.items():
        late[job] = max(late[job], arrival - slots.arrived[job, root_of[job]])
    return roots, placed, late, max(slots.size.values())


def reason_of(tasks, roots, placed, late, pod_slots, together):
    free, pod, rack = roots[0][1:]
    if tasks > pod_slots:
        return 0
    for reason, room in enumerate((free, pod, rack), 1):
        if room < tasks:
            return reason
    if len(roots) > 1:
        return 4
    if placed > tasks:
        return 5
    if late > MINUTE_US:
        return 6
    return 7 if together > 1 else 8


def losses(journal, jobs):
    """Returns by reason the jobs, those below 60 %, those in the lowest tenth, and the points of the mean over jobs that they lose;
    and the ten worst jobs: tasks, performance, reason, free slots in the cluster, in the roomiest pod and in the roomiest rack."""
    roots, placed, late, pod_slots = replay(journal)
    rounds = collections.Counter(times[0][0] for times in roots.values())
    found = [[0, 0, 0, 0.0] for _ in REASONS]
    rows = sorted(jobs, key=lambda row: float(row["average"]))
    worst = []
    for place, row in enumerate(rows):
        tasks, average, own = int(row["tasks"]), float(row["average"]), roots[row["job"]]
        reason = reason_of(tasks, own, placed[row["job"]], late[row["job"]], pod_slots, rounds[own[0][0]])
        for column, value in enumerate((1, average < 0.6, place < len(rows) // 10, 100 * (1 - average) / len(rows))):
            found[reason][column] += value
        if place < 10:
            worst.append([tasks, average, reason, *own[0][1:]])
    return {"reasons": [[*row[:3], round(row[3], 3)] for row in found], "worst": worst}
