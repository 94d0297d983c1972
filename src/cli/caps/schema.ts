import type { Command } from 'commander';
import { editorSchema } from '../../policy/editor-schema/document.ts';
import type { Outcome } from './usage.ts';
import { exitCodes, settle } from './usage.ts';

const help = `
Save it next to your policies and name it in their first line, for editors with a YAML language server:
  # yaml-language-server: $schema=./caps.schema.json
It checks what JSON Schema can say; customhouse caps validate checks everything.`;

export async function runSchema(): Promise<Outcome> {
  return { code: exitCodes.sound, output: `${JSON.stringify(editorSchema, null, 2)}\n` };
}

export function registerSchema(caps: Command): void {
  caps.command('schema').description('print the JSON Schema of caps.yaml, for completion and checks in editors').addHelpText('after', help).action(() => settle(runSchema));
}
