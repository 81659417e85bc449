import { DatabaseSync } from 'node:sqlite';

/** What compares vectors: the function of sqlite-vec, or that of this process, and why. */
export interface VectorExtension {
  /** The file to load; null: none. */
  readonly path: string | null;
  /** For operators. */
  readonly about: string;
}

/** Looks for the optional package sqlite-vec, and tries it: it has binaries for some platforms only. */
export async function findVectorExtension(): Promise<VectorExtension> {
  try {
    const { getLoadablePath } = await import('sqlite-vec');
    const path = getLoadablePath();
    const database = new DatabaseSync(':memory:', { allowExtension: true });
    try {
      database.loadExtension(path);
      const version = String(database.prepare('SELECT vec_version() AS version').get()?.['version']);
      return { path, about: `vectors are compared by sqlite-vec ${version}` };
    } finally {
      database.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ERR_MODULE_NOT_FOUND' ? 'is not installed' : `cannot be used: ${message}`;
    return { path: null, about: `vectors are compared by the process: sqlite-vec ${reason}` };
  }
}
