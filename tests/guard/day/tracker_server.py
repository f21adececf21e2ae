"""Stands in for github-mcp-server: tools of the same names, over stdio; the REST calls are real."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.request import Request, urlopen

from clawkit import Server, claw_tool


def rest(path: str, body: dict[str, Any] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    token = os.environ["GITHUB_PERSONAL_ACCESS_TOKEN"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with urlopen(Request(os.environ["GITHUB_API"] + path, data, headers)) as response:
        return response.read().decode()


@claw_tool(name="list_issues")
def list_issues(owner: str, repo: str, state: str = "open") -> str:
    """Lists the issues of a repository."""
    return rest(f"/repos/{owner}/{repo}/issues?state={state}")


@claw_tool(name="get_issue")
def get_issue(owner: str, repo: str, issue_number: int) -> str:
    """Gets one issue."""
    return rest(f"/repos/{owner}/{repo}/issues/{issue_number}")


@claw_tool(name="create_issue")
def create_issue(owner: str, repo: str, title: str, body: str = "") -> str:
    """Creates an issue."""
    return rest(f"/repos/{owner}/{repo}/issues", {"title": title, "body": body})


@claw_tool(name="add_issue_comment")
def add_issue_comment(owner: str, repo: str, issue_number: int, body: str) -> str:
    """Comments on an issue."""
    return rest(f"/repos/{owner}/{repo}/issues/{issue_number}/comments", {"body": body})


server = Server("github-mcp-server", "1.0.0")
for tool in (list_issues, get_issue, create_issue, add_issue_comment):
    server.register_tool(tool)

if __name__ == "__main__":
    server.serve_stdio()
