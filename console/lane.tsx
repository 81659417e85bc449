import { useEffect, useReducer, useState } from 'preact/hooks';

import type { Api, Json } from './api.ts';
import { WaitingItems } from './items.tsx';
import { NO_OPTIONS, OptionsForm, toMembers } from './options.tsx';
import type { LaneSocket } from './socket.ts';
import { TEXTS } from './texts.ts';
import { type Transport, Turn } from './turn.ts';
import { TurnView } from './turn-view.tsx';

interface Attachment {
  readonly name: string;
  readonly part: Json;
}

interface LaneProperties {
  readonly api: Api;
  readonly socket: LaneSocket;
  /** The name of its lane on the socket. */
  readonly lane: string;
  /** Its name for people. */
  readonly name: string;
  readonly models: readonly string[];
  /** The response that the conversation continues, from the inspector. */
  readonly from: string | undefined;
  readonly onInspect: (id: string) => void;
}

/** One conversation: its form and its turns. The transport may change with every turn. */
export function Lane({ api, socket, lane, name, models, from, onInspect }: LaneProperties) {
  const [model, setModel] = useState(models[0] ?? '');
  const [transport, setTransport] = useState<Transport>('sse');
  const [options, setOptions] = useState(NO_OPTIONS);
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const [previous, setPrevious] = useState(from);
  const [text, setText] = useState('');
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const [fault, setFault] = useState('');
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    setPrevious(from);
    setTurns([]);
  }, [from]);

  const last = turns.at(-1);
  const isRunning = last?.isRunning === true;

  const ask = (input: Json): void => {
    const continued = turns.findLast(
      ({ response }) => response?.status === 'completed' || response?.status === 'incomplete',
    );
    const previousId: string | undefined = continued?.response.id ?? previous;
    try {
      const members = toMembers(options);
      const body = {
        model,
        input,
        ...members,
        ...(previousId === undefined ? {} : { previous_response_id: previousId }),
        ...(transport === 'sse' ? { stream: true } : {}),
      };
      const turn = new Turn({ transport, body });
      turn.onChange = () => draw(undefined);
      setTurns([...turns, turn]);
      setFault('');
      void turn.run(api, socket, lane);
    } catch (error) {
      setFault((error as Error).message);
    }
  };
  const act = (action: Promise<void>): void => {
    setFault('');
    action.catch((error: unknown) => setFault((error as Error).message));
  };
  const isSteerable = isRunning && last.asked.transport === 'websocket' && last.response !== undefined;
  const submit = (event: Event): void => {
    event.preventDefault();
    // What is written stays while a turn runs that takes no input.
    if ((text.trim() === '' && files.length === 0) || (isRunning && !isSteerable)) return;
    const parts = [...(text === '' ? [] : [{ type: 'input_text', text }]), ...files.map(({ part }) => part)];
    const input = files.length === 0 ? text : [{ role: 'user', content: parts }];
    setText('');
    setFiles([]);
    if (!isSteerable) {
      ask(input);
      return;
    }
    const takeBack = (error: unknown): void => {
      setText((written) => (written === '' ? text : written));
      setFiles((dropped) => [...files, ...dropped]);
      throw error;
    };
    act(last.steer(socket, input).catch(takeBack));
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    const dropped = Array.from(event.dataTransfer?.files ?? [], toAttachment);
    act(Promise.all(dropped).then((read) => setFiles((known) => [...known, ...read])));
  };

  return (
    <section class="lane" aria-label={name} onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <div class="bar">
        <label>
          {TEXTS.model}
          <select value={model} onChange={({ currentTarget }) => setModel(currentTarget.value)}>
            {models.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label>
          {TEXTS.transport}
          <select value={transport} onChange={({ currentTarget }) => setTransport(currentTarget.value as Transport)}>
            {Object.entries(TEXTS.transports).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          disabled={isRunning}
          onClick={() => {
            setTurns([]);
            setPrevious(undefined);
          }}
        >
          {TEXTS.clear}
        </button>
      </div>
      <OptionsForm options={options} onChange={setOptions} />
      <div class="turns" role="log" aria-label={`${name}: ${TEXTS.playground}`} tabIndex={0}>
        {turns.length === 0 && <p class="hint">{TEXTS.emptyLane}</p>}
        {turns.map((turn, index) => (
          <TurnView key={index} turn={turn} api={api} onInspect={onInspect} />
        ))}
      </div>
      {last !== undefined && !isRunning && <WaitingItems key={last.response?.id} items={last.items} onAnswer={ask} />}
      {last?.canAttach === true && (
        <button type="button" onClick={() => act(last.attach(api))}>
          {TEXTS.attach}
        </button>
      )}
      <p role="alert" class="fault">
        {fault}
      </p>
      <form onSubmit={submit}>
        {files.map(({ name: file }, index) => (
          <button key={file} type="button" onClick={() => setFiles(files.toSpliced(index, 1))}>
            {TEXTS.remove(file)}
          </button>
        ))}
        <label>
          {TEXTS.message}
          <textarea
            rows={3}
            placeholder={TEXTS.messageHint}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event);
            }}
          />
        </label>
        <div class="bar">
          <button type="submit" disabled={isRunning && !isSteerable}>
            {isRunning && last.asked.transport === 'websocket' ? TEXTS.steer : TEXTS.send}
          </button>
          {isSteerable && (
            <button type="button" onClick={() => act(last.interrupt(socket))}>
              {TEXTS.interrupt}
            </button>
          )}
          {isRunning && last.asked.transport !== 'websocket' && (
            <button type="button" onClick={() => act(last.cancel(api))}>
              {TEXTS.cancel}
            </button>
          )}
          {isRunning && last.asked.body['background'] === true && last.asked.transport === 'sse' && (
            <button type="button" onClick={() => last.detach()}>
              {TEXTS.detach}
            </button>
          )}
        </div>
      </form>
    </section>
  );
}

/** A dropped file as a part of a message. */
async function toAttachment(file: File): Promise<Attachment> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error ?? new Error(file.name));
    reader.readAsDataURL(file);
  });
  const part = file.type.startsWith('image/')
    ? { type: 'input_image', image_url: url }
    : { type: 'input_file', filename: file.name, file_data: url };
  return { name: file.name, part };
}
