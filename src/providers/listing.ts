import type { ModelInfo } from './model-provider.js';
import type { ProviderCondition } from './provider-condition.js';

/** The model list of one provider, and how the requests for it go. */
export class Listing {
  private models: ReadonlyMap<string, ModelInfo> | null = null;
  /** Why the last request failed, without secrets; null if it did not. */
  error: string | null = null;
  /** Whether the last request timed out, so that nobody waits for the next one. */
  isSilent = false;

  /** `since`: when its condition last changed, ms. */
  constructor(
    private readonly name: string,
    private since: number,
  ) {}

  /** Whether the provider has ever listed its models. */
  get isKnown(): boolean {
    return this.models !== null;
  }

  /** Whether the last request failed or timed out. */
  get hasFailed(): boolean {
    return this.error !== null;
  }

  get all(): readonly ModelInfo[] {
    return [...(this.models?.values() ?? [])];
  }

  find(model: string): ModelInfo | undefined {
    return this.models?.get(model);
  }

  /** Takes a list. Throws an Error for an invalid model, because providers may be untyped. */
  arrived(models: readonly ModelInfo[], now: number): void {
    models.forEach(requireModel);
    this.models = new Map(models.map((model) => [model.id, model]));
    if (this.hasFailed) this.since = now;
    this.error = null;
  }

  /** Notes why no list arrived; the last one stays. */
  failed(reason: string, now: number): void {
    if (!this.hasFailed) this.since = now;
    this.error = reason;
  }

  describe(): ProviderCondition {
    return {
      name: this.name,
      listed: this.isKnown,
      models: this.models?.size ?? 0,
      since: new Date(this.since).toISOString(),
      error: this.error,
    };
  }
}

function requireModel(model: Partial<ModelInfo> | null | undefined): void {
  const isModel =
    typeof model?.id === 'string' && typeof model.ownedBy === 'string' && Number.isSafeInteger(model.created);
  if (!isModel) throw new Error('a model needs id, ownedBy and created');
}
