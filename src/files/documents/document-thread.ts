/** The thread that reads documents, one after another. */
import { parentPort } from 'node:worker_threads';

import type { getDocumentProxy as GetDocument } from 'unpdf';

import type { DocumentPage, DocumentText, PageImage } from './document-text.js';
import { type RawImage, toPng } from './page-images.js';

/** A document to read. */
export interface ReadTask {
  readonly format: 'docx' | 'html' | 'odt' | 'pdf' | 'pptx' | 'text' | 'xlsx';
  readonly bytes: Uint8Array;
  readonly charset: string | undefined;
  readonly url: string | undefined;
  readonly mostPages: number;
  /** 0: no image is asked for. */
  readonly mostImages: number;
  readonly mostCharacters: number;
}

/** A question about the robots.txt of a site (RFC 9309): its matching takes as long as its author wants. */
export interface RobotsTask {
  readonly format: 'robots';
  readonly rules: string;
  readonly url: string;
  readonly robot: string;
}

/** What became of it: the text of a document, whether a page may be read, or what is wrong. */
export type Read = { readonly text: DocumentText } | { readonly isAllowed: boolean } | { readonly damage: string };

type PDFDocumentProxy = Awaited<ReturnType<typeof GetDocument>>;

/** Characters of a title. */
const LONGEST_TITLE = 300;

/** No more pages become images beyond so many bytes: they are sent with each turn. */
const MOST_IMAGE_BYTES = 16 * 1024 * 1024;

/** Bytes in which HTML states its `charset`. */
const HEAD_BYTES = 1024;

/** What is not part of what a page says. */
const WITHOUT_TEXT =
  'title, script, style, noscript, template, svg, iframe, object, embed, form, nav, header, footer, aside';

parentPort?.on(
  'message',
  (task: ReadTask | RobotsTask) => void read(task).then((result) => parentPort?.postMessage(result)),
);

async function read(task: ReadTask | RobotsTask): Promise<Read> {
  try {
    if (task.format === 'robots') return { isAllowed: await readRobots(task) };
    return { text: await READERS[task.format](task) };
  } catch (error) {
    return { damage: error instanceof Error ? error.message : String(error) };
  }
}

/** What is used of the DOM, whose types are those of browsers. */
interface HtmlElement {
  readonly textContent: string | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  remove(): void;
}

interface HtmlDocument {
  querySelector(selector: string): HtmlElement | null;
  querySelectorAll(selector: string): Iterable<HtmlElement>;
  cloneNode(deep: boolean): HtmlDocument;
}

// The packages, as far as they are used.

interface LinkeDom {
  readonly parseHTML: (text: string) => { readonly document: HtmlDocument };
}

interface ReadabilityPackage {
  readonly Readability: new (
    document: HtmlDocument,
    options: { readonly charThreshold: number },
  ) => { parse(): { readonly title?: string | null; readonly content?: string | null } | null };
}

interface TurndownPackage {
  readonly default: new (options: object) => {
    addRule(
      name: string,
      rule: { readonly filter: string; readonly replacement: (text: string, node: HtmlElement) => string },
    ): unknown;
    turndown(document: HtmlDocument): string;
  };
}

interface Mammoth {
  readonly images: { imgElement(toAttributes: () => Promise<{ readonly src: string }>): unknown };
  convertToHtml(source: { readonly buffer: Buffer }, options: object): Promise<{ readonly value: string }>;
}

const READERS: Readonly<Record<ReadTask['format'], (task: ReadTask) => Promise<DocumentText>>> = {
  docx: readDocx,
  html: readHtml,
  odt: readOffice,
  pdf: readPdf,
  pptx: readOffice,
  xlsx: readOffice,
  text: (task) => Promise.resolve(toText(task, null, [{ number: 1, text: decode(task, task.charset) }])),
};

async function readRobots({ rules, url, robot }: RobotsTask): Promise<boolean> {
  const { default: parse } = (await import('robots-parser')) as unknown as {
    readonly default: (url: string, text: string) => { isAllowed(url: string, robot: string): boolean | undefined };
  };
  return parse(new URL('/robots.txt', url).href, rules).isAllowed(url, robot) ?? true;
}

async function readHtml(task: ReadTask): Promise<DocumentText> {
  const [{ parseHTML }, { Readability }] = (await Promise.all([
    import('linkedom'),
    import('@mozilla/readability'),
  ])) as unknown as readonly [LinkeDom, ReadabilityPackage];
  const head = Buffer.from(task.bytes.subarray(0, HEAD_BYTES)).toString('latin1');
  const stated = /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(head)?.[1];
  const parse = (text: string): HtmlDocument => parseHTML(text).document;
  const document = parse(decode(task, task.charset ?? stated));
  for (const element of document.querySelectorAll('script, style')) element.remove();
  for (const link of document.querySelectorAll('a[href]')) makeAbsolute(link, task.url);
  const title = document.querySelector('title')?.textContent?.trim() ?? '';
  // Readability changes the document that it reads.
  const article = new Readability(document.cloneNode(true), { charThreshold: 200 }).parse();
  const content = article?.content == null ? bodyOf(document) : parse(`<body>${article.content}</body>`);
  const text = await toMarkdown(content);
  const ownTitle = title === '' ? (article?.title ?? '') : title;
  return toText(task, ownTitle === '' ? null : ownTitle, [{ number: 1, text }]);
}

