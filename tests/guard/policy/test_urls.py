from __future__ import annotations

import pytest

from clawkit.guard.policy.urls import url_readings
from tests.guard.policy.decisions import IN_PROJECT, allow, deny, on_path

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
    "url",
    [
        "https://evil.example:x.good.example/",
        "https://evil.example:80.good.example/x",
        "https://evil.example:443:x.good.example/",
        "https://a.good.example@evil.example/",
        "https://evil.example@@a.good.example/",
        "https://evil.example\\@a.good.example/",
        "https://evil.example%2f.good.example/",
        "https://evil.example%00.good.example/",
        "https://evil.example;.good.example/",
        "https://evil.example,a.good.example/",
        "https://evil.example .good.example/",
        "https://evil.example\u3002/x.good.example/",
        "https://evil.example\uff0f.good.example/",
        "https://[::1].good.example/",
        "https:a.good.example/x",
        "https:///a.good.example/x",
        "https://a.good.example:8443/x",
        "https://a.g\uff4fod.example/x",
    ],
)
@pytest.mark.parametrize(
    "pattern", ["https://*.good.example/**", "https://**.good.example/**", "**://*.good.example/**"]
)
def test_a_star_in_a_host_covers_no_part_of_another_host(pattern: str, url: str) -> None:
    assert on_path(allow(pattern), "https://a.good.example/x") == "allow"
    assert on_path(allow(pattern), "https://user:word@a.good.example:443/x?y=1#z") == "allow"
    assert on_path(allow(pattern), url) == "deny"


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://**/docs/**", "https://good.example/api/docs/x"),
        ("https://good?example/**", "https://good/example/x"),
        ("**://good.example/**", "https://evil.example/?://good.example/"),
        ("http://127.0.0.1/**", "http://0177.0.0.1/x"),
        ("http://8.0.0.1/**", "http://010.0.0.1/x"),
        ("postgres://*.good.example/**", "postgres://evil.example:x.good.example/"),
        ("mongodb://*.good.example/**", "mongodb://evil.example,a.good.example/"),
        ("redis://**.good.example/**", "redis://evil.example/.good.example/"),
    ],
)
def test_a_host_is_compared_by_itself(pattern: str, url: str) -> None:
    assert on_path(allow(pattern), url) == "deny"


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
