"""What all that speaks HTTP shares: when to ask again, and what may be shown of a URL."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, formatdate
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.services.endpoints import (
    PRIVATE_URL,
    check_url,
    excerpt,
    local_proxy,
    may_pass,
    published_url,
    retry_after,
    shown_url,
    without,
    without_secrets,
)
from runs import ROOT


def asked(**headers: str) -> float:
    return retry_after(httpx.Headers({k.replace("_", "-"): v for k, v in headers.items()}))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *[("3", 3.0), ("0", 0.0), ("1.5", 1.5), (" 7 ", 7.0), ("2.", 2.0), ("", 0.0), ("-1", 0.0)],
        *[("soon", 0.0), ("inf", 0.0), ("nan", 0.0), ("1e9", 0.0)],
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_in_seconds(value, seconds) -> None:
    assert asked(Retry_After=value) == asked(retry_after=value) == seconds


def test_milliseconds_are_finer() -> None:
    assert asked(Retry_After_Ms="350", Retry_After="1") == 0.35
    assert asked(Retry_After_Ms="350.5") == 0.3505
    assert asked(Retry_After_Ms="soon", Retry_After="1") == 1.0
    assert asked() == 0.0


@pytest.mark.parametrize("zone", ["GMT", "-0000", "+0000", "+0200"])
def test_dates_without_a_zone_are_utc(zone, monkeypatch) -> None:
    """Wherever this machine is: a date of -0000 has no zone in Python, and is in UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        then = datetime.now(UTC) + timedelta(seconds=90)
        shown = then + timedelta(hours=2 * (zone == "+0200"))
        text = formatdate(shown.timestamp(), usegmt=True).replace("GMT", zone)
        assert 85 < asked(Retry_After=text) <= 90
        assert asked(Retry_After=format_datetime(then - timedelta(hours=1))) == 0.0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_may_pass() -> None:
    passing = {status for status in range(100, 600) if may_pass(status)}
    assert passing == {408, 425, 429, *range(500, 600)}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/v1", "https://host/v1"),
        ("https://user:pass@host:8000/v1?key=x#y", "https://host:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("https://host?key=a@b", "https://host"),
        # What is no URL is shown too: where it is refused.
        ("http://a:b:c/", "http://a:b:c/"),
    ],
)
def test_a_url_is_shown_without_secrets(url, shown) -> None:
    assert shown_url(url) == shown


# Of what a key may have.
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=2, max_size=8)


@settings(max_examples=20)
@given(secret=SECRETS, data=st.data())
def test_a_secret_is_taken_out_however_json_writes_it(secret, data) -> None:
    """Each character as it is or escaped, in a text, or in a text in a text."""

    def escaped(c: str) -> str:
        short = [json.dumps(c)[1:-1], *["\\/"] * (c == "/")]
        return data.draw(st.sampled_from([*short, f"\\u{ord(c):04x}", f"\\u{ord(c):04X}"]))

    written = "".join(map(escaped, secret))
    for text in (secret, written, json.dumps(written)[1:-1]):
        assert without(f"é {text} é", secret) == "é *** é"
        assert excerpt(f"{text}\n", secret) == "***"
    assert without(written, "") == written
    assert without(secret[:-1], secret) == secret[:-1]


@pytest.mark.parametrize(
    ("secret", "gone"),
    [
        *[("sk-abc12", True), ("sk-abc1", False), ("a-long-password-", True), ("k" * 16, True)],
        *[("k" * 15, False), ("none", False), ("1234", False), ("2024-02-01", False)],
    ],
)
def test_only_an_unmistakable_secret_is_taken_out_of_answers(secret, gone) -> None:
    body = {"a": [f"x {secret}", 5, None, True], secret: {"b": secret}}
    shown = "***" if gone else secret
    expected = {"a": [f"x {shown}", 5, None, True], shown: {"b": shown}}
    assert without_secrets(body, [secret]) == expected
    assert excerpt(f"x {secret}", secret) == "x ***"


def test_only_addresses_of_public_services_are_published() -> None:
    assert published_url("https://api.openai.com/v1") == "https://api.openai.com/v1"
    assert published_url("https://u:p@openrouter.ai/api/v1?key=x") == "https://openrouter.ai/api/v1"
    private = (
        *("http://127.0.0.1:8000/v1", "https://gpu.lab.example/v1", "http://["),
        "https://openai/",
    )
    assert {*map(published_url, private)} == {PRIVATE_URL}
    # Whoever runs the published configuration needs an address, if one that leads nowhere.
    check_url(PRIVATE_URL, "it")
    presets = "".join(file.read_text("utf-8") for file in ROOT.glob("presets/*.yaml"))
    found = re.findall(r"base_url: (\S+)", presets)
    assert found and all(published_url(url) == url for url in found)


@pytest.mark.parametrize(
    ("variable", "url", "named"),
    [
        ("http_proxy", "http://127.0.0.1:8000/v1", "http_proxy"),
        ("HTTP_PROXY", "http://localhost/v1", "HTTP_PROXY"),
        ("https_proxy", "https://192.168.1.7/v1", "https_proxy"),
        ("ALL_PROXY", "http://gpu-box:8000/v1", "ALL_PROXY"),
        ("all_proxy", "https://[::1]/v1", "all_proxy"),
        ("HTTPS_PROXY", "http://127.0.0.1/v1", ""),
        ("http_proxy", "http://api.example.com/v1", ""),
    ],
)
def test_a_proxy_before_a_local_address_is_named(monkeypatch, variable, url, named) -> None:
    for name in ("http", "https", "all", "no"):
        for spelled in (f"{name}_proxy", f"{name.upper()}_PROXY"):
            monkeypatch.delenv(spelled, raising=False)
    monkeypatch.setenv(variable, "http://user:secret99@proxy:3128")
    said = local_proxy(url)
    assert bool(said) == bool(named) and "secret99" not in said
    host = urlsplit(url).hostname
    assert not named or (f"the proxy in {named};" in said and f"add {host} to NO_PROXY" in said)
    monkeypatch.setenv("NO_PROXY", f"elsewhere,{host}")
    assert local_proxy(url) == ""
