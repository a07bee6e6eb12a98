"""What a browser makes of the dashboard: run by deploy/dashboard/check.

usage: browser.py PROGRAMS FOLDER
"""

import os
import signal
import subprocess
import sys
import time

from axe_core_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

PROGRAMS, FOLDER = sys.argv[1], sys.argv[2]
ENVIRONMENT = dict(
    os.environ, XDG_STATE_HOME=f"{FOLDER}/state", XDG_CONFIG_HOME=f"{FOLDER}/config",
    XDG_RUNTIME_DIR=FOLDER, OPBATCH_COORDINATOR=f"ipc://{FOLDER}/clients")
ROOT = ["--allow-root"] if os.geteuid() == 0 else []
LARGEST = 2 << 20
STARTED = []
problems = []


def check(holds, words):
    print(("  ok " if holds else "  NOT ") + words, flush=True)
    if not holds:
        problems.append(words)


def start(name, *words):
    log = open(f"{FOLDER}/{name}.log", "a")
    process = subprocess.Popen(
        [f"{PROGRAMS}/{words[0]}", *words[1:]], stdout=log, stderr=log, env=ENVIRONMENT)
    STARTED.append(process)
    return process


def coordinator():
    return start(
        "opcoord", "opcoord", "serve", *ROOT, "--client", f"ipc://{FOLDER}/clients", "--worker",
        f"ipc://{FOLDER}/workers", "--state", f"{FOLDER}/journal")


def said(name, words):
    for _ in range(300):
        for line in open(f"{FOLDER}/{name}.log"):
            if words in line:
                return line
        time.sleep(0.1)
    sys.exit(f"{name} did not say '{words}':\n" + open(f"{FOLDER}/{name}.log").read())


def opbatch(*words, manifest=None):
    if manifest is not None:
        path = f"{FOLDER}/graph.yaml"
        open(path, "w").write(manifest)
        words = (*words, path)
    done = subprocess.run(
        [f"{PROGRAMS}/opbatch", *words], env=ENVIRONMENT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"opbatch {words}: {done.stderr}")
    return done.stdout


TILES = """
version: 1
name: tiles
on_failure: continue
defaults: {resources: {cpus: 0.3, memory: 256MiB}}
operations:
  fetch: {run: sleep 0.3}
  tile:
    needs: [fetch]
    array: 1-120
    run: |
      sleep 0.$(( OP_INDEX * 37 % 30 + 10 ))
      echo "tile <b>$OP_INDEX</b> & \\"more\\""
      if [ "$OP_INDEX" = 7 ]; then echo "tile 7: cannot read <script>plate</script>" >&2; exit 3; fi
  check: {needs: {tile: finished}, run: sleep 0.2}
  merge: {needs: [check], run: sleep 0.4}
  publish: {needs: [tile], run: "true"}
"""
MANY = """
version: 1
name: many
operations:
  element: {run: "true", array: 1-100000}
"""
WAITING = """
version: 1
name: waiting
operations:
  first: {run: "sleep 600"}
  second: {run: "true", needs: first, array: 1-40}
"""


class Look:
    """A page of a browser that notes what goes wrong in it."""

    def __init__(self, browser, link, **more):
        self.base = link.split("/?")[0]
        more.setdefault("viewport", {"width": 1200, "height": 900})
        self.context = browser.new_context(**more)
        self.page = self.context.new_page()
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: problems.append(f"script: {error}"))
        self.page.on("response", self.weigh)
        self.page.goto(link)

    def hear(self, message):
        # A stream that the coordinator's restart interrupts is no error of the page.
        if message.type in ("error", "warning"):
            problems.append(f"console: {message.text}")
            print(f"  NOT console: {message.text}", flush=True)

    def weigh(self, response):
        size = int(response.headers.get("content-length", 0))
        if size > LARGEST:
            problems.append(f"{response.url} has {size} bytes")

    def open(self, path):
        self.page.goto(self.base + path, wait_until="domcontentloaded")
        return self.page


def judge(look, path, words):
    page = look.open(path)
    page.wait_for_timeout(1500)
    found = Axe().run(page)["violations"]
    for violation in found:
        nodes = [node["html"][:100] for node in violation["nodes"][:3]]
        print(f"    {violation['id']}: {violation['help']}: {nodes}", flush=True)
    check(not found, f"axe-core finds nothing on {words}")


def large(browser, link):
    print("100,000 operations", flush=True)
    opbatch("submit", "--hold", manifest=MANY)
    look = Look(browser, link)
    start_time = time.monotonic()
    page = look.open("/graphs/1")
    page.wait_for_selector("#rows .row")
    took = time.monotonic() - start_time
    check(took < 1, f"the page is there in {took:.2f} s")
    page.wait_for_selector("text=100,000 operations")
    rows = page.locator("#rows")
    rows.evaluate("element => { element.scrollTop = element.scrollHeight }")
    page.wait_for_selector("text=1/element/100000", timeout=5000)
    check(True, "the last row is there after one jump")
    shown = page.locator("#rows .row").count()
    check(shown <= 800, f"{shown} rows are held of 100,000")
    frames = rows.evaluate("""async element => {
      let frames = 0;
      const end = performance.now() + 1000;
      element.scrollTop = 0;
      while (performance.now() < end) {
        await new Promise(requestAnimationFrame);
        element.scrollTop += 900;
        frames += 1;
      }
      return frames;
    }""")
    check(frames >= 20, f"{frames} frames a second while it scrolls")
    page.wait_for_selector("text=Reading:", state="detached", timeout=120000)
    check(True, "all rows have been read in the background")
    opbatch("cancel", "1")
    look.context.close()


