import { accessDenied, notImplemented, syntaxError } from './exception.ts';
import { identifierName, isPunctuation, isWord } from './lexer.ts';
import type { Token } from './lexer.ts';

// Table functions and functions that read or write outside the database, or run programs. `input` would wait for data for ever.
const outsideFunctions = /^(file|filecluster|filesystem|url|urlcluster|s3|s3cluster|gcs|oss|cosn|hdfs|hdfscluster|azureblobstorage\w*|deltalake\w*|hudi\w*|iceberg\w*|paimon\w*|remote|remotesecure|mysql|postgresql|mongodb|redis|sqlite|jdbc|odbc|ytsaurus|arrowstream|executable|python|eval|input|catboostevaluate|prometheusquery\w*)$/;
const outsideEngines = /^(file|filelog|filesystem|url|s3\w*|gcs|oss|cosn|hdfs|azure\w*|backup|deltalake\w*|iceberg\w*|hudi|paimon\w*|datalakecatalog|mysql|postgresql|materializedpostgresql|mongodb|redis|sqlite|jdbc|odbc|kafka|nats|rabbitmq|ytsaurus|remote\w*|arrowstream|executable\w*|queryrunner)$/;
const deadlySystemCommands = ['SHUTDOWN', 'KILL', 'SUSPEND', 'CRASH'];

/**
 * Refuses what a real server would allow only with grants that this one does not have: this process runs with its user's rights,
 * often root's, so `SELECT * FROM file('/etc/shadow')` must not be one injection away. It looks at names only, and is a
 * second guard, not a sandbox: whoever may send SQL here is trusted with the database.
 */
export function refuseOutsideAccess(tokens: readonly Token[]): void {
  tokens.forEach((token, i) => {
    const next = tokens[i + 1];
    if (token.kind === 'broken') throw syntaxError(`Syntax error: unclosed quote or comment at position ${token.start + 1}.`);
    const name = token.kind === 'word' || token.kind === 'identifier' ? identifierName(token).toLowerCase() : undefined;
    if (name !== undefined && isPunctuation(next, '(') && outsideFunctions.test(name)) refuse(`function ${name}`);
    if (token.kind === 'identifier' && name?.includes('/') === true && !isWord(tokens[i - 1], 'AS')) refuse('a file as a table');
    if (token.kind === 'string' && token.text.includes('/') && ['FROM', 'JOIN', 'TABLE', 'INTO', 'EXISTS', 'DESCRIBE', 'DESC'].some((word) => isWord(tokens[i - 1], word))) refuse('a file as a table');
    if (isWord(token, 'ENGINE')) {
      const engine = isPunctuation(next, '=') ? tokens[i + 2] : next;
      const isName = engine?.kind === 'word' || engine?.kind === 'identifier';
      if (isName && outsideEngines.test(identifierName(engine).toLowerCase())) refuse(`engine ${identifierName(engine)}`);
    }
    if (isWord(token, 'INTO') && isWord(next, 'OUTFILE')) refuse('INTO OUTFILE');
    if (isWord(token, 'INFILE')) refuse('FROM INFILE');
    if (isWord(token, 'SOURCE') && isPunctuation(next, '(') && !['CLICKHOUSE', 'NULL'].some((word) => isWord(tokens[i + 2], word))) refuse('a dictionary source outside the database');
  });
  if (isWord(tokens[0], 'SYSTEM') && deadlySystemCommands.some((word) => isWord(tokens[1], word))) refuse(`SYSTEM ${tokens[1]?.text ?? ''}`);
  if (isWord(tokens[0], 'BACKUP') || isWord(tokens[0], 'RESTORE')) refuse('BACKUP and RESTORE');
  if (isWord(tokens[0], 'KILL') && tokens.some((token) => isWord(token, 'SYNC'))) throw notImplemented('KILL … SYNC never returns in the embedded engine; use ASYNC.');
}

/** `{table:Identifier}` takes its name from a parameter. */
export function refuseOutsideParameters(sql: string, parameters: ReadonlyMap<string, string>): void {
  if (/:\s*Identifier\b/.test(sql) && [...parameters.values()].some((value) => value.includes('/'))) refuse('a file as a table');
}

function refuse(what: string): never {
  throw accessDenied(`The embedded server does not allow ${what}: it runs with its user's rights.`);
}
