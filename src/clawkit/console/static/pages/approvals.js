import { element } from "../console.js";

export async function show(root) {
  root.append(element("p", { class: "dim" }, "…"));
}