def running(browser, link):
    print("A graph to its end", flush=True)
    opbatch("submit", manifest=TILES)
    look = Look(browser, link)
    page = look.open("/graphs/2")
    page.wait_for_selector("#panel-summary >> text=running")
    page.wait_for_selector("text=124 of 124 operations ended", timeout=90000)
    page.wait_for_selector("#panel-failures >> text=<script>plate</script>", timeout=30000)
    check(page.locator("#panel-failures script").count() == 0, "text of others stays text")
    page.wait_for_selector("#panel-time svg", timeout=30000)
    page.wait_for_selector("#panel-names svg", timeout=30000)
    check(True, "its plots are there")
    page.click("#panel-failures a")
    page.wait_for_selector("#rows .row")
    check(page.locator("#rows .row").count() == 1, "its failures are a list of one")
    page.click("#rows .row a")
    page.wait_for_selector("#log-stderr >> text=cannot read <script>")
    check(True, "its log is there")
    look.context.close()


def steering(browser, link):
    print("Buttons", flush=True)
    opbatch("submit", manifest=WAITING)
    look = Look(browser, link)
    page = look.open("/graphs/3")
    page.wait_for_selector("#panel-summary >> text=running")
    page.click("text=Suspend")
    page.wait_for_selector("text=Suspended: graph 3.")
    page.click("button:has-text('Resume')")
    page.wait_for_selector("text=Resumed: graph 3.")
    page.click("summary:has-text('Cancel')")
    # It stays open while the page is live.
    page.wait_for_timeout(2500)
    page.click("button:has-text('Cancel graph 3')")
    page.wait_for_selector("text=Cancelled: graph 3.")
    page.wait_for_selector("#panel-summary >> text=cancelled", timeout=30000)
    check(True, "a graph is suspended, resumed and cancelled")
    page = look.open("/queues")
    slider = page.locator("input.slider").first
    slider.fill("12")
    check(page.locator("input[type=number]").first.input_value() == "12", "the number follows")
    page.click("button:has-text('Set')")
    page.wait_for_selector("text=runs at most 12 at once")
    check("12" in opbatch("queue", "ls"), "a slider sets a limit")
    page.fill("input[type=number]", "")
    page.click("button:has-text('Set')")
    page.wait_for_selector("text=has no limit")
    look.context.close()


def restart(browser, link, process):
    print("A restart of the coordinator", flush=True)
    look = Look(browser, link)
    page = look.open("/")
    page.wait_for_selector("#connection:has-text('live')")
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(2)
    open(f"{FOLDER}/opcoord.log", "w").close()
    coordinator()
    said("opcoord", "ready")
    opbatch("submit", manifest=TILES.replace("1-120", "1-20"))
    page.wait_for_selector("#panel-graphs >> text=tiles", timeout=30000)
    page.wait_for_selector("#connection:has-text('live')")
    check(True, "the page goes on by itself")
    page.goto(look.base + "/graphs/4")
    page.wait_for_selector("text=24 of 24 operations ended", timeout=60000)
    check(True, "and a graph is followed to its end")
    look.context.close()


def everybody(browser, link):
    print("For everybody", flush=True)
    pages = [
        ("/", "the overview"), ("/graphs", "the list"), ("/graphs/2", "a graph"),
        ("/graphs/2/operations/7", "an operation"), ("/workers", "workers"),
        ("/queues", "queues"),
    ]
    for scheme in ("light", "dark"):
        look = Look(browser, link, color_scheme=scheme)
        for path, words in pages:
            judge(look, path, f"{words}, {scheme}")
        look.context.close()
    look = Look(browser, link, viewport={"width": 360, "height": 740})
    for path, words in pages:
        page = look.open(path)
        page.wait_for_timeout(800)
        width = page.evaluate("document.documentElement.scrollWidth")
        check(width <= 361, f"{words} is {width} wide on a screen of 360")
    look.context.close()
    look = Look(browser, link)
    page = look.open("/graphs/2")
    page.keyboard.press("Tab")
    check(
        page.evaluate("document.activeElement.className") == "skip", "the keyboard begins at the content")
    look.context.close()
    look = Look(browser, link, java_script_enabled=False)
    for path, words in pages:
        look.open(path)
    page = look.open("/graphs/2?state=failed")
    check(page.locator("#rows .row").count() == 1, "without scripts everything is there")
    look.context.close()
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(link.split("/?")[0] + "/graphs/2")
    check(answer.status == 401 and "tiles" not in page.content(), "nothing without the token")
    page.fill("input[name=token]", link.split("token=")[1])
    page.click("button")
    page.wait_for_selector("text=workers connected")
    check(True, "the token can be pasted")
    context.close()


def main():
    process = coordinator()
    said("opcoord", "ready")
    for number in (1, 2):
        start(
            f"opworker{number}", "opworker", "serve", *ROOT, "--coordinator",
            f"ipc://{FOLDER}/workers", "--name", f"w{number}", "--cpus", "1")
    start("opweb", "opweb", "--listen", "127.0.0.1:0")
    link = said("opweb", "serves").split("serves ")[1].strip()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        large(browser, link)
        running(browser, link)
        steering(browser, link)
        restart(browser, link, process)
        everybody(browser, link)
        browser.close()


try:
    main()
finally:
    for each in STARTED:
        if each.poll() is None:
            each.terminate()
    for each in STARTED:
        each.wait()
for words in problems:
    print(f"✘ {words}")
print(f"{len(problems)} problems" if problems else "✔ the dashboard in Chromium")
sys.exit(1 if problems else 0)
