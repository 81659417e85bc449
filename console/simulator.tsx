import { useCallback, useRef, useState } from 'preact/hooks';

import { type Api, ApiFailure, type Json } from './api.ts';
import { type Actions, Unread, useActions, useLive } from './live.tsx';
import { TEXTS } from './texts.ts';

/** Pause between two looks, ms. */
const PAUSE_MS = 3000;

/** Entries that the service keeps in the journal of a space. */
const MOST_ENTRIES = 1000;

/** The kinds of faults, as docs/simulator-settings.md lists them. */
const FAULTS = [
  ...['rate_limit', 'server_error', 'unavailable', 'slow_start', 'stall'],
  ...['cut', 'upstream_cut', 'malformed', 'timeout', 'silence'],
];

const EXAMPLE = `{
  "model": "gpt-5",
  "turns": [
    { "text": "The first answer." },
    { "calls": [{ "name": "weather", "arguments": { "city": "Oslo" } }] }
  ]
}`;

type Ask = (method: string, path: string, body?: unknown) => Promise<Json>;

/** The simulator of the service: what it answers next, the faults of the next turns, and what it was asked. */
export function Simulator({ api }: { readonly api: Api }) {
  const [space, setSpace] = useState('');
  return (
    <section aria-label={TEXTS.views.simulator}>
      <label class="narrow card">
        {TEXTS.space}
        <input value={space} onChange={({ currentTarget }) => setSpace(currentTarget.value.trim())} />
      </label>
      <Space key={space} api={api} space={space} />
    </section>
  );
}

/** One space of the simulator. */
function Space({ api, space }: { readonly api: Api; readonly space: string }) {
  const journal = useRef<readonly Json[]>([]);
  const read = useCallback(
    async (signal: AbortSignal) => {
      const headers = toHeaders(space);
      const get = (path: string): Promise<Json> => api.json('GET', `/simulator/${path}`, undefined, signal, headers);
      const [scripts, faults, entries] = await Promise.all([
        get('scripts'),
        get('faults'),
        readJournal(get, journal.current),
      ]);
      journal.current = entries;
      return { scripts: scripts.data, faults: faults.data, journal: journal.current };
    },
    [api, space],
  );
  const { value, fault, refresh } = useLive(read, PAUSE_MS);
  const { act, alert } = useActions({ fault, refresh });
  const ask: Ask = (method, path, body) => api.json(method, `/simulator/${path}`, body, undefined, toHeaders(space));
  if (fault instanceof ApiFailure && fault.status === 404) return <p class="card hint empty">{TEXTS.noSimulator}</p>;
  if (value === undefined) return <Unread fault={fault} />;
  const reset = async (): Promise<void> => {
    await ask('POST', 'reset');
    journal.current = [];
  };
  return (
    <>
      {alert}
      <div class="cards">
        <Faults faults={value.faults} ask={ask} act={act} />
        <Scripts scripts={value.scripts} ask={ask} act={act} />
      </div>
      <div class="card journal">
        <div class="bar middle">
          <h2>{TEXTS.journal(value.journal.length)}</h2>
          <button type="button" onClick={() => act(reset())}>
            {TEXTS.reset}
          </button>
        </div>
        {value.journal.length === 0 && <p class="hint">{TEXTS.noRequests}</p>}
        <ul class="list">
          {value.journal
            .slice(-100)
            .toReversed()
            .map((entry) => (
              <JournalEntry key={entry.number} entry={entry} />
            ))}
        </ul>
      </div>
    </>
  );
}

/**
 * The journal, of which what is known already is not read again: only entries that were not over, and the last one before them. If that is
 * another one now, somebody has reset the space.
 */
