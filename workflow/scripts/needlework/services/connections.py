"""How many connections a process may have open at once: each is a file to the system."""

from __future__ import annotations

import resource

# For a job's other files: logs, the journal, libraries, names of hosts that are looked up.
_OTHER_FILES = 48


def most_connections(wanted: int) -> int:
    """How many of `wanted` connections fit beside a job's other files; at least one.

    Raises the process's own limit on open files as far as the system's limit allows it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(1, most - _OTHER_FILES)
