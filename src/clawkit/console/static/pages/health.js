// Health: what `claw doctor` says, with what to do about it beside it.

import { badge, button, counted, element, facts, focusOn, prose, replace } from "../console.js";

const KINDS = { ok: "good", warning: "warn", problem: "bad" };
const ORDER = ["problem", "warning", "ok"];

export async function show(root, context) {
  const head = element("div", { class: "spread" });
  const list = element("div", { "aria-live": "polite" });
  root.append(head, list);

  async function examine(path, body) {
    const focused = head.contains(document.activeElement);
    replace(list, element("p", { class: "dim" }, "Looking…"));
    for (const one of head.querySelectorAll("button")) one.disabled = true;
    try {
      draw(await context.fetchJson(path, body ? { body } : {}), body !== undefined);
      if (focused) focusOn(head.querySelector("p"), { preventScroll: true });
    } catch (error) {
      draw(null);
      throw error;
    }
  }

  const again = (path, body) => () => context.attempt(() => examine(path, body));

  function draw(found, repaired = false) {
    const count = (state) => found.checks.filter((check) => check.state === state).length;
    const summary = !found
      ? ""
      : found.ok && !count("warning")
        ? "Everything is in order."
        : `${counted(count("problem"), "problem")}, ${counted(count("warning"), "warning")}.`;
    const repairable = found?.checks.some((check) => check.hint.includes("claw doctor --fix"));
    replace(
      head,
      element("p", { class: "strong", role: "status" }, repaired && done(found), summary),
      element(
        "p",
        { class: "row" },
        button("Look again", again("/api/health/checks")),
        button("Look deeper", again("/api/health/checks?deep=true"), { "aria-describedby": "deeper" }),
        button("Repair what can be repaired", again("/api/health/fix", {}), { class: repairable ? "primary" : null, disabled: !repairable }),
      ),
      element("p", { class: "dim small", id: "deeper" }, "Looking deeper asks the model, the servers and a memory elsewhere, too: something is sent to them."),
    );
    if (!found) {
      replace(list);
      return;
    }
    const checks = [...found.checks].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
    replace(list, element("ul", { class: "plain checks" }, checks.map(drawCheck)));
  }

  draw(null);
  await examine("/api/health/checks");
}

/** What came of a repair, whatever else is left. */
function done({ checks }) {
  const count = checks.filter((check) => check.fixed).length;
  return count ? `Repaired: ${counted(count, "thing")}. ` : "There was nothing that could be repaired here. ";
}

function drawCheck(check) {
  return element(
    "li",
    { class: `card check-${check.state}` },
    element("div", { class: "row" }, badge(check.state, KINDS[check.state]), element("span", { class: "strong text" }, check.name)),
    element("p", { class: "text" }, prose(check.detail)),
    (check.hint || check.fixed) && facts([["What to do", check.hint && prose(check.hint)], ["Done just now", check.fixed && prose(check.fixed)]]),
  );
}
