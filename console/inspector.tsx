import { useEffect, useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { EventList } from './event-list.tsx';
import { Items } from './items.tsx';
import { More, usePages } from './pages.tsx';
import { TEXTS } from './texts.ts';
import type { TimedEvent } from './turn.ts';

interface Inspected {
  readonly response: Json;
  readonly tree: Json;
}

interface InspectorProperties {
  readonly api: Api;
  readonly id: string | undefined;
  readonly onOpen: (id: string | undefined) => void;
  readonly onContinue: (id: string) => void;
}

/** A stored response with all that belongs to it; without an id, the latest ones. */
export function Inspector({ api, id, onOpen, onContinue }: InspectorProperties) {
  const [typed, setTyped] = useState('');
  const [found, setFound] = useState<Inspected>();
  const [fault, setFault] = useState('');
  useEffect(() => {
    const left = new AbortController();
    setFault('');
    setFound(undefined);
    if (id === undefined) return undefined;
    inspect(api, id, left.signal).then(setFound, (error: unknown) => {
      if (!left.signal.aborted) setFault((error as Error).message);
    });
    return () => left.abort();
  }, [api, id]);
  return (
    <section class="inspector" aria-label={TEXTS.views.inspector}>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          onOpen(typed.trim() === '' ? undefined : typed.trim());
        }}
      >
        <label>
          {TEXTS.responseId}
          <input value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
        </label>
        <button type="submit">{TEXTS.open}</button>
        <button type="button" onClick={() => onOpen(undefined)}>
          {TEXTS.latest}
        </button>
      </form>
      <p role="alert" class="fault">
        {fault}
      </p>
      {id === undefined ? (
        <Latest api={api} onOpen={onOpen} />
      ) : found === undefined ? (
        fault === '' && <p class="hint">{TEXTS.loading}</p>
      ) : (
        <>
          <h2>{id}</h2>
          <p>{TEXTS.status(found.response.status, found.response.usage?.total_tokens)}</p>
          <button type="button" onClick={() => onContinue(id)}>
            {TEXTS.continueHere}
          </button>
          <h3>{TEXTS.request}</h3>
          <InputItems key={id} api={api} id={id} />
          <h3>{TEXTS.items}</h3>
          <Items items={found.response.output} isWhole />
          <Replay key={id} api={api} id={id} />
          <h3>{TEXTS.tree}</h3>
          <ul class="tree">
            <Branch node={found.tree} current={id} onOpen={onOpen} />
          </ul>
          <details>
            <summary>{TEXTS.response}</summary>
            <pre tabIndex={0}>{JSON.stringify(found.response, null, 2)}</pre>
          </details>
        </>
      )}
    </section>
  );
}

async function inspect(api: Api, id: string, signal: AbortSignal): Promise<Inspected> {
  const [response, tree] = await Promise.all([
    api.json('GET', `responses/${id}`, undefined, signal),
    api.json('GET', `responses/${id}/tree?depth=100&limit=200`, undefined, signal),
  ]);
  return { response, tree: tree.root };
}

/** The input of a response, page by page. */
function InputItems({ api, id }: { readonly api: Api; readonly id: string }) {
  const { entries, hasMore, fault, more } = usePages(api, `responses/${id}/input_items?order=asc&limit=100`);
  return (
    <>
      <Items items={entries ?? []} isWhole />
      <More hasMore={hasMore} fault={fault} onMore={more} />
    </>
  );
}

/** The latest responses, newest first. */
function Latest({ api, onOpen }: { readonly api: Api; readonly onOpen: (id: string) => void }) {
  const { entries, hasMore, fault, more } = usePages(api, 'responses?limit=50');
  if (entries === undefined && fault === '') return <p class="hint">{TEXTS.loading}</p>;
  return (
    <>
      {entries?.length === 0 && <p class="hint">{TEXTS.noResponses}</p>}
      <ul class="latest">
        {entries?.map(({ id, model, status, output_text: text }) => (
          <li key={id}>
            <button type="button" onClick={() => onOpen(id)}>
              {model}, {status}: {String(text).slice(0, 80) || id}
            </button>
          </li>
        ))}
      </ul>
      <More hasMore={hasMore} fault={fault} onMore={more} />
    </>
  );
}

function Branch({
  node,
  current,
  onOpen,
}: {
  readonly node: Json;
  readonly current: string;
  readonly onOpen: (id: string) => void;
}) {
  return (
    <li>
      <button type="button" aria-current={node.id === current} onClick={() => onOpen(node.id)}>
        {String(node.response.output_text).slice(0, 60) || node.id}
      </button>
      {node.children.data.length > 0 && (
        <ul>
          {node.children.data.map((child: Json) => (
            <Branch key={child.id} node={child} current={current} onOpen={onOpen} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Replay({ api, id }: { readonly api: Api; readonly id: string }) {
  const [after, setAfter] = useState('');
  const [events, setEvents] = useState<readonly TimedEvent[]>([]);
  const [fault, setFault] = useState('');
  const replay = async (): Promise<void> => {
    setFault('');
    const read: TimedEvent[] = [];
    const query = after === '' ? '' : `&starting_after=${after}`;
    try {
      for await (const event of api.events('GET', `responses/${id}?stream=true${query}`))
        read.push({ event, at: Date.now() });
    } catch (error) {
      setFault((error as Error).message);
    }
    setEvents(read);
  };
  return (
    <>
      <h3>{TEXTS.events(events.length)}</h3>
      <p class="hint">{TEXTS.replayHint}</p>
      <form
        class="bar"
        onSubmit={(event) => {
          event.preventDefault();
          void replay();
        }}
      >
        <label>
          {TEXTS.replayFrom}
          <input inputMode="numeric" value={after} onInput={({ currentTarget }) => setAfter(currentTarget.value)} />
        </label>
        <button type="submit">{TEXTS.replay}</button>
      </form>
      <p role="alert" class="fault">
        {fault}
      </p>
      {events.length > 0 && <EventList events={events} />}
    </>
  );
}
