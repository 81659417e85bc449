import { afterAll, describe, expect, it } from '@jest/globals';
import { strToU8, zipSync } from 'fflate';

import { Documents } from './documents.js';

const LIMITS = {
  DOCUMENT_TIMEOUT_MS: 120_000,
  DOCUMENT_MAX_PAGES: 2,
  DOCUMENT_MAX_IMAGES: 0,
  DOCUMENT_MAX_CHARACTERS: 1000,
  DOCUMENT_THREADS: 1,
};

const PPTX = 'application/vnd.openxmlformats-officedocument.presentationml.presentation';
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
const ODT = 'application/vnd.oasis.opendocument.text';

const documents = new Documents(LIMITS);

afterAll(() => documents.onApplicationShutdown());

type Files = Readonly<Record<string, string>>;

function read(contentType: string, files: Files) {
  const packed = Object.entries(files).map(([name, text]) => [name, strToU8(text)] as const);
  return documents.read({ bytes: zipSync(Object.fromEntries(packed)), contentType }, { owner: 'mine' });
}

const relations = (...targets: readonly string[]): string =>
  `<Relationships>${targets.map((target, index) => `<Relationship Id="r${index}" Target="${target}"/>`).join('')}</Relationships>`;

const CORE = { 'docProps/core.xml': '<cp:coreProperties><dc:title>A title</dc:title></cp:coreProperties>' };

describe('a presentation', () => {
  const paragraph = (text: string): string => `<a:p><a:pPr/><a:r><a:t>${text}</a:t></a:r></a:p>`;
  const shape = (body: string, type = 'body'): string =>
    `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody>${body}</p:txBody></p:sp>`;
  const slide = (body: string): string => `<?xml version="1.0"?><p:sld>${body}</p:sld>`;

  /** Its slides stand in another order than their names. */
  const presentation = (first: string, ...rest: readonly string[]): Files => ({
    'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${[first, ...rest].map((_, index) => `<p:sldId id="${256 + index}" r:id="r${index}"/>`).join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': relations(
      '/ppt/slides/slide9.xml',
      ...rest.map((_, index) => `slides/slide${index}.xml`),
    ),
    'ppt/slides/slide9.xml': slide(first),
    ...Object.fromEntries(rest.map((body, index) => [`ppt/slides/slide${index}.xml`, slide(body)])),
  });

  it('a presentation is read slide by slide, in its order, with titles, tables and breaks, up to the most pages', async () => {
    const cell = (text: string): string => `<a:tc><a:txBody>${paragraph(text)}</a:txBody></a:tc>`;
    const table = `<a:tbl><a:tr>${cell('Bees')}${cell('')}${cell('3 &lt; 4')}</a:tr></a:tbl>`;
    const broken = '<a:p><a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>two</a:t></a:r></a:p>';
    const twice = `<mc:AlternateContent><mc:Choice>${shape(paragraph('Once'))}</mc:Choice><mc:Fallback>${shape(paragraph('Once'))}</mc:Fallback></mc:AlternateContent>`;
    const read1 = await read(PPTX, {
      ...CORE,
      ...presentation(
        shape(paragraph('Food'), 'title') + `<p:graphicFrame>${table}</p:graphicFrame>`,
        shape(broken) + twice,
        'unread',
      ),
    });
    expect(read1).toEqual({
      title: 'A title',
      pages: [
        { number: 1, text: '# Food\nBees |  | 3 < 4' },
        { number: 2, text: 'one\ntwo\nOnce' },
      ],
      isCut: true,
      images: [],
    });
  });

  it('a presentation is cut at the most characters, also within a slide', async () => {
    const { pages, isCut } = await read(
      PPTX,
      presentation(shape(paragraph('x'.repeat(900))), shape(paragraph('y'.repeat(900)))),
    );
    expect({ isCut, lengths: pages.map(({ text }) => text.length) }).toEqual({ isCut: true, lengths: [900, 100] });
  });
});

