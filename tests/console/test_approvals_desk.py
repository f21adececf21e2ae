"""One answer counts: what a page is told when something else was quicker, or is refused.

`Overtaken` lets the other thing happen when the desk has looked and is about to answer, so that
each race is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from clawkit.console.api import ApiError
from clawkit.console.pages.approvals import (
    ApprovalsDesk,
    PageAnswer,
    ScopeOf,
    Waiting,
    Which,
    _about,
)
from clawkit.guard.approval_window import ApprovalWindow, answer_pending
from clawkit.guard.approvals import Answer
from clawkit.guard.audit.reader import read, was_asked
from clawkit.guard.audit.record import AuditEntry
from clawkit.guard.locations import approvals_folder, audit_directory
from tests.console.conftest import claw_home
from tests.guard.approvals import Asking, question, until
from tests.guard.guarded_server import Guarded, guarded
from tests.guard.test_prompt_rules import ELICITS, POLICY, answer, deletions
from tests.guard.test_prompts_in_a_view import send

MARK = r"\u0301"
__all__ = ["claw_home"]


class Overtaken(ApprovalWindow):
    """The page's view; what stands in `first` happens just before its answer."""

    first: Callable[[], object] = staticmethod(lambda: None)

    def answer(self, id: str, answer: Answer, *, rule: str = "") -> bool:
        self.first()
        return super().answer(id, answer, rule=rule)


class Page:
    """A desk, as a page uses it."""

    def __init__(self, view: Overtaken) -> None:
        self.view = view
        self.desk = ApprovalsDesk(view)

    def waiting(self, number: int = 0) -> Waiting:
        until(lambda: len(self.desk.pending().asks) > number)
        return self.desk.pending().asks[number]

    def answer(
        self, said: Literal["once", "tool", "always", "deny"], first: Callable[[], object]
    ) -> Any:
        id = self.waiting().id
        asked = next(ask for ask in self.view.asks() if ask.id == id)
        rule = self.desk.proposed(ScopeOf(asked.id, "call")).rule if said == "always" else ""
        self.view.first = first
        return self.desk.answer(PageAnswer(asked.id, asked.digest, said, rule=rule))


@contextmanager
def opened(window: ApprovalWindow | None = None) -> Iterator[Page]:
    """A page; `window` has the view before it."""
    if window is not None:
        window.asks()
    page = Page(Overtaken(approvals_folder(), "page"))
    page.desk.pending()
    try:
        yield page
    finally:
        page.desk.close()


@pytest.fixture
def guard(claw_home: Path, tmp_path: Path) -> Iterator[Guarded]:  # noqa: ARG001 - in that home
    with guarded(tmp_path, POLICY, "--name", "files") as running:
        yield running


def approvals() -> list[AuditEntry]:
    return [record for record in read(audit_directory()) if record["kind"] == "approval"]


@pytest.mark.parametrize("owner", ["page", "terminal"])
def test_no_rule_is_written_by_an_answer_that_another_window_was_quicker_than(
    guard: Guarded, owner: str
) -> None:
    guard.initialize()
    before = guard.policy.read_text()
    with ApprovalWindow(approvals_folder()) as other, opened() as page:
        if owner == "page":
            other.close()
            until(lambda: page.view.asks() == () and page.view.denies_when_closed)
            other.asks()
        send(guard, 1)
        id = page.waiting().id
        with pytest.raises(ApiError, match="no longer waits: denied in a terminal"):
            page.answer("always", lambda: other.asks() and other.answer(id, "deny"))
        assert "a person said no" in guard.receive()["error"]["message"]
        assert guard.policy.read_text() == before
        assert [end.how for end in page.view.ended()] == ["deny"]
        send(guard, 2)
        page.waiting()
        assert deletions(guard) == 0


def test_no_rule_is_written_when_the_clients_form_has_denied(guard: Guarded) -> None:
    with opened() as page:
        guard.initialize(ELICITS)
        before = guard.policy.read_text()
        send(guard, 1, f"/work/{'deep/' * 400}end")
        form = guard.receive()
        page.waiting()

        def deny() -> None:
            answer(guard, form, "deny")
            assert "a person said no" in guard.receive()["error"]["message"]

        with pytest.raises(ApiError, match="no longer waits: answered in its client"):
            page.answer("always", deny)
        assert guard.policy.read_text() == before


