// Policy: the rules and what they decided, a call tried on them, an edit replayed before it is saved.

import { badge, button, confirm, counted, diff, element, emptyState, facts, field, focusOn, moment, problem, prose, replace, table, toast } from "../console.js";

const KINDS = { allow: "good", deny: "bad", prompt: "warn", uncertain: "plain" };

export async function show(root, context) {
  const place = {
    about: element("div", {}),
    rules: element("section", { "aria-label": "Rules" }),
    tester: element("section", { class: "card", "aria-label": "Try a call" }),
    editor: element("section", { class: "card", "aria-label": "Edit" }),
  };
  root.append(place.about, element("div", { class: "policy" }, element("div", {}, place.tester, place.rules), place.editor));
  let shown = await context.fetchJson("/api/policy/shown");
  const editor = drawEditor(place.editor, context, load);
  drawTester(place.tester, context, editor);

  async function load() {
    shown = await context.fetchJson("/api/policy/shown");
    await draw();
    await countHits();
  }

  async function draw() {
    drawAbout(place.about, shown);
    drawRules(place.rules, shown);
    await editor.opened(shown);
  }

  async function countHits() {
    if (!shown.text || shown.problem) return;
    const hits = await context.fetchJson("/api/policy/hits");
    drawRules(place.rules, shown, hits);
    const wanted = root.querySelector(`[data-rule="${CSS.escape(context.parameters.get("rule") || "")}"]`);
    wanted?.scrollIntoView({ block: "center" });
    wanted?.focus({ preventScroll: true });
  }

  await draw();
  context.follow("policy", () => shown.stamp, () => editor.isSaving() || load());
  await countHits();
}

function drawAbout(place, shown) {
  replace(
    place,
    shown.problem && shown.there && problem(`${shown.problem}. Until this is mended, the guard denies everything.`),
    !shown.there && element("p", { class: "note" }, "There is no policy yet, so the guard refuses every call. Below is one to begin with: secrets denied, all the rest prompted."),
    element("p", { class: "dim small" }, element("code", {}, shown.file), " The first rule that matches decides; a call that no rule matches is denied."),
    shown.issues.length
      ? element(
          "details",
          { open: shown.issues.some((issue) => issue.level === "error") },
          element("summary", {}, prose(`${counted(shown.issues.length, "remark")} of \`claw policy lint\``)),
          element("ul", { class: "plain small" }, shown.issues.map(drawIssue)),
        )
      : null,
  );
}

function drawIssue(issue) {
  return element("li", {}, badge(issue.level, issue.level === "error" ? "bad" : issue.level === "warning" ? "warn" : "plain"), issue.line ? ` line ${issue.line}: ` : " ", element("span", { class: "text" }, prose(issue.reason)));
}

function drawRules(place, shown, hits) {
  if (!shown.rules.length) {
    replace(place, element("h2", {}, "Rules"), emptyState("No rules", shown.problem || "Write the first one beside this."));
    return;
  }
  const times = (rule) => {
    if (rule.action === "profile") return "";
    if (!hits) return element("span", { class: "dim" }, "…");
    const number = hits.hits[rule.number] || 0;
    const more = hits.possible[rule.number] || 0;
    const uncertain = more ? `${more.toLocaleString("en")} uncertain` : "";
    if (!number) return uncertain || badge("never hit", "warn");
    return `${counted(number, "call")}${uncertain && `, ${uncertain}`}`;
  };
  const none = hits && hits.hits[0];
  replace(
    place,
    element("h2", {}, "Rules, in order"),
    element(
      "ol",
      { class: "plain rules" },
      shown.rules.map((rule) =>
        element(
          "li",
          { class: "card rule", tabindex: "-1", "data-rule": String(rule.number), "aria-label": `Rule ${rule.number}` },
          element(
            "div",
            { class: "rule-head" },
            element("span", { class: "dim number" }, String(rule.number)),
            badge(rule.action, KINDS[rule.action]),
            element("span", { class: "strong text" }, rule.description),
            element("span", { class: "hits small" }, times(rule)),
          ),
          rule.text && element("pre", { tabindex: "0" }, rule.text.replace(/^\[\[rule\]\]\naction = .*\n/, "").replace(/^description = .*\n/m, "").trim()),
        ),
      ),
    ),
    hits &&
      element(
        "p",
        { class: "dim small" },
        `Counted over ${counted(hits.calls, "call")} of the log, each held against the rules as they are now; in Activity stands the rule that decided then`,
        none ? `; ${counted(none, "call")} matched no rule` : "",
        hits.uncertain ? `; ${counted(hits.uncertain, "call")} uncertain, because the log has their arguments redacted or shortened, counted at each rule that may decide them` : "",
        ".",
      ),
  );
}

