"""What an observer sees from a machine of its own: run by deploy/dashboard/check, as root.

usage: machines.py PROGRAMS FOLDER

Three machines, each a network namespace with folders of its own, and keys: the coordinator, a
worker, and the desk of somebody who has an observer's key. From the desk everything is looked at
(pages in Chromium, metrics, top, statistics, traces, reports, watching), and nothing can be changed.
"""

import json
import os
import pty
import select
import subprocess
import sys
import time
import urllib.request

PROGRAMS, FOLDER = sys.argv[1], sys.argv[2]
NAMES = {"head": 1, "node": 2, "desk": 3}
ROOT = ["--allow-root"]
COORDINATOR, WORKERS = "tcp://10.77.0.1:7420", "tcp://10.77.0.1:7421"
STARTED = []
problems = []

GRAPH = """
version: 1
name: scans
on_failure: continue
operations:
  scan:
    array: 1-40
    run: |
      sleep 0.2
      if [ "$OP_INDEX" = 7 ]; then echo "scan 7: no light" >&2; exit 3; fi
      echo "scan $OP_INDEX"
  sum: {needs: {scan: finished}, run: echo done}
"""
LONG = """
version: 1
name: long
operations:
  wait: {run: sleep 600}
"""


def check(holds, words):
    print(("  ok " if holds else "  NOT ") + words, flush=True)
    if not holds:
        problems.append(words)


def space(name):
    return f"{name}-{os.getpid()}"


def run(*words, **more):
    return subprocess.run(words, check=True, **more)


def connect():
    """A bridge on the head's side; the others have a cable to it."""
    for name in NAMES:
        run("ip", "netns", "add", space(name))
        run("ip", "-n", space(name), "link", "set", "lo", "up")
    head = space("head")
    run("ip", "-n", head, "link", "add", "bridge", "type", "bridge")
    run("ip", "-n", head, "address", "add", "10.77.0.1/24", "dev", "bridge")
    run("ip", "-n", head, "link", "set", "bridge", "up")
    for name in ("node", "desk"):
        run("ip", "-n", head, "link", "add", name, "type", "veth", "peer", "name", "eth",
            "netns", space(name))
        run("ip", "-n", head, "link", "set", name, "master", "bridge", "up")
        run("ip", "-n", space(name), "address", "add", f"10.77.0.{NAMES[name]}/24", "dev", "eth")
        run("ip", "-n", space(name), "link", "set", "eth", "up")


def environment(machine):
    folder = f"{FOLDER}/{machine}"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return dict(
        os.environ, HOME=folder, XDG_STATE_HOME=f"{folder}/state", XDG_RUNTIME_DIR=folder,
        XDG_CONFIG_HOME=f"{folder}/config", TERM="xterm")


def words_at(machine, words):
    return ["ip", "netns", "exec", space(machine), f"{PROGRAMS}/{words[0]}", *words[1:]]


def start(machine, *words):
    log = open(f"{FOLDER}/{machine}-{words[0]}.log", "a")
    process = subprocess.Popen(
        words_at(machine, words), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        env=environment(machine))
    STARTED.append(process)


def said(machine, program, words):
    path = f"{FOLDER}/{machine}-{program}.log"
    for _ in range(300):
        for line in open(path):
            if words in line:
                return line
        time.sleep(0.1)
    sys.exit(f"{program} did not say '{words}':\n" + open(path).read())


