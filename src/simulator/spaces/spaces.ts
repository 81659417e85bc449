import { Inject, Injectable } from '@nestjs/common';

import { type Caller, tenantKey, asTenant } from '../../access/index.js';
import type { ApiError } from '../../protocol/index.js';
import { pickTurnHeaders, type Turn } from '../../providers/index.js';
import { type AskedTurn, type BegunTurn, TurnObserver, type TurnRecord } from '../../responses/index.js';
import { Clock } from '../../time/index.js';
import { isObject } from '../../validation/index.js';
import { readScripts } from '../script/read-script.js';
import { SimulatorOptions } from '../simulator-options.js';
import { type Journal, JournalBudget, type JournalEntry } from './journal.js';
import { Space, type SpaceScript } from './space.js';

/** The header that names a space. */
export const SPACE_HEADER = 'x-simulator-space';
const SPACE_HEADERS = { forwarded: [], read: [SPACE_HEADER] };

/** The one that was not used for the longest time is forgotten: of its tenant, or of all. */
const MOST_OF_TENANT = 64;
const MOST_SPACES = 256;

/** Turns whose end is waited for. */
const MOST_RUNNING = 10_000;

/**
 * The spaces of a simulator, by tenant and name. They begin with the scripts of SIMULATOR_SCRIPTS and share nothing. Without
 * SIMULATOR_CONTROL there is a single one.
 */
@Injectable()
export class Spaces {
  private initial: readonly SpaceScript[] = [];
  private readonly spaces = new Map<string, Space>();
  /** The one that was asked for last: mostly it is the next one, too, and need not move in the table. */
  private latest: { readonly key: string; readonly space: Space } | undefined;
  /** Spaces that a program has made, which it may hold for as long as it runs. */
  private readonly held = new Map<string, Space>();
  private readonly budget = new JournalBudget();
  private scripted = (): void => undefined;

  constructor(@Inject(SimulatorOptions) private readonly options: SimulatorOptions) {}

  /** Reads the scripts. Throws EnvironmentError if any is invalid. */
  async load(): Promise<void> {
    this.initial = (await readScripts(this.options.scripts)).map((file) => ({ file }));
  }

  /** Calls `scripted` when there is a script, now or later; possibly more than once. */
  whenScripted(scripted: () => void): void {
    this.scripted = scripted;
    if (this.initial.length > 0) scripted();
  }

  /** The scripts that spaces begin with. */
  get scripts(): readonly SpaceScript[] {
    return this.initial;
  }

  /** Whether a space has a script of this model. */
  serve(model: string): boolean {
    const isServed = ({ file }: SpaceScript): boolean => file.model === model || file.model === '*';
    const spaces = [...this.held.values(), ...this.spaces.values()];
    return this.initial.some(isServed) || spaces.some((space) => space.serves(model));
  }

  /** Makes the space of a tenant. It begins with `scripts` before the others, and is not forgotten. */
  hold(tenant: string, scripts: readonly SpaceScript[]): Space {
    const space = new Space([...scripts, ...this.initial], () => this.scripted(), this.budget);
    this.held.set(this.keyOf(tenant, ''), space);
    return space;
  }

  /** The space of a tenant; the empty name is that of requests without the header. */
  of(tenant: string, name: string): Space {
    const key = this.keyOf(tenant, name);
    const held = this.held.get(key);
    if (held !== undefined) return held;
    if (key === this.latest?.key) return this.latest.space;
    const known = this.spaces.get(key);
    const space = known ?? new Space(this.initial, () => this.scripted(), this.budget);
    // The newest last.
    this.spaces.delete(key);
    this.spaces.set(key, space);
    this.latest = { key, space };
    if (known === undefined) this.forgetOldest(this.keyOf(tenant, ''));
    return space;
  }

  ofTurn({ tenant, headers }: Turn): Space {
    return this.of(tenant, headers[SPACE_HEADER] ?? '');
  }

  private keyOf(tenant: string, name: string): string {
    return this.options.control ? tenantKey(asTenant(tenant), name) : '';
  }

  /** Forgets those beyond the limits. `ofTenant` begins the keys of the tenant that has a new one. */
  private forgetOldest(ofTenant: string): void {
    const keys = [...this.spaces.keys()];
    const own = keys.filter((key) => key.startsWith(ofTenant));
    for (const key of own.slice(0, -MOST_OF_TENANT)) this.forget(key);
    if (this.spaces.size > MOST_SPACES) this.forget(keys[0] ?? '');
  }

  private forget(key: string): void {
    this.spaces.get(key)?.journal.clear();
    this.spaces.delete(key);
  }
}

/** Writes the journals of all spaces: every create request, also those that are refused before a model is asked. */
export class JournalObserver extends TurnObserver {
  private readonly asking = new WeakMap<Caller, Noted>();
  private readonly running = new Map<string, Noted>();

  constructor(
    private readonly spaces: Spaces,
    private readonly clock: Clock,
  ) {
    super();
  }

  override asked(turn: AskedTurn): void {
    const { journal } = this.spaces.of(turn.caller.tenant, nameOf(turn));
    this.asking.set(turn.caller, { journal, entry: journal.open(turn, this.clock.now()) });
  }

  override refused(caller: Caller, error: ApiError): void {
    const noted = this.asking.get(caller);
    noted?.journal.refuse(noted.entry, error);
  }

  override begun({ caller, responseId }: BegunTurn): void {
    const noted = this.asking.get(caller);
    if (noted === undefined) return;
    this.running.set(responseId, noted);
    // A background turn may end in another process, which does not say so here.
    for (const oldest of this.running.keys()) {
      if (this.running.size <= MOST_RUNNING) return;
      this.running.delete(oldest);
    }
  }

  override settled({ responseId, status, response }: TurnRecord): void {
    const noted = this.running.get(responseId);
    noted?.journal.close(noted.entry, status, response);
    this.running.delete(responseId);
  }
}

interface Noted {
  readonly journal: Journal;
  readonly entry: JournalEntry;
}

/** The space that a request names, in its `client_metadata` or in a header, as providers see it. */
function nameOf({ request, headers }: AskedTurn): string {
  const metadata = isObject(request) ? request['client_metadata'] : undefined;
  return pickTurnHeaders(SPACE_HEADERS, headers, metadata)[SPACE_HEADER] ?? '';
}
