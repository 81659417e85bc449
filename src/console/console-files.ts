import { readFile } from 'node:fs/promises';

/** The files beside the page, which the build makes of `console/`, with their media types. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['main.js', 'text/javascript; charset=utf-8'],
  ['main.css', 'text/css; charset=utf-8'],
]);

/** A file of the page. */
export interface ConsoleFile {
  readonly type: string;
  readonly content: Buffer;
}

/** The built files of the console, in a folder whose URL ends with a slash. */
export class ConsoleFiles {
  /** Where the build puts them: beside the program, whose module this is part of. */
  static readonly built = new URL('./page/', import.meta.url);

  constructor(private readonly folder: URL) {}

  /** Undefined when the page has no such file, or `npm run build` has not made it. */
  async read(name: string): Promise<ConsoleFile | undefined> {
    const type = TYPES.get(name);
    if (type === undefined) return undefined;
    try {
      return { type, content: await readFile(new URL(name, this.folder)) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}
