import { SecretStore } from '../secret-store.js';

/** Secrets in memory: like everything in it, they end with the process. */
export class MemorySecretStore extends SecretStore {
  private readonly secrets = new Map<string, string>();

  override async getOrCreate(name: string, proposal: string): Promise<string> {
    const secret = this.secrets.get(name) ?? proposal;
    this.secrets.set(name, secret);
    return secret;
  }

  /** All secrets by name. */
  get all(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.secrets);
  }

  override async find(name: string): Promise<string | undefined> {
    return this.secrets.get(name);
  }
}
