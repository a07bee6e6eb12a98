"""Runs GNU parallel and opbatch map side by side, and says where they differ.

What to do is the first word: `fuzz [SEED]`, `examples`, `measure [COUNT]` or `all`. A cluster of
this machine is up; deploy/oneliners/check starts it.
"""

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

PAGE = "Sources/OpCluster/OpCluster.docc/OneLiners.md"
OURS = "opbatch map --env PATH"


def run(command, folder, given=b"", environment=None):
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, timeout=600,
        env={**os.environ, **(environment or {})}, executable="/bin/bash", shell=True)
    return done.returncode, done.stdout, done.stderr


# Arguments by chance

PIECES = [
    "'", '"', "\\", "\n", " ", "  ", "\t", "$(echo no)", "`echo no`", "$HOME", "${x}", "-n", "--",
    "-", "*", "?", "[a]", "~", "#", "!", "!!", "&", "&&", "|", ";", "<", ">", "(", ")", "{}", "{1}",
    "{.}", "{", "}", "%", "%s", "=", "a=b", "ü", "日本", "e\u0301", "\u200d", "\U0001f600", ".", "..",
    "/", "//", "a/b.c", ".tar.gz", "x", "yz", "0", "\r", "\x01", "\x1b[31m", "\\n", "''", '""',
]

TEMPLATES = [
    "argdump", "argdump {}", "argdump a{}b", "argdump {.} {/} {//} {/.}", "argdump -- {} {}",
    "argdump {#} {}", "argdump {1} {2}", "'argdump {} | cat'", "'argdump \"{}\"'",
    "'x={}; argdump \"$x\"'", "-q argdump 'a {} \"b\"' {}", "-N2 argdump {}",
    "-N3 argdump {1} {3/} {2.}", "-n2 argdump x{}y", "--colsep '[;&]' argdump {1} {2}",
    "--trim lr argdump {}", "-j1 -X argdump p{}q", "-j1 -m argdump p{}q",
    "--tag argdump", "--tagstring '{#}:{}' argdump", "-I ,, argdump ,, {}",
]


