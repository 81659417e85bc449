import { SecretStore } from '../secret-store.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';

/** Secrets in Redis, for all replicas. They never expire. */
export class RedisSecretStore extends SecretStore {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
  ) {
    super();
  }

  override async getOrCreate(name: string, proposal: string): Promise<string> {
    const key = this.keys.secret(name);
    const [, secret] = await this.redis.write(['SET', key, proposal, 'NX'], ['GET', key]);
    if (typeof secret !== 'string') throw new Error(`the secret ${name} was not stored`);
    return secret;
  }

  override async find(name: string): Promise<string | undefined> {
    const [secret] = await this.redis.read(['GET', this.keys.secret(name)]);
    return typeof secret === 'string' ? secret : undefined;
  }
}
