from __future__ import annotations

import pytest

from clawkit.guard.policy.urls import url_readings
from tests.guard.policy.deciding import IN_PROJECT, allow, deny, on_path

METADATA = deny("http://169.254.169.254/**")
GOOD = allow("https://good.example/api/**")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://169.254.169.254",
        "HTTP://169.254.169.254/",
        "http://169.254.169.254:80/x",
        "http://169.254.169.254./x",
        "http://user:word@169.254.169.254/x",
        "http://good.example@169.254.169.254/",
        "http://good.example\\@169.254.169.254/",
        "http:\\\\169.254.169.254\\latest",
        "http:169.254.169.254/x",
        "http:///169.254.169.254/x",
        "ht\ntp://169.254.169.254/x",
        " http://169.254.169.254/x",
        "http://2852039166/x",
        "http://0xA9FEA9FE/x",
        "http://0251.0376.0251.0376/x",
        "http://169.254.43518/x",
        "http://[::ffff:169.254.169.254]/x",
        "http://169\u3002254\u3002169\u3002254/x",
        "http://\uff11\uff16\uff19.254.169.254/x",
        "http://%31%36%39.254.169.254/x",
        "http://169.254.169.254?x=1",
        "http://169.254.169.254#x",
        "http://good.example#@169.254.169.254/",
    ],
)
def test_a_denied_host_is_found_in_every_spelling(url: str) -> None:
    assert on_path(METADATA, url) == "deny"


@pytest.mark.parametrize(
    "url",
    [
        "https://good.example/api/x",
        "https://good.example/api/",
        "HTTPS://Good.Example/api/x",
        "https://good.example:443/api/x?q=1",
        "https://good.example/other/../api/x",
        "https://good.example/api/a%20b",
    ],
)
def test_an_allowed_url_is_allowed_in_spellings_that_mean_the_same(url: str) -> None:
    assert on_path(GOOD, url) == "allow"
    assert on_path(GOOD, url, IN_PROJECT) == "allow"


@pytest.mark.parametrize(
    "url",
    [
        "http://good.example/api/x",
        "https://evil.example/api/x",
        "https://good.example/other",
        "https://good.example/api/../other",
        "https://good.example/api/%2e%2e/other",
        "https://good.example/api/%252e%252e/other",
        "https://good.example/api/..%2fother",
        "https://good.example/api\\..\\..\\other",
        "https://good.example/api/\uff0e\uff0e/other",
        "https://good.example@evil.example/api/x",
        "https://good.example\\@evil.example/api/x",
        "https://good.example#@evil.example/api/x",
        "https://good.example?@evil.example/api/x",
        "https://good.example%2f@evil.example/api/x",
        "https://evil.example\\@good.example/api/x",
        "https://evil.example#@good.example/api/x",
        "https://good.example:8443/api/x",
        "https://good.example.evil.example/api/x",
        "https://good\u200b.example/api/x",
        "https://good.example/api/\tx",
        "good.example/api/x",
        "/https://good.example/api/x",
    ],
)
def test_a_url_that_could_lead_elsewhere_is_not_allowed(url: str) -> None:
    assert on_path(GOOD, url) == "deny"


@pytest.mark.parametrize(
    "url", ["https://evil.example/x", "http:x", "data:text/plain,x", "javascript:x"]
)
def test_a_path_rule_allows_no_url(url: str) -> None:
    assert on_path(allow("/home/user/project/**"), url, IN_PROJECT) == "deny"
    assert on_path(allow("./**"), url) == "deny"


def test_subdomains_may_be_allowed() -> None:
    rules = allow("https://*.good.example/**")
    assert on_path(rules, "https://a.good.example/x") == "allow"
    assert on_path(rules, "https://evil.example/.good.example/x") == "deny"
    assert on_path(rules, "https://evil.example\\.good.example/x") == "deny"


@pytest.mark.parametrize(
    ("pattern", "uri", "expected"),
    [
        ("memo://insights", "memo://insights", "allow"),
        ("memo://insights/**", "memo://insights/a", "allow"),
        ("memo://insights/**", "memo://insights/../secret", "deny"),
        ("memo://*", "memo://insights", "allow"),
        ("memo://Case/**", "memo://case/x", "deny"),
        ("memo:a/**", "memo:a/b", "allow"),
        ("memo:a/**", "memo:a/../b", "deny"),
    ],
)
def test_other_schemes_are_urls_too(pattern: str, uri: str, expected: str) -> None:
    assert on_path(allow(pattern), uri) == expected


def test_a_host_is_read_in_each_way_that_parsers_differ() -> None:
    assert url_readings("https://a\\@b/x") == ["https://a/@b/x", "https://b/x"]
    assert url_readings("https://a#@b/x") == ["https://a/#@b/x", "https://b/x"]
