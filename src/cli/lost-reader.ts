/**
 * Ends a command whose reader went away (`customhouse … | head -3`): quietly, with the exit code it has come to so far. Any other error of
 * standard output stays an error. `up` and the roles take it off: they go on without anybody listening.
 */
export function endWithoutReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}
