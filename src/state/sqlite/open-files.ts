import { statSync } from 'node:fs';

import { MovedFileError } from './explain-error.js';

/** Which file is at a path; undefined if there is none. */
function fileAt(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

/** Files that are open: SQLite goes on in a file that was removed or replaced, where nobody finds what it writes. */
export class OpenFiles {
  private readonly files: readonly (readonly [path: string, file: string | undefined])[];

  /** Takes what is at the paths now for what is open. */
  constructor(paths: readonly string[]) {
    this.files = paths.map((path) => [path, fileAt(path)]);
  }

  /** Throws MovedFileError when one of them is not at its path any more. Takes some microseconds. */
  requireInPlace(): void {
    for (const [path, file] of this.files) {
      if (fileAt(path) !== file) throw new MovedFileError(path);
    }
  }
}
