import { crc32, deflateRawSync, deflateSync, inflateSync } from 'node:zlib';

import { afterAll, describe, expect, it } from '@jest/globals';

import { scannedPdf } from '../../../test/support/scanned-pdf.js';
import { Documents } from './documents.js';

const LIMITS = {
  DOCUMENT_TIMEOUT_MS: 120_000,
  DOCUMENT_MAX_PAGES: 2,
  DOCUMENT_MAX_IMAGES: 1,
  DOCUMENT_MAX_CHARACTERS: 100_000,
  DOCUMENT_THREADS: 1,
};

const documents = new Documents(LIMITS);
const MINE = { owner: 'mine' };

afterAll(() => documents.onApplicationShutdown());

function html(text: string, contentType = 'text/html'): Parameters<Documents['read']>[0] {
  return { bytes: new TextEncoder().encode(text), contentType, url: 'https://example.com/a/b.html' };
}

/** A PDF with a page for each text. */
function pdf(...texts: readonly string[]): Uint8Array {
  const pages = texts.map((_, index) => `${4 + 2 * index} 0 R`).join(' ');
  const objects = [
    '1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj',
    `2 0 obj <</Type/Pages/Kids[${pages}]/Count ${texts.length}>> endobj`,
    '3 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj',
    ...texts.flatMap((text, index) => {
      const stream = `BT /F1 12 Tf 50 700 Td (${text}) Tj ET`;
      const own = `${4 + 2 * index} 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + 2 * index} 0 R>> endobj`;
      return [own, `${5 + 2 * index} 0 obj <</Length ${stream.length}>> stream\n${stream}\nendstream endobj`];
    }),
  ];
  return new TextEncoder().encode(
    `%PDF-1.4\n${objects.join('\n')}\ntrailer <</Root 1 0 R/Info <</Title (A report)>>>>\n%%EOF`,
  );
}

/** The size of a PNG file, and its lines as they are stored. */
function readPng(png: Uint8Array | undefined): {
  readonly width: number;
  readonly height: number;
  readonly data: Buffer;
} {
  const bytes = Buffer.from(png ?? []);
  const start = bytes.indexOf('IDAT') + 4;
  const data = inflateSync(bytes.subarray(start, start + bytes.readUInt32BE(start - 8)));
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), data };
}

/** A ZIP file of files by their names. */
function zip(files: Readonly<Record<string, string | Buffer>>): Uint8Array {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const packed = deflateRawSync(content, { level: 1 });
    // Version 2.0, no flags, deflated, without a time.
    const about = Buffer.alloc(26);
    about.writeUInt16LE(20, 0);
    about.writeUInt16LE(8, 4);
    about.writeUInt32LE(crc32(content), 10);
    about.writeUInt32LE(packed.length, 14);
    about.writeUInt32LE(content.length, 18);
    about.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\0'), about, place, Buffer.from(name));
    const part = Buffer.concat([Buffer.from('PK\x03\x04'), about, Buffer.from(name), packed]);
    parts.push(part);
    offset += part.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  for (const place of [8, 10]) end.writeUInt16LE(parts.length, place);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...parts, ...directory, end]));
}

/** A document of Word with this body. */
function docx(body: string | Buffer): Uint8Array {
  const [head, tail] = [
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>',
    '</w:body></w:document>',
  ];
  return zip({
    '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml"
      ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r"
      Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': Buffer.concat([head, body, tail].map((part) => Buffer.from(part))),
  });
}

const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

