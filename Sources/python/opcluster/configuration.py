"""Finds the address of the cluster and the key for it, where `opbatch` finds them."""

from __future__ import annotations

import fcntl
import os
import pwd
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opcluster.errors import ConnectionFailed

ADDRESS_VARIABLE = "OPBATCH_COORDINATOR"
KEYS_VARIABLE = "OPBATCH_KEYS"
_CONFIGURATION_BYTES = 65_536
_RECORD_BYTES = 16 * 1024


@dataclass(frozen=True)
class Keys:
    """Our CURVE keys and the coordinator's public key, in Z85."""

    public: bytes
    secret: bytes
    server: bytes
    #: Where our key says the coordinator is; None: it does not.
    coordinator: str | None = None
    role: str | None = None


class Surroundings:
    """The environment and the folders of a user; tests give others."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self.environment = os.environ if environment is None else environment

    def variable(self, name: str) -> str | None:
        """A variable; None where it is not set or empty."""
        return self.environment.get(name) or None

    def _folder(self, name: str, default: str) -> Path:
        value = self.variable(name)
        return Path(value) if value and value.startswith("/") else self.home / default

    @property
    def home(self) -> Path:
        """The user's home."""
        value = self.variable("HOME")
        if value and value.startswith("/"):
            return Path(value)
        try:
            return Path(pwd.getpwuid(os.getuid()).pw_dir)
        except KeyError:
            return Path("/")

    @property
    def configuration(self) -> Path:
        """The folder of configurations."""
        return self._folder("XDG_CONFIG_HOME", ".config")

    @property
    def state(self) -> Path:
        """The folder of states."""
        return self._folder("XDG_STATE_HOME", ".local/state")

    @property
    def background(self) -> Path:
        """The folder of the sockets of the cluster that `opbatch up` starts."""
        runtime = self.variable("XDG_RUNTIME_DIR")
        if runtime and len(runtime.encode()) <= 64:
            return Path(runtime) / "opcluster"
        return Path(f"/tmp/opcluster-{os.geteuid()}")


def settings(surroundings: Surroundings) -> list[dict[str, str]]:
    """The lines ``key: value`` of the user's configuration file, and of the machine's.

    :raises ConnectionFailed: if others could change one of them.
    """
    found = []
    for path in (
        surroundings.configuration / "opcluster" / "config.yaml",
        Path("/etc/opcluster/config.yaml"),
    ):
        text = _own_text(path, _CONFIGURATION_BYTES, is_private=False)
        if text is None:
            continue
        values = {}
        for line in text.splitlines():
            content = line.split(" #", 1)[0].strip()
            key, colon, value = content.partition(":")
            if colon and not content.startswith("#"):
                values[key.strip()] = value.strip().strip("\"'")
        found.append(values)
    return found


def _own_text(path: Path, limit: int, *, is_private: bool) -> str | None:
    """A file that belongs to us or root; None: there is none.

    :raises ConnectionFailed: if others can write it, or read it where it is private.
    """
    try:
        with open(path, "rb") as file:
            facts = os.fstat(file.fileno())
            forbidden = (stat.S_IRWXG | stat.S_IRWXO) if is_private else (
                stat.S_IWGRP | stat.S_IWOTH
            )
            if facts.st_uid not in (os.geteuid(), 0) or facts.st_mode & forbidden:
                raise ConnectionFailed(
                    f"{path} is not used: others could have {'read' if is_private else 'written'} "
                    f"it; chmod {'600' if is_private else 'go-w'} {path}"
                )
            content = file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConnectionFailed(f"cannot read {path}: {error.strerror}") from error
    if len(content) > limit:
        raise ConnectionFailed(f"{path} has more than {limit} bytes")
    return content.decode("utf-8", "replace")


def key_folder(keys: str | None, surroundings: Surroundings) -> Path:
    """The folder of keys: the named one, else the environment's, a file's, or the usual one."""
    named = keys or surroundings.variable(KEYS_VARIABLE)
    if named:
        return Path(named)
    for values in settings(surroundings):
        if values.get("keys"):
            return Path(values["keys"])
    return surroundings.configuration / "opcluster" / "keys"


def own_keys(folder: Path) -> Keys | None:
    """The key in a folder; None: there is none.

    :raises ConnectionFailed: if others can read it, or it is damaged.
    """
    path = folder / "own.key" if folder.is_dir() else folder
    text = _own_text(path, _RECORD_BYTES, is_private=True)
    if text is None:
        return None
    values: dict[str, str] = {}
    for line in text.splitlines():
        word, _, value = line.strip().partition(" ")
        if word and not word.startswith("#"):
            values[word] = value.strip()
    if "secret" not in values:
        raise ConnectionFailed(f"{path} is damaged: it has no secret key")
    if "server" not in values:
        raise ConnectionFailed(
            f"{path} does not say the key of the coordinator; opbatch key new --server KEY"
        )
    public = values.get("public")
    if public is None:
        import zmq

        derived: bytes = zmq.curve_public(values["secret"].encode())
        public = derived.decode()
    return Keys(
        public.encode(),
        values["secret"].encode(),
        values["server"].encode(),
        values.get("coordinator"),
        values.get("role"),
    )


def address(
    keys: str | None = None, surroundings: Surroundings | None = None
) -> str | None:
    """The address of the cluster; None: none is configured, and none of ours runs here.

    In this order: the environment, the configuration files, our key, the cluster of
    `opbatch up`, a coordinator of this user on this machine.

    :raises ConnectionFailed: if others could have made one of the files.
    """
    found = surroundings or Surroundings()
    if (text := found.variable(ADDRESS_VARIABLE)) is not None:
        return text
    for values in settings(found):
        if values.get("coordinator"):
            return values["coordinator"]
    try:
        own = own_keys(key_folder(keys, found))
    except ConnectionFailed:
        own = None  # An unusable key is reported where it is needed.
    if own is not None and own.coordinator and own.role != "worker":
        return own.coordinator
    return _background(found) or _serving(found)


def _background(found: Surroundings) -> str | None:
    folder = found.background
    if not _is_private(folder):
        return None
    text = _own_text(folder / "daemons", _RECORD_BYTES, is_private=False)
    for line in (text or "").splitlines():
        parts = line.split(" ")
        if len(parts) == 3 and parts[0] == "opcoord" and _runs(parts[1], parts[2]):
            return f"ipc://{folder}/client"
    return None


def _is_private(folder: Path) -> bool:
    try:
        facts = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid() and (
        facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ) == 0


def _runs(number: str, ticks: str) -> bool:
    """Whether the process that began then still runs."""
    if not number.isdigit():
        return False
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return len(fields) > 19 and fields[0] not in "ZX" and fields[19] == ticks


def _serving(found: Surroundings) -> str | None:
    """The address in the record of a coordinator that holds the record's lock."""
    folder = found.state / "opcluster" / "coordinator"
    path = folder / "serving"
    if not _is_private(folder):
        return None
    text = _own_text(path, 4_096, is_private=True)
    lines = (text or "").split()
    if len(lines) != 2 or lines[1] != _this_machine():
        return None
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None  # Nobody holds it: its process has gone.
    except BlockingIOError:
        return lines[0]
    except OSError:
        return None


def _this_machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/net')}"
    except OSError:
        return ""