const TRIED = "claw-policy-tried"; // what was tried is there again, too

function drawTester(place, context, editor) {
  const before = JSON.parse(sessionStorage.getItem(TRIED) || "{}");
  const keep = () => sessionStorage.setItem(TRIED, JSON.stringify({ call: call.value, server: server.value }));
  const call = element("textarea", { rows: "3", spellcheck: "false", placeholder: "read_file path=/home/me/.ssh/id_rsa", value: before.call || "", oninput: keep });
  const server = element("input", { type: "text", placeholder: "any", value: before.server || "", oninput: keep });
  const edited = element("input", { type: "checkbox", id: "try-edited" });
  const verdict = element("div", { role: "status" });
  const attempt = (event) => {
    event.preventDefault();
    return context.attempt(async () => {
      const body = { call: call.value, server: server.value.trim(), ...(edited.checked ? { text: editor.text() } : {}) };
      try {
        drawVerdict(verdict, await context.fetchJson("/api/policy/try", { body }));
      } catch (error) {
        if (error.name !== "AbortError") replace(verdict, problem(error.message));
      }
    });
  };
  replace(
    place,
    element("h2", {}, "Try a call"),
    element(
      "form",
      { onsubmit: attempt },
      field("Call", call, "TOOL NAME=VALUE …, or the JSON of a request"),
      element("div", { class: "tester" }, field("Server", server), element("div", { class: "check" }, edited, element("label", { for: "try-edited" }, "On the edited policy"))),
      element("p", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Decide")),
    ),
    verdict,
  );
}

function drawVerdict(place, found) {
  const by = found.rule ? `by rule ${found.rule}, line ${found.line}${found.description ? `: ${found.description}` : ""}` : "no rule matches";
  replace(
    place,
    element("p", { class: "verdict" }, badge(found.decision, KINDS[found.decision]), " ", element("span", { class: "strong text" }, by)),
    facts([
      ["Because", list(found.because)],
      ["Came close", list(found.near.map((one) => `rule ${one.rule} (${one.action}): ${one.missing.join("; ")}`))],
      ["To allow it", list(found.needed)],
    ]),
  );
}

function list(texts) {
  return texts.length ? element("ul", { class: "plain" }, texts.map((text) => element("li", { class: "text" }, text))) : "";
}

const DRAFT = "claw-policy-draft"; // what is typed and not saved outlives the page, in its own window

function drawEditor(place, context, reload) {
  const area = element("textarea", { rows: "28", spellcheck: "false", autocapitalize: "off", wrap: "off", oninput: keep });
  const report = element("div", { role: "status" });
  const state = element("p", { class: "hint", role: "status" });
  const kept = element("div", {});
  let base = null; // the policy that is edited
  let other = null; // the one that took its place meanwhile
  let tried = null;
  let saving = false;

  const original = () => (base.there ? base.text : base.default);
  const changed = () => base !== null && area.value !== (base.there ? base.text : "");
  const draw = () => {
    const edited = changed();
    const what = area.value === original() ? "A proposal, not in use yet." : "Changed.";
    const text = other ? "Choose below which of the two it is to be." : !edited ? "This is the policy in use." : tried === area.value ? "Replayed as it stands here: it can be saved." : `${what} Replay it over the log to see what it would do; then it can be saved.`;
    replace(state, text);
    save.disabled = !(edited && tried === area.value && !other);
    test.disabled = !edited || other !== null;
    test.title = other ? "Choose first which of the two policies it is to be." : "";
    drop.disabled = area.value === original();
    drawKept(kept, base.before, !edited && putBack);
  };

  function keep() {
    if (area.value === original()) sessionStorage.removeItem(DRAFT);
    else sessionStorage.setItem(DRAFT, JSON.stringify({ text: area.value, digest: base.digest }));
    draw();
  }

  /** Goes on from a policy, with what was typed or without it. */
  function begin(policy, text) {
    base = policy;
    other = tried = null;
    area.value = text ?? original();
    replace(report);
    keep();
  }

  function drawProblem({ problem: reason, line }) {
    replace(
      report,
      problem(`It cannot be used: ${line ? `line ${line}: ` : ""}${reason}`),
      line && element("p", { class: "actions" }, button(`Go to line ${line}`, () => goToLine(area, line))),
    );
  }

  const test = button("Replay over the log", () =>
    context.attempt(async () => {
      const text = area.value;
      try {
        const found = await context.fetchJson("/api/policy/replay", { body: { text } });
        if (other) return; // the question which of the two it is to be stays
        if (found.problem) drawProblem(found);
        else drawReport(report, found);
        report.scrollIntoView({ block: "nearest" });
        tried = found.problem ? null : text;
      } catch (error) {
        if (error.name === "AbortError") throw error;
        tried = null;
        replace(report, problem(error.message));
        report.scrollIntoView({ block: "nearest" });
      }
      draw();
    }),
  );
  const save = button("Save", () => context.attempt(() => write(area.value)), { class: "primary" });
  const drop = button("Drop changes", () => leave(other || base));

  /** Takes a policy in place of what was typed, which can be brought back. */
  function leave(policy) {
    const text = area.value;
    begin(policy);
    toast("Your changes are dropped", { undo: () => (begin(base, text), area.focus()) });
  }

  /** Saves a text; `said` begins what is told of it, and what was before can be brought back unless it just was. */
  async function write(text, said = "The policy is saved", undoable = base.there) {
    const over = base;
    saving = true;
    try {
      const saved = await context.fetchJson("/api/policy/save", { body: { text, digest: over.digest } });
      begin({ ...over, text, there: true, digest: saved.digest });
      toast(`${said}; every guard uses it from now on.`, undoable ? { undo: () => write(over.text, "The policy is again what it was", false) } : {});
    } catch (error) {
      await reload();
      if (!other) throw error; // else the choice says it, and nothing is to stand over that
      return;
    } finally {
      saving = false;
    }
    const lost = [document.body, save, document.getElementById("content")].includes(document.activeElement);
    if (lost) focusOn(state, { preventScroll: true }); // the button that had it is of no use now
    await reload();
  }

  const compared = async (old, text) => {
    const lines = await context.fetchJson("/api/policy/compare", { body: { old, new: text } });
    return lines.length ? diff(lines) : element("p", { class: "dim" }, "They are too long to be compared here.");
  };

  const putBack = () =>
    context.attempt(async () => {
      const body = [element("p", {}, "What changes, if the policy becomes again what it was:"), await compared(base.text, base.before.text)];
      if (await confirm({ title: "Put back the policy before?", body, action: "Put it back" })) await write(base.before.text, "The policy is again what it was");
    });

  async function ask(policy) {
    other = policy;
    draw();
    for (const one of document.querySelectorAll(".toast")) one.remove(); // of before, and over the choice
    const lines = await compared(policy.text, area.value);
    replace(
      report,
      problem("The policy was changed elsewhere since you began to edit it."),
      element(
        "p",
        { class: "actions" },
        button("Go on with mine", () => begin(policy, area.value)),
        button("Take the other one", () => leave(policy), { class: "danger" }),
      ),
      element("p", { class: "dim small" }, "If you go on with yours and save it, it takes the other one's place; that is kept beside it. Yours, compared with it:"),
      lines,
    );
    report.scrollIntoView({ block: "nearest" });
  }

  replace(place, element("h2", {}, "Edit"), field("Policy as TOML", area), state, element("p", { class: "actions" }, test, save, drop), report, kept);
  return {
    text: () => area.value,
    isSaving: () => saving,
    async opened(shown) {
      const draft = base === null && JSON.parse(sessionStorage.getItem(DRAFT) || "null");
      if (base === null) base = draft ? { ...shown, digest: draft.digest } : shown;
      if (draft) {
        area.value = draft.text;
        replace(report, element("p", { class: "note" }, "What you changed before and did not save is here again."));
      } else if (base === shown || area.value === original()) {
        // What another window saved is not undone by a message of before.
        if (shown.digest !== base.digest) for (const one of document.querySelectorAll(".toast.undoable")) one.remove();
        begin(shown);
        return;
      }
      if (shown.digest === base.digest || shown.text === area.value) {
        if (other) begin(shown, area.value); // it is again the one that was edited
        base = shown;
        keep();
      } else await ask(shown);
    },
  };
}

/** Selects a line of what is edited, and shows it. */
function goToLine(area, line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  area.focus({ preventScroll: true });
  area.setSelectionRange(start, start + (lines[line - 1] || "").length);
  area.scrollTop = (line - 1) * parseFloat(getComputedStyle(area).lineHeight) - area.clientHeight / 2;
  area.scrollIntoView({ block: "nearest" });
}

function drawKept(place, before, putBack) {
  if (!before) replace(place);
  else replace(place, element("p", { class: "dim small" }, "Until ", moment(before.until), " it was another one, kept as ", element("code", {}, before.file), ". ", button("Put it back…", putBack || null, { disabled: !putBack })));
}

function drawReport(place, found) {
  const stay = found.calls - found.changed - found.uncertain;
  replace(
    place,
    element("p", { class: "strong" }, found.calls ? `${counted(found.calls, "call")} of the log: ${stay.toLocaleString("en")} stay, ${found.changed.toLocaleString("en")} change${found.uncertain ? `, ${found.uncertain.toLocaleString("en")} uncertain` : ""}.` : "It can be used. There are no calls in the log yet to replay."),
    found.otherwise ? element("p", { class: "dim small" }, `${counted(found.otherwise, "call was", "calls were")} decided otherwise when made, by an older policy: not a change of this edit.`) : null,
    found.issues.length ? element("ul", { class: "plain small" }, found.issues.map(drawIssue)) : null,
    found.changes.map((change) =>
      element(
        "details",
        { class: "change-report" },
        element(
          "summary",
          {},
          badge(change.was, KINDS[change.was]),
          `${change.came_of_it && ` (${change.came_of_it})`} by ${change.was_rule ? `rule ${change.was_rule}` : "no rule"} → `,
          badge(change.now, KINDS[change.now]),
          change.now_rule ? ` by rule ${change.now_rule}${change.now_description ? `: ${change.now_description}` : ""}` : " by no rule",
          ` · ${counted(change.count, "call")}`,
        ),
        table({
          caption: "Calls that change",
          columns: [
            { title: "Tool", cell: (one) => one.tool, class: "mono name" },
            { title: "Server", cell: (one) => one.server },
            { title: "With", cell: (one) => one.arguments, class: "mono small" },
            { title: "Times", cell: (one) => one.count.toLocaleString("en"), class: "number" },
          ],
          rows: change.calls,
        }),
        change.kinds > change.calls.length ? element("p", { class: "dim small" }, `… and ${counted(change.kinds - change.calls.length, "more kind")} of calls`) : null,
      ),
    ),
    element("p", { class: "dim small" }, "The edit was held against the policy in use, with paths as text."),
  );
}
