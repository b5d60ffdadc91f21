"use strict";

/* The keys and the mouse of the annotation page, and its start. */

const KEYS = [
  ["← →", "select a word, or the constituent before or after"], ["Shift+← →", "select more words or fewer"],
  ["Home End", "select the first, the last word; with Shift, all words up to it"],
  ["'", "type the beginning of a word, Enter selects it, Shift+Enter all words up to it; again for the next such word"],
  ["↑ ↓", "the constituent around, or inside"], ["Shift+↑", "raise: take it out of its parent; the parser decides where it belongs"],
  ["Shift+↓", "lower: attach it to the smallest phrase before it, or else after it"],
  ["m, arrows, Enter", "move it to another parent"],
  ["l", "type a label; the beginning is enough"], ["i", "type a label of a constituent above the selected one"],
  ["Enter", "words selected: make them a constituent, the parser labels it; else accept the tree"],
  ["Delete", "remove the constituent"], ["1 … 9", "pick another tree; within the selected constituent, or with the selected words as a constituent"],
  ["k", "keep: take back what the parser changed besides"], ["t", "type the tag of the word"],
  ["/ and +", "split the word (type it with a blank), join it with the next one"],
  [".", "the sentence ends after the selected words; the rest is a sentence"], [",", "join the sentence with the next one"],
  ["z y", "undo, redo (also Ctrl+Z, Ctrl+Y)"], ["0", "drop all statements about the sentence"],
  ["f", "put the sentence off"], ["PageUp PageDown", "the sentence before or after, as in the input"], ["Escape", "select nothing"],
];

// ---- keys ----

function moveSelection(step, extend) {
  const n = state.words.length;
  if (extend) {
    if (!selection) return select({ start: 0, end: 1, anchor: 0, focus: 0 });
    const anchor = selection.anchor ?? (step > 0 ? selection.start : selection.end - 1);
    const focus = Math.min(n - 1, Math.max(0, (selection.focus ?? (step > 0 ? selection.end - 1 : selection.start)) + step));
    return select({ start: Math.min(anchor, focus), end: Math.max(anchor, focus) + 1, anchor, focus });
  }
  if (selection && selection.constituent !== undefined) {
    const count = state.constituents.length, next = (selection.constituent + step + count) % count;
    return select({ ...state.constituents[next], constituent: next });
  }
  const word = !selection ? (step > 0 ? 0 : n - 1) : Math.min(n - 1, Math.max(0, (step > 0 ? selection.end - 1 : selection.start) + step));
  return select({ start: word, end: word + 1, anchor: word, focus: word });
}

/** Select a word, or with `extend` all words from the selection to it. */
function moveToWord(word, extend) {
  if (!extend || !selection) return select({ start: word, end: word + 1, anchor: word, focus: word });
  const anchor = selection.anchor ?? (word >= selection.end ? selection.start : selection.end - 1);
  return select({ start: Math.min(anchor, word), end: Math.max(anchor, word) + 1, anchor, focus: word });
}

function moveUp() {
  const one = selection || { start: 0, end: state.words.length };
  const limit = selection && selection.constituent !== undefined ? selection.constituent : state.constituents.length;
  for (let k = limit - 1; k >= 0; k--) {
    const other = state.constituents[k];
    if (other.start <= one.start && one.end <= other.end) return select({ ...other, constituent: k });
  }
}

function moveDown() {
  if (!selection || selection.constituent === undefined) return;
  const inside = state.constituents[selection.constituent + 1];
  if (inside && inside.start >= selection.start && inside.end <= selection.end) return select({ ...inside, constituent: selection.constituent + 1 });
  select({ start: selection.start, end: selection.start + 1, anchor: selection.start, focus: selection.start });
}

/** The position of the sentence; after all are accepted, the one behind the last. */
const position = () => state.position ?? state.figures.sentences;