describe(Documents.name, () => {
  it('the reader of documents reads a page as Markdown, with its title and whole links, and without scripts', async () => {
    const paragraph = `${'Bees visit flowers. '.repeat(20)}<a href="../nectar">Nectar</a>`;
    const page = `<html><head><title>Bees</title></head><body><nav>Home</nav><article><h2>Food</h2><p>${paragraph}</p>
      <ul><li>one</li><li>two</li></ul></article><script>document.write('no')</script></body></html>`;
    const { title, pages, isCut } = await documents.read(html(page), MINE);
    expect(title).toBe('Bees');
    expect(isCut).toBe(false);
    expect(pages).toHaveLength(1);
    const text = pages[0]?.text ?? '';
    expect(text).toContain('## Food');
    expect(text).toContain('[Nectar](https://example.com/nectar)');
    expect(text).toMatch(/-\s+one\n-\s+two/);
    expect(text).not.toMatch(/Home|document\.write/);
  });

  it('the reader of documents reads the body of a page that is no article', async () => {
    const { title, pages } = await documents.read(html('<body><p>Only <b>this</b></p><script>x</script>'), MINE);
    expect({ title, pages }).toEqual({ title: null, pages: [{ number: 1, text: 'Only **this**' }] });
  });

  it.each([
    ['the header', 'text/html; charset=iso-8859-1', '<body>caf\u00e9'],
    ['the page', 'text/html', '<head><meta charset="iso-8859-1"></head><body>caf\u00e9'],
  ])('the reader of documents reads the charset that %s states', async (_, contentType, text) => {
    const bytes = new Uint8Array(Buffer.from(text, 'latin1'));
    const { pages } = await documents.read({ bytes, contentType }, MINE);
    expect(pages[0]?.text).toBe('caf\u00e9');
  });

  it('the reader of documents reads a PDF page by page, up to the most pages', async () => {
    const { title, pages, isCut } = await documents.read(
      {
        bytes: pdf('First', 'Second', 'Third'),
        contentType: 'application/pdf',
      },
      MINE,
    );
    expect(title).toBe('A report');
    expect(pages).toEqual([
      { number: 1, text: 'First' },
      { number: 2, text: 'Second' },
    ]);
    expect(isCut).toBe(true);
  });

  describe('a PDF without text', () => {
    const show = (bytes: Uint8Array) =>
      documents.read({ bytes, contentType: 'application/pdf' }, { ...MINE, wantsImages: true });

    it('a PDF without text is read as images, up to the most, if they are wanted', async () => {
      const pixels = Buffer.alloc(2 * 8 * 8, 200);
      const { images, pages, isCut } = await show(scannedPdf(8, pixels));
      expect(pages.map(({ text }) => text)).toEqual(['', '']);
      expect({ count: images.length, number: images[0]?.number, isCut }).toEqual({ count: 1, number: 1, isCut: true });
      const { width, height, data } = readPng(images[0]?.png);
      expect([width, height]).toEqual([16, 8]);
      expect(new Set(data)).toContain(200);
      const unwanted = await documents.read({ bytes: scannedPdf(8, pixels), contentType: 'application/pdf' }, MINE);
      expect(unwanted).toMatchObject({ images: [], isCut: false });
    });

    it('a PDF without text is read in black and white, and made smaller', async () => {
      const bits = await show(scannedPdf(1, Buffer.alloc(16, 0b11110000)));
      expect([...readPng(bits.images[0]?.png).data.subarray(1, 9)]).toEqual([255, 255, 255, 255, 0, 0, 0, 0]);
      const large = await show(scannedPdf(8, Buffer.alloc(2 * 1500 * 1500, 100)));
      expect(readPng(large.images[0]?.png)).toMatchObject({ width: 1500, height: 750 });
    });

    it('a PDF without text has no image where a page has several, of which none is the page', async () => {
      const pixels = Buffer.alloc(2 * 8 * 8, 200);
      expect(await show(scannedPdf(8, pixels, pixels))).toMatchObject({ images: [] });
    });
  });

  it('the reader of documents reads a document of Word as Markdown', async () => {
    const paragraph = (text: string, style = ''): string =>
      `<w:p><w:pPr>${style}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;
    const body = paragraph('Food', '<w:pStyle w:val="Heading1"/>') + paragraph('Bees &amp; flowers');
    const { pages, title, isCut } = await documents.read({ bytes: docx(body), contentType: DOCX }, MINE);
    expect({ pages, title, isCut }).toEqual({
      pages: [{ number: 1, text: '# Food\n\nBees & flowers' }],
      title: null,
      isCut: false,
    });
    const damaged = documents.read({ bytes: zip({ a: 'b' }), contentType: DOCX }, MINE);
    await expect(damaged).rejects.toMatchObject({ fault: 'damaged' });
  });

  it('the reader of documents gives up a document of Word that unpacks to more memory than a thread may have', async () => {
    const reading = documents.read({ bytes: docx(Buffer.alloc(300 * 1024 * 1024, ' ')), contentType: DOCX }, MINE);
    await expect(reading).rejects.toMatchObject({ fault: 'too_complex' });
  });

  it('the reader of documents cuts a long text, and no character in halves', async () => {
    const text = `${'a'.repeat(99_999)}\u{1F600}`;
    const { pages, isCut } = await documents.read(
      {
        bytes: new TextEncoder().encode(text),
        contentType: 'text/plain',
      },
      MINE,
    );
    expect(pages[0]?.text).toBe('a'.repeat(99_999));
    expect(isCut).toBe(true);
  });

  it('the reader of documents says which types it cannot read', async () => {
    expect(documents.reads('image/png')).toBe(false);
    expect(documents.reads('application/feed+json; charset=utf-8')).toBe(true);
    const reading = documents.read({ bytes: new Uint8Array(1), contentType: 'image/png' }, MINE);
    await expect(reading).rejects.toMatchObject({
      fault: 'unsupported',
      message: expect.stringContaining('image/png'),
    });
  });

  it('the reader of documents says that a PDF is damaged', async () => {
    const reading = documents.read({ bytes: new Uint8Array(100), contentType: 'application/pdf' }, MINE);
    await expect(reading).rejects.toMatchObject({ fault: 'damaged' });
  });

  it('the reader of documents gives up tables that are nested without end, goes on with its own work meanwhile, and reads the next document', async () => {
    const bomb = new Documents({ ...LIMITS, DOCUMENT_TIMEOUT_MS: 300 });
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    try {
      // A minute's work, and more.
      const reading = bomb.read(html(`<body>${'<table><tr><td>'.repeat(100_000)}x`), MINE);
      await expect(reading).rejects.toMatchObject({ name: 'DocumentError' });
      expect(turns).toBeGreaterThan(0);
    } finally {
      clearInterval(counting);
    }
    const { pages } = await documents.read(html('<body>next'), MINE);
    expect(pages[0]?.text).toBe('next');
    await bomb.onApplicationShutdown();
  });

  it('the reader of documents bounds a title', async () => {
    const { title } = await documents.read(html(`<title>${'t'.repeat(1000)}</title><body>x`), MINE);
    expect(title).toBe('t'.repeat(300));
  });

  it('the reader of documents gives up a PDF whose content unpacks to more memory than a thread may have', async () => {
    // Packed twice, so that few bytes become 300 MB, for which room is made by doubling it.
    const content = deflateSync(deflateSync(Buffer.alloc(300 * 1024 * 1024, ' '), { level: 1 }));
    const head = `%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<<>>/Contents 4 0 R>> endobj
4 0 obj <</Length ${content.length}/Filter[/FlateDecode/FlateDecode]>> stream\n`;
    const tail = '\nendstream endobj\ntrailer <</Root 1 0 R>>\n%%EOF';
    const bytes = new Uint8Array(Buffer.concat([Buffer.from(head), content, Buffer.from(tail)]));
    const reading = documents.read({ bytes, contentType: 'application/pdf' }, MINE);
    await expect(reading).rejects.toMatchObject({ fault: 'too_complex' });
  });

  it('the reader of documents reads the documents of owners in turn', async () => {
    const order: string[] = [];
    const read = async (owner: string, text: string): Promise<void> => {
      await documents.read(html(`<body>${text}`), { owner });
      order.push(text);
    };
    await Promise.all([read('a', 'a1'), read('a', 'a2'), read('a', 'a3'), read('b', 'b1')]);
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('the reader of documents refuses an owner who waits with as many documents as there are free places, and no other, and says that it is not their fault', async () => {
    const busy = new Documents(LIMITS);
    const leave = new AbortController();
    const read = (owner: string) => busy.read(html('<body>x'), { owner, signal: leave.signal });
    // The first one is being read; half of 256 places is left to others.
    const flood = Array.from({ length: 129 }, () => read('flood'));
    await expect(read('flood')).rejects.toMatchObject({ fault: 'too_many', mayPass: true });
    const others = ['other', 'other', 'third'].map(read);
    leave.abort(new Error('left'));
    for (const reading of [...flood, ...others]) await expect(reading).rejects.toThrow('left');
    await busy.onApplicationShutdown();
  });

  it('the reader of documents says of documents that are still read when the service stops that they have no fault', async () => {
    const stopping = new Documents(LIMITS);
    const readings = [1, 2].map((count) => stopping.read(html(`<body>${count}`), MINE));
    const refused = readings.map((reading) =>
      expect(reading).rejects.toMatchObject({ fault: 'stopping', mayPass: true }),
    );
    await stopping.onApplicationShutdown();
    await Promise.all(refused);
  });

  it('the reader of documents answers what a robots.txt says', async () => {
    const rules = 'User-agent: *\nDisallow: /\n\nUser-agent: antiphon\nDisallow: /private\n';
    const ask = (path: string): Promise<boolean> =>
      documents.isAllowed(rules, `https://example.com${path}`, 'antiphon', MINE);
    expect([await ask('/page'), await ask('/private/page')]).toEqual([true, false]);
  });

  it('the reader of documents stops with its signal', async () => {
    const stop = new AbortController();
    const reading = documents.read(html(`<body>${'<div>'.repeat(100_000)}`), { ...MINE, signal: stop.signal });
    stop.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
  });
});
