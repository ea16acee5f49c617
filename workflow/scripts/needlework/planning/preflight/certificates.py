"""Whether something answers at an address, with a certificate that is trusted."""

from __future__ import annotations

import os
import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from needlework.data.packaged import is_installed
from needlework.errors import UserError
from needlework.services.endpoints import PROXY_REMEDY, PROXY_TROUBLE, local_proxy, proxy_of

CONNECT_S = 5.0


def check_authorities(where: str) -> None:
    """Raise UserError if the environment names certificates that are not there."""
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        if (path := os.environ.get(variable)) and not Path(path).exists():
            raise UserError(
                f"{where}: {variable} names {path}, which does not exist: correct or unset the variable."
            )


def trouble_at(url: str) -> tuple[str, str, bool] | None:
    """Why an address cannot be used, the remedy, and whether it may work later; None if it can be used.

    Something must listen at the address, or at the proxy that leads there, and its certificate must be
    trusted.
    """
    parts = urlsplit(url)
    proxy = (proxy_of(url) or ("", ""))[1]
    if not proxy and not proxy_bypass(parts.hostname or ""):
        # macOS has proxies outside the environment, too.
        proxy = getproxies().get(parts.scheme, "")
    at = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else parts
    try:
        port = at.port or (443 if at.scheme == "https" else 80)
    except ValueError:
        # Its text may hold a part of a password.
        return PROXY_TROUBLE, PROXY_REMEDY, False
    try:
        with socket.create_connection((at.hostname, port), timeout=CONNECT_S) as connection:
            if parts.scheme == "https" and not proxy:
                _trusted().wrap_socket(connection, server_hostname=parts.hostname).close()
    except ssl.SSLCertVerificationError as error:
        return (
            f"its certificate is not trusted: {error.verify_message}",
            "name the file of the authority that signed it in the environment variable SSL_CERT_FILE",
            False,
        )
    except ssl.SSLError:
        return "it does not speak TLS there", "if it has none, `base_url` begins with http:", False
    except OSError as error:
        remedy = local_proxy(url) or "start the server, or correct `base_url`"
        return error.strerror or str(error), remedy, True
    return None


def _trusted() -> ssl.SSLContext:
    """The authorities that the system trusts, and those that clients bring."""
    context = ssl.create_default_context()
    if is_installed("certifi") and not os.environ.get("SSL_CERT_FILE"):
        import certifi

        context.load_verify_locations(certifi.where())
    return context
