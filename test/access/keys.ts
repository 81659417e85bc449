import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The SHA-256 of a key, as KEYS_FILE has it. */
export function sha256(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** The header with a key. */
export function bearer(key: string): { readonly authorization: string } {
  return { authorization: `Bearer ${key}` };
}

/** A KEYS_FILE that a test writes and changes. */
export class KeysFile implements AsyncDisposable {
  private constructor(
    private readonly folder: string,
    readonly path: string,
  ) {}

  /** A file with some keys. */
  static async with(keys: readonly object[], name = 'keys.json'): Promise<KeysFile> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-keys-'));
    const file = new KeysFile(folder, join(folder, name));
    await file.write(keys);
    return file;
  }

  write(keys: readonly object[]): Promise<void> {
    return this.writeText(JSON.stringify({ keys }));
  }

  writeText(text: string): Promise<void> {
    return writeFile(this.path, text);
  }

  remove(): Promise<void> {
    return rm(this.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}
