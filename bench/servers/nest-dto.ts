import 'reflect-metadata';

import { IsBoolean, IsInt, IsNumber, IsObject, IsOptional, IsString, Max, Min } from 'class-validator';

/** The body of a small request, for Nest's ValidationPipe. */
export class CreateResponseDto {
  declare readonly model: string;
  declare readonly input: string;
  declare readonly instructions?: string;
  declare readonly previous_response_id?: string;
  declare readonly stream?: boolean;
  declare readonly stream_options?: Readonly<Record<string, unknown>>;
  declare readonly store?: boolean;
  declare readonly metadata: Readonly<Record<string, string>>;
  declare readonly temperature?: number;
  declare readonly top_p?: number;
  declare readonly max_output_tokens?: number;
}

const RULES: Readonly<Record<keyof CreateResponseDto, readonly PropertyDecorator[]>> = {
  model: [IsString()],
  input: [IsString()],
  instructions: [IsOptional(), IsString()],
  previous_response_id: [IsOptional(), IsString()],
  stream: [IsOptional(), IsBoolean()],
  stream_options: [IsOptional(), IsObject()],
  store: [IsOptional(), IsBoolean()],
  metadata: [IsObject()],
  temperature: [IsOptional(), IsNumber(), Min(0), Max(2)],
  top_p: [IsOptional(), IsNumber(), Min(0), Max(1)],
  max_output_tokens: [IsOptional(), IsInt(), Min(16)],
};

// Applied manually: Node strips types but does not support decorators.
for (const [name, decorators] of Object.entries(RULES)) {
  for (const decorate of decorators) decorate(CreateResponseDto.prototype, name);
}
