import type { Tenant } from '../../access/index.js';
import { type FileRecord, type FileStore, toHash } from '../file-store.js';

/** A piece of a file, which follows its pieces. */
export interface MovedPiece {
  readonly kind: 'piece';
  readonly fileId: string;
  readonly position: number;
  /** In base64. */
  readonly bytes: string;
}

/** A file, whose pieces came before it. */
export interface MovedFile {
  readonly kind: 'file';
  readonly record: FileRecord;
}

/** Files of a page. */
const PAGE = 100;

/** How long what an interrupted import has written waits for its repetition, ms. */
const DRAFT_MS = 86_400_000;

const ANY_SIZE = { bytes: Infinity, files: Infinity };

/** The files of a tenant, oldest first, each behind its pieces. Uploads are not moved. */
export async function* readFiles(files: FileStore, tenant: Tenant): AsyncGenerator<MovedPiece | MovedFile> {
  let after: string | undefined;
  for (;;) {
    const { data, hasMore } = await files.list(tenant, {
      ...{ limit: PAGE, order: 'asc' },
      ...(after === undefined ? {} : { after }),
    });
    for (const record of data) {
      for (let position = 0; ; position += 1) {
        const piece = await files.piece(tenant, record.id, position);
        if (piece === undefined) break;
        yield { kind: 'piece', fileId: record.id, position, bytes: Buffer.from(piece).toString('base64') };
      }
      yield { kind: 'file', record };
    }
    after = data.at(-1)?.id;
    if (!hasMore) return;
  }
}

/** Stores files as `readFiles` gives them. Those that exist already stay unchanged. */
export class FileImport {
  private current: string | null = null;
  private isKnown = false;

  constructor(
    private readonly files: FileStore,
    private readonly tenant: Tenant,
    private readonly now: number,
  ) {}

  /** False for a file that was there already. */
  async write(moved: MovedPiece | MovedFile): Promise<boolean> {
    await this.begin(moved.kind === 'piece' ? moved.fileId : moved.record.id);
    if (this.isKnown) return moved.kind === 'piece';
    if (moved.kind === 'file') {
      await this.files.commit(this.tenant, moved.record, ANY_SIZE);
    } else {
      const bytes = Uint8Array.from(Buffer.from(moved.bytes, 'base64'));
      const piece = { position: moved.position, hash: toHash(bytes), bytes };
      await this.files.append(this.tenant, moved.fileId, piece, this.now + DRAFT_MS, ANY_SIZE);
    }
    return true;
  }

  /** Another file begins: what an interrupted import has left of it goes. */
  private async begin(fileId: string): Promise<void> {
    if (this.current === fileId) return;
    this.current = fileId;
    this.isKnown = (await this.files.get(this.tenant, fileId)) !== undefined;
    if (this.isKnown) return;
    await this.files.discard(this.tenant, fileId);
    while (await this.files.purge());
  }
}
