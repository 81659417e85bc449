import type { FileRecord } from '../state/index.js';

/** A file as clients see it. */
export interface FileObject {
  readonly id: string;
  readonly object: 'file';
  readonly bytes: number;
  /** Unix seconds. */
  readonly created_at: number;
  /** Unix seconds; absent: it does not expire. */
  readonly expires_at?: number;
  readonly filename: string;
  readonly purpose: string;
  /** Nothing is done with files before they can be used. */
  readonly status: 'processed';
  readonly sha256: string;
}

/** A stored file as clients see it. */
export function toFileObject({ id, bytes, createdAt, expiresAt, filename, purpose, sha256 }: FileRecord): FileObject {
  return {
    ...{ id, object: 'file', bytes, created_at: createdAt },
    ...(expiresAt === null ? {} : { expires_at: expiresAt / 1000 }),
    ...{ filename, purpose, status: 'processed', sha256 },
  };
}
