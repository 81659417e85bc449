import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory for its owner alone, with those above it, if it does not exist. Throws the errors of mkdir. Not the recursive mkdir of Node: that
 * never ends where the directory above exists and nothing can be made in it, as in /proc.
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (await isDirectory(path)) return;
    const above = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || (await isDirectory(above))) throw error;
    await makeDirectory(above);
    await makeDirectory(path);
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
