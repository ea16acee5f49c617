"""Compare the results with their seal, and list the differences."""

import json
import os
from pathlib import Path

from needlework.errors import UserError
from needlework.jobs.job import running
from needlework.results.sealed.provenance import Provenance, unsealed

# The job's own output goes to its log.
terminal = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")

with running(snakemake) as logger:
    path = Path(snakemake.params.provenance)
    if not path.is_file():
        raise UserError(f"{path} is missing: run `snakemake` first.")
    provenance: Provenance = json.loads(path.read_text(encoding="utf-8"))
    found = unsealed(provenance, ".", snakemake.config["journal"])
    if found:
        logger.error("\n%s", "\n".join(found))
        shown = "\n".join(found[:20]) + (f"\n... and {len(found) - 20} more" * (len(found) > 20))
        raise UserError(f"{len(found)} difference(s) from the seal in {path}:\n{shown}")
    files = len(provenance["seal"]["files"])
    terminal.write(f"\n{files} files and the journal's answers are as {path} sealed them.\n\n")
    terminal.flush()
