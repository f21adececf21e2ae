"""JSON of others, whatever it is."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit.errors import LoginError
from clawkit.login.oauth import decoded


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"a": %s' % (b"[" * 30_000), "nested too deeply"),
        (b'{"a": "\xff"}', "not JSON"),
        (b'{"a": ', "not JSON"),
        (b"[]", "Expected `object`"),
        (b"", "not JSON"),
    ],
    ids=["deep", "no UTF-8", "half", "a list", "empty"],
)
def test_whatever_is_wrong_with_json_of_others_is_a_login_error(data: bytes, why: str) -> None:
    with pytest.raises(LoginError, match=f"^its keys cannot be read: .*{why}"):
        decoded(data, dict[str, Any], "its keys cannot be read")


def test_json_is_read_as_its_type() -> None:
    assert decoded(b'{"a": [1]}', dict[str, list[int]], "no") == {"a": [1]}
