"use strict";
// Learning beside annotation: the state of the learner, and F1 of the first trees over time.
{
  const learning = make("p", "faint");
  learning.id = "learning";
  learning.setAttribute("role", "status");
  $("figures").after(learning);
  const firstTrees = make("div");
  firstTrees.id = "first-trees";
  $("curve").after(firstTrees);
  const WINDOW = 20; // sentences of a running mean

  function learningText(found) {
    const parts = found.history.map((one) => `${one.trees} trees${one.kind === "network" ? " (network)" : ""}: ${one.f1.toFixed(1)} F1 on ${one.dev} dev trees${one.better ? one.reparses !== false ? "" : ", a statement changes only what it names" : ", not better"}`);
    const last = parts.length ? `Models: ${parts.slice(-3).join("; ")}. ` : "";
    if (found.message) return `${last}${found.message}`;
    if (found.running) return `${last}Learning from ${found.running} trees …`;
    if (found.dev_missing) return `${last}Learning begins with ${found.dev_missing} more accepted dev trees.`;
    return `${last}Next model after ${found.next} trees.`;
  }

  /** Draw running means of F1 of the first trees and of the statements; a bar per sentence, the last 120. */
  function drawFirstTrees(curve) {
    const mean = (index, name) => {
      const part = curve.slice(Math.max(0, index - WINDOW + 1), index + 1);
      return part.reduce((sum, one) => sum + one[name], 0) / part.length;
    };
    const first = Math.max(0, curve.length - 120);
    firstTrees.replaceChildren(...curve.slice(first).map((_, k) => {
      const f1 = mean(first + k, "f1"), bar = make("div");
      bar.style.height = `${Math.max(2, 100 * f1)}%`;
      bar.title = `sentence ${first + k + 1}: mean of the last ${WINDOW}: first trees ${(100 * f1).toFixed(1)} F1, ${mean(first + k, "statements").toFixed(2)} statements`;
      return bar;
    }));
  }

  const showBefore = show;
  show = (answer, action) => { // the page calls it after each step
    showBefore(answer, action);
    if (answer.figures.learning) learning.textContent = learningText(answer.figures.learning);
    drawFirstTrees(answer.figures.curve);
  };
  const learningStyle = make("style", "", `
    #learning { margin: 0; }
    #first-trees { display: flex; align-items: flex-end; gap: 2px; height: 90px; margin-top: 8px; }
    #first-trees div { background: var(--good); min-width: 4px; flex: 0 1 14px; }`);
  document.head.append(learningStyle);
}
