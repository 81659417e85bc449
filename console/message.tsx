import type { Json } from './api.ts';
import { Markdown } from './markdown.tsx';
import { TEXTS } from './texts.ts';

interface MessageProperties {
  readonly item: Json;
  /** Those that it is among: searches have what it cites. */
  readonly items: readonly Json[];
  readonly isWhole: boolean;
}

/** A message, with what it cites. */
export function Message({ item, items, isWhole }: MessageProperties) {
  const parts: readonly Json[] =
    typeof item.content === 'string' ? [{ type: 'text', text: item.content }] : (item.content ?? []);
  const name = Object.hasOwn(TEXTS.roles, item.role) ? TEXTS.roles[item.role as 'user'] : item.role;
  return (
    <div class={`message ${item.role === 'assistant' ? 'assistant' : 'user'}`}>
      <h4>{name}</h4>
      {parts.map((part, index) => (
        <Part key={index} part={part} isWhole={isWhole} isAnswer={item.role === 'assistant'} />
      ))}
      <Sources annotations={parts.flatMap(({ annotations }) => annotations ?? [])} items={items} />
    </div>
  );
}

function Part({
  part,
  isWhole,
  isAnswer,
}: {
  readonly part: Json;
  readonly isWhole: boolean;
  readonly isAnswer: boolean;
}) {
  const text: unknown = part.text ?? part.refusal;
  if (typeof text !== 'string') {
    const image: unknown = part.image_url;
    if (typeof image === 'string' && image.startsWith('data:image/')) return <img alt={TEXTS.attachment} src={image} />;
    return <p class="hint">{part.filename ?? part.file_id ?? part.type}</p>;
  }
  if (!isWhole) return <p class="plain">{text}</p>;
  const lines = isAnswer && /^\s*[[{]/.test(text) ? pretty(text) : text;
  return lines === text ? <Markdown text={text} /> : <pre tabIndex={0}>{lines}</pre>;
}

/** What a message cites: pages as links, files with the passages that were found in them. */
function Sources({ annotations, items }: { readonly annotations: readonly Json[]; readonly items: readonly Json[] }) {
  const pages = new Map<string, string>();
  const files = new Map<string, string>();
  for (const { type, url, title, file_id: id, filename } of annotations) {
    if (/^https?:/i.test(url ?? '')) pages.set(url, title || url);
    else if (type === 'file_citation') files.set(id, filename || id);
  }
  if (pages.size + files.size === 0) return null;
  const found = items.flatMap((item) => (item?.type === 'file_search_call' ? (item.results ?? []) : []));
  return (
    <aside class="sources" aria-label={TEXTS.sources}>
      <h5>{TEXTS.sources}</h5>
      <ol>
        {[...pages].map(([url, title]) => (
          <li key={url}>
            <a href={url} target="_blank" rel="noopener noreferrer">
              {title}
            </a>
          </li>
        ))}
        {[...files].map(([id, filename]) => (
          <li key={id}>
            <Citation id={id} filename={filename} passages={found.filter(({ file_id: file }: Json) => file === id)} />
          </li>
        ))}
      </ol>
    </aside>
  );
}

function Citation({
  id,
  filename,
  passages,
}: {
  readonly id: string;
  readonly filename: string;
  readonly passages: readonly Json[];
}) {
  if (passages.length === 0) return <span title={id}>{filename}</span>;
  return (
    <details>
      <summary title={id}>{filename}</summary>
      {passages.map(({ text }, index) => (
        <p key={index} class="plain quote">
          {text}
        </p>
      ))}
    </details>
  );
}

/** JSON with line breaks; what is no JSON, or nested too deeply to be written, as it is. */
export function pretty(value: unknown): string {
  try {
    return JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value, null, 2);
  } catch {
    return String(value);
  }
}
