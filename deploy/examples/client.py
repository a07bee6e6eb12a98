"""A client of OpCluster in Python: submits one command, waits for its end, prints its output."""
import sys, time, uuid
import zmq
from opcluster.v1 import client_pb2 as client, submission_pb2 as words


def text(literal):
    return words.CommandText(segments=[words.CommandText.Segment(literal=literal)])


class Coordinator:
    def __init__(self, address, keys=None):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.linger = 0
        if keys:  # the file own.key: lines of a word and a value
            lines = open(keys).read().splitlines()
            own = dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
            self.socket.curve_serverkey = own["server"].encode()
            self.socket.curve_publickey = own["public"].encode()
            self.socket.curve_secretkey = own["secret"].encode()
        self.socket.connect(address)
        self.number = 0
        hello = client.ClientHello(versions=words.ProtocolVersions(lowest=1, highest=1))
        self.send(client.ClientMessage(hello=hello))
        answer = self.receive()
        if answer.WhichOneof("body") != "welcome":
            raise RuntimeError(answer.reply.refused)

    def send(self, message):
        self.socket.send(message.SerializeToString())

    def receive(self):
        if not self.socket.poll(10_000):
            raise TimeoutError("nobody answered in time")
        return client.ClientAnswer.FromString(self.socket.recv())

    def ask(self, **body):
        self.number += 1
        self.send(client.ClientMessage(request=client.Request(number=self.number, **body)))
        while True:
            answer = self.receive()  # heartbeats come in between
            if answer.WhichOneof("body") == "reply" and answer.reply.request == self.number:
                if answer.reply.HasField("refused"):
                    raise RuntimeError(answer.reply.refused)
                return answer.reply


coordinator = Coordinator(*sys.argv[1:])
command = words.Command(
    form=words.Command.FORM_ARGUMENTS, arguments=[text("echo"), text("hello from Python")],
    working_directory="/tmp", stop_signal=15, maximum_output_bytes=1 << 20)
hello = words.Template(
    name="hello", count=1, work=words.WORK_KIND_COMMAND, payload=command.SerializeToString())
accepted = coordinator.ask(submit=words.Submission(
    key=str(uuid.uuid4()), name="python", templates=[hello])).accepted
print("graph", accepted.graph)

this = client.Selection(
    graphs=client.Selection.GRAPHS_NUMBERS,
    first_graph=[accepted.graph], last_graph=[accepted.graph])
while True:
    row = coordinator.ask(graphs=client.ReadGraphs(selection=this, limit=1)).graphs.rows[0]
    if row.state not in (client.GRAPH_STATE_RUNNING, client.GRAPH_STATE_SUSPENDED):
        break
    time.sleep(0.2)
print(client.GraphState.Name(row.state))
log = coordinator.ask(log=client.ReadLog(
    operation=words.Operation(graph=accepted.graph, index=0),
    stream=words.LOG_STREAM_OUTPUT, maximum_bytes=4096)).log
print(log.bytes.decode(), end="")
