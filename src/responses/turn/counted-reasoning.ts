import { Injectable } from '@nestjs/common';

/**
 * Whether usage counts the reasoning of earlier turns (`x-reasoning-included`), as providers said in their latest answers. A socket must know it
 * from its handshake, before anybody has named a model.
 */
@Injectable()
export class CountedReasoning {
  private readonly providers = new Map<string, boolean>();

  /** Notes what an answer of a provider said. */
  note(provider: string, isCounted: boolean): void {
    this.providers.set(provider, isCounted);
  }

  /** Whether all providers that have answered say so. */
  get isCounted(): boolean {
    return this.providers.size > 0 && [...this.providers.values()].every(Boolean);
  }
}
