import { acceptEncoding } from './cases/accept-encoding.ts';
import { allowRule } from './cases/allow-rule.ts';
import { capability } from './cases/capability.ts';
import { celAvailability } from './cases/cel-environments.ts';
import { celVariables } from './cases/cel-variables.ts';
import { counterAmounts } from './cases/counter-amounts.ts';
import { counters } from './cases/counters.ts';
import { document } from './cases/document.ts';
import { domainRules } from './cases/domains.ts';
import { furtherWarnings } from './cases/further-warnings.ts';
import { match } from './cases/match.ts';
import { pathGlobs } from './cases/paths.ts';
import { perSource } from './cases/per-source.ts';
import { requestFormat } from './cases/request-format.ts';
import { requestSchema } from './cases/request-schema.ts';
import { scope } from './cases/scope.ts';
import { terminators } from './cases/terminators.ts';
import { authVariant } from './cases/transforms-auth.ts';
import { bodyVariant } from './cases/transforms-body.ts';
import { headerVariant } from './cases/transforms-header.ts';
import { pathVariant } from './cases/transforms-path.ts';
import { queryVariant } from './cases/transforms-query.ts';
import { transforms } from './cases/transforms.ts';
import { warnings } from './cases/warnings.ts';
import type { Area } from './support/area.ts';

/** All cases, in the order of contract 2.7. */
export const areas: readonly Area[] = [
  document, capability, allowRule, match, requestFormat, requestSchema, domainRules, pathGlobs,
  transforms, headerVariant, pathVariant, queryVariant, bodyVariant, authVariant,
  counters, counterAmounts, scope, perSource, terminators, acceptEncoding,
  celVariables, celAvailability, warnings, furtherWarnings,
];
