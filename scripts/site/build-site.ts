import { posix } from 'node:path';

import { Marked, type Tokens } from 'marked';

import { isDiagram, toSvg } from './diagram.ts';

/** A page of the documentation. */
export interface SourcePage {
  /** From the root of the repository, such as `docs/api.md`. */
  readonly path: string;
  readonly text: string;
}

/** A section of a page, for the search. */
interface Section {
  /** The address from the root of the site. */
  readonly url: string;
  readonly title: string;
  readonly text: string;
}

/** What a site is made of. */
export interface Site {
  /** Pages and the sections that are searched, by their paths. */
  readonly files: ReadonlyMap<string, string>;
  /** Links to pages, headings and images that are not there, with the pages that they are on. */
  readonly broken: readonly string[];
}

/** What GitHub makes of a heading. */
function toAnchor(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}

/** Where a page is in the site: the README is its first page. */
export function toAddress(path: string): string {
  return path === 'README.md' ? 'index.html' : path.replace(/\.md$/, '.html');
}

/**
 * Makes a static site of pages. Links between them are relative, so that it works below any address.
 *
 * @param assets the images, by their paths
 */
export function buildSite(pages: readonly SourcePage[], assets: ReadonlySet<string>): Site {
  const known = new Map(pages.map((page) => [page.path, anchorsOf(page.text)]));
  const titles = new Map(pages.map(({ path, text }) => [path, /^# (.+)$/m.exec(text)?.[1] ?? path]));
  const broken: string[] = [];
  const sections: Section[] = [];
  const files = new Map<string, string>();
  for (const page of pages) {
    const body = toHtml(page, { known, assets, broken });
    files.set(toAddress(page.path), frame(page.path, titles, body));
    sections.push(...sectionsOf(page));
  }
  files.set('sections.json', JSON.stringify(sections));
  return { files, broken };
}

interface Known {
  /** The anchors of each page. */
  readonly known: ReadonlyMap<string, ReadonlySet<string>>;
  readonly assets: ReadonlySet<string>;
  readonly broken: string[];
}

function toHtml({ path, text }: SourcePage, { known, assets, broken }: Known): string {
  const from = posix.dirname(path);
  /** The link of the site; undefined for a file of the repository that is no part of it. */
  const resolve = (href: string): string | undefined => {
    if (/^[a-z]+:/i.test(href)) return href;
    const [file = '', anchor] = href.split('#');
    const target = file === '' ? path : posix.join(from, file);
    if (assets.has(target)) return href;
    const anchors = known.get(target);
    if (anchors === undefined) {
      if (/^(?:docs\/.*|[^/]+)\.(?:md|png)$/.test(target)) broken.push(`${path}: ${href}`);
      return undefined;
    }
    if (anchor !== undefined && !anchors.has(anchor)) broken.push(`${path}: ${href}`);
    const page = file === '' ? '' : posix.relative(posix.dirname(toAddress(path)), toAddress(target));
    return anchor === undefined ? page : `${page}#${anchor}`;
  };
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: heading }: Tokens.Heading) {
        const anchor = toAnchor(heading);
        return `<h${depth} id="${anchor}"><a href="#${anchor}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const label = this.parser.parseInline(tokens);
        const target = resolve(href);
        return target === undefined ? label : `<a href="${escape(target)}">${label}</a>`;
      },
      image({ href, text: label }: Tokens.Image) {
        return `<img src="${escape(resolve(href) ?? href)}" alt="${escape(label)}">`;
      },
      code({ text: code, lang = '' }: Tokens.Code) {
        // Otherwise as it is.
        return lang === '' && isDiagram(code) ? toSvg(code) : false;
      },
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], name: string): string =>
          `<tr>${cells.map(({ tokens }) => `<${name}>${this.parser.parseInline(tokens)}</${name}>`).join('')}</tr>`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="wide"><table>${row(token.header, 'th')}\n${body}</table></div>\n`;
      },
    },
  });
  return marked.parse(text, { async: false });
}

function frame(path: string, titles: ReadonlyMap<string, string>, body: string): string {
  const root = posix.relative(posix.dirname(toAddress(path)), '') || '.';
  const entry = ([other, title]: readonly [string, string]): string => {
    const current = other === path ? ' aria-current="page"' : '';
    return `<li><a href="${root}/${toAddress(other)}"${current}>${escape(title)}</a></li>`;
  };
  const isDecision = (other: string): boolean => /^docs\/decisions\/\d/.test(other);
  const decisions = [...titles].filter(([other]) => isDecision(other));
  const others = [...titles].filter(([other]) => !isDecision(other));
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(titles.get(path) ?? path)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/site.css">
<script type="module" src="${root}/search.js"></script>
<body>
<nav aria-label="Pages">
<form role="search"><label>Search<input type="search" id="search" autocomplete="off"></label></form>
<ol id="found" aria-live="polite"></ol>
<ul>${others.map(entry).join('\n')}</ul>
<details${isDecision(path) ? ' open' : ''}><summary>Decisions</summary><ul>${decisions.map(entry).join('\n')}</ul></details>
</nav>
<main>
${body}</main>
</body>
</html>
`;
}

/** The sections of a page, each with the text up to the next heading. */
function sectionsOf({ path, text }: SourcePage): readonly Section[] {
  const page = /^# (.+)$/m.exec(text)?.[1] ?? path;
  // A line of code may look like a heading.
  const prose = text.replaceAll(/^```.*?^```$/gms, (code) => code.replaceAll(/^#/gm, ' #'));
  return prose.split(/^(?=#{1,4} )/m).map((section) => {
    const [, heading = page] = /^#+ (.+)$/m.exec(section) ?? [];
    const title = heading === page ? page : `${page}: ${heading}`;
    return {
      url: `${toAddress(path)}#${toAnchor(heading)}`,
      title: plain(title),
      text: plain(section.replace(/^#+ .+$/m, '')),
    };
  });
}

function plain(markdown: string): string {
  return markdown
    .replaceAll(/\]\([^)]*\)/g, '')
    .replaceAll(/[`*[\]|]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function anchorsOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => toAnchor(heading)));
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
