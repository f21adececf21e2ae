// Shows the Markdown that models write: paragraphs, headings, lists, code and bold. The rest stays as it is written.

import { element } from "./dom.js";

const FENCE = /^\s*(`{3,}|~{3,})/;
const ITEM = /^(\s*)(?:[-*+•]|(\d{1,9})[.)])\s+/;
const HEADING = /^#{1,6}\s+/;
const DEEPEST = 4;

function inline(text) {
  return text.split(/(\*\*[^*\n]+\*\*|`[^`\n]+`)/).map((part, at) => {
    if (at % 2 === 0) return part;
    return part[0] === "`" ? element("code", {}, part.slice(1, -1)) : element("strong", {}, part.slice(2, -2));
  });
}

/** The lines of a code block without its fences; what is not closed goes to the end. */
function code(lines) {
  const [, fence] = FENCE.exec(lines.shift());
  const end = lines.findIndex((line) => line.trim().startsWith(fence));
  const inside = lines.splice(0, end < 0 ? lines.length : end + 1);
  return element("pre", { tabindex: "0" }, (end < 0 ? inside : inside.slice(0, -1)).join("\n"));
}

/** Items that follow each other, with the lines that go on below each; how deep one is, its indent tells. */
function list(lines) {
  const [, , first] = ITEM.exec(lines[0]);
  const isOurs = (line) => ITEM.test(line) && (ITEM.exec(line)[2] === undefined) === (first === undefined);
  const items = [];
  while (lines.length && (isOurs(lines[0]) || (/^\s+\S/.test(lines[0]) && !ITEM.test(lines[0]) && !FENCE.test(lines[0])))) {
    const line = lines.shift();
    const found = ITEM.exec(line);
    if (found) items.push({ deep: Math.min(DEEPEST, Math.floor(found[1].length / 2)), text: line.slice(found[0].length) });
    else items.at(-1).text += `\n${line.trim()}`;
  }
  const draw = ({ deep, text }) => {
    const item = element("li", {}, inline(text));
    item.style.marginInlineStart = `${deep}rem`;
    return item;
  };
  return element(first === undefined ? "ul" : "ol", { start: first }, items.map(draw));
}

function paragraph(lines) {
  const own = [lines.shift()];
  while (lines.length && lines[0].trim() && ![FENCE, ITEM, HEADING].some((one) => one.test(lines[0]))) own.push(lines.shift());
  return element("p", {}, inline(own.join("\n")));
}

/** A text as elements. */
export function markdown(text) {
  const lines = text.split("\n");
  const blocks = [];
  while (lines.length) {
    if (!lines[0].trim()) lines.shift();
    else if (FENCE.test(lines[0])) blocks.push(code(lines));
    else if (ITEM.test(lines[0])) blocks.push(list(lines));
    else if (HEADING.test(lines[0])) blocks.push(element("p", { class: "strong" }, inline(lines.shift().replace(HEADING, ""))));
    else blocks.push(paragraph(lines));
  }
  return blocks;
}
