import type { ComponentChildren } from 'preact';
import { useCallback } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { Unread, useActions, useLive } from './live.tsx';
import { TEXTS } from './texts.ts';

/** Pause between two looks, ms. */
const PAUSE_MS = 3000;

interface NowProperties {
  readonly api: Api;
  readonly onInspect: (id: string) => void;
}

/** What happens now: turns, sockets and their lanes, what waits, what is left of limits, and the condition of providers. */
export function Now({ api, onInspect }: NowProperties) {
  const read = useCallback((signal: AbortSignal) => readNow(api, signal), [api]);
  const { value, fault, refresh } = useLive(read, PAUSE_MS);
  const { act, alert } = useActions({ fault, refresh });
  if (value === undefined) return <Unread fault={fault} />;
  const { activity, connections, running, queued, health } = value;
  const waiting = connections.reduce((sum, connection) => sum + connection.queued, 0);
  return (
    <section aria-label={TEXTS.views.now}>
      {alert}
      <div class="card">
        <div class="counts">
          <Count name={TEXTS.turnsNow} count={activity.turns.length} />
          <Count name={TEXTS.inBackground} count={running.data.length} isMore={running.has_more} />
          <Count name={TEXTS.queuedNow} count={queued.data.length} isMore={queued.has_more} />
          <Count name={TEXTS.onLanes} count={waiting} />
          <Count name={TEXTS.sockets} count={connections.length} />
        </div>
        {activity.totals !== undefined && <p class="hint">{TEXTS.totals(activity.totals)}</p>}
        <p class="hint">{TEXTS.nowHint(activity.processes)}</p>
      </div>
      <div class="cards">
        <Card title={TEXTS.turnsNow} rows={activity.turns} empty={TEXTS.noTurns}>
          {(turn) => (
            <li key={turn.id} class="bar middle">
              <span class="grow">
                {turn.model} <span class="hint">{TEXTS.turnNow(turn)}</span>
              </span>
              <code>{turn.id}</code>
            </li>
          )}
        </Card>
        <Card title={TEXTS.background} rows={[...running.data, ...queued.data]} empty={TEXTS.noBackground}>
          {({ id, model, status, created_at: since }) => (
            <li key={id} class="bar middle">
              <span class="chip">{status}</span>
              <span class="grow">
                {model} <span class="hint">{TEXTS.since(since)}</span>
              </span>
              <button type="button" class="quiet" aria-label={TEXTS.inspectOne(id)} onClick={() => onInspect(id)}>
                {TEXTS.inspect}
              </button>
              <button
                type="button"
                class="quiet"
                aria-label={TEXTS.cancelOne(id)}
                onClick={() => act(api.json('POST', `responses/${id}/cancel`))}
              >
                {TEXTS.cancel}
              </button>
            </li>
          )}
        </Card>
        <Card title={TEXTS.sockets} rows={connections} empty={TEXTS.noSockets}>
          {({ id, since, lanes }) => (
            <li key={id}>
              <div class="bar middle">
                <span class="grow">
                  <code>{id.slice(0, 11)}…</code> <span class="hint">{TEXTS.since(since)}</span>
                </span>
                <button
                  type="button"
                  class="quiet"
                  aria-label={TEXTS.retireOne(id)}
                  onClick={() => act(api.json('DELETE', `connections/${id}`))}
                >
                  {TEXTS.retire}
                </button>
              </div>
              {lanes.map(({ stream_id: lane, in_flight: running, queued }: Json) => (
                <span key={lane ?? ''} class={running > 0 ? 'chip good' : 'chip'}>
                  {TEXTS.lane(lane, running, queued)}
                </span>
              ))}
            </li>
          )}
        </Card>
        <Card title={TEXTS.limits} rows={activity.limits} empty={TEXTS.noLimits}>
          {({ name, model, limit, used, resets_at: resetsAt }) => (
            <li key={`${name} ${model}`}>
              <div class="bar middle">
                <span class="grow">{TEXTS.limit(name, model)}</span>
                <span>{TEXTS.left(limit, used)}</span>
              </div>
              <meter min={0} max={limit} value={Math.min(used, limit)} aria-label={TEXTS.limit(name, model)} />
              {resetsAt !== null && <span class="hint"> {TEXTS.resets(resetsAt)}</span>}
            </li>
          )}
        </Card>
        <Card title={TEXTS.providers} rows={health} empty={TEXTS.notReady}>
          {({ kind, name, models, since, error }) => (
            <li key={`${kind} ${name}`} class="bar middle">
              <span class={`chip ${error === null ? 'good' : 'bad'}`}>
                {error === null ? TEXTS.fine : TEXTS.failed}
              </span>
              <span class="grow">
                {name} <span class="hint">{TEXTS.provider(kind, models)}</span>
                {error !== null && <span class="fault"> {error}</span>}
              </span>
              <span class="hint">{since != null && TEXTS.time(Date.parse(since))}</span>
            </li>
          )}
        </Card>
      </div>
    </section>
  );
}

interface Snapshot {
  readonly activity: Json;
  readonly connections: readonly Json[];
  /** Lists of responses in the background. */
  readonly running: Json;
  readonly queued: Json;
  /** The conditions of providers, MCP servers and search engines. */
  readonly health: readonly Json[];
}

async function readNow(api: Api, signal: AbortSignal): Promise<Snapshot> {
  const get = (path: string): Promise<Json> => api.json('GET', path, undefined, signal);
  const [activity, connections, running, queued, ready] = await Promise.all([
    get('activity'),
    get('connections'),
    get('responses?status=in_progress&limit=20'),
    get('responses?status=queued&limit=20'),
    // A replica that is not ready still shows the rest.
    get('/readyz?verbose').catch(() => ({})),
  ]);
  const health = ['providers', 'mcp_servers', 'search_engines'].flatMap((kind) =>
    (ready[kind] ?? []).map((condition: Json) => ({ error: null, ...condition, kind })),
  );
  return { activity, connections: connections.data, running, queued, health };
}

function Count({
  name,
  count,
  isMore = false,
}: {
  readonly name: string;
  readonly count: number;
  readonly isMore?: boolean;
}) {
  return (
    <div>
      <div class="count">
        {count}
        {isMore && '+'}
      </div>
      <div class="hint">{name}</div>
    </div>
  );
}

function Card({
  title,
  rows,
  empty,
  children,
}: {
  readonly title: string;
  readonly rows: readonly Json[];
  /** What is said where there are none. */
  readonly empty: string;
  readonly children: (row: Json) => ComponentChildren;
}) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {rows.length === 0 && <p class="hint">{empty}</p>}
      <ul class="list">{rows.map(children)}</ul>
    </section>
  );
}
