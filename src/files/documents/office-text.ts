/** Reads presentations and texts of office programs. Runs in the thread that reads documents. */
import type { DocumentPage } from './document-text.js';
import { OfficeArchive, type OfficeBounds, type OfficeText, prefixed, type XmlReader } from './office-archive.js';
import { readSheets } from './office-sheets.js';

/** Levels of lists that are shown, and spaces that one element of ODT stands for. */
const MOST_LEVELS = 8;
const MOST_SPACES = 80;

/** Titles of slides. */
const TITLES: ReadonlySet<string | undefined> = new Set(['title', 'ctrTitle']);

/** What is no part of the text: comments, what was deleted, and what another element says as well. */
const LEFT_OUT: ReadonlySet<string> = new Set(['annotation', 'tracked-changes', 'Fallback']);

/** A presentation: each slide is a page. Throws an Error when it is damaged. */
export async function readPptx(bytes: Uint8Array, bounds: OfficeBounds): Promise<OfficeText> {
  const archive = await OfficeArchive.open(bytes);
  const main = 'ppt/presentation.xml';
  archive.require(main);
  const relations = archive.relationsOf(main);
  const paths: string[] = [];
  archive.read(main, {
    open: (name, attributes) => {
      if (name === 'sldId') paths.push(relations.get(prefixed(attributes, 'id') ?? '') ?? '');
    },
  });
  let left = bounds.mostCharacters;
  let isCut = paths.length > bounds.mostPages;
  const pages: DocumentPage[] = [];
  for (const [index, path] of paths.slice(0, bounds.mostPages).entries()) {
    const { text, isFull } = readSlide(archive, path, left);
    pages.push({ number: index + 1, text });
    left -= text.length;
    isCut ||= isFull;
    if (isFull) break;
  }
  return { title: archive.textOf('docProps/core.xml', 'title'), pages, isCut };
}

/** A table of sheets: each is a page. Throws an Error when it is damaged. */
export async function readXlsx(bytes: Uint8Array, bounds: OfficeBounds): Promise<OfficeText> {
  const archive = await OfficeArchive.open(bytes);
  return { ...readSheets(archive, bounds), title: archive.textOf('docProps/core.xml', 'title') };
}

/** A text of OpenDocument. Throws an Error when it is damaged. */
export async function readOdt(bytes: Uint8Array, { mostCharacters }: OfficeBounds): Promise<OfficeText> {
  const archive = await OfficeArchive.open(bytes);
  archive.require('content.xml');
  const blocks = new Blocks(mostCharacters);
  let level = 0;
  const reader: XmlReader = {
    open: (name, attributes) => {
      if (name === 'list') level += 1;
      else if (name === 'list-item') blocks.mark = `${'  '.repeat(Math.min(level, MOST_LEVELS) - 1)}- `;
      else if (name === 'h') blocks.begin('#'.repeat(toCount(prefixed(attributes, 'outline-level'), 6)) + ' ');
      else if (name === 'p') blocks.begin('');
      else if (name === 's') blocks.add(' '.repeat(toCount(prefixed(attributes, 'c'), MOST_SPACES)));
      else if (name === 'tab') blocks.add('\t');
      else if (name === 'line-break') blocks.add('\n');
      else if (name === 'table-row') blocks.beginRow();
      else if (name === 'table-cell') blocks.beginCell();
    },
    text: (text) => blocks.add(text),
    close: (name) => {
      if (name === 'list') level -= 1;
      else if (name === 'h' || name === 'p') blocks.end();
      else if (name === 'table-cell') blocks.endCell();
      else if (name === 'table-row') blocks.endRow();
    },
    isDone: () => blocks.isFull,
  };
  archive.read('content.xml', leavingOut(reader));
  return {
    title: archive.textOf('meta.xml', 'title'),
    pages: [{ number: 1, text: blocks.text }],
    isCut: blocks.isFull,
  };
}

function readSlide(archive: OfficeArchive, path: string, mostCharacters: number): Blocks {
  const blocks = new Blocks(mostCharacters);
  let [isTitle, isText] = [false, false];
  const reader: XmlReader = {
    open: (name, { type }) => {
      if (name === 'ph') isTitle = TITLES.has(type);
      else if (name === 'p') blocks.begin(isTitle ? '# ' : '');
      else if (name === 'br') blocks.add('\n');
      else if (name === 'tr') blocks.beginRow();
      else if (name === 'tc') blocks.beginCell();
      isText = name === 't';
    },
    text: (text) => {
      if (isText) blocks.add(text);
    },
    close: (name) => {
      if (name === 'p') blocks.end();
      else if (name === 'sp') isTitle = false;
      else if (name === 'tc') blocks.endCell();
      else if (name === 'tr') blocks.endRow();
      isText = false;
    },
    isDone: () => blocks.isFull,
  };
  archive.read(path, leavingOut(reader));
  return blocks;
}

/** A reader that does not see what is no part of the text. */
function leavingOut(reader: XmlReader): XmlReader {
  let depth = 0;
  return {
    ...reader,
    open: (name, attributes) => {
      if (depth > 0 || LEFT_OUT.has(name)) depth += 1;
      else reader.open?.(name, attributes);
    },
    text: (text) => {
      if (depth === 0) reader.text?.(text);
    },
    close: (name) => {
      if (depth > 0) depth -= 1;
      else reader.close?.(name);
    },
  };
}

/** A number of an attribute, from 1 to `most`. */
function toCount(value: string | undefined, most: number): number {
  const count = Number(value ?? 1);
  return count >= 1 ? Math.min(Math.floor(count), most) : 1;
}

/** Paragraphs and rows of tables. Within a table, a row is a line, and the paragraphs of a cell stand side by side. */
class Blocks {
  /** What stands before the next paragraph. */
  mark = '';
  private readonly paragraphs: { readonly mark: string; text: string }[] = [];
  /** The blocks of the document, and of each cell that is open. */
  private readonly blocks: string[][] = [[]];
  /** The cells of each row that is open. */
  private readonly rows: string[][] = [];
  private left: number;

  constructor(mostCharacters: number) {
    // One more, so that what is cut shows.
    this.left = mostCharacters + 1;
  }

  get isFull(): boolean {
    return this.left <= 0;
  }

  /** All of it, also what was not ended when there was enough. */
  get text(): string {
    while (this.paragraphs.length > 0) this.end();
    while (this.rows.length > 0) {
      this.endCell();
      this.endRow();
    }
    return this.blocks.flat().join('\n');
  }

  begin(mark: string): void {
    this.paragraphs.push({ mark: mark === '' ? this.mark : mark, text: '' });
    this.mark = '';
  }

  add(text: string): void {
    const paragraph = this.paragraphs.at(-1);
    if (paragraph === undefined) return;
    paragraph.text += text.slice(0, Math.max(0, this.left));
    this.left -= text.length;
  }

  end(): void {
    const { mark, text } = this.paragraphs.pop() ?? { mark: '', text: '' };
    if (text.trim() !== '') this.put(mark + text.trim());
  }

  beginRow(): void {
    this.rows.push([]);
  }

  beginCell(): void {
    this.blocks.push([]);
  }

  endCell(): void {
    if (this.blocks.length > 1) this.rows.at(-1)?.push(this.blocks.pop()?.join(' ') ?? '');
  }

  endRow(): void {
    const row = this.rows.pop() ?? [];
    if (row.some((cell) => cell !== '')) this.put(row.join(' | '));
  }

  private put(block: string): void {
    this.left -= 1;
    this.blocks.at(-1)?.push(block);
  }
}