async function readJournal(get: (path: string) => Promise<Json>, known: readonly Json[]): Promise<readonly Json[]> {
  const running = known.findIndex(({ status }) => status === 'running');
  const over = running === -1 ? known : known.slice(0, running);
  const [last, kept] = [over.at(-1), over.slice(0, -1)];
  const { data } = await get(`requests?limit=${MOST_ENTRIES}&after=${last === undefined ? 0 : last.number - 1}`);
  const isSame = last === undefined || (data[0]?.number === last.number && data[0].at === last.at);
  // No more than the service keeps.
  return isSame ? [...kept, ...data].slice(-MOST_ENTRIES) : readJournal(get, []);
}

interface PartProperties {
  readonly ask: Ask;
  readonly act: Actions['act'];
}

/** A switch for each kind of fault. */
function Faults({ faults, ask, act }: PartProperties & { readonly faults: readonly Json[] }) {
  const [turns, setTurns] = useState('1');
  const left = (kind: string): number =>
    faults.reduce((sum, fault) => (fault.kind === kind ? sum + fault.turns : sum), 0);
  const flip = (kind: string): Promise<Json> =>
    left(kind) > 0 ? ask('DELETE', `faults?kind=${kind}`) : ask('POST', 'faults', { kind, turns: Number(turns) });
  return (
    <div class="card">
      <h2>{TEXTS.faults}</h2>
      <p class="hint">{TEXTS.faultsHint}</p>
      <label>
        {TEXTS.faultTurns}
        <input type="number" min="1" value={turns} onInput={({ currentTarget }) => setTurns(currentTarget.value)} />
      </label>
      <p class="bar">
        {FAULTS.map((kind) => {
          const count = left(kind);
          return (
            <button key={kind} type="button" role="switch" aria-checked={count > 0} onClick={() => act(flip(kind))}>
              {TEXTS.fault(kind, count)}
            </button>
          );
        })}
      </p>
    </div>
  );
}

function Scripts({ scripts, ask, act }: PartProperties & { readonly scripts: readonly Json[] }) {
  const [text, setText] = useState(EXAMPLE);
  const add = async (): Promise<void> => {
    let script: Json;
    try {
      script = JSON.parse(text);
    } catch {
      throw new Error(TEXTS.badJson(TEXTS.script));
    }
    await ask('POST', 'scripts', script);
  };
  return (
    <div class="card">
      <h2>{TEXTS.scripts}</h2>
      {scripts.length === 0 && <p class="hint">{TEXTS.noScripts}</p>}
      <ul class="list">
        {scripts.map(({ model, match, turns }) => (
          <li key={model} class="bar middle">
            <span class="grow">{TEXTS.scriptOf(model, turns, match)}</span>
            <button
              type="button"
              class="quiet"
              onClick={() => act(ask('DELETE', `scripts/${encodeURIComponent(model)}`))}
            >
              {TEXTS.remove(model)}
            </button>
          </li>
        ))}
      </ul>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          act(add());
        }}
      >
        <label>
          {TEXTS.script}
          <textarea
            class="code"
            rows={8}
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <p>
          <button type="submit">{TEXTS.addScript}</button>
        </p>
      </form>
    </div>
  );
}

function JournalEntry({ entry }: { readonly entry: Json }) {
  const { number, at, transport, status, request, response, error } = entry;
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          {number} <span class={`chip ${toTone(status)}`}>{status}</span> {request?.model}{' '}
          <span class="hint">{transport}</span> <span class="hint">{TEXTS.time(Date.parse(at))}</span>
        </summary>
        {isOpen && (
          <>
            <h5>{TEXTS.asked}</h5>
            <pre tabIndex={0}>{JSON.stringify(request, null, 2)}</pre>
            <h5>{TEXTS.answered}</h5>
            <pre tabIndex={0}>{JSON.stringify(error ?? response, null, 2)}</pre>
          </>
        )}
      </details>
    </li>
  );
}

/** How a status looks. */
export function toTone(status: string): string {
  if (status === 'completed') return 'good';
  return status === 'failed' || status === 'refused' || status === 'disconnected' ? 'bad' : '';
}

function toHeaders(space: string): Readonly<Record<string, string>> {
  return space === '' ? {} : { 'x-simulator-space': space };
}
