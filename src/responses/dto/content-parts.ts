import { Allow, IsArray, IsIn, IsOptional, IsString } from 'class-validator';
import { anyObject, Closed, every, nested, unionBy } from '../../validation/index.js';
import { fileSource, imageSource } from './media-sources.js';

/** Members of all parts that clients write. */
class InputPartMembers {
  @Allow()
  readonly type!: string;

  @Allow()
  readonly prompt_cache_breakpoint?: unknown;
}

/** `input_text` (protocol §3.2). */
@Closed()
class InputText extends InputPartMembers {
  @IsString()
  readonly text!: string;
}

/** `input_image` (protocol §3.2); clients omit `detail` although it is typed as required. */
@Closed()
class InputImage extends InputPartMembers {
  @IsOptional()
  @IsIn(['auto', 'low', 'high', 'original'])
  readonly detail?: string | null;

  @IsOptional()
  @IsString()
  readonly image_url?: string | null;

  @IsOptional()
  @IsString()
  readonly file_id?: string | null;
}

/** `input_file` (protocol §3.2). */
@Closed()
class InputFile extends InputPartMembers {
  @IsOptional()
  @IsString()
  readonly file_id?: string | null;

  @IsOptional()
  @IsString()
  readonly file_data?: string | null;

  @IsOptional()
  @IsString()
  readonly file_url?: string | null;

  @IsOptional()
  @IsString()
  readonly filename?: string | null;

  @Allow()
  readonly detail?: unknown;
}

/** `output_text` as clients replay it: often without `annotations` and `logprobs` (protocol §3.2). */
class OutputText {
  @IsString()
  readonly text!: string;

  @IsOptional()
  @IsArray()
  readonly annotations?: readonly unknown[] | null;

  @Allow()
  readonly logprobs?: unknown;
}

/** `refusal` (protocol §3.2). */
class Refusal {
  @IsString()
  readonly refusal!: string;
}

const text = nested(InputText);
const image = every([nested(InputImage), imageSource]);
const file = every([nested(InputFile), fileSource]);

/** A part of a user, system or developer message (protocol §3.1). */
export const inputPart = unionBy('type', {
  input_text: text,
  input_image: image,
  input_file: file,
  // These two are in the live enum but in no type; Codex sends the second.
  scoped_content: anyObject,
  input_audio: anyObject,
});

/** A part of a tool's output (protocol §3.1). */
export const toolOutputPart = unionBy('type', { input_text: text, input_image: image, input_file: file });

/** A part of an assistant message (protocol §3.1). */
export const outputPart = unionBy('type', { output_text: nested(OutputText), refusal: nested(Refusal) });
