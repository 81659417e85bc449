import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from '@jest/globals';

const FOLDERS = ['src', 'test', 'bench'];

/** A section's number, as in `protocol §6.5`; one comment may name several. The word before it names the page. */
const CITATION = /(?:(protocol|upstreams) )?§\s?(\d+(?:\.\d+)*)/g;

const HEADING = /^#+ (\d+(?:\.\d+)*) /gm;

/** Where sections without a page's name are those of docs/upstreams.md. */
const ABOUT_UPSTREAMS = /providers\/responses\/|responses-upstream|responses-transport/;

/** The pages with numbered sections, and how many of them the code cites at least. */
const PAGES = [
  ['protocol', 15],
  ['upstreams', 12],
] as const;

describe.each(PAGES)('docs/%s.md', (page, least) => {
  let headings: readonly string[];
  /** The files that cite each section. */
  let citations: ReadonlyMap<string, readonly string[]>;

  beforeAll(async () => {
    headings = [...(await readFile(`docs/${page}.md`, 'utf8')).matchAll(HEADING)].map(([, number = '']) => number);
    citations = await readCitations(page);
  });

  it('a page of the protocol has a heading for every section that the code cites', () => {
    expect(citations.size).toBeGreaterThan(least);
    const missing = [...citations].filter(([section]) => !headings.includes(section));
    expect(missing).toEqual([]);
  });

  it('a page of the protocol has no number twice', () => {
    expect(headings).toEqual([...new Set(headings)]);
  });
});

async function readCitations(page: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const paths = await Promise.all(FOLDERS.map(filesIn));
  const cited = await Promise.all(
    paths.flat().map(async (path) => [path, sectionsIn(await readFile(path, 'utf8'), path, page)] as const),
  );
  const citations = new Map<string, string[]>();
  for (const [path, sections] of cited) {
    for (const section of new Set(sections)) citations.set(section, [...(citations.get(section) ?? []), path]);
  }
  return citations;
}

/** The sections of a page that a file cites. A list such as `protocol §2, §5` names its page once. */
function sectionsIn(text: string, path: string, page: string): readonly string[] {
  const usual = ABOUT_UPSTREAMS.test(path) ? 'upstreams' : 'protocol';
  let named = usual;
  let end = 0;
  return [...text.matchAll(CITATION)].flatMap(({ 0: whole, 1: name, 2: number = '', index }) => {
    const goesOn = /^(?:, | and |, and )$/.test(text.slice(end, index));
    named = name ?? (goesOn ? named : usual);
    end = index + whole.length;
    return named === page ? [number] : [];
  });
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true });
  return entries.filter((name) => name.endsWith('.ts') || name.endsWith('.sql')).map((name) => join(folder, name));
}
