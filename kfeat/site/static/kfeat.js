// What all pages share: data handed over by scripts, elements, and the theme.
"use strict";
const kfeat = (() => {
  const held = new Map();
  const waiting = new Map();

  // Receive the data of a script: scripts of data call this, and nothing is fetched.
  async function put(name, given) {
    const value = given.deflated ? await inflated(given.deflated) : given;
    held.set(name, value);
    for (const resolve of waiting.get(name) || []) resolve(value);
    waiting.delete(name);
  }

  function inflated(text) {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  }

  // Promise the data of a name; `source` is the script that hands it over, loaded once.
  function get(name, source) {
    if (held.has(name)) return Promise.resolve(held.get(name));
    return new Promise((resolve, reject) => {
      if (waiting.has(name)) return waiting.get(name).push(resolve);
      waiting.set(name, [resolve]);
      if (source) document.head.append(make("script", { src: source, onerror: () => reject(new Error(`${source} is missing`)) }));
    });
  }

  // Return an element with properties, attributes (those with a dash, `role`, `href`) and children; text stays text.
  function make(tag, given = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(given)) {
      if (key.includes("-") || key === "role" || key === "for" || key === "scope") element.setAttribute(key, value);
      else element[key] = value;
    }
    element.append(...children);
    return element;
  }

  const themes = ["system", "light", "dark"];
  function stored() {
    try { return localStorage.getItem("kfeat-theme"); } catch { return null; }
  }
  function setTheme(name) {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    try { localStorage.setItem("kfeat-theme", name); } catch { /* the choice then holds for this page only */ }
  }
  let theme = themes.includes(stored()) ? stored() : "system";
  setTheme(theme);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const say = () => { button.textContent = `Theme: ${theme}`; };
    say();
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      setTheme(theme);
      say();
    });
  });
  return { put, get, make };
})();