def test_an_answer_counts_only_if_the_guard_has_not_decided_before(guard: Guarded) -> None:
    with opened() as page:
        guard.initialize(ELICITS)
        send(guard, 1, "/work/a")
        first = guard.receive()
        send(guard, 2, "/work/b")
        page.waiting()
        answer(guard, first, "deny")
        replies = [guard.receive(), guard.receive()]
        form = next(reply for reply in replies if "method" in reply)

        def allow() -> None:
            answer(guard, form, "allow once")
            assert guard.receive()["id"] == 2

        with pytest.raises(ApiError, match="no longer waits: answered in its client"):
            page.answer("deny", allow)
        assert deletions(guard) == 1
        assert [end.how for end in page.view.ended()] == ["form"]
    assert [record.get("source") for record in approvals()] == ["form", "form"]


def test_a_page_is_told_that_what_it_allowed_was_refused_and_the_log_that_it_was_asked(
    guard: Guarded,
) -> None:
    with opened() as page:
        guard.initialize()
        send(guard, 1)
        done = page.answer("once", lambda: guard.policy.write_text(f"{POLICY}# mine\n"))
        assert done.how == "refused"
        assert "the policy or the tool changed while a person was asked" in done.words
        assert "error" in guard.receive()
        assert deletions(guard) == 0
    (record,) = approvals()
    assert was_asked(record)
    assert record.get("source") == "page"


def test_the_log_says_where_an_answer_was_given_and_a_script_is_no_person(
    guard: Guarded,
) -> None:
    with opened() as page:
        guard.initialize()
        send(guard, 1)
        assert page.answer("once", lambda: None).how == "once"
        assert guard.receive()["result"]
        send(guard, 2)
        assert answer_pending(approvals_folder(), page.waiting().id, "deny") == ""
        assert "a script said no" in guard.receive()["error"]["message"]
    found = [(record.get("source"), record.get("reason")) for record in approvals()]
    assert found == [("page", "once"), ("script", "a script said no")]


def test_a_call_that_another_answer_lets_go_is_one_call_in_the_log_and_was_asked(
    guard: Guarded,
) -> None:
    with opened() as page:
        guard.initialize()
        send(guard, 1, "/work/a")
        page.waiting()
        send(guard, 2, "/work/b")
        page.waiting(1)
        page.answer("tool", lambda: None)
        assert {guard.receive()["id"], guard.receive()["id"]} == {1, 2}
        send(guard, 3, "/work/c")
        assert guard.receive()["result"]
    calls = [one for one in read(audit_directory()) if one.get("tool") == "delete_file"]
    assert sum(one["kind"] == "call" for one in calls) == 3
    found = {record.get("reason"): was_asked(record) for record in approvals()}
    assert found == {"tool": True, "allowed by another answer": True, "allowed before": False}


def test_a_call_that_the_edited_policy_allows_is_one_call_and_says_so(guard: Guarded) -> None:
    with opened() as page:
        guard.initialize()
        send(guard, 1, "/work/a")
        page.waiting()
        guard.policy.write_text(f'[[rule]]\naction = "allow"\ntool = "delete_file"\n{POLICY}')
        assert guard.receive()["result"]
        until(page.view.ended)
        assert [end.how for end in page.view.ended()] == ["allowed"]
    calls = [one for one in read(audit_directory()) if one.get("tool") == "delete_file"]
    assert sum(one["kind"] == "call" for one in calls) == 1
    (record,) = approvals()
    assert record.get("reason") == "the policy was changed, and allows it"
    assert was_asked(record)


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"path": "/work/a", "note": "x"}, "/work/a"),
        ({"file": "/harmless", "path": "/important"}, "/harmless · /important"),
        ({"file": f"/{'a' * 60}", "path": "/important"}, "2 paths"),
        ({"text": "e" + "\u0301" * 60}, f"e\u0301\u0301\u0301{MARK * 26}"),
    ],
)
def test_the_list_names_all_paths_or_none_and_spells_out_what_the_card_does(
    arguments: dict[str, Any], about: str
) -> None:
    assert _about(question(arguments=arguments)).startswith(about)


@pytest.mark.usefixtures("claw_home")
@pytest.mark.parametrize("by_server", [True, False])
def test_a_question_of_the_server_itself_says_whose_words_they_are(by_server: bool) -> None:
    with opened() as page:
        asking = Asking(approvals_folder(), question(server="fi\nles", by_server=by_server))
        words = page.desk.question(Which(page.waiting().id)).words
        said = r"fi\nles asks its client for this: what follows are the words of that server."
        assert words == (said if by_server else "")
        asking.cancelled.end("withdrawn")
