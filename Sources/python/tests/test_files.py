"""Files that commands are given, hand on and leave, through the stores of real workers."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from conftest import new_cluster

from opcluster import (
    INDEX,
    Cluster,
    Command,
    ConnectionFailed,
    PythonFunction,
    Refused,
    RemoteError,
    current_operation,
)
from opcluster.contents import FileContent, MemoryContent
from opcluster.files import FileReader, OutputFile, output_files
from opcluster.interpreter import LeftFiles
from opcluster.local_cluster import LocalCluster
from opcluster.v1 import submission_pb2 as words
from opcluster.v1 import worker_pb2


@pytest.fixture
def connected(cluster: LocalCluster) -> Iterator[Cluster]:
    with Cluster(cluster.address) as made:
        yield made


def test_a_file_of_the_submitter_travels_and_what_comes_of_it_is_brought(
    connected: Cluster, tmp_path: Path
) -> None:
    source = tmp_path / "text"
    source.write_text("one two\nthree\n")
    count = Command(
        'wc -w < "$OP_INPUTS/text" > number && pwd > folder && printf "#!/bin/sh\\n" > tool '
        "&& chmod 755 tool",
        inputs={"text": str(source)},
        output_files={"number": "number", "where": "folder", "tool": "tool"},
    )
    graph = connected.submit(count)
    handle = graph.handle(count)
    assert graph.wait(60) == "SUCCEEDED", handle.log("error")
    left = {file.name: (file.path, file.is_executable) for file in handle.files()}
    assert left == {"number": ("", False), "where": ("", False), "tool": ("", True)}
    for name in ("number", "where", "tool"):
        assert handle.fetch(name, str(tmp_path / "results" / name)) == [
            str(tmp_path / "results" / name)
        ]
    assert (tmp_path / "results" / "number").read_text().strip() == "3"
    # It ran in a folder of its own.
    assert (tmp_path / "results" / "where").read_text().strip() != os.getcwd()
    mode = os.stat(tmp_path / "results" / "tool").st_mode
    assert mode & stat.S_IXUSR
    assert not os.stat(tmp_path / "results" / "number").st_mode & stat.S_IXUSR
    # Nothing half-written is left beside them.
    assert sorted(os.listdir(tmp_path / "results")) == ["number", "tool", "where"]
    with pytest.raises(FileNotFoundError, match="no files 'nothing'; there are: "):
        handle.fetch("nothing", str(tmp_path / "nothing"))


def test_folders_patterns_and_empty_files_are_handed_on(
    connected: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "reads"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.fq").write_text("a\n")
    (folder / "deep" / "b.fq").write_text("b\n")
    (folder / "deep" / "empty").write_text("")
    (tmp_path / "x.1").write_text("1")
    (tmp_path / "x.2").write_text("2")
    make = Command(
        'cp -r "$OP_INPUTS/all" left && cat "$OP_INPUTS"/some/* > both',
        name="make",
        inputs={"all": str(folder), "some": str(tmp_path / "x.*")},
        output_files={"left": "left", "both": "both"},
    )
    use = Command(
        'cat "$OP_INPUTS/make/both" "$OP_INPUTS/make/left/deep/b.fq" > found '
        '&& test ! -s "$OP_INPUTS/make/left/deep/empty"',
        name="use",
        output_files={"found": "found"},
    ).depends_on(make, files=["both", "left"])
    graph = connected.submit(make, use)
    assert graph.wait(60) == "SUCCEEDED", graph.handle(use).log("error")
    graph.handle(use).fetch("found", str(tmp_path / "found"))
    assert (tmp_path / "found").read_text() == "12b\n"
    places = graph.handle(make).fetch("left", str(tmp_path / "copy"))
    assert sorted(os.path.relpath(place, tmp_path / "copy") for place in places) == [
        "a.fq", "deep/b.fq", "deep/empty",
    ]
    assert (tmp_path / "copy" / "deep" / "empty").read_text() == ""
    assert (tmp_path / "copy" / "a.fq").read_text() == "a\n"


def test_files_of_arrays_are_read_by_index_and_all_together(
    connected: Cluster, tmp_path: Path
) -> None:
    parts = Command(
        ["/bin/sh", "-c", 'echo "part $1" > part', "sh", INDEX], name="parts", count=3,
        output_files={"part": "part"},
    )
    doubled = Command(
        'cat "$OP_INPUTS/parts/part" "$OP_INPUTS/parts/part" > twice', name="doubled", count=3,
        output_files={"twice": "twice"},
    ).depends_on(parts, by_index=True, files=["part"])
    whole = Command(
        'cat "$OP_INPUTS"/doubled/*/twice > whole', name="whole", output_files={"whole": "whole"}
    ).depends_on(doubled, files=["twice"])
    graph = connected.submit(parts, doubled, whole)
    assert graph.wait(60) == "SUCCEEDED", graph.handle(whole).log("error")
    graph.handle(whole).fetch("whole", str(tmp_path / "whole"))
    assert (tmp_path / "whole").read_text() == "".join(
        f"part {index}\n" * 2 for index in (1, 2, 3)
    )


def test_a_large_file_comes_whole_and_is_left_once(connected: Cluster, tmp_path: Path) -> None:
    # More than the credit of a reader, and no multiple of a piece.
    data = os.urandom(1 << 20) * 20 + b"end"
    large = tmp_path / "large"
    large.write_bytes(data)
    copies = []
    for number in range(2):
        copy = Command(
            'cat "$OP_INPUTS/large" > copy', inputs={"large": str(large)},
            output_files={"copy": "copy"},
        )
        graph = connected.submit(copy)
        assert graph.wait(60) == "SUCCEEDED", graph.handle(copy).log("error")
        graph.handle(copy).fetch("copy", str(tmp_path / f"copy-{number}"))
        copies.append(graph.handle(copy).files()[0].digest)
        assert (tmp_path / f"copy-{number}").read_bytes() == data
    assert copies[0] == copies[1] == FileContent.of(str(large)).digest


def test_what_cannot_be_read_is_told_and_nothing_is_submitted(
    connected: Cluster, tmp_path: Path
) -> None:
    graphs = connected.ask(graphs=words_of_all()).graphs.rows
    with pytest.raises(FileNotFoundError, match="there is no '.*/missing'"):
        connected.submit(Command("true", inputs={"a": str(tmp_path / "missing")}))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="has no files"):
        connected.submit(Command("true", inputs={"a": str(tmp_path / "empty")}))
    # Whoever opens it to read would wait for somebody who writes.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no plain file"):
        connected.submit(Command("true", inputs={"a": str(tmp_path / "pipe")}))
    (tmp_path / "many").mkdir()
    for number in range(1_001):
        (tmp_path / "many" / str(number)).write_text("")
    with pytest.raises(ValueError, match="more than 1000 files"):
        connected.submit(Command("true", inputs={"a": str(tmp_path / "many")}))
    assert len(connected.ask(graphs=words_of_all()).graphs.rows) == len(graphs)


def words_of_all() -> object:
    from opcluster.v1 import client_pb2 as client

    everything = client.Selection(graphs=client.Selection.GRAPHS_ALL)
    return client.ReadGraphs(selection=everything, limit=1_000)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    reader = FileReader()
    file = tmp_path / "file"
    file.write_text("before")
    first = reader.content(str(file))
    assert reader.content(str(file)) is first
    file.write_text("behind")
    os.utime(file, ns=(1, 1))
    second = reader.content(str(file))
    assert second.digest == MemoryContent.of(b"behind").digest != first.digest


def test_a_file_that_shrinks_meanwhile_is_not_left(connected: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(100_000))
    content = FileContent.of(str(file))
    file.write_bytes(b"short")
    with pytest.raises(RemoteError, match="has changed"):
        connected.leave_contents([content])


def test_paths_of_files_cannot_leave_their_folder() -> None:
    for path in ("../x", "/etc/x", "a/../x", "a//b", ".", "a\0b"):
        output = words.Outputs(
            contents=[words.Content(digest=bytes(32), size=1, file="f", path=path)]
        )
        with pytest.raises(ValueError, match="is no path"):
            output_files(output.SerializeToString())


def test_a_cluster_that_has_just_begun_takes_files() -> None:
    with new_cluster(cpus=1) as local, Cluster(local.address) as connected:
        connected.leave_contents([MemoryContent.of(b"early")])


def test_nobody_waits_for_ever_when_the_connection_is_closed(cluster: LocalCluster) -> None:
    connected = Cluster(cluster.address)
    connected.close()
    with pytest.raises(Exception, match="closed"):
        connected.leave_contents([MemoryContent.of(b"x" * 10)])


def test_who_reads_hears_that_the_connection_was_closed(cluster: LocalCluster) -> None:
    connected = Cluster(cluster.address)
    with tempfile.TemporaryDirectory() as folder, zmq.Context() as context:
        silent = context.socket(zmq.ROUTER)
        silent.bind(f"ipc://{folder}/silent")
        source = worker_pb2.ContentSource(endpoint=f"ipc://{folder}/silent", worker="w")
        connected._contents._holders = lambda wanted: [source]  # type: ignore[method-assign]
        problems: list[BaseException] = []

        def read() -> None:
            try:
                connected.read_content(bytes(32), 10)
            except BaseException as error:
                problems.append(error)

        reader = threading.Thread(target=read)
        reader.start()
        silent.recv_multipart()
        connected.close()
        reader.join(20)
        silent.close(0)
    assert len(problems) == 1 and isinstance(problems[0], ConnectionFailed)


def test_permissions_of_files_follow_the_mask_and_leave_it_alone() -> None:
    program = OutputFile("f", "", 1, bytes(32), True)
    data = OutputFile("f", "", 1, bytes(32), False)
    before = os.umask(0o027)
    try:
        assert (program.mode, data.mode) == (0o750, 0o640)
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_functions_read_and_leave_files(connected: Cluster, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("of the submitter")

    def leave(size: int) -> bytes:
        running = current_operation()
        folder = running.scratch_folder
        os.makedirs(f"{folder}/deep/er")
        for name in ("first", "deep/second", "deep/er/third"):
            with open(f"{folder}/{name}", "w") as file:
                file.write(name)
        os.chmod(f"{folder}/first", 0o755)
        running.leave_file("one", f"{folder}/first")
        running.leave_file("tree", f"{folder}/deep")
        with pytest.raises(ValueError, match="already"):
            running.leave_file("one", f"{folder}/first")
        with pytest.raises(ValueError, match="cannot be the name"):
            running.leave_file("../one", f"{folder}/first")
        with pytest.raises(FileNotFoundError):
            running.leave_file("none", f"{folder}/missing")
        return b"x" * size

    def read() -> list[str]:
        running = current_operation()
        names = ("text", "small/one", "small/tree/second", "large/tree/er/third", "tool/made")
        texts = []
        for name in names:
            with open(running.input_file(name)) as file:
                texts.append(file.read())
        for wrong in ("small/none", "../inputs", "/etc/passwd"):
            with pytest.raises(FileNotFoundError, match="large, small, text, tool"):
                running.input_file(wrong)
        assert os.access(running.input_file("small/one"), os.X_OK)
        # The values of its dependencies are there as well.
        assert [len(found.value) for found in running.inputs[:2]] == [1, 200_000]
        return texts

    small = PythonFunction(leave, 1, name="small")
    large = PythonFunction(leave, 200_000, name="large")
    tool = Command("echo made > made", name="tool", output_files={"made": "made"})
    use = PythonFunction(read, name="use", inputs={"text": str(tmp_path / "text")})
    use.depends_on(small, large, files=["one", "tree"]).depends_on(tool, files=["made"])
    shell = Command('cat "$OP_INPUTS/large/tree/er/third"', name="shell")
    shell.depends_on(large, files=["tree"])
    graph = connected.submit(small, large, tool, use, shell)
    assert graph.wait(60) == "SUCCEEDED", graph.handle(use).log("error")
    assert graph.result(use) == [
        "of the submitter", "first", "deep/second", "deep/er/third", "made\n"
    ]
    assert graph.handle(shell).log() == "deep/er/third"
    assert graph.result(large) == b"x" * 200_000
    graph.handle(large).fetch("tree", str(tmp_path / "tree"))
    assert (tmp_path / "tree/er/third").read_text() == "deep/er/third"
    graph.handle(small).fetch("one", str(tmp_path / "one"))
    assert os.access(tmp_path / "one", os.X_OK)


def test_a_function_may_leave_files_alone_and_a_failed_one_leaves_none(
    connected: Cluster, tmp_path: Path
) -> None:
    def leave(fails: bool) -> None:
        running = current_operation()
        with open(f"{running.scratch_folder}/file", "w") as file:
            file.write("left")
        running.leave_file("file", f"{running.scratch_folder}/file")
        if fails:
            raise KeyError("it fails")

    good, bad = PythonFunction(leave, False, name="good"), PythonFunction(leave, True, name="bad")
    graph = connected.submit(good, bad)
    assert graph.wait(60) == "FAILED"
    assert graph.result(good) is None
    assert [file.name for file in graph.handle(good).files()] == ["file"]
    with pytest.raises(KeyError):
        graph.result(bad)
    assert graph.handle(bad).files() == []
    graph.handle(good).fetch("file", str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "left"


def test_threads_may_leave_files_at_once(tmp_path: Path) -> None:
    left = LeftFiles(str(tmp_path / "left"))
    for number in range(64):
        (tmp_path / str(number)).write_text(f"file {number}")

    def leave(begin: int) -> None:
        for number in range(begin, 64, 8):
            left.add(f"f{number}", str(tmp_path / str(number)))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=leave, args=(begin,)) for begin in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for place, content in enumerate(left.contents):
        assert (tmp_path / "left" / str(place)).read_text() == f"file {content.file[1:]}"
    assert [(tmp_path / str(n)).read_text() for n in range(64)] == [f"file {n}" for n in range(64)]


def test_of_a_folder_all_files_are_left_or_none(tmp_path: Path) -> None:
    left = LeftFiles(str(tmp_path / "left"))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("a")
    (folder / "b").symlink_to("nothing")
    with pytest.raises(FileNotFoundError):
        left.add("all", str(folder))
    assert not left.contents and not os.listdir(tmp_path / "left")
    (folder / "b").unlink()
    left.add("all", str(folder))
    assert [content.path for content in left.contents] == ["a"]


def test_the_most_files_and_a_large_value(connected: Cluster) -> None:
    def leave(count: int) -> bytes:
        running = current_operation()
        folder = f"{running.scratch_folder}/all"
        os.mkdir(folder)
        for number in range(count):
            with open(f"{folder}/{number}", "w"):
                pass
        running.leave_file("all", folder)
        return b"x" * 200_000

    fits, large = PythonFunction(leave, 999, name="fits"), PythonFunction(leave, 1_000, name="many")
    graph = connected.submit(fits, large)
    assert graph.wait(120) == "FAILED"
    assert graph.result(fits) == b"x" * 200_000
    assert len(graph.handle(fits).files()) == 999
    with pytest.raises(ValueError, match="more than 999 files"):
        graph.result(large)


def test_inputs_in_one_place_are_refused_before_anything_is_sent(
    connected: Cluster, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name)
    with pytest.raises(ValueError, match="would both be 'all/x.txt'; give one of them another"):
        connected.submit(Command("true", inputs={"all": str(tmp_path / "*" / "x.txt")}))
    one = Command("echo > w", name="one", output_files={"w": "w"})
    two = Command("true", name="two", inputs={"one": str(tmp_path / "a" / "x.txt")})
    with pytest.raises(ValueError, match="is given 'one' and reads files of an operation"):
        connected.submit(one, two.depends_on(one, files=["w"]))


def test_two_who_leave_the_same_file_wait_for_each_other(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    content = MemoryContent.of(os.urandom(40_000_000))
    problems: list[BaseException] = []

    def leave() -> None:
        try:
            with Cluster(cluster.address) as own:
                own.leave_contents([content])
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=leave) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


HOSTILE_NAMES = ["", ".", "..", "a/b", "../x", "/etc", "a\0b", "x" * 256, "\udcff"]
ODD_NAMES = ["a\nb", "\x1b[31m", "a'\"$b", "ü", " ", "-rf", "*", "x" * 255]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_that_no_file_has_are_refused_where_they_are_written(
    name: str, tmp_path: Path
) -> None:
    left = Command("true", output_files={"a": "a"})
    (tmp_path / "file").write_text("")
    for attempt in (
        lambda: Command("true", inputs={name: __file__}),
        lambda: PythonFunction(print, inputs={name: __file__}),
        lambda: Command("true", output_files={name: "a"}),
        lambda: Command("true").depends_on(left, files=[name]),
        lambda: LeftFiles(str(tmp_path / "left")).add(name, str(tmp_path / "file")),
        lambda: FileReader().read({"folder": {f"a/{name}/b": __file__}}),
    ):
        if "/" in name and attempt.__code__.co_names[:1] == ("FileReader",):
            continue
        with pytest.raises(ValueError, match="file|UTF-8|too long"):
            attempt()


def test_odd_names_work(connected: Cluster, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("text")
    command = Command(
        'for file in "$OP_INPUTS"/*; do cat "$file" >> all; done; '
        + "; ".join(f"printf {at} > {at}" for at in range(len(ODD_NAMES))),
        inputs={name: str(source) for name in ODD_NAMES},
        output_files={name: str(at) for at, name in enumerate(ODD_NAMES)} | {"all": "all"},
    )
    graph = connected.submit(command)
    handle = graph.handle(command)
    assert graph.wait(60) == "SUCCEEDED", handle.log("error")
    assert {file.name for file in handle.files()} == {*ODD_NAMES, "all"}
    for at, name in enumerate(ODD_NAMES):
        handle.fetch(name, str(tmp_path / str(at)))
        assert (tmp_path / str(at)).read_text() == str(at)
    handle.fetch("all", str(tmp_path / "all"))
    assert (tmp_path / "all").read_text() == "text" * len(ODD_NAMES)


@pytest.mark.parametrize("path", ["../../x", "*", "", "f\n", "x" * 5_000, "a/.."])
def test_outputs_elsewhere_fail_the_operation_and_say_why(
    connected: Cluster, path: str
) -> None:
    command = Command("true", output_files={"out": path})
    graph = connected.submit(command)
    assert graph.wait(60) == "FAILED"
    with pytest.raises(RemoteError, match="out|file"):
        graph.handle(command).result(1)


# Otherwise the request is sent again for ever, on one connection after the other.
def test_what_the_coordinator_cannot_read_is_refused(connected: Cluster) -> None:
    command = Command("true")
    fill = command._fill

    def spoil(template: words.Template, names: Any) -> None:
        fill(template, names)
        template.input_files.add(operation="a", file="..", folder="..")

    command._fill = spoil  # type: ignore[method-assign]
    with pytest.raises(Refused, match="input_file"):
        connected.submit(command)
    after = connected.submit(Command("true"))
    assert after.wait(60) == "SUCCEEDED"
