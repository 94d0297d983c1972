import type { Command } from 'commander';
import { Option } from 'commander';
import type { Screen } from '../../audit/table.ts';
import { plain } from '../../audit/table.ts';
import { checkFile } from '../policy-file.ts';
import { readSource } from '../source-file.ts';
import type { Outcome } from '../usage.ts';
import { exitCodes, settle } from '../usage.ts';
import { humanReport } from '../validate/human.ts';
import { problemJson } from '../validate/json.ts';
import { collect } from '../validate/validate.ts';
import { humanJudgement } from './human.ts';
import { judge } from './judge.ts';
import { judgementJson } from './json.ts';
import type { RequestOptions } from './request-options.ts';
import { onlyOneStdin, requestOf, secretsOf } from './request-options.ts';

const formats = ['human', 'json'] as const;

export type ExplainOptions = RequestOptions & { readonly secret?: readonly string[]; readonly format: (typeof formats)[number] };

const help = `
The path and the query reach the policy as they are written: nothing is decoded or normalised. Nothing is sent anywhere.
Credentials and secrets are taken to exist and show as «credential:NAME» and «secret:NAME»; with --secret NAME=VALUE the value decides
whether a transform applies, and still is not shown. --secret NAME=@FILE keeps it out of the list of processes.
Exit codes: 0 explained, allowed or not; 1 the policy has problems; 2 wrong usage, unreadable files included.`;

/** What becomes of one described request under a policy, and why. */
export async function runExplain(name: string, options: ExplainOptions, { screen }: { readonly screen: Screen }): Promise<Outcome> {
  const { secret = [], format } = options;
  onlyOneStdin([name, ...[options.body, ...secret.map((pair) => pair.slice(pair.indexOf('=') + 1))].map((text) => (text?.startsWith('@') === true ? text.slice(1) : undefined))]);
  const file = checkFile(await readSource(name));
  const described = await requestOf(options);
  const secrets = await secretsOf(secret);
  const { policy, problems, warnings } = file;
  if (policy === undefined) {
    const output = format === 'human' ? humanReport(screen, [file]) : written({ file: name, valid: false, problems: problems.map(problemJson), warnings: warnings.map(problemJson) });
    return { code: exitCodes.problems, output };
  }
  const judgement = await judge(policy, described, secrets);
  const unused = [...secrets.keys()].filter((key) => !policy.secretKeys.includes(key));
  return {
    code: exitCodes.sound,
    output: format === 'human' ? humanJudgement(screen, judgement, described) : written(judgementJson(judgement)),
    complaints: unused.map((key) => `--secret ${plain(key)}: the policy names no such secret${policy.secretKeys.length === 0 ? '' : `, only ${policy.secretKeys.join(', ')}`}`),
  };
}

function written(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export function registerExplain(caps: Command): void {
  caps.command('explain').description('say what becomes of one request: which rule decides and why not the others, what is rewritten, which counters move').argument('<file>', 'a policy; - is standard input')
    .requiredOption('--method <method>', 'as in the request line, upper case')
    .requiredOption('--url <url>', 'http:// or https://, with path and query')
    .option('--header <name:value>', 'a header (repeatable)', collect)
    .option('--body <text>', 'the body; @FILE and @- read it')
    .option('--workspace <key=value>', 'role, environment, id or org_id of the workspace that asks (repeatable)', collect)
    .option('--task <id>', 'the task that asks')
    .option('--secret <name=value>', 'what a secret is (repeatable); @FILE reads it', collect)
    .addOption(new Option('--format <format>', 'how to report').choices(formats).default('human'))
    .addHelpText('after', help)
    .action((name: string, options: ExplainOptions) => settle(() => runExplain(name, options, { screen: process.stdout })));
}