async function readDocx(task: ReadTask): Promise<DocumentText> {
  const [{ parseHTML }, { default: mammoth }] = (await Promise.all([
    import('linkedom'),
    import('mammoth'),
  ])) as unknown as readonly [LinkeDom, { readonly default: Mammoth }];
  const source = { buffer: Buffer.from(task.bytes.buffer, task.bytes.byteOffset, task.bytes.byteLength) };
  const withoutData = mammoth.images.imgElement(() => Promise.resolve({ src: '' }));
  // The file's own style map may rename what is there.
  const { value } = await mammoth.convertToHtml(source, { convertImage: withoutData, includeEmbeddedStyleMap: false });
  return toText(task, null, [{ number: 1, text: await toMarkdown(parseHTML(`<body>${value}</body>`).document) }]);
}

async function readOffice(task: ReadTask): Promise<DocumentText> {
  const { readOdt, readPptx, readXlsx } = await import('./office-text.js');
  const read = task.format === 'odt' ? readOdt : task.format === 'pptx' ? readPptx : readXlsx;
  const { title, pages, isCut } = await read(task.bytes, task);
  const text = toText(task, title?.trim() === '' ? null : title, pages);
  return { ...text, isCut: text.isCut || isCut };
}

async function toMarkdown(document: HtmlDocument): Promise<string> {
  const { default: Turndown } = (await import('turndown')) as unknown as TurndownPackage;
  const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  // Documents say what images show in words, if at all.
  turndown.addRule('images', {
    filter: 'img',
    replacement: (_, image) => image.getAttribute('alt') ?? '',
  });
  return turndown.turndown(document);
}

/** What is left of a page that is no article. */
function bodyOf(document: HtmlDocument): HtmlDocument {
  for (const element of document.querySelectorAll(WITHOUT_TEXT)) element.remove();
  return document;
}

function makeAbsolute(link: HtmlElement, base: string | undefined): void {
  const url = URL.parse(link.getAttribute('href') ?? '', base);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') link.setAttribute('href', url.href);
  else link.removeAttribute('href');
}

async function readPdf(task: ReadTask): Promise<DocumentText> {
  const { getDocumentProxy } = await import('unpdf');
  const pdf = await getDocumentProxy(task.bytes, { verbosity: 0 });
  const { info } = await pdf.getMetadata();
  const title = (info as { readonly Title?: unknown }).Title;
  const pages: DocumentPage[] = [];
  let characters = 0;
  for (let number = 1; number <= Math.min(pdf.numPages, task.mostPages); number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    pages.push({ number, text });
    characters += text.length;
    page.cleanup();
    if (characters > task.mostCharacters) break;
  }
  const read = toText(task, typeof title === 'string' && title.trim() !== '' ? title.trim() : null, pages);
  const hasText = pages.some(({ text }) => text.trim() !== '');
  const images = hasText ? [] : await readImages(pdf, task.mostImages);
  return { ...read, images, isCut: read.isCut || (images.length === 0 ? pages : images).length < pdf.numPages };
}

/** The first pages as pictures: of a scan, the picture that is its page. */
async function readImages(pdf: PDFDocumentProxy, most: number): Promise<readonly PageImage[]> {
  const { OPS } = await (await import('unpdf')).getResolvedPDFJS();
  const images: PageImage[] = [];
  let bytes = 0;
  for (let number = 1; number <= Math.min(pdf.numPages, most) && bytes < MOST_IMAGE_BYTES; number++) {
    const page = await pdf.getPage(number);
    const { fnArray, argsArray } = await page.getOperatorList();
    const operations: readonly number[] = fnArray;
    const keys = operations.flatMap((operation, index): readonly string[] => {
      const [key] = operation === OPS.paintImageXObject ? (argsArray[index] as readonly unknown[]) : [];
      return typeof key === 'string' ? [key] : [];
    });
    // Strips and collages are left: a part in place of a page would mislead.
    if (keys.length === 1) {
      const [key = ''] = keys;
      const found = await new Promise<unknown>((resolve) => {
        (key.startsWith('g_') ? page.commonObjs : page.objs).get(key, resolve);
      });
      const png = isRawImage(found) ? toPng(found) : undefined;
      if (png !== undefined) images.push({ number, png: new Uint8Array(png) });
      bytes += png?.length ?? 0;
    }
    page.cleanup();
  }
  return images;
}

function isRawImage(value: unknown): value is RawImage {
  const { data, width, height } = (value ?? {}) as Partial<RawImage>;
  return ArrayBuffer.isView(data) && typeof width === 'number' && typeof height === 'number' && width * height > 0;
}

/** The text within the most characters. */
function toText({ mostCharacters }: ReadTask, whole: string | null, pages: readonly DocumentPage[]): DocumentText {
  const title = whole?.slice(0, LONGEST_TITLE).toWellFormed() ?? null;
  let left = mostCharacters;
  const kept: DocumentPage[] = [];
  for (const { number, text } of pages) {
    if (left <= 0) return { title, pages: kept, isCut: true, images: [] };
    // Half of a character is none.
    const cut = text.length > left ? text.slice(0, left).replace(/[\uD800-\uDBFF]$/, '') : text;
    kept.push({ number, text: cut });
    if (cut !== text) return { title, pages: kept, isCut: true, images: [] };
    left -= text.length;
  }
  return { title, pages: kept, isCut: false, images: [] };
}

/** The text of bytes. An unknown charset is read as UTF-8. */
function decode({ bytes }: ReadTask, charset: string | undefined): string {
  const mark =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : undefined;
  try {
    return new TextDecoder(mark ?? charset ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
