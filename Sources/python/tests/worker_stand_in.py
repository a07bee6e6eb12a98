"""A worker's side of the channel, for tests of a real interpreter process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from opcluster.frames import FrameChannel
from opcluster.v1 import submission_pb2 as words
from opcluster.v1 import worker_pb2

CONVERSATION = worker_pb2.Conversation(epoch=1, session=1, increment=1)


class Worker:
    """Starts an interpreter in folders of its own and speaks to it."""

    def __init__(
        self, folder: Path, takes_contents: bool = True, has_own_files: bool = False
    ) -> None:
        self.scratch = folder
        self.tasks = folder / "tasks"
        self.tasks.mkdir()
        #: What the process writes to, if the attempts have no files of their own.
        self.output = folder / "own.out"
        own = [str(folder / "own")] if has_own_files else []
        self.make_files()
        near, far = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "opcluster.interpreter", str(folder), str(self.tasks), *own],
            stdin=far,
            cwd=self.tasks,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parent)},
        )
        far.close()
        self.channel = FrameChannel(near)
        self.graph = 0
        self.orders = 0
        welcome = worker_pb2.Welcome(
            conversation=CONVERSATION, version=1, worker=1, client_endpoint="ipc:///none",
            takes_contents=takes_contents,
        )
        self.channel.send(worker_pb2.CoordinatorMessage(welcome=welcome).SerializeToString())

    def make_files(self) -> None:
        for name in ("own.out", "own.err"):
            (self.scratch / name).touch(0o600)

    def new_graph(self) -> int:
        self.graph += 1
        (self.scratch / str(self.graph)).mkdir(exist_ok=True)
        return self.graph

    def begin(
        self,
        payload: bytes | None,
        argument: bytes = b"",
        *,
        graph: int | None = None,
        index: int = 0,
        inputs: worker_pb2.DependencyInputs | None = None,
        trace_parent: str = "",
        run: int = 1,
    ) -> words.Attempts:
        """Sends an attempt; without a payload the template is not told."""
        number = graph or self.new_graph()
        self.orders += 1
        attempts = words.Attempts(
            operations=words.Operations(graph=[number], count=[1], index_delta=[index])
        )
        orders = worker_pb2.WorkerOrders(
            conversation=CONVERSATION,
            number=self.orders,
            dispatches=worker_pb2.Dispatches(
                attempts=attempts, template=[0], template_count=[1], inputs=inputs,
                run=[run] if run != 1 else [],
            ),
        )
        if argument:
            orders.dispatches.argument_at.append(0)
            orders.dispatches.argument.append(argument)
        if payload is not None:
            orders.templates.append(
                worker_pb2.TemplateAnnouncement(
                    graph=number, template=0, name="call", work=words.WORK_KIND_CALL,
                    type=words.OperationType(name="python", version=1), payload=payload,
                    trace_parent=trace_parent,
                )
            )
        self.channel.send(worker_pb2.CoordinatorMessage(orders=orders).SerializeToString())
        return attempts

    def cancel(self, attempts: words.Attempts) -> None:
        orders = worker_pb2.WorkerOrders(conversation=CONVERSATION, cancels=attempts)
        self.channel.send(worker_pb2.CoordinatorMessage(orders=orders).SerializeToString())

    def next_report(self) -> worker_pb2.WorkerReport:
        frame = self.channel.receive()
        assert frame is not None, "the interpreter ended"
        return worker_pb2.WorkerMessage.FromString(frame).report

    def result(self) -> words.AttemptResults:
        """Waits for the end of the attempt."""
        while True:
            report = self.next_report()
            if report.kinds == bytes([worker_pb2.WorkerReport.KIND_FINISHED]):
                assert list(report.result_at) == [0] and report.results.count == 1
                return report.results

    def call(
        self,
        payload: bytes | None,
        argument: bytes = b"",
        *,
        graph: int | None = None,
        index: int = 0,
    ) -> words.AttemptResults:
        self.begin(payload, argument, graph=graph, index=index)
        return self.result()

    def log(self, graph: int, stream: str, index: int = 0) -> str:
        return (self.scratch / str(graph) / f"{index}.1.{stream}").read_text()

    def end(self) -> int:
        self.channel.close()
        return self.process.wait(timeout=20)
