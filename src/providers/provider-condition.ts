/** What is known of a provider, for `/readyz?verbose`. */
export interface ProviderCondition {
  readonly name: string;
  /** Whether it has listed its models, now or earlier. */
  readonly listed: boolean;
  /** Number of models in its last list. */
  readonly models: number;
  /** Since when its lists arrive, or fail to arrive; ISO 8601. */
  readonly since: string;
  /** Why its latest list did not arrive, without addresses and credentials; null if it did. */
  readonly error: string | null;
  /** What the provider has counted since it was created, if it counts anything. */
  readonly statistics?: Readonly<Record<string, number>>;
}
