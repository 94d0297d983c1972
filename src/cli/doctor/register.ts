import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { readDevFile } from '../dev-file.ts';
import { environmentNamesStores, stackSettings } from '../org.ts';
import { isStackDir } from '../up/data-dir.ts';
import type { Finding } from './finding.ts';
import { journalFinding, nodeFinding, upFindings } from './machine.ts';
import { keyFindings, stackFindings } from './stack.ts';
import { storeFindings } from './stores.ts';

/**
 * Everything there is to check: of the stack in the directory when one is up, else of the settings of the environment. A stack that is
 * not up is a finding itself, unless the environment names stores.
 */
export async function findings(dataDir: string): Promise<Finding[]> {
  const dev = readDevFile(dataDir);
  const named = environmentNamesStores();
  const start = `scripts/customhouse up --data-dir ${dataDir}`;
  if (dev === undefined && !named && isStackDir(dataDir)) {
    return [nodeFinding(), { check: 'stack', state: 'fail', text: `the stack in ${dataDir} is not up`, fix: start }, ...upFindings(), journalFinding(join(dataDir, 'journal'))];
  }
  const settings = stackSettings(dataDir);
  const groups = await Promise.all([
    dev === undefined ? [] : stackFindings(dev, dataDir),
    storeFindings(settings),
    keyFindings(settings, dev === undefined ? undefined : dataDir),
  ]);
  const common = [nodeFinding(), ...groups.flat(), journalFinding(dev === undefined ? settings.journalDir : join(dataDir, 'journal'))];
  if (dev !== undefined || named) return common;
  const none: Finding = { check: 'stack', state: 'warn', text: `none in ${dataDir}, and POSTGRES_URL is not set: looked where the defaults point`, fix: `${start} starts everything on this machine; .env.example names the settings for other stores` };
  return [none, ...common, ...upFindings()];
}

function line({ check, state, text, fix }: Finding, coloured: boolean): string {
  const colour = { ok: 32, warn: 33, fail: 31 }[state];
  const shown = coloured ? `\u001b[${colour}m${state.padEnd(6)}\u001b[0m` : state.padEnd(6);
  return `${shown}${check.padEnd(20)}${text}${state === 'ok' || fix === undefined ? '' : `\n      → ${fix}`}`;
}

/** `customhouse doctor`: checks every dependency and says what to do about what is missing; exit code 1 when something must be done. */
export function registerDoctor(program: Command): void {
  program.command('doctor')
    .description('check every dependency and say what to do about what is missing')
    .option('--data-dir <dir>', 'data directory of the stack; without a stack there the settings of the environment', '.data')
    .option('--json', 'findings as JSON lines: check, state (ok, warn, fail), text, fix')
    .addHelpText('after', '\nExit codes: 0 nothing must be done (warnings may be), 1 something must be done.')
    .action(async (options: { dataDir: string; json?: boolean }) => {
      const found = await findings(resolve(options.dataDir));
      for (const finding of found) console.log(options.json === true ? JSON.stringify(finding) : line(finding, process.stdout.isTTY));
      process.exitCode = found.some((finding) => finding.state === 'fail') ? 1 : 0;
    });
}
