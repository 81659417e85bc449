import { randomBytes } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { Environment, readSealKey, SEAL_KEY_BYTES } from '../../config/index.js';
import { SecretStore } from '../../state/index.js';
import type { MaybePromise } from '../../time/index.js';
import { KeyRing } from './key-ring.js';

/** The name of the key that the service makes itself, in its state. */
const SECRET_NAME = 'seal-key';

/**
 * The keys of the service: those of SEAL_KEYS or, without it, one key in the state, which is read when it is first needed. With SEAL_KEYS
 * that key, if it was made before, still opens what it has sealed.
 */
@Injectable()
export class Seals {
  private readonly configured: readonly Buffer[];
  private known: KeyRing | undefined;
  private reading: Promise<KeyRing> | undefined;
  /** Whether the ring has the key that the service made. */
  private hasMade = false;

  constructor(
    private readonly secrets: SecretStore,
    environment: Environment,
  ) {
    this.configured = environment.SEAL_KEYS.map(toSecret);
    const [first, ...others] = this.configured;
    if (first !== undefined) this.known = new KeyRing([first, ...others]);
  }

  /**
   * The key ring: from SEAL_KEYS or, without it, with a key that all replicas share through their state. Rejects with
   * StoreUnavailableError.
   */
  ring(): MaybePromise<KeyRing> {
    return this.known ?? this.read();
  }

  /**
   * The key ring that opens some seals of our form. With SEAL_KEYS it has the key that the service made before too, which is only read for a
   * seal of a key that is not known. Rejects with StoreUnavailableError.
   */
  ringFor(seals: Iterable<string>): MaybePromise<KeyRing> {
    const { known } = this;
    if (known === undefined) return this.read();
    if (this.hasMade) return known;
    for (const sealed of seals) if (!known.knows(sealed)) return this.read();
    return known;
  }

  /** Only what was found is remembered: after a failed attempt, the next turn that needs the key tries again. */
  private read(): Promise<KeyRing> {
    return (this.reading ??= this.addMade().finally(() => {
      this.reading = undefined;
    }));
  }

  private async addMade(): Promise<KeyRing> {
    const [first, ...others] = this.configured;
    const made = first === undefined ? await this.make() : await this.secrets.find(SECRET_NAME);
    if (made === undefined) return this.ring();
    const key = toSecret(made);
    this.known = new KeyRing(first === undefined ? [key] : [first, ...others, key]);
    this.hasMade = true;
    return this.known;
  }

  private make(): Promise<string> {
    return this.secrets.getOrCreate(SECRET_NAME, randomBytes(SEAL_KEY_BYTES).toString('base64'));
  }
}

function toSecret(text: string): Buffer {
  const secret = readSealKey(text);
  if (secret === undefined) throw new Error('a key for seals is not the base64 of 32 bytes');
  return secret;
}
