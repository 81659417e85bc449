import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';

import { Api, ApiFailure, type Json } from './api.ts';
import { Approvals } from './approvals.tsx';
import { asCode } from './as-code.ts';
import { Code } from './code.tsx';
import { Inspector } from './inspector.tsx';
import { Lane } from './lane.tsx';
import { Now } from './now.tsx';
import { Simulator } from './simulator.tsx';
import { LaneSocket } from './socket.ts';
import { TEXTS } from './texts.ts';

type View = keyof typeof TEXTS.views;

/** Where the page is: a view and, in the inspector, the id of a response. It stands behind the `#` of the address, so that the browser's Back works. */
interface Place {
  readonly view: View;
  readonly id: string | undefined;
}

function readPlace(): Place {
  const [view = '', ...id] = location.hash.slice(1).split('/');
  if (!Object.hasOwn(TEXTS.views, view)) return { view: 'playground', id: undefined };
  const part = id.join('/');
  return { view: view as View, id: part === '' ? undefined : decode(part) };
}

/** A part of an address. One that is typed in may have a `%` of nothing: it is taken as it is. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function toAddress(view: View, id?: string): string {
  return id === undefined ? `#${view}` : `#${view}/${encodeURIComponent(id)}`;
}

function go(view: View, id?: string): void {
  location.hash = toAddress(view, id);
}

function usePlace(): Place {
  const [place, setPlace] = useState(readPlace);
  // At once, and not after the page is painted: the address may change before that.
  useLayoutEffect(() => {
    const read = (): void => setPlace(readPlace());
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return place;
}

/** The page: who asks, and the views of what they may see. */
function Console() {
  const [key, setKey] = useState('');
  const [attempt, setAttempt] = useState(0);
  const api = useMemo(() => new Api(key), [key, attempt]);
  const socket = useMemo(() => new LaneSocket(api), [api]);
  const [models, setModels] = useState<readonly string[]>();
  const [fault, setFault] = useState('');
  const place = usePlace();
  useEffect(() => {
    let isLeft = false;
    setFault('');
    setModels(undefined);
    api.json('GET', 'models').then(
      ({ data }: Json) => !isLeft && setModels(data.map(({ id }: Json) => id)),
      (error: unknown) => !isLeft && setFault(describe(error, key)),
    );
    return () => {
      isLeft = true;
      socket.close();
    };
  }, [api, socket, key]);
  return (
    <>
      <header>
        <div class="bar middle">
          <h1>{TEXTS.title}</h1>
          <KeyForm onKey={setKey} />
        </div>
        <nav aria-label={TEXTS.viewsTitle}>
          {Object.entries(TEXTS.views).map(([view, name]) => (
            <button
              key={view}
              type="button"
              aria-current={view === place.view ? 'page' : undefined}
              onClick={() => go(view as View)}
            >
              {name}
            </button>
          ))}
        </nav>
      </header>
      <main>
        {fault !== '' && (
          <p role="alert" class="fault">
            {fault}{' '}
            <button type="button" onClick={() => setAttempt(attempt + 1)}>
              {TEXTS.retry}
            </button>
          </p>
        )}
        {models === undefined ? (
          fault === '' && <p class="hint">{TEXTS.connecting}</p>
        ) : models.length === 0 ? (
          <p class="hint">{TEXTS.noModels}</p>
        ) : (
          // With another key nothing of the former one is left.
          <Views key={key} api={api} socket={socket} models={models} place={place} />
        )}
        <Start base={api.base} model={models?.[0]} />
      </main>
    </>
  );
}

/** How programs reach the service: its address, a request that works as it is, and what describes the API. */
function Start({ base, model }: { readonly base: string; readonly model: string | undefined }) {
  // The service names it where it has one.
  const docs = document.querySelector<HTMLLinkElement>('link[rel=help]')?.href;
  const request = { transport: 'json', body: { model, input: 'Hello!' } } as const;
  return (
    <section class="start">
      <p class="hint">
        {TEXTS.start} <code>{base}</code>
        {model === undefined ? '' : `, ${TEXTS.orSend}`}
      </p>
      {model !== undefined && <Code language="curl" text={asCode(request, base).get('curl') ?? ''} />}
      {docs !== undefined && (
        <p>
          <a href={docs}>{TEXTS.apiDocs}</a>
        </p>
      )}
    </section>
  );
}

function KeyForm({ onKey }: { readonly onKey: (key: string) => void }) {
  const [typed, setTyped] = useState('');
  return (
    <form
      class="bar"
      onSubmit={(event) => {
        event.preventDefault();
        onKey(typed.trim());
      }}
    >
      <label>
        {TEXTS.key}
        <input
          type="password"
          autocomplete="off"
          title={TEXTS.keyHint}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </label>
      <button type="submit">{TEXTS.useKey}</button>
    </form>
  );
}

interface ViewProperties {
  readonly api: Api;
  readonly socket: LaneSocket;
  readonly models: readonly string[];
  readonly place: Place;
}

/** The views. The playground stays in the page, so that a turn goes on while another view is looked at. */
function Views({ api, socket, models, place: { view, id } }: ViewProperties) {
  const [from, setFrom] = useState<{ readonly id: string }>();
  const [hasTwo, setTwo] = useState(false);
  const inspect = (response: string): void => go('inspector', response);
  return (
    <>
      <div hidden={view !== 'playground'}>
        <div class="lanes">
          {(hasTwo ? [1, 2] : [1]).map((number) => (
            <Lane
              key={number}
              api={api}
              socket={socket}
              name={TEXTS.laneName(number)}
              models={models}
              from={number === 1 ? from : undefined}
              onInspect={inspect}
            />
          ))}
        </div>
        <p>
          <button type="button" aria-pressed={hasTwo} onClick={() => setTwo(!hasTwo)}>
            {TEXTS.secondLane}
          </button>
        </p>
      </div>
      {view === 'inspector' && (
        <Inspector
          api={api}
          id={id}
          onOpen={(response) => go('inspector', response)}
          toAddress={(response) => toAddress('inspector', response)}
          onContinue={(response) => {
            // Another object each time: the same response may be continued again.
            setFrom({ id: response });
            go('playground');
          }}
        />
      )}
      {view === 'approvals' && <Approvals api={api} socket={socket} onInspect={inspect} />}
      {view === 'now' && <Now api={api} onInspect={inspect} />}
      {view === 'simulator' && <Simulator api={api} />}
    </>
  );
}

function describe(error: unknown, key: string): string {
  if (!(error instanceof ApiFailure)) return String(error);
  return error.status === 401 && key === '' ? TEXTS.needsKey : error.message;
}

const root = document.getElementById('console');
if (root !== null) {
  root.replaceChildren();
  render(<Console />, root);
}
