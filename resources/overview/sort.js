// Tables are sorted by the head of a column: downwards, upwards, and back to how they were.
for (const table of document.querySelectorAll("table.laid, table.finding")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const key = (row, i) => {
    const cell = row.cells[i];
    return cell.dataset.v === undefined ? cell.innerText.trim() : Number(cell.dataset.v);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
  if (rows.length < 2) continue;
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const order = before === null ? "descending" : before === "descending" ? "ascending" : null;
      for (const other of heads) other.removeAttribute("aria-sort");
      if (order) head.setAttribute("aria-sort", order);
      // What has no number stays below.
      const none = (row) => i >= 0 && row.cells[i].innerText.trim() === "–";
      const sorted = order === null ? rows : [...rows].sort((a, b) => none(a) - none(b) || (order === "ascending" ? 1 : -1) * compare(key(a, i), key(b, i)));
      body.append(...sorted);
    });
  });
}
// Print shows what is folded.
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});