def fuzz(seed):
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/argdump", "w") as file:
            file.write("#!/bin/sh\nfor word; do printf '[%s]\\n' \"$word\"; done\n")
        os.chmod(f"{folder}/argdump", 0o755)
        path = {"PATH": f"{folder}:{os.environ['PATH']}"}
        for number, template in enumerate(TEMPLATES):
            chance = random.Random(seed * 1000 + number)
            words = [
                "".join(chance.choice(PIECES) for _ in range(chance.randrange(6)))
                for _ in range(150)
            ]
            given = "".join(word + "\0" for word in words).encode()
            theirs = run(f"parallel -k -0 {template}", folder, given, path)
            ours = run(f"{OURS} -k -0 {template}", folder, given, path)
            if theirs[:2] == ours[:2]:
                continue
            differences += 1
            print(f"✘ seed {seed}: {template}: statuses {theirs[0]} and {ours[0]}")
            print(ours[2].decode(errors="replace")[:300])
            a, b = theirs[1].split(b"\n"), ours[1].split(b"\n")
            at = next((at for at, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            print(f"  line {at + 1} of {len(a)} and {len(b)}:")
            print(f"  parallel    {a[max(0, at - 2):at + 3]!r}")
            print(f"  opbatch map {b[max(0, at - 2):at + 3]!r}")
    print(f"seed {seed}: {len(TEMPLATES)} templates, 150 arguments each, {differences} differ")
    return differences


# The examples of the manual

STUBS = [
    "lame", "convert", "ping", "wget", "unzip", "destdir-of", "my_program", "do_something", "host",
    "do_step1", "do_step2", "process_output",
]


def stage(folder):
    """What the examples work on."""
    os.makedirs(f"{folder}/bin")
    for name in STUBS:
        with open(f"{folder}/bin/{name}", "w") as file:
            file.write(f"#!/bin/sh\necho {name} \"$@\"\n")
        os.chmod(f"{folder}/bin/{name}", 0o755)
    with open(f"{folder}/bin/prips", "w") as file:
        file.write("#!/bin/sh\nprintf '10.0.0.1\\n10.0.0.2\\n'\n")
    os.chmod(f"{folder}/bin/prips", 0o755)
    for name in ["destdir", "mydir", "sounddir", "mirror_dir"]:
        os.makedirs(f"{folder}/{name}")
    texts = {
        "a.html": "FOO BAR\n", "b c.html": "FOO BAR\n", "x.log": "1\n", "y.log": "2\n",
        "s.wav": "s\n", "sounddir/t.wav": "t\n", "p.jpg": "p\n", "q.jpg": "q\n",
        "abc-file": "A\nB\nC\n", "def-file": "D\nE\nF\n", "abc_-file": "A_B_C_",
        "abc0-file": "A\0B\0C\0", "tsv-file.tsv": "f1\tf2\nA\tB\nC\tD\n", "urlfile": "u1\nu2\n",
        "file_list": "abc-file\nnone\n", "list": "l1\nl2\n", "xlist": "1\n2\n", "ylist": "3\n4\n",
        "hosts.txt": "h1\nh2\n", "num8": "3\n1\n2\n",
    }
    for name, text in texts.items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    subprocess.run("gzip -k x.log y.log; for i in 1 2 3; do echo $i > log.$i; done", shell=True,
                   cwd=folder, check=True)


def tree(folder):
    """Names and contents of all files, but those of compressed ones, which have times."""
    files = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            relative = os.path.relpath(path, folder)
            if os.path.islink(path) or relative.startswith("bin/"):
                continue
            with open(path, "rb") as file:
                files[relative] = b"" if name.endswith((".gz", ".bz2")) else file.read()
    return files


def rows():
    """The table's rows: what is typed there, and what is typed here; None if nothing is."""
    for line in open(PAGE, encoding="utf-8"):
        if not line.startswith("| `"):
            continue
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        theirs, ours = (cell.strip().replace("\\|", "|") for cell in cells[:2])
        theirs = theirs.strip("`").strip()
        if ours == "as it is":
            yield theirs, re.sub(r"(?<![-\w/])parallel(?![-\w])", "opbatch map", theirs)
        elif ours.startswith("`"):
            yield theirs, ours.split("`")[1]
        else:
            yield theirs, None


def examples():
    differences = run_here = count = 0
    for theirs, ours in rows():
        sys.stdout.flush()
        count += 1
        if ours is None:
            continue
        run_here += 1
        ours = ours.replace("opbatch map", OURS)
        results = []
        for command in (theirs, ours):
            with tempfile.TemporaryDirectory() as folder:
                stage(folder)
                path = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "url": "u", "COLUMNS": "80"}
                status, output, error = run(command, folder, environment=path)
                lines = output.replace(folder.encode(), b"FOLDER").split(b"\n")
                if "-k" not in command:
                    lines.sort()
                # How many jobs are filled differs, and so does how many of them fail.
                if re.search(r" -\w*[mX]", command):
                    status = min(status, 1)
                # parallel counts what its skip() leaves out as failed.
                if "skip()" in theirs:
                    status = 0
                results.append((status, lines, tree(folder)))
                last = error
        if results[0] != results[1]:
            differences += 1
            print(f"✘ {theirs}\n  {ours}\n  {last[-300:]!r}")
            for part, there, here in zip(("status", "output", "files"), *results):
                if there != here:
                    print(f"  {part}: parallel {str(there)[:300]}, opbatch map {str(here)[:300]}")
    print(f"{count} examples, {run_here} of them run, {differences} differ")
    return differences


# How long it takes

def measure(count):
    commands = {
        "opbatch map": f"seq {count} | opbatch map true {{}}",
        "GNU parallel": f"seq {count} | parallel true {{}}",
        "xargs -P": f"seq {count} | xargs -P {os.cpu_count()} -I{{}} true {{}}",
    }
    times = {name: [] for name in commands}
    for _ in range(3):
        for name, command in commands.items():
            begin = time.monotonic()
            status, _, error = run(command, ".")
            times[name].append(time.monotonic() - begin)
            if status != 0:
                sys.exit(f"✘ {name}: status {status}: {error.decode()[-300:]}")
    reference = statistics.median(times["GNU parallel"])
    for name, all_times in times.items():
        median = statistics.median(all_times)
        print(
            f"{name:13} {median:6.2f} s ({min(all_times):.2f} … {max(all_times):.2f}), "
            f"{count / median:,.0f}/s, {reference / median:.2f} × parallel")
    return 0


def main():
    what = sys.argv[1]
    number = int(sys.argv[2]) if len(sys.argv) > 2 else None
    if what == "measure":
        return measure(number or 10_000)
    differences = 0
    if what in ("fuzz", "all"):
        for seed in [number] if number is not None else range(1, 4):
            differences += fuzz(seed)
    if what in ("examples", "all"):
        differences += examples()
    return 1 if differences else 0


sys.exit(main())
