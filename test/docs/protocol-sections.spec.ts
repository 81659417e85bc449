import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeAll, describe, expect, it } from '@jest/globals';

const FOLDERS = ['src', 'test', 'bench'];

/** A section's number, as in `protocol §6.5`; one comment may name several. */
const CITATION = /§\s?(\d+(?:\.\d+)*)/g;

const HEADING = /^#+ (\d+(?:\.\d+)*) /gm;

describe('docs/protocol.md', () => {
  let headings: readonly string[];
  /** The files that cite each section. */
  let citations: ReadonlyMap<string, readonly string[]>;

  beforeAll(async () => {
    headings = numbersIn(await readFile('docs/protocol.md', 'utf8'), HEADING);
    citations = await readCitations();
  });

  it('has a heading for every section that the code cites', () => {
    expect(citations.size).toBeGreaterThan(15);
    const missing = [...citations].filter(([section]) => !headings.includes(section));
    expect(missing).toEqual([]);
  });

  it('has no number twice', () => {
    expect(headings).toEqual([...new Set(headings)]);
  });
});

async function readCitations(): Promise<ReadonlyMap<string, readonly string[]>> {
  const paths = await Promise.all(FOLDERS.map(filesIn));
  const cited = await Promise.all(
    paths.flat().map(async (path) => [path, numbersIn(await readFile(path, 'utf8'), CITATION)] as const),
  );
  const citations = new Map<string, string[]>();
  for (const [path, sections] of cited) {
    for (const section of new Set(sections)) citations.set(section, [...(citations.get(section) ?? []), path]);
  }
  return citations;
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true });
  return entries.filter((name) => name.endsWith('.ts') || name.endsWith('.sql')).map((name) => join(folder, name));
}

function numbersIn(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, number = '']) => number);
}
