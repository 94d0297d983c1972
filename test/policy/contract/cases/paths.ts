import type { Area } from '../support/area.ts';
import { ruleWith } from '../support/documents.ts';

const paths = (list: string) => ruleWith(`name: one\npaths: ${list}`);
const at = (path: string) => `GET https://api.example.com${path}`;

export const pathGlobs: Area = {
  section: '2.7 AllowRule, paths',
  sentences: [
    {
      quote: 'paths: string list, not required',
      accepted: { 'one': paths('[/v1]'), 'absent': ruleWith('name: one') },
      rejected: { 'a text': paths('‹wrong_type›/v1'), 'a number inside': paths('[‹wrong_type›1]'), 'null': paths('‹wrong_type›null') },
    },
    {
      quote: 'paths: globs starting with `/`',
      accepted: { 'the root': paths('[/]'), 'a star': paths('[/*]') },
      rejected: {
        'no slash': paths('[‹path_not_absolute›v1/models]'),
        'a star first': paths('[‹path_not_absolute›"*"]'),
        'empty': paths('[‹path_not_absolute›""]'),
        'a blank first': paths('[‹path_not_absolute›" /v1"]'),
        'an address': paths('[/v1, ‹path_not_absolute›"https://api.example.com/v1"]'),
        'a control character': paths('[‹path_syntax›"/v1\\n"]'),
      },
    },
    {
      quote: 'paths: empty means any path',
      oneSided: 'says what a request needs; see the decisions',
      accepted: { 'an empty list': paths('[]') },
      decided: {
        'an empty list': { text: paths('[]'), requests: { [at('/')]: 'one', [at('/a/b/c?d')]: 'one' } },
        'absent': { text: ruleWith('name: one'), requests: { [at('/')]: 'one', [at('/a/b/c?d')]: 'one' } },
      },
    },
    {
      quote: 'Path globs: `*` matches within a segment',
      oneSided: 'says what a request needs; see the decisions',
      decided: {
        'a whole segment': { text: paths('["/v1/*"]'), requests: { [at('/v1/a')]: 'one', [at('/v1/')]: 'one', [at('/v1')]: 'no_match', [at('/v1/a/b')]: 'no_match', [at('/v1/a/')]: 'no_match' } },
        'a part of one': { text: paths('["/v*/m*s"]'), requests: { [at('/v1/models')]: 'one', [at('/v/ms')]: 'one', [at('/v1/x/models')]: 'no_match', [at('/v1/models2')]: 'no_match' } },
        'nothing is decoded': { text: paths('["/a/*"]'), requests: { [at('/a/b%2Fc')]: 'one', [at('/%61/b')]: 'no_match' } },
        'letters keep their case': { text: paths('[/v1/Models]'), requests: { [at('/v1/Models')]: 'one', [at('/v1/models')]: 'no_match' } },
        'what is special elsewhere is not here': { text: paths('["/a.b+c(d)[e]"]'), requests: { [at('/a.b+c(d)[e]')]: 'one', [at('/axb+c(d)[e]')]: 'no_match' } },
        'the query does not count': { text: paths('[/v1/models]'), requests: { [at('/v1/models?limit=1')]: 'one' } },
      },
    },
    {
      quote: 'Path globs: `**` across segments',
      oneSided: 'says what a request needs; see the decisions',
      decided: {
        'at the end': { text: paths('["/v1/**"]'), requests: { [at('/v1/')]: 'one', [at('/v1/a/b/c')]: 'one', [at('/v1')]: 'no_match', [at('/v2/a')]: 'no_match' } },
        'in the middle': { text: paths('["/a/**/z"]'), requests: { [at('/a/b/c/z')]: 'one', [at('/a/b/z')]: 'one', [at('/a/z')]: 'no_match', [at('/a/b/c/zz')]: 'no_match' } },
        'together with *': { text: paths('["/**/raw/*"]'), requests: { [at('/a/b/raw/c')]: 'one', [at('/a/raw/c/d')]: 'no_match' } },
        'any of several': { text: paths('[/a, "/b/**"]'), requests: { [at('/a')]: 'one', [at('/b/c/d')]: 'one', [at('/c')]: 'no_match' } },
      },
    },
  ],
};
