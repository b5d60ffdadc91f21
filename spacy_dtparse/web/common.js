"use strict";

/* What all pages share: elements, requests, messages. */

const $ = (id) => document.getElementById(id);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** Create an element with a class, and texts or elements in it. Texts never become markup. */
function make(name, className, ...content) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...content);
  return element;
}

/** Create a button with a text, a tooltip and what it does. */
function button(text, title, action, className = "") {
  const made = make("button", className, text);
  made.type = "button";
  if (title) made.title = title;
  made.addEventListener("click", action);
  return made;
}

const systemTheme = () => (dark.matches ? "dark" : "light");

/** The words of a sentence that a constituent, or any object with start and end, covers. */
const wordsOf = (sentence, one) => sentence.words.slice(one.start, one.end).join(" ");

/** Send a request to the server and return its answer, or throw the error that it reports. `signal`: may abort it. The page may have more to say
 *  if there is no answer: the data-unanswered of its body. */
async function request(path, body, signal) {
  let reply;
  try {
    reply = await fetch(path, {
      signal,
      method: body ? "POST" : "GET",
      headers: body ? { "Content-Type": "application/json" } : {},
      body: body ? JSON.stringify(body) : undefined,
    });
  } catch {
    throw new Error(`The server does not answer. Is it still running? ${document.body.dataset.unanswered ?? ""}`.trim());
  }
  const answer = await reply.json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

function showMessage(message) {
  $("message").textContent = message;
  $("message").hidden = !message;
}
