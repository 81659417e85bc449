/** Searches the sections of the site for all words that are typed in. Runs in the browser. */
const root = new URL('.', import.meta.url);
const [input, list] = [document.querySelector('#search'), document.querySelector('#found')];

/** Read with the first search. */
let sections;

/** How well a section has the words; 0 without one of them. A title counts more than a text. */
function scoreOf({ title, text }, words) {
  const [ofTitle, ofText] = [title.toLowerCase(), text.toLowerCase()];
  const scores = words.map((word) => (ofTitle.includes(word) ? 10 : 0) + Math.min(ofText.split(word).length - 1, 5));
  return scores.includes(0) ? 0 : scores.reduce((sum, score) => sum + score, 0);
}

function toEntry({ url, title }) {
  const link = document.createElement('a');
  [link.href, link.textContent] = [new URL(url, root).href, title];
  const entry = document.createElement('li');
  entry.append(link);
  return entry;
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  sections ??= fetch(new URL('sections.json', root)).then((answer) => answer.json());
  const found = (await sections)
    .map((section) => ({ section, score: words.length === 0 ? 0 : scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  list.replaceChildren(...found.slice(0, 15).map(({ section }) => toEntry(section)));
}

input.addEventListener('input', () => void search());
input.form.addEventListener('submit', (event) => {
  event.preventDefault();
  list.querySelector('a')?.click();
});
