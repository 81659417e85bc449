import { randomBytes } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { Environment, readSealKey, SEAL_KEY_BYTES } from '../config/index.js';
import { SecretStore } from '../state/index.js';
import type { MaybePromise } from '../time/index.js';
import { AesKeyRing } from './aes-key-ring.js';
import type { KeyRing } from './key-ring.js';
import { Seals } from './seals.js';

/** The name of the key that the service makes itself, in its state. */
const SECRET_NAME = 'seal-key';

/** The keys of SEAL_KEYS or, without it, one key in the state, which is read when it is first needed. */
@Injectable()
export class ServiceSeals extends Seals {
  private known: KeyRing | undefined;
  private reading: Promise<KeyRing> | undefined;

  constructor(
    private readonly secrets: SecretStore,
    environment: Environment,
  ) {
    super();
    const [first, ...others] = environment.SEAL_KEYS.map(toSecret);
    if (first !== undefined) this.known = new AesKeyRing([first, ...others]);
  }

  override ring(): MaybePromise<KeyRing> {
    return this.known ?? (this.reading ??= this.read());
  }

  /** A failed attempt is not remembered: the next turn that needs a key tries again. */
  private async read(): Promise<KeyRing> {
    try {
      const proposal = randomBytes(SEAL_KEY_BYTES).toString('base64');
      this.known = new AesKeyRing([toSecret(await this.secrets.getOrCreate(SECRET_NAME, proposal))]);
      return this.known;
    } finally {
      this.reading = undefined;
    }
  }
}

function toSecret(text: string): Buffer {
  const secret = readSealKey(text);
  if (secret === undefined) throw new Error('a key for seals is not the base64 of 32 bytes');
  return secret;
}
