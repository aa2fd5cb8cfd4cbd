import { defineTool } from '../command-line/program.ts';
import { changePlan } from './commands/change-plan.ts';
import { forget } from './commands/forget.ts';
import { create, rotate } from './commands/issue.ts';
import { identify, list, show, usage } from './commands/look-up.ts';
import { cleanup, repair } from './commands/repair.ts';
import { resume, revoke, suspend } from './commands/stop.ts';
import { type KeyService, openKeyService } from './service.ts';

/** Runs the tool once. Returns the exit code. */
export const runKeys = defineTool<KeyService>({
  call: 'npm run keys --',
  description: 'Issues, shows and revokes the API keys of a stage.',
  guide: 'docs/keys.md',
  afterInterruption:
    'A change may be made or not: look with "list" or "show". "cleanup" deletes what it leaves in API Gateway.',
  commands: [
    create,
    rotate,
    revoke,
    suspend,
    resume,
    changePlan,
    cleanup,
    repair,
    forget,
    list,
    show,
    usage,
    identify,
  ],
  openService: openKeyService,
});
