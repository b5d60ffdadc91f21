"use strict";

let about = { labels: [], functions: [], keys: {}, tags: [], label_names: {} };
let state = null; // of the current sentence, from the server
let selection = null; // {start, end} of words, or with `constituent`, its index
let moving = null; // the selection that is being moved
let entryMode = "label"; // what the field is for: label, above, function, tag, split, find
let picksNumber = 0; // number of the latest request for alternatives
let busy = Promise.resolve(); // requests are sent one after the other
let lookups = new AbortController(); // aborts questions about a tree that a step changes, or about an earlier selection
let pending = 0; // number of steps that are not answered, and of keys that wait for them

const SPACE = 0.65; // of the window's height: for the drawing, see annotate.css
const SMALLEST = 0.72; // the scale down to which a drawing shrinks before it has to be scrolled

const availableWidth = () => Math.max(1, $("drawing").clientWidth - 2);

/** The height of a drawing that needs no scrolling at its smallest scale. */
const availableHeight = () => Math.floor((SPACE * window.innerHeight) / SMALLEST);

/** Carry out a step; steps wait for one another, so that none is lost if keys come fast. */
function act(action, details = {}) {
  pending++;
  lookups.abort();
  busy = busy.then(async () => {
    const body = { action, theme: systemTheme(), width: availableWidth(), height: availableHeight(), ...details };
    if (state && state.sentence !== null && action !== "open" && action !== "undo" && action !== "redo") body.sentence = state.sentence;
    if (action === "show" || action === "next") delete body.sentence;
    try {
      const answer = await request("parse", body);
      showMessage("");
      show(answer, action);
    } catch (error) {
      showMessage(error.message);
    } finally {
      pending--;
    }
  });
  return busy;
}

/** Ask the server something about the tree; null if a step comes in between, or it has no answer. */
async function lookUp(body) {
  if (pending) return null;
  if (lookups.signal.aborted) lookups = new AbortController();
  return request("parse", { sentence: state.sentence, ...body }, lookups.signal).catch(() => null);
}

/** Wait before a question about the selection: while keys come fast, or words are dragged over, none is asked. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 60));

/** Wait for the answers to all steps, also to those that are made meanwhile. */
async function settled() {
  for (let last = null; last !== busy;) {
    last = busy;
    await last;
  }
}

/** Show the state of a sentence. */
function show(answer, action) {
  const same = state && state.sentence === answer.sentence && state.words && answer.words && state.words.length === answer.words.length;
  let was = same && !["accept", "pick"].includes(action) ? selection : null;
  if (selection && ["split", "join"].includes(action)) was = { start: selection.start, end: selection.start + 1 };
  state = answer;
  moving = null;
  const figures = answer.figures;
  const percent = figures.f1 === null ? "" : `, first trees ${(100 * figures.f1).toFixed(1)} F1`;
  $("figures").textContent = `${figures.accepted} of ${figures.sentences} accepted (${figures.dev} dev), ` +
    `${figures.statements.toFixed(2)} statements and ${figures.minutes.toFixed(1)} minutes per sentence${percent}`;
  drawCurve(figures.curve);
  if (answer.note) $("note").textContent = answer.note;
  $("note").hidden = !answer.note;
  if (answer.sentence === null) {
    $("drawing").replaceChildren(make("p", "faint", "All sentences are accepted or put off."));
    for (const id of ["changes", "tools", "picks-title", "pair"]) $(id).hidden = true;
    $("before").textContent = $("after").textContent = "";
    $("picks").replaceChildren();
    return;
  }
  $("tools").hidden = false;
  $("number").value = answer.position + 1;
  $("number").max = figures.sentences;
  $("status").textContent = [answer.part === "dev" ? "dev part, drawn by chance" : "train part", answer.accepted ? "accepted" : ""].filter(Boolean).join("; ");
  showPair();
  $("before").textContent = shorten(answer.around.before, 40);
  $("after").textContent = shorten(answer.around.after, 40);
  fillDrawing($("drawing"), answer, availableWidth(), () => {}, SPACE * window.innerHeight, SMALLEST);
  if (!same) $("drawing").scrollTop = 0;
  for (const label of document.querySelectorAll("#drawing [data-constituent]")) {
    label.removeAttribute("tabindex"); // the arrow keys move between constituents
    const one = answer.constituents[Number(label.dataset.constituent)];
    label.classList.toggle("stated", one.stated);
    label.classList.toggle("changed", one.changed);
  }
  const extra = answer.constituents.filter((one) => one.changed).map((one) => `+ ${one.label}: ${wordsOf(state, one)}`);
  const all = [...extra, ...answer.gone].map((text) => shorten(text));
  $("changes").replaceChildren(`The parser also changed: ${all.join("; ")}`, button("Take back (k)", "Keep these as they were", () => act("keep")));
  $("changes").hidden = !all.length || !["insert", "remove", "relabel", "move", "raise", "lower", "tag"].includes(action);
  // words that became a constituent are selected as this constituent, so that the next Enter accepts the tree
  const isMade = was && (was.constituent !== undefined || action === "insert");
  select(isMade ? findConstituent(was) : was);
}

