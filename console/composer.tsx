import { useRef, useState } from 'preact/hooks';

import type { Json } from './api.ts';
import { TEXTS } from './texts.ts';

interface Attachment {
  readonly name: string;
  readonly part: Json;
}

/** A message that is being written, with the files in it. */
export interface Draft {
  readonly text: string;
  readonly files: readonly Attachment[];
  readonly isEmpty: boolean;
  readonly write: (text: string) => void;
  /** Rejects when a file cannot be read. */
  readonly add: (files: FileList | null | undefined) => Promise<void>;
  readonly remove: (file: Attachment) => void;
  /** The message as input of a request. The draft is empty then; `giveBack` puts it in front of what was written since. */
  readonly take: () => { readonly input: Json; readonly giveBack: () => void };
}

/** A new draft. */
export function useDraft(): Draft {
  const [text, write] = useState('');
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  return {
    text,
    files,
    isEmpty: text.trim() === '' && files.length === 0,
    write,
    add: async (given) => {
      const read = await Promise.all(Array.from(given ?? [], toAttachment));
      setFiles((known) => [...known, ...read]);
    },
    remove: (file) => setFiles((known) => known.filter((other) => other !== file)),
    take: () => {
      write('');
      setFiles([]);
      const parts = [...(text === '' ? [] : [{ type: 'input_text', text }]), ...files.map(({ part }) => part)];
      return {
        input: files.length === 0 ? text : [{ role: 'user', content: parts }],
        giveBack: () => {
          write((since) => (since === '' ? text : `${text}\n${since}`));
          setFiles((since) => [...files, ...since]);
        },
      };
    },
  };
}

/** What may be done with a draft, and with the turn that runs. */
export interface Actions {
  /** What the key Enter does; undefined while a turn takes no input. */
  readonly submit: (() => void) | undefined;
  readonly submitName: string;
  readonly others: ReadonlyMap<string, () => void>;
}

interface ComposerProperties {
  readonly draft: Draft;
  readonly actions: Actions;
  readonly onFiles: (files: FileList | null) => void;
}

/** The form in which a message is written. */
export function Composer({ draft, actions: { submit, submitName, others }, onFiles }: ComposerProperties) {
  const picker = useRef<HTMLInputElement>(null);
  const send = (event: Event): void => {
    event.preventDefault();
    // What is written stays while a turn runs that takes no input.
    if (!draft.isEmpty) submit?.();
  };
  return (
    <form onSubmit={send}>
      <label>
        {TEXTS.message}
        <textarea
          rows={3}
          placeholder={TEXTS.messageHint}
          value={draft.text}
          onInput={({ currentTarget }) => draft.write(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event);
          }}
        />
      </label>
      <div class="bar middle composer">
        <button type="submit" class="primary" disabled={submit === undefined}>
          {submitName}
        </button>
        {[...others].map(([name, act]) => (
          <button key={name} type="button" onClick={act}>
            {name}
          </button>
        ))}
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={({ currentTarget }) => {
            onFiles(currentTarget.files);
            currentTarget.value = '';
          }}
        />
        <button type="button" class="quiet" onClick={() => picker.current?.click()}>
          {TEXTS.addFiles}
        </button>
        {draft.files.map((file, index) => (
          <button key={index} type="button" aria-label={TEXTS.remove(file.name)} onClick={() => draft.remove(file)}>
            {file.name} ✕
          </button>
        ))}
      </div>
    </form>
  );
}

/** A file as a part of a message. */
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
