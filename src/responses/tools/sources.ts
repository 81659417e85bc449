import type { Annotation, Item } from '../../protocol/index.js';
import { isObject, objectsIn, parseJson } from '../../validation/index.js';
import { textOf } from './held-calls.js';

/** What a mark stands for: an annotation without its place. */
export type Source =
  | { readonly type: 'url_citation'; readonly url: string; readonly title: string }
  | { readonly type: 'file_citation'; readonly file_id: string; readonly filename: string };

/** How models cite. */
export const CITE = `Cite what you use: put the mark of its source, such as 【3】, right behind the statement that it supports.`;

/** The ids of calls whose outputs list sources. */
const CALL = /^(?:ws|fs)_/;

/**
 * The sources of one kind that models can cite, by their marks: `【3】` or, with a prefix, `【f3】`. Outputs of calls list them in `results`,
 * each with its `mark`; whoever goes on from a context finds them there.
 */
export class Sources {
  private readonly marks = new Map<string, string>();
  private last = 0;

  constructor(private readonly prefix: string) {}

  /** Takes the sources that a context has: theirs are the marks up to there. */
  learn(context: readonly Item[]): void {
    for (const [name, source] of sourcesIn(context) ?? []) {
      const number = name.startsWith(this.prefix) ? Number(name.slice(this.prefix.length)) : NaN;
      if (!Number.isInteger(number)) continue;
      this.last = Math.max(this.last, number);
      this.marks.set(keyOf(source), `【${name}】`);
    }
  }

  /** The mark of a source. */
  add(source: Source): string {
    const key = keyOf(source);
    const mark = this.marks.get(key) ?? `【${this.prefix}${++this.last}】`;
    this.marks.set(key, mark);
    return mark;
  }
}

/** The sources of a context, by what stands in their marks; null where nothing was searched, so that what looks like a mark is text. */
export function sourcesIn(context: readonly Item[]): ReadonlyMap<string, Source> | null {
  const sources = new Map<string, Source>();
  let isSearched = false;
  let objectsLeft = MOST_OBJECTS;
  for (const item of context) {
    const { type, call_id: id, output } = item;
    if (type !== 'function_call_output' || typeof id !== 'string' || !CALL.test(id)) continue;
    isSearched = true;
    if (typeof output !== 'string' || output.length > LONGEST_OUTPUT) continue;
    const known = listed.get(item);
    objectsLeft -= known === undefined ? countObjects(output, objectsLeft) : 0;
    if (objectsLeft < 0) break;
    const own = known ?? readSources(output);
    listed.set(item, own);
    for (const [name, source] of own) sources.set(name, source);
  }
  return isSearched ? sources : null;
}

/** Characters of an output that may list sources: those of the service are shorter. */
const LONGEST_OUTPUT = 2_000_000;

/** Objects and lists in all outputs of a context that are read: a client may send texts that would take seconds to parse. */
const MOST_OBJECTS = 200_000;

/** What outputs list: the passes of a turn, and turns that share a context, read each once. */
const listed = new WeakMap<Item, ReadonlyMap<string, Source>>();

function readSources(output: string): ReadonlyMap<string, Source> {
  const sources = new Map<string, Source>();
  const value = parseJson(output);
  for (const each of objectsIn(isObject(value) ? value.results : undefined)) {
    const { mark, url, title, file_id: fileId, filename } = each;
    if (typeof mark !== 'string') continue;
    const name = mark.slice(1, -1);
    if (typeof url === 'string') sources.set(name, { type: 'url_citation', url, title: textOf(title, '') });
    else if (typeof fileId === 'string') {
      sources.set(name, { type: 'file_citation', file_id: fileId, filename: textOf(filename, '') });
    }
  }
  return sources;
}

/** At most how many objects and lists a JSON text has; it is not counted far beyond `most`. */
function countObjects(text: string, most: number): number {
  let count = 0;
  for (const opening of ['{', '[']) {
    for (let at = text.indexOf(opening); at !== -1 && count <= most; at = text.indexOf(opening, at + 1)) count += 1;
  }
  return count;
}

/** The annotation of a text that cites a source. */
export function toAnnotation(source: Source, start: number, end: number): Annotation {
  if (source.type === 'file_citation') return { ...source, index: end };
  return { ...source, start_index: start, end_index: end };
}

/** A text that a model reads from elsewhere: bounded, and without what could pass for a mark. */
export function quote(text: string, most: number): string {
  return text
    .slice(0, most)
    .replace(/[\uD800-\uDBFF]$/, '')
    .replaceAll('【', '[')
    .replaceAll('】', ']');
}

function keyOf(source: Source): string {
  return source.type === 'url_citation' ? source.url : source.file_id;
}
