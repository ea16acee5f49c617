"""Validation of RO-Crates without a network."""

from __future__ import annotations

import io
from pathlib import Path

CONTEXT = Path(__file__).parent / "data/ro-crate-1.1-context.jsonld"
ADDRESS = "https://w3id.org/ro/crate/1.1/context"


def seeded_cache(folder: Path) -> Path:
    """roc-validator's cache of web documents, with the context of RO-Crate 1.1 (CC0) as its one entry."""
    import urllib3
    from requests.adapters import HTTPAdapter
    from requests_cache import CachedSession

    class Local(HTTPAdapter):
        def send(self, request, **options):
            raw = urllib3.HTTPResponse(
                io.BytesIO(CONTEXT.read_bytes()),
                {"Content-Type": "application/ld+json"},
                200,
                preload_content=False,
                request_url=request.url,
            )
            return self.build_response(request, raw)

    cache = folder / "rocrate-cache"
    session = CachedSession(cache_name=str(cache), backend="sqlite", expire_after=-1)
    session.mount("https://", Local())
    accepted = "application/ld+json, application/json, */*;q=0.1"
    session.get(ADDRESS, headers={"Accept": accepted})
    session.close()
    return cache


def errors(crate: Path, folder: Path) -> list[str]:
    """What a crate lacks of what the profile Workflow Run Crate 0.5 requires."""
    from rocrate_validator import services
    from rocrate_validator.models import Severity, ValidationSettings

    settings = ValidationSettings(
        rocrate_uri=str(crate),
        profile_identifier="workflow-run-crate-0.5",
        requirement_severity=Severity.REQUIRED,
        offline=True,
        cache_path=seeded_cache(folder),
        skip_availability_check=True,
    )
    result = services.validate(settings)
    return [f"{issue.check.identifier}: {issue.message}" for issue in result.get_issues()]
