"use strict";
// Suspicious places of a review: a list above the drawing, marks in it, and the key x that repairs the first one.
{
  const places = make("div", "bar");
  places.id = "suspicions";
  places.setAttribute("role", "status");
  $("drawing").before(places);

  function showSuspicions(answer) {
    const found = answer.suspicions || [];
    places.replaceChildren(...found.map((one, index) => {
      const made = make("span", "suspicion", `${one.text} (${one.score.toFixed(1)}) `);
      made.append(button(index ? "Repair" : "Repair ", `Replace it: ${one.better || "no constituent"}`, () => act("repair", { suspicion: index })));
      if (!index) made.lastChild.append(make("kbd", "", "x"));
      return made;
    }));
    if (answer.sentence !== null && !found.length) places.replaceChildren(make("span", "faint", "No suspicious place in this tree."));
    for (const one of found) {
      for (let k = 0; k < answer.constituents.length; k++) {
        const other = answer.constituents[k];
        const same = other.start === one.start && other.end === one.end && other.label === one.label;
        if (one.kind !== "tag" && same) for (const label of document.querySelectorAll(`#drawing [data-constituent="${k}"]`)) label.classList.add("suspicious");
      }
      if (one.kind === "superfluous" || one.kind === "label") continue;
      for (let token = one.start; token < one.end; token++) {
        for (const word of document.querySelectorAll(`#drawing [data-token="${token}"]`)) word.classList.add("suspicious");
      }
    }
  }

  const showState = show;
  show = (answer, action) => { // the page calls it after each step
    showState(answer, action);
    showSuspicions(answer);
  };
  ACTIONS.x = () => act("repair");
  $("help").querySelector("tbody").append(make("tr", "", make("td", "", make("kbd", "", "x")), make("td", "", "repair the first suspicious place")));

  const style = make("style", "", `
    #drawing .suspicious { fill: var(--warn); font-weight: bold; text-decoration: underline wavy var(--warn); }
    .suspicion { border: 1px solid var(--line); border-left: 4px solid var(--warn); border-radius: 6px; padding: 3px 10px; }`);
  document.head.append(style);
}