function goTo(index) {
  if (index >= 0 && index < state.figures.sentences) act("open", { position: index });
}

const ACTIONS = {
  ArrowLeft: (event) => moveSelection(-1, event.shiftKey), ArrowRight: (event) => moveSelection(1, event.shiftKey),
  ArrowUp: (event) => (event.shiftKey && selection ? act("raise", extent()) : moveUp()),
  ArrowDown: (event) => (event.shiftKey && selection ? act("lower", extent()) : moveDown()),
  Enter: () => (moving ? finishMove(selection?.constituent) : selection && selection.constituent === undefined ? insert("") : act("accept")),
  Delete: remove, Backspace: remove, Escape: () => (moving ? finishMove() : select(null)),
  l: () => openEntry("label"), i: () => openEntry("above"), m: startMove, k: () => act("keep"), f: () => act("flag"),
  "-": () => about.functions.length && selection?.constituent > 0 && openEntry("function"),
  t: () => isWord() && openEntry("tag"), "/": () => isWord() && openEntry("split"), "+": () => isWord() && act("join", { token: selection.start }),
  z: () => act("undo"), y: () => act("redo"), 0: () => act("reset"),
  ".": splitSentence, ",": () => act("join sentences"),
  Home: (event) => moveToWord(0, event.shiftKey), End: (event) => moveToWord(state.words.length - 1, event.shiftKey),
  "'": () => openEntry("find"),
  PageUp: () => goTo(position() - 1), PageDown: () => goTo(position() + 1),
};
const isWord = () => selection && selection.constituent === undefined && selection.end - selection.start === 1;

let waiting = Promise.resolve(); // keys that wait for the answers to steps

/** A key that comes before the last step is answered waits, because it is about the tree that this step leads to. */
document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.altKey || event.metaKey || event.target === $("number")) return handleKey(event);
  if (pending === 0) return handleKey(event);
  if (["Shift", "Control", "Tab"].includes(event.key)) return;
  event.preventDefault();
  const { key, shiftKey, ctrlKey, repeat } = event;
  if (repeat && !["ArrowLeft", "ArrowRight", "PageUp", "PageDown"].includes(key)) return; // a key that is held down
  pending++;
  waiting = waiting.then(settled).then(() => {
    pending--;
    const later = { key, shiftKey, ctrlKey, target: document.activeElement, preventDefault() {} };
    if (later.target === $("entry") && key.length === 1) $("entry").value += key;
    else if (later.target === $("entry") && key === "Backspace") $("entry").value = $("entry").value.slice(0, -1);
    else handleKey(later);
  }).catch((error) => showMessage(error.message)); // else no later key would be handled
});

