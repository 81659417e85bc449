import { hash } from 'node:crypto';

import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { digestOfKey, Environment, EnvironmentError, ReloadedFile } from '../config/index.js';
import { Clock } from '../time/index.js';
import { asTenant, type Grant } from './grant.js';
import { type KeyEntry, readKeysFile } from './keys-file.js';

interface KnownKey {
  readonly grant: Grant;
  readonly expiresAt: number;
}

/** Keys by digest. A look-up tells nothing by its time: nobody can choose the digest of a guess. */
type KeyTable = ReadonlyMap<string, KnownKey>;

/** The keys of API_KEYS and KEYS_FILE, of which only digests are held. KEYS_FILE is read again when it changes, and on SIGHUP. */
@Injectable()
export class ApiKeys implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Access');
  private readonly own: KeyTable;
  private readonly file: ReloadedFile<KeyTable> | null;

  constructor(
    { KEYS_FILE, API_KEYS }: Environment,
    private readonly clock: Clock,
  ) {
    this.own = new Map(API_KEYS.map(toKnownKey));
    this.file =
      KEYS_FILE === ''
        ? null
        : new ReloadedFile(
            {
              variable: 'KEYS_FILE',
              path: KEYS_FILE,
              what: 'keys',
              read: () => this.read(KEYS_FILE),
              count: (all) => all.size - this.own.size,
            },
            this.own,
            clock,
            this.logger,
          );
  }

  /** Throws EnvironmentError when KEYS_FILE cannot be read or is not valid. */
  async onModuleInit(): Promise<void> {
    await this.file?.start();
  }

  onApplicationShutdown(): void {
    this.file?.stop();
  }

  /** What a key permits; undefined for one that is unknown or has expired. */
  grantOf(key: string): Grant | undefined {
    const known = this.all.get(hash('sha256', key));
    return known === undefined || known.expiresAt <= this.clock.now() ? undefined : known.grant;
  }

  /** What the credential with an id permits now; undefined when it was removed or all its keys have expired. */
  grantOfId(keyId: string): Grant | undefined {
    const now = this.clock.now();
    for (const { grant, expiresAt } of this.all.values()) {
      if (grant.keyId === keyId && expiresAt > now) return grant;
    }
    return undefined;
  }

  private get all(): KeyTable {
    return this.file?.current ?? this.own;
  }

  private async read(path: string): Promise<KeyTable> {
    const entries = await readKeysFile(path);
    const keys = entries.flatMap(toKnownKeys);
    if (keys.some(([digest]) => this.own.has(digest))) {
      throw new EnvironmentError([`KEYS_FILE: ${path}: a key is also in API_KEYS.`]);
    }
    return new Map([...this.own, ...keys]);
  }
}

/** `entry` is `tenant:key` or `tenant:sha256:<hex>`, already validated. */
function toKnownKey(entry: string): readonly [string, KnownKey] {
  const colon = entry.indexOf(':');
  const grant = { tenant: asTenant(entry.slice(0, colon)) };
  return [digestOfKey(entry.slice(colon + 1)).toString('hex'), { grant, expiresAt: Infinity }];
}

function toKnownKeys({ grant, secrets }: KeyEntry): readonly (readonly [string, KnownKey])[] {
  return secrets.map(({ digest, expiresAt }) => {
    const whole = expiresAt === Infinity ? grant : { ...grant, expiresAt };
    return [digest, { grant: whole, expiresAt }];
  });
}
