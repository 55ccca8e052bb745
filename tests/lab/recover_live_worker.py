#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""recover_live_worker.py FOLDER: a task of a job under nomora local-agent. It sends the flows that FOLDER/JOB.json gives it, each over
a TCP connection, once FOLDER/go.JOB exists, and sends a flow again from its first byte whenever the peer has started again. All end once
all flows of their job have arrived at tasks that still run."""
import json
import os
import socket
import sys
import threading
import time

FOLDER, JOB, TASK = sys.argv[1], os.environ["NOMORA_JOB"], os.environ["NOMORA_TASK"]
ME = f"{os.getpid()}.{time.time_ns()}"
FLOWS = json.load(open(f"{FOLDER}/{JOB}.json"))["flows"]


def write(name, text):
    with open(f"{FOLDER}/{name}.{ME}", "w") as file:
        file.write(text)
    os.rename(f"{FOLDER}/{name}.{ME}", f"{FOLDER}/{name}")


def read(name):
    try:
        with open(f"{FOLDER}/{name}") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def where(task):
    """[run, address, port] of the task's last start"""
    return read(f"at.{JOB}.{task}")


def receive(connection):
    sender, size = connection.recv(64).decode().split()[:2]
    left = int(float(size) * 1e6)
    connection.sendall(b"g")
    try:
        while left > 0:
            more = len(connection.recv(1 << 18))
            if more == 0:
                return
            left -= more
        write(f"done.{JOB}.{sender}.{TASK}", f"{where(sender)[0]} {ME} {time.time()}")
        connection.sendall(b"d")
    except OSError:
        pass


def send(peer, size):
    """Sends the flow once; False if the peer has begun again meanwhile."""
    there = where(peer)
    if not there:
        return False
    try:
        with socket.create_connection((there[1], int(there[2])), timeout=2) as connection:
            connection.settimeout(0.2)
            connection.sendall(f"{TASK} {size}".encode())
            connection.recv(1)
            left, piece = int(size * 1e6), bytes(1 << 16)
            while left > 0:
                try:
                    left -= connection.send(piece[:min(left, len(piece))])
                except TimeoutError:
                    if where(peer) != there:
                        return False
            while where(peer) == there:
                try:
                    return connection.recv(1) == b"d"
                except TimeoutError:
                    pass
    except OSError:
        pass
    return False


def keep_sent(peer, size):
    while not os.path.exists(f"{FOLDER}/go.{JOB}"):
        time.sleep(0.02)
    while True:
        at = where(peer)
        if at and read(f"done.{JOB}.{TASK}.{peer}")[:2] != [ME, at[0]] and not send(peer, size):
            time.sleep(0.05)
        else:
            time.sleep(0.1)


def listen():
    address = "10.77.1." + os.environ["NOMORA_MACHINE"][1:]
    server = socket.create_server((address, 0), backlog=64)
    write(f"at.{JOB}.{TASK}", f"{ME} {address} {server.getsockname()[1]}")
    while True:
        threading.Thread(target=receive, args=(server.accept()[0],), daemon=True).start()


def all_arrived():
    return all(where(a) and where(b) and read(f"done.{JOB}.{a}.{b}")[:2] == [where(a)[0], where(b)[0]] for a, b, _ in FLOWS)


threading.Thread(target=listen, daemon=True).start()
for a, b, size in FLOWS:
    if a == TASK:
        threading.Thread(target=keep_sent, args=(b, size), daemon=True).start()
while not os.path.exists(f"{FOLDER}/end.{JOB}"):
    time.sleep(0.1)
    if all_arrived():
        write("end." + JOB, "")
