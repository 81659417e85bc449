import { hash } from 'node:crypto';

import { escapeHtml, FAVICON, quoteHtml } from '../http/index.js';
import type { JournalEntry } from './spaces/index.js';

/** What is asked of the journal. */
export interface JournalFilter {
  readonly space: string;
  readonly model: string;
  /** Empty: any. */
  readonly status: string;
  readonly limit: number;
}

/** How requests may have ended, or not. */
export const JOURNAL_STATUSES: readonly JournalEntry['status'][] = [
  'running',
  'completed',
  'incomplete',
  'failed',
  'cancelled',
  'refused',
  'disconnected',
];

/** Characters of a request or an answer on the page; the JSON has all. */
const LONGEST_SHOWN = 10_000;

const STYLE = `:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem; overflow-wrap: anywhere }
form { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: end }
label { display: grid; flex: 1 1 10rem }
input, select, button { font: inherit; box-sizing: border-box; max-width: 100%; padding: 0.25rem 0.5rem }
ol { list-style: none; padding: 0 }
li { border-top: 1px solid rgb(128 128 128 / 0.5) }
summary { cursor: pointer; padding: 0.5rem 0 }
pre { white-space: pre-wrap; background: rgb(128 128 128 / 0.15); padding: 0.75rem; border-radius: 0.25rem }`;

/** What the page may do beside being shown: it has a style, a form and no script. */
export const JOURNAL_PAGE_POLICY = [
  `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

/** The journal of a space for a browser: the latest entries that match, newest first. `found` are all that match, oldest first. */
export function journalPage(found: readonly JournalEntry[], filter: JournalFilter): string {
  const shown = found.slice(Math.max(0, found.length - filter.limit)).reverse();
  const statuses = ['', ...JOURNAL_STATUSES].map(
    (status) =>
      `<option value="${status}"${status === filter.status ? ' selected' : ''}>${status === '' ? 'any' : status}</option>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Journal of the simulator</title>
<link rel="icon" href="${FAVICON}">
<style>${STYLE}</style>
<main>
<h1>Journal of the simulator</h1>
<form>
<label>Space ${field('space', filter.space)}</label>
<label>Model ${field('model', filter.model)}</label>
<label>Outcome <select name="status">${statuses.join('')}</select></label>
<label>Most entries <input name="limit" type="number" min="1" max="1000" value="${filter.limit}"></label>
<button>Show</button>
</form>
<p>${shown.length} of ${found.length} requests, newest first.</p>
<ol>
${shown.map(listed).join('\n')}
</ol>
</main>
</html>
`;
}

function field(name: string, value: string): string {
  return `<input name="${name}" value=${quoteHtml(value)}>`;
}

function listed(entry: JournalEntry): string {
  const { at, request, response, error } = entry;
  return `<li><details>
<summary>${escapeHtml(entry.toString())} <time>${at}</time></summary>
${block('Request', request)}${block('Response', response)}${block('Error', error)}</details></li>`;
}

function block(title: string, value: unknown): string {
  if (value === null) return '';
  const text = JSON.stringify(value, null, 2);
  const isLong = text.length > LONGEST_SHOWN;
  const note = isLong ? `, the first ${LONGEST_SHOWN} of ${text.length} characters` : '';
  const shown = isLong ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return `<h2>${title}${note}</h2>\n<pre>${escapeHtml(shown)}</pre>\n`;
}
