"""A process that fills chat templates, which are foreign code, within bounds of memory and time.

It reads requests from its standard input, one line of JSON each, and answers each with a line: {"text": ...}
or {"error": ...}. It fills templates as transformers does, but needs only jinja2, since a process that has
loaded more could not be bounded as closely.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

# Bytes beyond those of the process at its start, and seconds of the processor for one text.
MEMORY, SECONDS = 1 << 29, 2
# How much longer than its messages a text may be, in characters.
MOST_ADDED = 1_000_000


@lru_cache(maxsize=4)
def compiled(jinja: str) -> Any:
    """A template in jinja2's sandbox. Errors of jinja2 are raised as they are."""
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class GenerationTag(Extension):
        """The tag around an assistant's words, which leaves them as they are."""

        def parse(self, parser: Any) -> Any:
            """The statements within the tag."""
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    GenerationTag.tags = {"generation"}

    def fail(message: str) -> None:
        raise ValueError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, ensure_ascii=False, **options: json.dumps(
        value, ensure_ascii=ensure_ascii, **options
    )
    environment.globals |= {"raise_exception": fail, "strftime_now": datetime.now().strftime}
    return environment.from_string(jinja)


def _reply(request: dict[str, Any]) -> dict[str, str]:
    values = request["values"]
    try:
        text = compiled(request["jinja"]).render(values)
    except MemoryError:
        return {"error": f"it takes more than {MEMORY >> 20} MiB of memory"}
    except Exception as error:  # the template's own
        return {"error": str(error) or type(error).__name__}
    sent = sum(len(message["content"]) for message in values["messages"])
    if len(text) > sent + MOST_ADDED:
        return {"error": f"it adds more than {MOST_ADDED:,} characters"}
    return {"text": text}


def _limit(kind: int, most: int) -> None:
    # Not every system has every limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _address_space() -> int:
    """Bytes of this process's address space, which a preloaded allocator may have reserved; 0 if unknown."""
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        return int(pages) * resource.getpagesize()
    return 0


def main() -> None:
    """Answer requests until the standard input ends."""
    # The one who asks hears of an interrupt too, and closes the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(resource.RLIMIT_AS, _address_space() + MEMORY)
    _limit(resource.RLIMIT_CORE, 0)
    for line in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + SECONDS)
        print(json.dumps(_reply(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