/** The first and last words of a text of more than some words. */
function shorten(text, most = 8) {
  const words = text.split(" ");
  return words.length > most ? [...words.slice(0, most - 3), "…", ...words.slice(-2)].join(" ") : text;
}

/** The constituent with the tokens, and if there is one the label, of one in an earlier tree, as a selection. */
function findConstituent(one) {
  const same = (other) => other.start === one.start && other.end === one.end;
  let found = state.constituents.findIndex((other) => same(other) && other.label === one.label);
  if (found < 0) found = state.constituents.findLastIndex(same);
  return found < 0 ? null : { ...state.constituents[found], constituent: found };
}

function select(one) {
  selection = one;
  lookups.abort();
  for (const element of document.querySelectorAll(".chosen, .target")) element.classList.remove("chosen", "target");
  mark($("drawing"), one ? one.start : 0, one ? one.end : 0);
  if (one && one.constituent !== undefined) {
    for (const label of document.querySelectorAll(`#drawing [data-constituent="${one.constituent}"]`)) {
      label.classList.add(moving ? "target" : "chosen");
      label.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  } else if (one) {
    document.querySelector(`#drawing [data-token="${one.end - 1}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  showTools();
  if (!moving) showPicks();
}

async function showTools() {
  const one = selection, isConstituent = one && one.constituent !== undefined;
  const text = $("selected");
  if (moving) {
    text.textContent = `Moving “${wordsOf(state, moving)}”: choose its new parent with the arrow keys or a click; Enter moves it there, Escape does not.`;
  } else if (!one) {
    text.textContent = "Click a label or a word, or drag over words. Enter accepts the tree.";
  } else {
    const info = isConstituent ? state.constituents[one.constituent] : null;
    const meaning = info && state.names[info.label] ? ` (${state.names[info.label]})` : "";
    const probability = info && info.shown ? `, probability ${info.shown}` : "";
    text.textContent = info ? `${info.label}${meaning}: ${wordsOf(state, one)}${probability}${info.stated ? "; you stated it" : ""}` : `Words: ${wordsOf(state, one)}`;
  }
  const isWord = one && !isConstituent && one.end - one.start === 1;
  const actions = [];
  if (isConstituent) actions.push(["Remove", "Delete", remove], ["Label above", "i", () => openEntry("above")]);
  if (isConstituent && about.functions.length) actions.push(["Function", "-", () => openEntry("function")]);
  if (one && !isConstituent) actions.push(["Constituent", "Enter", () => insert("")]);
  if (one) actions.push(["Raise", "Shift+↑", () => act("raise", extent())], ["Lower", "Shift+↓", () => act("lower", extent())], ["Move", "m", startMove]);
  if (isWord) actions.push(["Tag", "t", () => openEntry("tag")], ["Split", "/", () => openEntry("split")], ["Join with next", "+", () => act("join", { token: one.start })]);
  if (one && one.end < state.words.length) actions.push(["Sentence ends here", ".", splitSentence]);
  if (state.position + 1 < state.figures.sentences) actions.push(["Join with next sentence", ",", () => act("join sentences")]);
  if (state.statements.length) actions.push(["Drop all statements", "0", () => act("reset")]);
  $("actions").replaceChildren(...actions.map(([name, key, action]) => {
    const made = button(`${name} `, key, action);
    made.append(make("kbd", "", key));
    return made;
  }));
  for (const made of $("labels").children) made.disabled = !one || Boolean(moving);
  if (one && !isConstituent && !moving && one.end - one.start > 1) {
    await pause();
    if (selection !== one) return;
    const answer = await lookUp({ action: "label", ...extent() });
    if (answer && answer.label && selection === one) text.textContent = `Words: ${wordsOf(state, one)}. Enter makes them ${/^[AEFHIMNRSX]/.test(answer.label) ? "an" : "a"} ${answer.label}.`;
  }
}

const extent = () => ({ start: selection.start, end: selection.end });

let picksShown = Promise.resolve(); // fulfilled when the alternatives of the selection are shown
const showPicks = () => { picksShown = findPicks(); };

/** Pick an alternative, also if its key is pressed before it is shown. */
async function choose(number) {
  const wanted = picksNumber;
  await picksShown;
  if (wanted === picksNumber && number <= $("picks").children.length) act("pick", { number });
}

async function findPicks() {
  const number = ++picksNumber;
  $("picks").replaceChildren();
  $("picks-title").hidden = true;
  if (!state.has_alternatives) return;
  await busy;
  await pause();
  if (number !== picksNumber || state.sentence === null) return;
  const body = { action: "alternatives", theme: systemTheme() };
  const isConstituent = selection && selection.constituent !== undefined;
  if (isConstituent) body.constituent = selection.constituent;
  else if (selection) Object.assign(body, extent());
  const answer = await lookUp(body);
  if (!answer || number !== picksNumber) return;
  $("picks").replaceChildren(...answer.picks.map((pick, index) => {
    const small = make("div", "small");
    small.innerHTML = pick.drawing; // generated and escaped by the server
    const svg = small.querySelector("svg");
    if (svg && !svg.getAttribute("viewBox")) svg.setAttribute("viewBox", `0 0 ${svg.width.baseVal.value} ${svg.height.baseVal.value}`);
    const made = button("", `Key ${index + 1}: ${pick.changes.join("; ")}`, () => choose(index + 1));
    const changes = pick.changes.map((text) => make("span", text.startsWith("+") ? "plus" : "minus", `${shorten(text, 10)} `));
    made.append(make("span", "change", make("kbd", "", `${index + 1}`), " ", ...changes), small);
    return made;
  }));
  const within = isConstituent ? state.constituents[selection.constituent] : selection && findConstituent(selection);
  $("picks-title").textContent = within ? `Alternatives within ${within.label}` : selection ? `Trees with the constituent “${shorten(wordsOf(state, selection))}”` : "Other trees";
  $("picks-title").hidden = !answer.picks.length;
}

function drawCurve(curve) {
  const most = Math.max(1, ...curve.map((one) => one.statements));
  $("curve").replaceChildren(...curve.slice(-120).map((one) => {
    const bar = make("div");
    bar.style.height = `${Math.max(2, (100 * one.statements) / most)}%`;
    bar.title = `${one.statements} statements, first tree ${(100 * one.f1).toFixed(0)} F1`;
    return bar;
  }));
}

// ---- steps ----

function insert(label, above = false) {
  return act("insert", { ...extent(), label, above });
}

function setLabel(label) {
  if (!selection || moving) return;
  if (selection.constituent === undefined) insert(label);
  else if (selection.constituent > 0) act("relabel", { constituent: selection.constituent, label });
}

function remove() {
  if (selection && selection.constituent !== undefined) act("remove", { constituent: selection.constituent });
}

function startMove() {
  if (!selection) return;
  moving = selection;
  $("drawing").classList.add("moving");
  select(selection);
}

function finishMove(target) {
  const from = moving;
  moving = null;
  $("drawing").classList.remove("moving");
  if (from && target !== undefined) act("move", { start: from.start, end: from.end, target });
  else select(from);
}

function splitSentence() {
  if (!selection || selection.end === state.words.length) showMessage("Select the last word of the sentence; the words after it become a sentence.");
  else act("split sentence", { token: selection.end });
}

/** Select the next word that begins with a text; with `extend`, all words up to it. */
function findWord(text, extend) {
  const from = selection ? selection.end : 0;
  const starts = (word) => word.toLowerCase().startsWith(text.toLowerCase());
  let found = state.words.findIndex((word, index) => index >= from && starts(word));
  if (found < 0) found = state.words.findIndex(starts);
  if (found < 0) showMessage(`No word of the sentence begins with “${text}”.`);
  else moveToWord(found, extend);
}

const ENTRIES = { find: "Find", label: "Label", above: "Label above", function: "Function", tag: "Tag", split: "Split" };

function openEntry(mode, text = "") {
  if (!selection && mode !== "find") return;
  entryMode = mode;
  $("entry-name").textContent = ENTRIES[mode];
  $("entries").replaceChildren(...({ tag: about.tags, split: [], find: state.words, function: about.functions }[mode] || about.labels).map((name) => {
    const option = make("option");
    option.value = name;
    return option;
  }));
  $("entry").value = mode === "split" ? wordsOf(state, selection) : text;
  $("entry").focus();
}

function finishEntry(extend = false) {
  const text = $("entry").value.trim();
  $("entry").value = "";
  $("entry").blur();
  if (!text || (!selection && entryMode !== "find")) return resetEntry();
  const complete = (names) => names.find((name) => name === text.toUpperCase()) || names.find((name) => name === text) ||
    names.find((name) => name.toUpperCase().startsWith(text.toUpperCase())) || text;
  if (entryMode === "find") findWord(text, extend);
  else if (entryMode === "tag") act("tag", { token: selection.start, tag: complete(about.tags) });
  else if (entryMode === "function") setLabel(`${state.constituents[selection.constituent].label}-${complete(about.functions)}`);
  else if (entryMode === "above") insert(complete(about.labels), true);
  else if (entryMode === "label") setLabel(complete(about.labels));
  else if (entryMode === "split" && text.indexOf(" ") > 0) act("split", { token: selection.start, at: text.indexOf(" ") });
  else showMessage("To split the word, type it with a blank at the place, as in “can not”.");
  resetEntry();
}

function resetEntry() {
  entryMode = "label";
  $("entry").value = "";
  $("entry-name").textContent = ENTRIES.label;
  $("entry").blur();
}
