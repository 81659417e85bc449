import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Document, YAMLSeq } from 'yaml';

import { digestOfKey } from '../config/index.js';
import { faultOfKeysFile, parseKeys, type WrittenKey } from './keys-file.js';

/** The length of a key, bytes: what guesses would have to go through. */
const KEY_BYTES = 32;

/** The mode of a new file: its owner may read and write it, others may not. */
const OWNER_ONLY = 0o600;

/**
 * Adds an entry with a new key to KEYS_FILE, which is made if there is none. The file has only the digest of the key, so `show` gets the key
 * before the file is changed. Throws EnvironmentError for a file that is not valid, or would not be with the entry, and when `show` rejects:
 * the file then stays as it was.
 */
export async function createKey(
  path: string,
  entry: Omit<WrittenKey, 'secrets'>,
  show: (key: string) => Promise<void>,
): Promise<void> {
  const key = `sk-${randomBytes(KEY_BYTES).toString('base64url')}`;
  const { id, tenant, ...rest } = entry;
  const secrets = [{ sha256: digestOfKey(key).toString('hex') }];
  const add: KeysChange = (keys, ids) => {
    if (ids.includes(id)) throw new Error(`it has a key '${id}' already: revoke that one, or choose another name`);
    keys.add({ id, tenant, secrets, ...rest });
  };
  await changeKeys(path, add, () => show(key));
}

/** Removes the entry with an id from KEYS_FILE, with all its keys. Throws EnvironmentError when there is none. */
export function revokeKey(path: string, id: string): Promise<void> {
  return changeKeys(path, (keys, ids) => {
    const index = ids.indexOf(id);
    if (index < 0) throw new Error(`it has no key '${id}'`);
    keys.delete(index);
  });
}

/** Changes the entries of a file, given with their ids in order. */
type KeysChange = (keys: EditedKeys, ids: readonly (string | undefined)[]) => void;

/**
 * Writes the changed file beside the old one and puts it in its place, so that a reader finds either. The one beside it also keeps out other
 * commands meanwhile: of two changes at once, none may be lost. `beforehand` is done when only the last step is left.
 */
async function changeKeys(
  path: string,
  change: KeysChange,
  beforehand = async (): Promise<void> => undefined,
): Promise<void> {
  try {
    const target = await followLinks(path);
    const beside = `${target}.new`;
    const file = await openNew(beside);
    try {
      const text = await changed(target, change);
      await file.writeFile(text);
      await keepPermissions(file, target);
      await file.sync();
      await beforehand();
      await rename(beside, target);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  } catch (error) {
    throw faultOfKeysFile(path, error);
  }
}

async function changed(target: string, change: KeysChange): Promise<string> {
  const before = await unlessMissing(readFile(target, 'utf8'));
  const entries = before === undefined ? [] : await parseKeys(target, before);
  const keys = target.endsWith('.json') ? new JsonKeys(before) : await YamlKeys.of(before);
  change(
    keys,
    entries.map(({ grant }) => grant.keyId),
  );
  const text = keys.toText();
  await parseKeys(target, text);
  return text;
}

/** A link, such as those of mounted secrets, stays one. */
async function followLinks(path: string): Promise<string> {
  return (await unlessMissing(realpath(path))) ?? path;
}

async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', OWNER_ONLY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new Error(`there is no directory ${dirname(path)}: make it first`, { cause: error });
    if (code !== 'EEXIST') throw error;
    throw new Error(`another command is changing it; if none is, remove ${path}`, { cause: error });
  }
}

/** The service may read the file as another user, or by its group: it must be able to afterwards, too. */
async function keepPermissions(file: FileHandle, target: string): Promise<void> {
  const before = await unlessMissing(stat(target));
  if (before === undefined) return;
  const own = await file.stat();
  if (before.uid !== own.uid || before.gid !== own.gid) await file.chown(before.uid, before.gid);
  await file.chmod(before.mode);
}

/** Undefined where there is no file. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The entries of a file, which has been validated, and the rest of it. */
interface EditedKeys {
  add(entry: WrittenKey): void;
  delete(index: number): void;
  toText(): string;
}

class JsonKeys implements EditedKeys {
  private readonly file: { readonly keys: WrittenKey[] };

  constructor(content = '{"keys":[]}') {
    this.file = JSON.parse(content) as { readonly keys: WrittenKey[] };
  }

  add(entry: WrittenKey): void {
    this.file.keys.push(entry);
  }

  delete(index: number): void {
    this.file.keys.splice(index, 1);
  }

  toText(): string {
    return `${JSON.stringify(this.file, null, 2)}\n`;
  }
}

/** Keeps the comments of the operator. */
class YamlKeys implements EditedKeys {
  private readonly keys: YAMLSeq;

  private constructor(private readonly document: Document) {
    this.keys = document.get('keys') as YAMLSeq;
    this.keys.flow = false;
  }

  static async of(content = 'keys: []\n'): Promise<YamlKeys> {
    const { parseDocument } = await import('yaml');
    return new YamlKeys(parseDocument(content, { merge: true }));
  }

  add(entry: WrittenKey): void {
    this.keys.add(this.document.createNode(entry));
  }

  delete(index: number): void {
    this.keys.delete(index);
    // An empty list is written as []: in lines, nothing would be left of it.
    this.keys.flow = this.keys.items.length === 0;
  }

  toText(): string {
    return this.document.toString({ lineWidth: 0 });
  }
}