def at(machine, *words, status=0, **more):
    done = subprocess.run(
        words_at(machine, words), env=environment(machine), capture_output=True, text=True,
        timeout=120, **more)
    if done.returncode != status:
        sys.exit(f"{words} at {machine} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def invitation(role):
    told = at("head", "opcoord", "key", "invite", "--role", role, "--host", "10.77.0.1",
              "--client", COORDINATOR, "--worker", WORKERS)
    return next(word for word in told.split() if word.startswith("opjoin_"))


def cluster():
    start("head", "opcoord", "serve", *ROOT, "--client", COORDINATOR, "--worker", WORKERS,
          "--metrics", "10.77.0.1:9420")
    said("head", "opcoord", "ready")
    token = f"{FOLDER}/token"
    open(token, "w", opener=lambda path, flags: os.open(path, flags, 0o600)).write(
        invitation("worker"))
    start("node", "opworker", "serve", *ROOT, "--coordinator", WORKERS, "--name", "node",
          "--cpus", "4", "--join-file", token)
    said("node", "opworker", "opworker node serving")
    at("desk", "opbatch", "key", "join", "-", input=invitation("observer"))


def submit(manifest):
    path = f"{FOLDER}/graph.yaml"
    open(path, "w").write(manifest)
    return at("head", "opbatch", "submit", path, "-o", "name").strip()


def commands(graph):
    print("An observer's commands", flush=True)
    at("desk", "opbatch", "watch", graph, status=1)
    check("scan" in at("desk", "opbatch", "stats", graph), "statistics")
    trace = json.loads(at("desk", "opbatch", "trace", graph))
    check(len(trace["traceEvents"]) > 40, "a trace")
    at("desk", "opbatch", "report", graph, "-o", f"{FOLDER}/report.html")
    check("scan 7: no light" in open(f"{FOLDER}/report.html").read(), "a report with its failure")
    check("scan 12" in at("desk", "opbatch", "logs", f"{graph}/scan/12"), "a log")
    told = f"{FOLDER}/told"
    at("desk", "opbatch", "watch", graph, "--notify", f"cat > {told}", "--notify-on", "end",
       status=1)
    check(json.load(open(told))["graph"]["state"] == "failed", "a notification")
    terminal, inside = pty.openpty()
    top = subprocess.Popen(
        words_at("desk", ["opbatch", "top"]), stdin=inside, stdout=inside, stderr=inside,
        env=environment("desk"))
    STARTED.append(top)
    os.close(inside)
    shown, end = b"", time.monotonic() + 30
    while b"node" not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65_536)
    top.terminate()
    top.wait()
    check(b"node" in shown, "top shows the worker")
    with_metrics = subprocess.run(
        ["ip", "netns", "exec", space("desk"), sys.executable, "-c",
         "import urllib.request as r; print(r.urlopen('http://10.77.0.1:9420/metrics').read().decode())"],
        capture_output=True, text=True).stdout
    check("opcluster_operations" in with_metrics, "the coordinator's metrics")


def refusals(graph):
    for words in (
        ["cancel", graph], ["suspend", graph], ["submit", f"{FOLDER}/graph.yaml"],
        ["set", graph, "priority=high"], ["queue", "set", "default", "--max-concurrent", "1"],
        ["worker", "drain", "node"],
    ):
        done = subprocess.run(
            words_at("desk", ["opbatch", *words]), env=environment("desk"), capture_output=True,
            text=True, timeout=60)
        check(done.returncode not in (0, 64) and "observer" in done.stderr,
              f"opbatch {words[0]} is refused: {done.stderr.splitlines()[:1]}")


def pages(graph, running):
    """In this process, which has moved to the desk."""
    from playwright.sync_api import sync_playwright

    print("An observer's pages", flush=True)
    link = said("desk", "opweb", "serves").split("serves ")[1].strip()
    base = link.split("/?")[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(link)
        page.wait_for_selector("#connection:has-text('live')")
        page.wait_for_selector("text=workers connected")
        for path, words in (
            (f"/graphs/{graph}", "41 of 41 operations ended"), (f"/graphs/{running}", "running"),
            ("/workers", "node"), ("/queues", "default"),
            (f"/graphs/{graph}/operations/6", "no light"),
        ):
            page.goto(base + path)
            page.wait_for_selector(f"text={words}")
            forms = page.locator("form[method=post]").count()
            check(forms == 0, f"{path} is there, and has no form that changes anything")
        answer = page.request.post(
            f"{base}/act/cancel", form={"graph": running}, headers={"Origin": base},
            fail_on_status_code=False)
        check(answer.status == 403, f"a form of nobody's is refused: {answer.status}")
        browser.close()


def main():
    connect()
    cluster()
    graph, running = submit(GRAPH), submit(LONG)
    commands(graph)
    refusals(running)
    start("desk", "opweb", "--listen", "127.0.0.1:7480")
    done = subprocess.run(
        ["ip", "netns", "exec", space("desk"), sys.executable, __file__, PROGRAMS, FOLDER, graph,
         running], timeout=300)
    if done.returncode != 0:
        problems.append("the pages")
    graphs = json.loads(at("head", "opbatch", "ls", "-o", "json"))["graphs"]
    states = {each["id"]: each["state"] for each in graphs}
    check(states[int(running)] == "running", "what runs was not touched")


def clean():
    for each in STARTED:
        if each.poll() is None:
            each.terminate()
    for each in STARTED:
        each.wait()
    for name in NAMES:
        subprocess.run(["ip", "netns", "delete", space(name)])


if len(sys.argv) > 3:
    pages(*sys.argv[3:])
else:
    try:
        main()
    finally:
        clean()
    print(f"{len(problems)} problems" if problems else "✔ three machines, and an observer's key")
sys.exit(1 if problems else 0)