function handleKey(event) {
  if (event.isComposing || event.altKey || event.metaKey) return;
  if (event.target === $("entry")) {
    if (event.key === "Enter") finishEntry(event.shiftKey);
    else if (event.key === "Escape") resetEntry();
    else return;
    event.preventDefault();
    return;
  }
  if (event.target === $("number")) {
    if (event.key === "Enter") { goTo(Number($("number").value) - 1); $("number").blur(); }
    return;
  }
  if (event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return;
  if (!state || (state.sentence === null && !["z", "y", "PageUp"].includes(event.key))) return;
  if (event.ctrlKey && !["z", "y"].includes(event.key)) return;
  let action = (state.pair?.length && PAIR_ACTIONS[event.key]) || ACTIONS[event.key];
  if (!action && /^[1-9]$/.test(event.key)) action = () => choose(Number(event.key));
  const label = about.keys[event.key];
  if (!action && label) action = () => setLabel(label);
  if (!action && /^[A-Z]$/.test(event.key) && selection) action = () => openEntry("label", event.key);
  if (!action) return;
  event.preventDefault();
  action(event);
}

// ---- mouse ----

let drag = null; // {token} while words are selected, {constituent} while one is moved
const at = (event, name) => {
  const element = document.elementFromPoint(event.clientX, event.clientY)?.closest(`#drawing [data-${name}]`);
  return element ? Number(element.dataset[name]) : undefined;
};

$("drawing").addEventListener("mousedown", (event) => {
  if (event.button !== 0 || !state?.constituents) return;
  const token = at(event, "token"), constituent = at(event, "constituent");
  document.activeElement?.blur();
  if (token === undefined && constituent === undefined) {
    if (!moving && event.target.closest("#drawing svg")) select(null);
    return;
  }
  event.preventDefault();
  if (moving && constituent !== undefined) return finishMove(constituent);
  drag = { token, constituent };
  if (token !== undefined && event.shiftKey && selection) {
    moveToWord(token, true);
    drag.token = selection.anchor;
  } else if (token !== undefined) select({ start: token, end: token + 1, anchor: token, focus: token });
  else select({ ...state.constituents[constituent], constituent });
});
document.addEventListener("mousemove", (event) => {
  if (!drag) return;
  if (drag.token !== undefined) {
    const token = at(event, "token");
    if (token !== undefined && token !== selection?.focus) {
      select({ start: Math.min(token, drag.token), end: Math.max(token, drag.token) + 1, anchor: drag.token, focus: token });
    }
    return;
  }
  const target = at(event, "constituent");
  for (const element of document.querySelectorAll(".target")) element.classList.remove("target");
  if (target === undefined || target === drag.constituent) return;
  for (const element of document.querySelectorAll(`#drawing [data-constituent="${target}"]`)) element.classList.add("target");
});
document.addEventListener("mouseup", (event) => {
  const from = drag;
  drag = null;
  if (!from || from.constituent === undefined) return;
  const target = at(event, "constituent");
  if (target !== undefined && target !== from.constituent) act("move", { ...extent(), target });
});

for (const [id, action] of Object.entries({ undo: () => act("undo"), redo: () => act("redo"), flag: () => act("flag"), accept: () => act("accept"), previous: () => goTo(position() - 1), next: () => goTo(position() + 1) })) {
  $(id).addEventListener("click", () => { $(id).blur(); action(); });
}
$("number").addEventListener("change", () => goTo(Number($("number").value) - 1));
$("entry").addEventListener("focus", () => { if (!$("entry").value && entryMode !== "tag") openEntry(entryMode === "split" ? "label" : entryMode); });
dark.addEventListener("change", () => { document.documentElement.dataset.theme = systemTheme(); act("show"); });
let drawnWidth = 0;
window.addEventListener("resize", () => {
  if (availableWidth() !== drawnWidth && state?.words) { drawnWidth = availableWidth(); act("show"); }
});

function showKeys() {
  const rows = [...KEYS, [Object.keys(about.keys).join(" "), `label: ${Object.values(about.keys).join(" ")}, of the selected words or constituent`]];
  if (about.functions.length) rows.push(["-", "type a function label, as in NP-SBJ, of the selected constituent"]);
  if (about.agreement) rows.unshift(...PAIR_KEYS);
  $("help").querySelector("tbody").replaceChildren(...rows.map(([key, meaning]) => make("tr", "", make("td", "", make("kbd", "", key)), make("td", "", meaning))));
}

document.documentElement.dataset.theme = systemTheme();
request("about").then((found) => {
  about = found;
  $("about").textContent = [found.pipeline, found.annotator, `writes ${found.out}`].filter(Boolean).join(", ");
  showKeys();
  $("agreement").textContent = about.agreement || "";
  $("agreement-box").hidden = !about.agreement;
  $("labels").replaceChildren(...Object.entries(about.keys).map(([key, label]) => {
    const made = button(`${label} `, about.label_names[label] || label, () => { made.blur(); setLabel(label); });
    made.append(make("kbd", "", key));
    return made;
  }));
  drawnWidth = availableWidth();
  return act("next");
}).catch((error) => showMessage(error.message));
