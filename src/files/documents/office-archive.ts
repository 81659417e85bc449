/** The archives of XML files in which office programs store documents. Runs in the thread that reads documents. */
import type * as Fflate from 'fflate';
import type * as Saxes from 'saxes';

import type { DocumentText } from './document-text.js';

/** The files that are read of a document may unpack to so many bytes together. */
const MOST_UNPACKED = 128 * 1024 * 1024;

/** Bytes of a file that are parsed at a time: a reader that has enough leaves the rest. */
const SLICE_BYTES = 64 * 1024;

/** What is read of a document. */
export type OfficeText = Omit<DocumentText, 'images'>;

/** How much is read. */
export interface OfficeBounds {
  readonly mostPages: number;
  readonly mostCharacters: number;
}

type Attributes = Readonly<Record<string, string>>;

/** Reads an XML file. Names of elements come without their prefix, which every writer may choose. */
export interface XmlReader {
  readonly open?: (name: string, attributes: Attributes) => void;
  readonly text?: (text: string) => void;
  readonly close?: (name: string) => void;
  /** Whether it has enough; by default never. */
  readonly isDone?: () => boolean;
}

/** An archive of XML files. */
export class OfficeArchive {
  private constructor(
    private readonly files: Readonly<Record<string, unknown>>,
    private readonly Parser: typeof Saxes.SaxesParser,
  ) {}

  /** Unpacks the XML files of an archive. Throws an Error when it is damaged, or when they are larger than they may be. */
  static async open(bytes: Uint8Array): Promise<OfficeArchive> {
    const [{ unzipSync }, { SaxesParser }]: readonly [typeof Fflate, typeof Saxes] = await Promise.all([
      import('fflate'),
      import('saxes'),
    ]);
    let unpacked = 0;
    // What unpacks to more than its archive says is cut there.
    const filter = ({ name, originalSize }: Fflate.UnzipFileInfo): boolean => {
      if (!/\.(?:xml|rels)$/.test(name)) return false;
      unpacked += originalSize;
      if (unpacked > MOST_UNPACKED) throw new Error(`it unpacks to more than ${MOST_UNPACKED} bytes`);
      return true;
    };
    return new OfficeArchive(unzipSync(bytes, { filter }), SaxesParser);
  }

  /** Reads a file; one that is not there has nothing to read. Throws an Error when it is no XML. */
  read(path: string, reader: XmlReader): void {
    const bytes = this.files[path];
    if (!(bytes instanceof Uint8Array)) return;
    const parser = new this.Parser();
    parser.on('error', (error) => {
      throw error;
    });
    parser.on('opentag', ({ name, attributes }) => reader.open?.(withoutPrefix(name), attributes));
    parser.on('text', (text) => reader.text?.(text));
    parser.on('cdata', (text) => reader.text?.(text));
    parser.on('closetag', ({ name }) => reader.close?.(withoutPrefix(name)));
    const decoder = new TextDecoder();
    for (let from = 0; from < bytes.length; from += SLICE_BYTES) {
      if (reader.isDone?.() === true) return;
      parser.write(decoder.decode(bytes.subarray(from, from + SLICE_BYTES), { stream: true }));
    }
    parser.close();
  }

  /** Throws an Error unless a file is there. */
  require(path: string): void {
    if (!(path in this.files)) throw new Error(`it has no ${path}`);
  }

  /** The text of the first element with a name in a file; null without one. */
  textOf(path: string, element: string): string | null {
    let [found, isInside]: [string | null, boolean] = [null, false];
    this.read(path, {
      open: (name) => {
        isInside = name === element && found === null;
      },
      text: (text) => {
        if (isInside) found = (found ?? '') + text;
      },
      close: () => {
        isInside = false;
      },
    });
    return found;
  }

  /** The files that a file of Office Open XML relates to, by the ids of the relations. */
  relationsOf(path: string): ReadonlyMap<string, string> {
    const [, folder = '', name = ''] = /^(.*?)([^/]*)$/.exec(path) ?? [];
    const relations = new Map<string, string>();
    this.read(`${folder}_rels/${name}.rels`, {
      open: (element, { Id: id, Target: target }) => {
        if (element !== 'Relationship' || id === undefined || target === undefined) return;
        relations.set(id, URL.parse(target, `file:///${folder}`)?.pathname.slice(1) ?? '');
      },
    });
    return relations;
  }
}

/** An attribute with a prefix, whichever it is. */
export function prefixed(attributes: Attributes, name: string): string | undefined {
  return Object.entries(attributes).find(([key]) => key.endsWith(`:${name}`))?.[1];
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
