import { useEffect, useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { EventList } from './event-list.tsx';
import { FactList, type Facts, HowItRan } from './how-it-ran.tsx';
import { Items } from './items.tsx';
import { More, usePages } from './pages.tsx';
import { toTone } from './simulator.tsx';
import { TEXTS } from './texts.ts';
import { Tree } from './tree.tsx';
import type { TimedEvent } from './turn.ts';

interface InspectorProperties {
  readonly api: Api;
  readonly id: string | undefined;
  readonly onOpen: (id: string | undefined) => void;
  readonly onContinue: (id: string) => void;
  /** The address of a response in this page. */
  readonly toAddress: (id: string) => string;
}

/** Its path in the API. Whoever asks may have typed anything as the id. */
const toPath = (id: string): string => `responses/${encodeURIComponent(id)}`;

/** A stored response with all that belongs to it; without an id, the latest ones. */
export function Inspector(properties: InspectorProperties) {
  const { id, onOpen } = properties;
  const [typed, setTyped] = useState('');
  return (
    <section aria-label={TEXTS.views.inspector}>
      <form
        class="bar card"
        onSubmit={(event) => {
          event.preventDefault();
          onOpen(typed.trim() === '' ? undefined : typed.trim());
        }}
      >
        <label class="grow">
          {TEXTS.responseId}
          <input
            class="code"
            spellcheck={false}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
        <button type="submit">{TEXTS.open}</button>
        <button type="button" onClick={() => onOpen(undefined)}>
          {TEXTS.latest}
        </button>
      </form>
      {id === undefined ? <Latest {...properties} /> : <Inspected key={id} {...properties} id={id} />}
    </section>
  );
}

/** The latest responses, newest first. */
function Latest({ api, onOpen }: InspectorProperties) {
  const { entries, hasMore, fault, more } = usePages(api, 'responses?limit=50');
  if (entries === undefined && fault === '') return <p class="hint">{TEXTS.loading}</p>;
  return (
    <div class="card">
      <h2>{TEXTS.latest}</h2>
      {entries?.length === 0 && <p class="hint">{TEXTS.noResponses}</p>}
      <ul class="list latest">
        {entries?.map(({ id, model, status, output_text: text, created_at: at }) => (
          <li key={id}>
            <button type="button" class="row" onClick={() => onOpen(id)}>
              <span class={`chip ${toTone(status)}`}>{status}</span>
              <span>{model}</span>
              <span class="hint">{TEXTS.time(at * 1000)}</span>
              <span>{String(text).slice(0, 160) || id}</span>
            </button>
          </li>
        ))}
      </ul>
      <More hasMore={hasMore} fault={fault} onMore={more} />
    </div>
  );
}

function Inspected({ api, id, onContinue, toAddress }: InspectorProperties & { readonly id: string }) {
  const [found, setFound] = useState<{ readonly response: Json; readonly tree: Json }>();
  const [fault, setFault] = useState('');
  useEffect(() => {
    const left = new AbortController();
    const get = (path: string): Promise<Json> => api.json('GET', `${toPath(id)}${path}`, undefined, left.signal);
    Promise.all([get(''), get('/tree?depth=100&limit=200')]).then(
      ([response, tree]) => setFound({ response, tree: tree.root }),
      (error: unknown) => !left.signal.aborted && setFault((error as Error).message),
    );
    return () => left.abort();
  }, [api, id]);
  if (found === undefined) {
    return fault === '' ? (
      <p class="hint">{TEXTS.loading}</p>
    ) : (
      <p role="alert" class="fault">
        {fault}
      </p>
    );
  }
  const { response, tree } = found;
  return (
    <>
      <div class="card">
        <div class="bar middle">
          <h2>{id}</h2>
          <span class={`chip ${toTone(response.status)}`}>{response.status}</span>
          {response.store !== false && (
            <button type="button" onClick={() => onContinue(id)}>
              {TEXTS.continueHere}
            </button>
          )}
        </div>
        <Facts response={response} toAddress={toAddress} />
        <h3>{TEXTS.tree}</h3>
        <Tree root={tree} current={id} toAddress={toAddress} />
      </div>
      <div class="cards">
        <section class="card" aria-label={TEXTS.request}>
          <h2>{TEXTS.request}</h2>
          <InputItems api={api} id={id} />
        </section>
        <section class="card" aria-label={TEXTS.items}>
          <h2>{TEXTS.items}</h2>
          {response.output.length === 0 && <p class="hint">{TEXTS.noItems}</p>}
          <Items items={response.output} isWhole />
        </section>
      </div>
      <section class="card" aria-label={TEXTS.howItRan}>
        <HowItRan api={api} id={id} />
      </section>
      <div class="card">
        <Replay api={api} id={id} />
      </div>
      <details class="card">
        <summary>{TEXTS.response}</summary>
        <pre tabIndex={0}>{JSON.stringify(response, null, 2)}</pre>
      </details>
    </>
  );
}

/** What is known of a response beside its items. */
function Facts({ response, toAddress }: { readonly response: Json; readonly toAddress: (id: string) => string }) {
  const { model, created_at: created, completed_at: ended, usage, error } = response;
  const { previous_response_id: parent, conversation, incomplete_details: incomplete, metadata } = response;
  const facts: Facts = [
    [TEXTS.model, model],
    [TEXTS.created, TEXTS.time(created * 1000)],
    [TEXTS.took, ended == null ? undefined : TEXTS.wholeSeconds(ended - created)],
    [TEXTS.usage, usage == null ? undefined : TEXTS.tokens(usage)],
    [TEXTS.background, response.background === true ? TEXTS.yes : undefined],
    [TEXTS.previous, parent == null ? undefined : <a href={toAddress(parent)}>{parent}</a>],
    [TEXTS.conversation, conversation?.id],
    [TEXTS.incomplete, incomplete?.reason],
    [TEXTS.error, error == null ? undefined : <span class="fault">{`${error.code}: ${error.message}`}</span>],
    [TEXTS.metadata, Object.keys(metadata ?? {}).length === 0 ? undefined : JSON.stringify(metadata)],
  ];
  return <FactList facts={facts} />;
}

/** The input of a response, page by page. */
function InputItems({ api, id }: { readonly api: Api; readonly id: string }) {
  const { entries, hasMore, fault, more } = usePages(api, `${toPath(id)}/input_items?order=asc&limit=100`);
  return (
    <>
      <Items items={entries ?? []} isWhole />
      <More hasMore={hasMore} fault={fault} onMore={more} />
    </>
  );
}

function Replay({ api, id }: { readonly api: Api; readonly id: string }) {
  const [after, setAfter] = useState('');
  const [events, setEvents] = useState<readonly TimedEvent[]>([]);
  const [fault, setFault] = useState('');
  const replay = async (): Promise<void> => {
    setFault('');
    const read: TimedEvent[] = [];
    const query = after === '' ? '' : `&starting_after=${encodeURIComponent(after)}`;
    try {
      for await (const event of api.events('GET', `${toPath(id)}?stream=true${query}`))
        read.push({ event, at: Date.now() });
    } catch (error) {
      setFault((error as Error).message);
    }
    setEvents(read);
  };
  return (
    <>
      <h2>{TEXTS.events(events.length)}</h2>
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
