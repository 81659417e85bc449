import { createHash } from 'node:crypto';

import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { digestOfKey, Environment, EnvironmentError, firstLineOf, WatchedFile } from '../config/index.js';
import { Clock } from '../time/index.js';
import type { Grant } from './grant.js';
import { type KeyEntry, readKeysFile } from './keys-file.js';
import { asTenant } from './tenant.js';

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
  private all: KeyTable;
  private readonly file: WatchedFile | null;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {
    const { KEYS_FILE, API_KEYS } = environment;
    this.own = this.all = new Map(API_KEYS.map(toKnownKey));
    this.file = KEYS_FILE === '' ? null : new WatchedFile(KEYS_FILE, clock, () => this.reload());
  }

  /** Throws EnvironmentError when KEYS_FILE cannot be read or is not valid. */
  async onModuleInit(): Promise<void> {
    if (this.file === null) return;
    this.all = await this.read();
    await this.file.start();
  }

  onApplicationShutdown(): void {
    this.file?.stop();
  }

  /** What a key permits; undefined for one that is unknown or has expired. */
  grantOf(key: string): Grant | undefined {
    const known = this.all.get(createHash('sha256').update(key).digest('hex'));
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

  /** Keeps the keys so far when the file cannot be read: an operator who makes a mistake must not lock everybody out. */
  private async reload(): Promise<void> {
    try {
      this.all = await this.read();
      this.logger.log(`KEYS_FILE was read again: ${this.all.size - this.own.size} keys`);
    } catch (error) {
      this.logger.error(`${firstLineOf(error)}; the keys so far stay`);
    }
  }

  private async read(): Promise<KeyTable> {
    const entries = await readKeysFile(this.environment.KEYS_FILE);
    const keys = entries.flatMap(toKnownKeys);
    if (keys.some(([digest]) => this.own.has(digest))) {
      throw new EnvironmentError([`KEYS_FILE: ${this.environment.KEYS_FILE}: a key is also in API_KEYS.`]);
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