describe('a table of sheets', () => {
  const book = (sheet: string, more: Files = {}): Files => ({
    'xl/workbook.xml':
      '<workbook><workbookPr/><sheets><sheet name="Bees &amp; co" r:id="r0"/><sheet name="Empty" r:id="r1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': relations('worksheets/sheet1.xml', 'worksheets/sheet2.xml'),
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${sheet}</sheetData></worksheet>`,
    'xl/worksheets/sheet2.xml': '<worksheet><sheetData/></worksheet>',
    ...more,
  });

  it('a table of sheets is read sheet by sheet, with names, rows, shared texts, gaps, booleans, dates and durations', async () => {
    const rows = `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>in
      line</t></is></c></row>
      <row r="2"/>
      <row r="3"><c r="A3"><f>1+1</f><v>2</v></c><c t="b"><v>1</v></c><c s="1"><v>45292</v></c><c s="2"><v>45292.75</v></c><c t="e"><v>#N/A</v></c><c s="3"><v>1.25</v></c></row>`;
    const { pages, title } = await read(
      XLSX,
      book(rows, {
        ...CORE,
        'xl/sharedStrings.xml': '<sst><si><r><t>Ho</t></r><r><t>ney</t></r><rPh><t>unread</t></rPh></si></sst>',
        'xl/styles.xml':
          '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="&quot;on&quot; yyyy\\-mm"/><numFmt numFmtId="172" formatCode="[h]:mm:ss"/><numFmt numFmtId="171" formatCode="[Red]0.0&quot;days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="171"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="172"/></cellXfs></styleSheet>',
      }),
    );
    expect(title).toBe('A title');
    expect(pages).toEqual([
      {
        number: 1,
        text: '# Bees & co\nHoney\t\tin line\n2\tTRUE\t2024-01-01\t2024-01-01 18:00:00\t#N/A\t30:00:00',
      },
      { number: 2, text: '' },
    ]);
  });

  it('a table of sheets is cut where cells name a long text again and again', async () => {
    const cells = '<c t="s"><v>0</v></c>'.repeat(10_000);
    const { pages, isCut } = await read(
      XLSX,
      book(`<row>${cells}</row>`, { 'xl/sharedStrings.xml': `<sst><si><t>${'z'.repeat(600)}</t></si></sst>` }),
    );
    expect({ isCut, length: pages[0]?.text.length }).toEqual({ isCut: true, length: 1000 });
  });
});

describe('a text of OpenDocument', () => {
  const odt = (body: string): Files => ({
    'content.xml': `<office:document-content><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
    'meta.xml': '<office:document-meta><office:meta><dc:title>A title</dc:title></office:meta></office:document-meta>',
  });

  it('a text of OpenDocument is read with headings, lists, tables and spaces, without comments and what was deleted', async () => {
    const body = `<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
      <text:h text:outline-level="2">Food</text:h>
      <text:p>Bees<text:s text:c="2"/>and<text:tab/>flowers<office:annotation><text:p>why?</text:p></office:annotation> <text:span>here</text:span></text:p>
      <text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item></text:list></text:list-item></text:list>
      <table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell><table:table-cell><text:p>-</text:p></table:table-cell></table:table-row></table:table>`;
    expect(await read(ODT, odt(body))).toEqual({
      title: 'A title',
      pages: [{ number: 1, text: '## Food\nBees  and\tflowers here\n- one\n  - two\na b | -' }],
      isCut: false,
      images: [],
    });
  });

  it('a text of OpenDocument is cut at the most characters, also within an element that stands for many', async () => {
    const { pages, isCut } = await read(ODT, odt(`<text:p>x${'<text:s text:c="999999999"/>'.repeat(100)}x</text:p>`));
    expect({ isCut, text: pages[0]?.text }).toEqual({ isCut: true, text: 'x' });
  });
});

describe('a document of an office program', () => {
  it.each([
    ['is no archive', PPTX, null],
    ['has no slides', PPTX, { 'a.xml': '<a/>' }],
    ['has no sheets', XLSX, { 'a.xml': '<a/>' }],
    ['has no content', ODT, { 'a.xml': '<a/>' }],
    ['is no XML', ODT, { 'content.xml': '<a><b></a>' }],
    ['defines entities', ODT, { 'content.xml': '<!DOCTYPE a [<!ENTITY b "x">]><a><text:p>&b;</text:p></a>' }],
    ['unpacks to more than it may', ODT, { 'content.xml': ' '.repeat(129 * 1024 * 1024) }],
  ])('a document of an office program is damaged where it %s', async (_, contentType, files) => {
    const reading =
      files === null
        ? documents.read({ bytes: strToU8('PK no'), contentType }, { owner: 'mine' })
        : read(contentType, files);
    await expect(reading).rejects.toMatchObject({ fault: 'damaged' });
  });

  it('a document of an office program is damaged where it unpacks to more than it says', async () => {
    const content = strToU8(`<a>${' '.repeat(1024 * 1024)}</a>`);
    const bytes = zipSync({ 'content.xml': content });
    // The size in the directory of the archive.
    const directory = Buffer.from(bytes.buffer).indexOf('PK\x01\x02');
    new DataView(bytes.buffer).setUint32(directory + 24, 1024, true);
    const reading = documents.read({ bytes, contentType: ODT }, { owner: 'mine' });
    await expect(reading).rejects.toMatchObject({ fault: 'damaged' });
  });
});
