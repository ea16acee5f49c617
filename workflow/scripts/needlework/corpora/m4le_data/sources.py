from __future__ import annotations
def source_records(task, files):
    raise NotImplementedError
