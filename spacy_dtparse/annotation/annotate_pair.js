"use strict";

/* Adjudication: the trees of two annotators side by side. */

const PAIR_KEYS = [
  ["1 2", "accept the first, or the second annotator's tree"],
  ["x", "correct the other annotator's tree; Enter accepts the corrected tree"],
];

function take(one, accept) {
  return act("take", { number: one.number, accept });
}

const pairOf = (number) => (state.pair || []).find((one) => one.number === number);

/** Put the other annotator's tree into the drawing. */
function exchange() {
  const taken = state.pair.findIndex((one) => one.taken);
  take(state.pair[(taken + 1) % state.pair.length], false);
}

const PAIR_ACTIONS = {
  1: () => pairOf(1) && take(pairOf(1), true), 2: () => pairOf(2) && take(pairOf(2), true), x: exchange,
};

/** Show the annotators' trees, each with the constituents and words marked that the other does not have. */
function showPair() {
  const pair = state.pair || [];
  $("pair").hidden = !pair.length;
  $("pair").replaceChildren(...pair.map((one) => {
    const head = make("p", "bar", make("b", "", one.name));
    const accept = button("Accept ", `Accept the tree of ${one.name}`, () => take(one, true));
    accept.append(make("kbd", "", `${one.number}`));
    const correct = button("Correct ", `Correct the tree of ${one.name} below`, () => take(one, false));
    correct.disabled = one.taken;
    if (!one.taken) correct.append(make("kbd", "", "x"));
    head.append(accept, correct);
    const drawing = make("div", "drawing");
    drawing.innerHTML = one.drawing; // generated and escaped by the server
    for (const [name, indices] of [["constituent", one.differing], ["token", one.tags]]) {
      for (const index of indices) {
        for (const element of drawing.querySelectorAll(`[data-${name}="${index}"]`)) element.classList.add("differs");
      }
    }
    return make("div", "", head, drawing);
  }));
}
