import { isObject, objectsIn } from '../../../validation/index.js';
import { ModelError } from '../../model-error.js';
import type { Capabilities } from '../capabilities.js';
import { type ChatPart, isSaid } from './chat-message.js';
import { refuse } from './refuse.js';

type Members = Readonly<Record<string, unknown>>;

const TO_PART = new Map<unknown, (part: Members, capabilities: Capabilities) => ChatPart>([
  ['input_text', toText],
  ['output_text', toText],
  ['text', toText],
  ['summary_text', toText],
  ['refusal', ({ refusal }) => ({ type: 'text', text: String(refusal) })],
  ['input_image', toImage],
  ['input_audio', toAudio],
  ['input_file', toFile],
]);

const AUDIO_URL = /^data:audio\/(?<format>[\w.+-]+)(?:;[^,]*)?;base64,(?<data>.*)$/s;

/** What the translation of parts depends on. */
export interface PartOptions extends Capabilities {
  /** Members of parts that are sent on unchanged. */
  readonly marks: readonly string[];
}

/** Translates content, a string or parts, into Chat Completions parts. Throws ModelError 400 for unsupported parts. */
export function toParts(content: unknown, options: PartOptions): readonly ChatPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return objectsIn(content).map((part) => {
    const convert = TO_PART.get(part.type);
    if (convert === undefined) return { type: 'text', text: JSON.stringify(part) };
    const converted = convert(part, options);
    const marks = options.marks.filter((name) => part[name] != null);
    if (marks.length === 0) return converted;
    return { ...converted, ...Object.fromEntries(marks.map((name) => [name, part[name]])) };
  });
}

/** Translates a tool output as content, but replaces unsupported parts with a note instead of rejecting the transcript. */
export function toOutputParts(content: unknown, options: PartOptions): readonly ChatPart[] {
  if (!Array.isArray(content)) return toParts(content, options);
  return (content as readonly unknown[]).flatMap((part) => {
    try {
      return toParts([part], options).filter(isSaid);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      return [
        { type: 'text', text: `(${isObject(part) ? String(part.type) : 'content'}, not supported by this model)` },
      ];
    }
  });
}

function toText({ text }: Members): ChatPart {
  return { type: 'text', text: String(text) };
}

function toImage({ image_url: url, file_id: fileId, detail }: Members, { images }: Capabilities): ChatPart {
  if (!images) refuse('input', 'This model does not support images.');
  if (typeof url !== 'string') {
    return refuse(
      'input',
      `This model supports images by 'image_url' only${typeof fileId === 'string' ? ', not by file_id' : ''}.`,
    );
  }
  return { type: 'image_url', image_url: { url, ...(detail == null ? {} : { detail: toDetail(detail) }) } };
}

/** Chat Completions has no `original`. */
function toDetail(detail: unknown): unknown {
  return detail === 'original' ? 'high' : detail;
}

/** Accepts `audio_url`, which Codex sends, and `input_audio`. */
function toAudio({ input_audio: audio, audio_url: url }: Members, capabilities: Capabilities): ChatPart {
  if (!capabilities.audio) refuse('input', 'This model does not support audio.');
  if (isObject(audio)) return { type: 'input_audio', input_audio: audio };
  const { format, data } = AUDIO_URL.exec(typeof url === 'string' ? url : '')?.groups ?? {};
  if (format === undefined) refuse('input', "This model supports audio by 'input_audio' or by a data URL only.");
  return { type: 'input_audio', input_audio: { data, format } };
}

function toFile({ file_data: data, file_id: id, filename }: Members, { files }: Capabilities): ChatPart {
  if (!files) refuse('input', 'This model does not support files.');
  const name = typeof filename === 'string' ? { filename } : {};
  if (typeof data === 'string') return { type: 'file', file: { file_data: data, ...name } };
  if (typeof id === 'string') return { type: 'file', file: { file_id: id, ...name } };
  return refuse('input', "This model supports files by 'file_data' or 'file_id' only.");
}
